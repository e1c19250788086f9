//! The footnotes of 2008 in a mail: iostat's and top's rows, set as they were then.

use super::wrap;
use crate::grid::{Footnote, Grid};

/// The footnotes of all grids: after the results, or the second grid would begin three hundred lines
/// below the first.
pub(super) fn footnotes(grids: &[Grid], width: usize) -> String {
    let mut out = String::new();
    for grid in grids.iter().filter(|grid| !grid.footnotes.is_empty()) {
        let title = grid.title.trim_end_matches(':');
        out.push_str(&wrap("", 2, &format!("Footnotes of {title:?}:"), width));
        for (at, footnote) in grid.footnotes.iter().enumerate() {
            out.push_str(&print_footnote(at + 1, footnote, width));
        }
        out.push_str("\n\n");
    }
    out
}

/// The sentence and the rows in the layout of 2008; the rows are not wrapped.
fn print_footnote(number: usize, footnote: &Footnote, width: usize) -> String {
    let middle = &footnote.middle;
    let mut out = String::from("-----\n");
    out.push_str(&wrap(
        &format!("[{number}] "),
        4,
        &footnote.sentence(),
        width,
    ));
    out.push_str(&rows("Typical iostat output:", &middle.iostat_classic));
    out.push_str(&rows(
        "and top output (only %CPU > 0 shown):",
        &middle.top_classic,
    ));
    out.push_str("....\n");
    out
}

/// Rows of iostat or top as they are, but for spaces at the ends.
pub(super) fn rows(heading: &str, lines: &[String]) -> String {
    if lines.is_empty() {
        return format!("{heading} none recorded\n");
    }
    let mut out = format!("{heading}\n");
    for line in lines {
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}
