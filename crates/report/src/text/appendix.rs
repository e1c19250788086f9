//! What follows the legend: rows for readers of details, in the formats of the tools they are
//! named after, and therefore not wrapped.
//!
//! A footnote shows the layout of 2008 after the results. Today's layout of the same rows is wider
//! than two mails, so it comes last. The page has both side by side.

use record::{Phase, Status, Usage};
use study::{Cell, Slot};

use super::{grid, wrap};
use crate::Report;
use crate::labels::Labels;
use crate::usage::{ELAPSED, OWN, gnu_time, switches};

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

/// A phase and what it used.
type Used<'a> = (&'a Phase, &'a Usage);

/// The usage of a cell's phases in its middle trial.
#[derive(Debug)]
struct OfCell<'a> {
    /// The cell.
    cell: &'a Cell,
    /// The trial and its block.
    slot: Slot,
    /// Finished trials with usage, among which it is the middle one.
    n: usize,
    /// Phases of the trial, with what they used.
    phases: Vec<Used<'a>>,
}

impl OfCell<'_> {
    /// Whether any of its phases ran inside the lab.
    fn has_own(&self) -> bool {
        self.phases.iter().any(|(_, usage)| usage.of == OWN)
    }
}

/// The middle trial of each cell of the report that has usage: by the wall seconds of all its phases,
/// the lower one of two.
fn middle<'a>(report: &Report<'a>) -> Vec<OfCell<'a>> {
    let plan = &report.run.plan;
    let of_cell = |cell: &'a Cell| {
        let mut trials: Vec<(f64, Slot, Vec<Used<'a>>)> = report
            .slots()
            .filter(|(slot, trial)| slot.cell == cell.id && trial.status == Status::Finished)
            .map(|(slot, trial)| {
                let used = |phase: &'a Phase| Some((phase, phase.usage.as_ref()?));
                let phases: Vec<_> = trial.phases.iter().filter_map(used).collect();
                let seconds = phases.iter().map(|(_, usage)| usage.elapsed).sum();
                (seconds, *slot, phases)
            })
            .filter(|(_, _, phases)| !phases.is_empty())
            .collect();
        trials.sort_by(|a, b| a.0.total_cmp(&b.0));
        let n = trials.len();
        let (_, slot, phases) = trials.into_iter().nth(n.checked_sub(1)? / 2)?;
        Some(OfCell {
            cell,
            slot,
            n,
            phases,
        })
    };
    plan.cells.iter().filter_map(of_cell).collect()
}
