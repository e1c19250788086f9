//! "Was it memory?" in the mail: the answers, then the counters of each cell.

use super::columns::columns;
use super::wrap;
use crate::model::Versus;
use crate::numbers::{range, ratio};
use crate::pressure::{Memory, Pair, Row, mib, percent, spread_text, whole};

/// Columns that are left out first where the table is too wide.
const LEAST: [&str; 2] = ["n", "stalls"];

pub(super) fn print(memory: &Memory, width: usize) -> String {
    let mut out = String::from("Was it memory?\n");
    for answer in &memory.answers {
        out.push_str(&wrap(
            &format!("  {}  ", answer.filesystem),
            4,
            &answer.sentence(),
            width,
        ));
    }
    let mut quiet: Vec<&str> = Vec::new();
    let mut trials = 0;
    for (phase, rows) in memory.by_phase() {
        if phase != "check" && !rows.iter().any(|row| row.pressed()) {
            quiet.push(phase);
            trials += rows.iter().map(|row| row.n()).sum::<usize>();
            continue;
        }
        let mut head =
            format!("{phase}, each trial: median, and (largest) where it differs; pages of 4 KiB");
        if rows.iter().any(|row| row.limit.is_some()) {
            head.push_str(
                "; peak of the group since the trial began and its limit in MiB, how often this phase \
                 met it (the kernel does not count what is reclaimed inside a group: -)",
            );
        }
        if rows.iter().any(|row| row.inode_share.is_some()) {
            head.push_str("; inodes over memory");
        }
        out.push('\n');
        out.push_str(&wrap("  ", 4, &head, width));
        out.push_str(&fitting(counters(&rows), 1, width));
    }
    if !quiet.is_empty() {
        let text = format!(
            "{}: no page swapped, none reclaimed, no limit met, {trials} of {trials} phases",
            quiet.join(", ")
        );
        out.push('\n');
        out.push_str(&wrap("  ", 4, &text, width));
    }
    let pairs: Vec<&Pair> = memory
        .pairs
        .iter()
        .filter(|p| p.seconds.is_some())
        .collect();
    if !pairs.is_empty() {
        let head = format!(
            "check with less memory over the same with more: time, and bytes read; {} comparisons \
             corrected together",
            memory.family
        );
        out.push('\n');
        out.push_str(&wrap("  ", 4, &head, width));
        out.push_str(&fitting(ratios(&pairs), 2, width));
    }
    out
}

fn counters(rows: &[&Row]) -> Vec<Vec<String>> {
    let limited = rows.iter().any(|row| row.limit.is_some());
    let shares = rows.iter().any(|row| row.inode_share.is_some());
    let mut head = vec!["cell", "n", "swapped", "reclaimed", "stalls"];
    if limited {
        head.extend(["peak/limit", "met"]);
    }
    if shares {
        head.push("inodes");
    }
    let mut table = vec![head.into_iter().map(str::to_owned).collect()];
    for row in rows {
        let mut line = vec![
            row.label.clone(),
            row.n().to_string(),
            spread_text(&row.swapped, whole),
            row.reclaimed_text(),
            row.stalls_text(),
        ];
        if limited {
            let limit = row
                .limit
                .map(|limit| format!("{}/{}", spread_text(&row.peak, mib), mib(limit)));
            line.push(limit.unwrap_or_else(|| "no limit".to_owned()));
            line.push(spread_text(&row.met, whole));
        }
        if shares {
            line.push(row.inode_share.map_or_else(|| "-".to_owned(), percent));
        }
        table.push(line);
    }
    table
}

/// The table without as many of the least columns as make it fit.
fn fitting(mut table: Vec<Vec<String>>, left: usize, width: usize) -> String {
    let mut least = LEAST.iter();
    loop {
        let out = columns(&table, left, 2);
        let fits = out.lines().all(|line| line.chars().count() <= width);
        let Some(name) = least.next().filter(|_| !fits) else {
            return if fits { out } else { spelled(&table, width) };
        };
        if let Some(at) = table[0].iter().position(|head| head == name) {
            for row in &mut table {
                row.remove(at);
            }
        }
    }
}

/// A table that no terminal of this width holds, as a paragraph for each row.
fn spelled(table: &[Vec<String>], width: usize) -> String {
    let (head, rows) = table.split_at(1);
    let mut out = String::new();
    for row in rows {
        let cells = head[0].iter().zip(row).skip(1);
        let cells: Vec<String> = cells
            .map(|(name, value)| format!("{name} {value}"))
            .collect();
        out.push_str(&wrap(
            &format!("    {}: ", row[0]),
            6,
            &cells.join(", "),
            width,
        ));
    }
    out
}

fn ratios(pairs: &[&Pair]) -> Vec<Vec<String>> {
    let head = ["cell", "memory", "time", "", "", "bytes", ""];
    let mut table: Vec<Vec<String>> = vec![head.map(str::to_owned).into()];
    for pair in pairs {
        let mut row = vec![
            if pair.label == pair.filesystem {
                pair.label.clone()
            } else {
                format!("{} {}", pair.filesystem, pair.label)
            },
            format!("{} / {}", pair.memory[1], pair.memory[0]),
        ];
        let sign = pair
            .seconds
            .as_ref()
            .map(|v| v.difference.sign().to_string());
        row.extend(versus(pair.seconds.as_ref()));
        row.push(sign.unwrap_or_default());
        row.extend(versus(pair.read.as_ref()));
        table.push(row);
    }
    table
}

/// Ratio and interval.
fn versus(versus: Option<&Versus>) -> [String; 2] {
    let Some(versus) = versus else {
        return ["-".to_owned(), String::new()];
    };
    let interval = versus.interval;
    [
        ratio(versus.ratio),
        interval.map_or(String::new(), |(low, high)| range(low, high, ratio)),
    ]
}
