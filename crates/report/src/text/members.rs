//! How phases were shared among the members of a device of several layers.

use super::matrix::Matrix;
use super::wrap;
use crate::members::{Row, Shares};
use crate::numbers::size;

/// What the columns mean.
const MEANING: &str = "Bytes that the members moved by their own counters, the mean of n trials; by \
     device: how many for each byte of the device above (parity, copies, and what it reads to write); \
     the shares of the least and the most loaded member; the members' mean request";

/// Heads of the columns.
const HEADS: [&str; 7] = [
    "n",
    "members",
    "bytes",
    "by device",
    "least",
    "most",
    "request",
];

/// The section.
pub(super) fn print(shares: &Shares, width: usize) -> String {
    let head = "Members: how each phase was shared among the disks of its device";
    let mut out = wrap("", 2, head, width);
    for (name, words) in &shares.devices {
        out.push_str(&wrap(&format!("{name}: "), 2, words, width));
    }
    if shares.rows.is_empty() {
        return out;
    }
    out.push_str(&wrap("", 0, &format!("{MEANING}."), width));
    out.push('\n');
    let matrix = Matrix {
        corner: String::new(),
        columns: HEADS.map(str::to_owned).into(),
        rows: shares.rows.iter().map(cells).collect(),
    };
    out.push_str(&matrix.print(width));
    out
}

fn cells(row: &Row) -> (String, Vec<Vec<String>>) {
    let share = |share: f64| format!("{:.1}%", share * 100.0);
    let cells = [
        row.n.to_string(),
        row.members.to_string(),
        size(row.bytes),
        row.times.map_or("-".into(), |times| format!("{times:.2}")),
        share(row.share.0),
        share(row.share.1),
        size(row.request),
    ];
    let label = format!("{}, {}", row.label, row.phase);
    (label, cells.map(|text| vec![text]).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_read_well() {
        let row = |label: &str, phase: &str, times, most| Row {
            label: label.into(),
            phase: phase.into(),
            n: 5,
            members: 11,
            bytes: 1.181e9,
            times,
            share: (0.0897, most),
            request: 65536.0,
        };
        let shares = Shares {
            rows: vec![
                row("ext4 raid5", "write", Some(1.124), 0.0921),
                row("xfs raid5", "write", None, 0.0933),
            ],
            devices: vec![(
                "raid5".into(),
                "md raid5 of 11 disks, chunk 64k; members: block devices of 103424 KiB; its best \
                 request is 640 KiB"
                    .into(),
            )],
        };
        insta::assert_snapshot!(print(&shares, 78));
    }
}
