//! How many bios became how many requests.

use std::fmt::Write;

use super::super::average::Average;
use super::super::device::Device;
use super::shown::{Shown, section};

/// What a device's row of merges says.
pub(super) struct Merged {
    pub(super) queued: u64,
    pub(super) issued: u64,
    pub(super) blocks: Average,
}

pub(super) fn merged(device: &Device) -> Option<Merged> {
    (device.queued > 0 && device.issued > 0).then_some(Merged {
        queued: device.raised(),
        issued: device.issued,
        blocks: device.blocks,
    })
}

pub(super) fn merges(text: &mut String, devices: &[Shown<'_>]) {
    section(text, "Device Merge Information");
    let titles = format!(
        "{:>10} | {:>8} {:>8} {:>7} | {:>8} {:>8} {:>8} {:>8}\n",
        "DEV", "#Q", "#D", "Ratio", "BLKmin", "BLKavg", "BLKmax", "Total"
    );
    let rule = "---------- | -------- -------- ------- | -------- -------- -------- --------\n";
    let _ = write!(text, "{titles}{rule}");
    let mut line = |title: &str, m: &Merged, ratio: f64| {
        let Average {
            min, max, total, ..
        } = m.blocks;
        let _ = writeln!(
            text,
            "{title:>10} | {:>8} {:>8} {ratio:>7.1} | {min:>8} {:>8} {max:>8} {total:>8}",
            m.queued,
            m.issued,
            total / m.issued
        );
    };
    let mut sum: Option<Merged> = None;
    let mut rows = 0;
    for Shown { device, name, .. } in devices {
        let Some(row) = merged(device) else { continue };
        line(name, &row, row.queued as f64 / row.issued as f64);
        rows += 1;
        match &mut sum {
            None => sum = Some(row),
            Some(sum) => {
                sum.queued += row.queued;
                sum.issued += row.issued;
                sum.blocks.min = sum.blocks.min.min(row.blocks.min);
                sum.blocks.max = sum.blocks.max.max(row.blocks.max);
                sum.blocks.total += row.blocks.total;
            }
        }
    }
    if let Some(sum) = sum
        && rows > 1
    {
        let _ = write!(text, "{rule}{titles}");
        let mut total = String::new();
        let Average {
            min,
            max,
            total: blocks,
            ..
        } = sum.blocks;
        let ratio = f64::from(sum.queued as f32 / sum.issued as f32);
        let _ = writeln!(
            total,
            "{:>10} | {:>8} {:>8} {ratio:>7.1} | {min:>8} {:>8} {max:>8} {blocks:>8}",
            "TOTAL",
            sum.queued,
            sum.issued,
            blocks / sum.issued
        );
        text.push_str(&total);
    }
    text.push('\n');
}
