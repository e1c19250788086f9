//! Distances between I/Os.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::super::device::Device;
use super::super::seek::SeekSummary;
use super::shown::Shown;

/// A line of `...(n more)` under the column of modes.
fn more(text: &mut String, count: u64) {
    let _ = writeln!(text, "\n{:63}...({count} more)", "");
}

pub(super) fn seeks(
    text: &mut String,
    devices: &[Shown<'_>],
    as_btt: bool,
    of: impl Fn(&Device) -> SeekSummary,
) {
    let title = |first: &str| {
        format!(
            "{first:>10} | {:>15} {:>15} {:>15} | {:<15}\n",
            "NSEEKS", "MEAN", "MEDIAN", "MODE"
        )
    };
    let rule = "---------- | --------------- --------------- --------------- | ---------------\n";
    let _ = write!(text, "{}{rule}", title("DEV"));
    let (mut count, mut sum, mut medians) = (0, 0.0, 0);
    let mut modes: BTreeMap<u64, u64> = BTreeMap::new();
    for Shown { device, name, .. } in devices {
        let seeks = of(device);
        if seeks.count == 0 {
            continue;
        }
        let median = if as_btt {
            seeks.btt_median
        } else {
            seeks.median
        };
        let _ = write!(
            text,
            "{:>10} | {:>15} {:>15.1} {median:>15} | {}({})",
            name,
            seeks.count,
            seeks.mean,
            seeks.modes.first().copied().unwrap_or(0),
            seeks.mode_count
        );
        match seeks.mode_ties {
            0 | 1 => text.push('\n'),
            2 => {
                let _ = writeln!(text, " {}", seeks.modes[1]);
            }
            ties => more(text, ties - 1),
        }
        count += seeks.count;
        sum += seeks.count as f64 * seeks.mean;
        medians += u128::from(seeks.count) * u128::from(median);
        for mode in seeks.modes {
            *modes.entry(mode).or_insert(0) += seeks.mode_count;
        }
    }
    if count > 0 {
        let most = modes.values().copied().max().unwrap_or(0);
        let mut equal = modes.iter().filter(|(_, n)| **n == most);
        let mode = equal.next().map_or(0, |(mode, _)| *mode);
        let _ = write!(
            text,
            "{rule}{}{:>10} | {count:>15} {:>15.1} {:>15} | {mode}({most})",
            title("Overall"),
            "Average",
            sum / count as f64,
            medians / u128::from(count)
        );
        match equal.count() {
            0 => text.push('\n'),
            ties => {
                more(text, ties as u64);
                text.push('\n');
            }
        }
    }
    text.push('\n');
}
