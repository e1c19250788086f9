//! Where the run's own time went: the report shows when a lab takes longer than it measures.

use super::wrap;
use crate::Report;
use crate::sentences::time_lines;

/// Two lines: the ledger of all trials, and the process. Empty for a run without both.
pub(super) fn print(report: &Report<'_>, width: usize) -> String {
    let lines = time_lines(report);
    if lines.is_empty() {
        return String::new();
    }
    let mut out = String::from("\nWhere the time went\n");
    for line in lines {
        out.push_str(&wrap("  ", 4, &line, width));
    }
    out
}
