//! The intervals: least, mean, largest, number; and their shares of a device's time.

use std::fmt::Write;

use super::super::average::{Average, Averages, Interval, seconds};
use super::shown::{Shown, section};

/// The intervals of stacked devices.
const STACKED: [Interval; 3] = [Interval::Q2QDm, Interval::Q2ADm, Interval::Q2CDm];

/// Those of the others, as the tables by process and device have them.
const PLAIN: [Interval; 9] = [
    Interval::Q2Q,
    Interval::Q2A,
    Interval::Q2G,
    Interval::S2G,
    Interval::G2I,
    Interval::Q2M,
    Interval::I2D,
    Interval::D2C,
    Interval::Q2C,
];

fn head(text: &mut String, title: &str) {
    let _ = writeln!(
        text,
        "{title:>15} {:>13} {:>13} {:>13} {:>11}",
        "MIN", "AVG", "MAX", "N"
    );
    text.push_str("--------------- ------------- ------------- ------------- -----------\n");
}

fn row(text: &mut String, title: &str, average: &Average) {
    if let Some(mean) = average.mean_seconds() {
        let (min, max) = (seconds(average.min), seconds(average.max));
        let _ = writeln!(
            text,
            "{title:<15} {min:>13.9} {mean:>13.9} {max:>13.9} {:>11}",
            average.n
        );
    }
}

pub(super) fn each(text: &mut String, rows: &[(String, &Averages)]) {
    let mut table = |interval: Interval| {
        head(text, interval.name());
        for (name, averages) in rows {
            row(text, name, averages.of(interval));
        }
        text.push('\n');
    };
    STACKED.into_iter().for_each(&mut table);
    text.push('\n');
    let mut table = |interval: Interval| {
        head(text, interval.name());
        for (name, averages) in rows {
            row(text, name, averages.of(interval));
        }
        text.push('\n');
    };
    PLAIN.into_iter().for_each(&mut table);
}

pub(super) fn totals(text: &mut String, all: &Averages) {
    section(text, "All Devices");
    head(text, "ALL");
    for interval in STACKED {
        row(text, interval.name(), all.of(interval));
    }
    text.push('\n');
    for interval in Interval::ALL[3..13].iter().copied() {
        row(text, interval.name(), all.of(interval));
    }
    text.push('\n');
}

pub(super) fn overhead(text: &mut String, devices: &[Shown<'_>]) {
    const PARTS: [Interval; 5] = [
        Interval::Q2G,
        Interval::G2I,
        Interval::Q2M,
        Interval::I2D,
        Interval::D2C,
    ];
    section(text, "Device Overhead");
    let rule = format!("---------- |{}\n", " ---------".repeat(5));
    let _ = write!(text, "{:>10} |", "DEV");
    for part in PARTS {
        let _ = write!(text, " {:>9}", part.name());
    }
    let _ = write!(text, "\n{rule}");
    let mut sums = [0_u64; 5];
    let mut whole = 0_u64;
    for Shown { device, name, .. } in devices {
        let total = device.averages.of(Interval::Q2C).total;
        if total == 0 {
            continue;
        }
        let parts = PARTS.map(|part| device.averages.of(part).total);
        shares(text, name, parts, total);
        sums = std::array::from_fn(|i| sums[i].wrapping_add(parts[i]));
        whole = whole.wrapping_add(total);
    }
    if sums.iter().any(|&sum| sum > 0) {
        text.push_str(&rule);
        shares(text, "Overall", sums, whole);
    }
    text.push('\n');
}

fn shares(text: &mut String, title: &str, parts: [u64; 5], whole: u64) {
    let _ = write!(text, "{title:>10} |");
    for part in parts {
        let _ = write!(text, " {:>8.4}%", 100.0 * part as f64 / whole as f64);
    }
    text.push('\n');
}
