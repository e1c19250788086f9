//! How phases were shared among the members of a device of several layers.

use super::matrix::Matrix;
use super::wrap;
use crate::members::{HEADS, MEANING, Row, Shares, TITLE};

/// The section.
pub(super) fn print(shares: &Shares, width: usize) -> String {
    let mut out = wrap("", 2, TITLE, width);
    for (name, words) in &shares.devices {
        out.push_str(&wrap(&format!("{name}: "), 2, words, width));
    }
    if shares.rows.is_empty() {
        return out;
    }
    out.push_str(&wrap("", 0, &format!("{MEANING}."), width));
    out.push('\n');
    let one_line = table(&shares.rows, Row::name);
    if one_line.lines().all(|line| line.chars().count() <= width) {
        out.push_str(&one_line);
    } else {
        out.push_str(&grouped(&shares.rows, width));
    }
    out
}

fn table(rows: &[Row], label: impl Fn(&Row) -> String) -> String {
    let line = |row: &Row| {
        let cells = row.cells().map(|cell| vec![cell]);
        (label(row), cells.into())
    };
    let matrix = Matrix {
        corner: String::new(),
        columns: HEADS.map(str::to_owned).into(),
        rows: rows.iter().map(line).collect(),
    };
    matrix.print(usize::MAX)
}

/// With a line for each cell above its phases: names of cells that have mount options leave a table no room.
fn grouped(rows: &[Row], width: usize) -> String {
    let text = table(rows, |row| format!("  {}", row.phase));
    let mut lines = text.lines();
    let mut out = String::new();
    let mut above = None;
    let put = |out: &mut String, line: &str| {
        out.push_str(line);
        out.push('\n');
    };
    put(&mut out, lines.next().unwrap_or_default());
    for (row, line) in rows.iter().zip(lines) {
        if above != Some(&row.label) {
            out.push_str(&wrap("", 2, &row.label, width));
            above = Some(&row.label);
        }
        put(&mut out, line);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(labels: &[&str]) -> Shares {
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
        let rows = labels.iter().flat_map(|label| {
            [
                row(label, "write", Some(1.124), 0.0921),
                row(label, "read", None, 0.0933),
            ]
        });
        Shares {
            rows: rows.collect(),
            devices: vec![(
                "raid5".into(),
                "md raid5 of 11 disks, chunk 64k; members: block devices of 101 MiB; its best \
                 request is 640 KiB"
                    .into(),
            )],
        }
    }

    #[test]
    fn shares_read_well() {
        insta::assert_snapshot!(print(&shares(&["ext4 raid5", "xfs raid5"]), 78));
    }

    #[test]
    fn long_names_have_lines_of_their_own() {
        let long = "ext4 -o delalloc,journal_async_commit,data=writeback readahead=256";
        let text = print(&shares(&["ext4 readahead=256", long]), 78);
        assert!(
            text.lines().all(|line| line.chars().count() <= 78),
            "{text}"
        );
        insta::assert_snapshot!(text);
    }
}
