//! What every sign, clock and unit of a report means.

use std::collections::BTreeSet;

use study::Clock;

use super::wrap;
use crate::Report;
use crate::grid::Grid;
use crate::model::{Mark, Table, clock_meaning};
use crate::sentences::{few, few_values, method};
use crate::units;

/// The legend: only of what this report has.
pub(super) fn print(report: &Report<'_>, width: usize) -> String {
    let mut out = String::from("Legend\n");
    let mut line = |first: &str, text: &str| out.push_str(&wrap(first, 5, text, width));
    let of_grids = report.grids.iter().flat_map(Grid::clocks);
    let of_tables = report.tables.iter().flat_map(Table::clocks);
    let clocks: BTreeSet<Clock> = of_tables.chain(of_grids).collect();
    for clock in clocks {
        line(
            &format!("{}  ", clock.mark()),
            &format!("clock: {}", clock_meaning(clock)),
        );
    }
    line("     ", units::legend(report.run));
    if tested(&report.tables) {
        line(
            "+ -  ",
            "a difference that counts: + better, - worse than the base",
        );
        line(
            "~    ",
            &format!(
                "not a difference: the ratio's interval does not clear {:.0} % (the practical band), \
             or its p does not after Benjamini-Hochberg over the table's comparisons; {}",
                report.run.plan.band * 100.0,
                method(report)
            ),
        );
        let versus = report.figures().filter_map(|f| f.versus.as_ref());
        if versus.into_iter().any(|v| v.by_correction) {
            let text = "as ~, beside an interval clear of 1: the correction for several comparisons \
                        took the difference";
            line("~c   ", text);
        }
    }
    if report.figures().any(few_values) {
        line("n<5  ", &few(report));
    }
    let marks = report.figures().flat_map(|f| f.marks.iter().copied());
    let marks: BTreeSet<Mark> = marks.collect();
    for mark in marks {
        line(
            &format!("{}    ", mark.sign()),
            &format!("{}: listed above", mark.meaning()),
        );
    }
    out
}

/// Whether anything could be compared by a test.
pub(super) fn tested<'a>(tables: impl IntoIterator<Item = &'a Table>) -> bool {
    let mut figures = tables.into_iter().flat_map(Table::figures);
    figures.any(|f| f.versus.as_ref().is_some_and(|v| v.p.is_some()))
}
