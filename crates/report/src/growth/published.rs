//! Published times of checks, found by the number of files that their row names.
//!
//! They are printed beside a projection without a verdict: another machine, another disk, another program,
//! one run.

use study::{Cell, WorkloadSpec};

use super::PublishedPoint;
use crate::published::{Published, Record};

/// Numbers of files this near to each other (as a ratio) are the same: the paper's own 415 and 420
/// million.
const SAME: f64 = 1.02;

/// The times that were published of such cells: of their filesystem, fresh or aged as they are.
pub(super) fn beside(document: &Published, cells: &[&Cell]) -> Vec<PublishedPoint> {
    let Some(cell) = cells.first() else {
        return Vec::new();
    };
    let aged = matches!(cell.workload, WorkloadSpec::Age(_));
    let kind = cell.filesystem.kind.name();
    let mut found: Vec<PublishedPoint> = Vec::new();
    let of_such = |r: &&Record| {
        r.unit == "s" && r.fs.as_deref() == Some(kind) && is_aged(r) == aged && is_time(r)
    };
    for record in document.records.iter().filter(of_such) {
        let Some(y) = record.value else { continue };
        let point = PublishedPoint {
            x: files(&record.row).or_else(|| files(record.footnote.as_deref()?)),
            y,
            row: record.row.clone(),
            document: document.document.short(),
        };
        // The text repeats a number of the table.
        if !found.iter().any(|p| p.x == point.x && p.y == point.y) {
            found.push(point);
        }
    }
    found
}

/// Whether a published number is at `x`.
pub(super) fn is_at(point: &PublishedPoint, x: f64) -> bool {
    point.x.is_some_and(|at| at / x < SAME && x / at < SAME)
}

fn is_aged(record: &Record) -> bool {
    record.row.contains("Fragmented")
}

/// The column of a filesystem in the matrix, or the seconds of a list.
fn is_time(record: &Record) -> bool {
    record.column == "seconds" || record.fs.as_ref() == Some(&record.column)
}

/// The number of files that a text names: `105M`, `10.2M`, `415,000,000`.
fn files(text: &str) -> Option<f64> {
    text.split_whitespace().find_map(|word| {
        let word = word.replace(',', "");
        match word.strip_suffix('M') {
            Some(millions) => millions.parse::<f64>().ok().map(|n| n * 1e6),
            None => word.parse::<f64>().ok().filter(|n| *n >= 1e6),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_name_their_files() {
        assert_eq!(files("72TB 105M"), Some(105e6));
        assert_eq!(files("38TB 10.2M"), Some(10.2e6));
        assert_eq!(files("415,000,000 file case"), Some(415e6));
        assert_eq!(files("105M one-level case (original)"), Some(105e6));
        assert_eq!(files("Fragmented case"), None);
        let at = |x| PublishedPoint {
            x: Some(x),
            y: 1.0,
            row: String::new(),
            document: String::new(),
        };
        assert!(is_at(&at(415e6), 420e6) && !is_at(&at(105e6), 51e6));
    }
}
