//! What follows the legend: rows for readers of details, in the formats of the tools they are
//! named after, and therefore not wrapped.
//!
//! A footnote shows the layout of 2008 after the results. Today's layout of the same rows is wider
//! than two mails, so it comes last. The page has both side by side.

use super::{grid, wrap};
use crate::Report;
use crate::labels::Labels;
use crate::usage::{ELAPSED, OfCell, gnu_time, middle, switches};

/// Both parts; empty when the run has neither.
pub(super) fn print(report: &Report<'_>, width: usize) -> String {
    let mut out = times(report, width);
    out.push_str(&rows(report, width));
    out
}

/// GNU time's lines for every timed phase.
fn times(report: &Report<'_>, width: usize) -> String {
    let cells = middle(report);
    if cells.is_empty() {
        return String::new();
    }
    let mut title = "GNU time of each phase (middle trial of each cell)".to_owned();
    if cells.iter().any(OfCell::has_own) {
        title.push_str("; ");
        title.push_str(ELAPSED);
    }
    let mut out = wrap("\n\n", 2, &title, width);
    let shown: Vec<&study::Cell> = cells.iter().map(|of| of.cell).collect();
    let labels = Labels::of(&report.run.plan, &shown);
    for cell in &cells {
        out.push('\n');
        out.push_str(&wrap("", 2, &heading(cell, &labels), width));
        for (phase, usage) in &cell.phases {
            let text = format!("{}: {}", usage.of, switches(usage));
            out.push_str(&wrap(&format!("  {}, of ", phase.name), 4, &text, width));
            for line in gnu_time(usage) {
                out.push_str(&line);
                out.push('\n');
            }
        }
    }
    out
}

/// `ext4 readahead=256: trial 3, block 2, the middle of 5`.
fn heading(of: &OfCell<'_>, labels: &Labels) -> String {
    let middle = match of.n {
        1 => String::new(),
        2 => ", the shorter of 2".to_owned(),
        n => format!(", the middle of {n}"),
    };
    format!(
        "{}: trial {}, block {}{middle}",
        labels.of_cell(of.cell),
        of.slot.trial + 1,
        of.slot.block + 1
    )
}

/// The rows of all footnotes in today's layout.
fn rows(report: &Report<'_>, width: usize) -> String {
    let mut out = String::new();
    for table in report.grids.iter().filter(|g| !g.footnotes.is_empty()) {
        let title = format!("The footnotes of {} today's layout", quoted(&table.title));
        out.push_str(&wrap("\n\n", 2, &title, width));
        for (at, footnote) in table.footnotes.iter().enumerate() {
            let middle = &footnote.middle;
            let place = format!("{}, {}", footnote.place, footnote.phase);
            out.push('\n');
            out.push_str(&wrap(&format!("[{}] ", at + 1), 4, &place, width));
            out.push_str(&grid::rows(
                "iostat -x (sysstat 12):",
                &middle.iostat_modern,
            ));
            out.push_str(&grid::rows("top (procps 4):", &middle.top_modern));
        }
    }
    out
}

/// `"Throughput results (in MB/s)" in`.
fn quoted(title: &str) -> String {
    format!("{:?} in", title.trim_end_matches(':'))
}
