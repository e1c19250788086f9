//! What a device had to do: bios waiting, periods of work, and how long bios waited to be issued.

use std::fmt::Write;

use super::super::engine::Engine;
use super::super::live::Live;
use super::shown::{Shown, section};

pub(super) fn active(text: &mut String, devices: &[Shown<'_>]) {
    section(text, "Active Requests At Q Information");
    let rule = "---------- | -------------\n";
    let _ = write!(text, "{:>10} | {:>13}\n{rule}", "DEV", "Avg Reqs @ Q");
    let queues = |shown: &&Shown<'_>| shown.device.queued > 0 && !shown.device.stacked;
    let shown: Vec<&Shown<'_>> = devices.iter().filter(queues).collect();
    let (mut queued, mut sum) = (0, 0);
    for Shown { device, name, .. } in &shown {
        let mean = device.active_sum as f64 / device.raised() as f64;
        let _ = writeln!(text, "{name:>10} | {mean:>13.1}");
        queued += device.raised();
        sum += device.active_sum;
    }
    if shown.len() > 1 {
        let mean = sum as f64 / queued as f64;
        let _ = write!(
            text,
            "{rule}{:>10} | {:>13}\n{:>10} | {mean:>13.1}\n",
            "Overall", "Avgs Reqs @ Q", "Average"
        );
    }
    text.push('\n');
}

pub(super) fn live(text: &mut String, engine: &Engine, devices: &[Shown<'_>]) {
    section(text, "I/O Active Period Information");
    let rule = "---------- | ---------- ------------- ------------- ------\n";
    let _ = write!(
        text,
        "{:>10} | {:>10} {:>13} {:>13} % Live\n{rule}",
        "DEV", "# Live", "Avg. Act", "Avg. !Act"
    );
    for Shown { device, name, .. } in devices {
        periods(text, name, &device.live);
    }
    text.push_str(rule);
    periods(text, "Total Sys", &engine.live);
    text.push('\n');
}

fn periods(text: &mut String, title: &str, live: &Live) {
    let summary = live.summary();
    let (act, lull, share) = summary.btt();
    let _ = writeln!(
        text,
        "{title:>10} | {:>10} {act:>13.9} {lull:>13.9} {share:>6.2}",
        summary.periods
    );
}

pub(super) fn q2d(text: &mut String, devices: &[Shown<'_>]) {
    section(text, "Q2D Histogram");
    let _ = write!(text, "{:>10} | ", "DEV");
    for title in [
        "<.005", "<.010", "<.025", "<.050", "<.075", "<.100", "<.250", "<.500", "< 1.0",
    ] {
        let _ = write!(text, "{title:>5} ");
    }
    let rule = format!("| {}\n", "===== ".repeat(10));
    let _ = write!(text, ">=1.0\n --------- {rule}");
    let mut sums = [0; 10];
    let waited = |shown: &&Shown<'_>| shown.device.q2d.iter().any(|&n| n > 0);
    for Shown { device, name, .. } in devices.iter().filter(waited) {
        classes(text, name, &device.q2d);
        sums = std::array::from_fn(|i| sums[i] + device.q2d[i]);
    }
    if sums.iter().any(|&n| n > 0) {
        let _ = write!(text, "========== {rule}");
        classes(text, "AVG", &sums);
        text.push('\n');
    }
}

fn classes(text: &mut String, title: &str, counts: &[u64; 10]) {
    let all: u64 = counts.iter().sum();
    let _ = write!(text, "{title:>10} | ");
    for &count in counts {
        let _ = write!(text, "{:>5.1} ", 100.0 * count as f64 / all as f64);
    }
    text.push('\n');
}
