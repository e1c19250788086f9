//! What every sign, clock and unit of a report means.

use std::collections::BTreeSet;

use study::Clock;

use super::wrap;
use crate::Report;
use crate::grid::Grid;
use crate::model::{ADVISED, Mark, Table, clock_meaning};
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

fn few_values(figure: &crate::model::Figure) -> bool {
    figure.summary.as_ref().is_some_and(|s| s.n < ADVISED)
}

/// What the ratios are.
pub(crate) fn method(report: &Report<'_>) -> &'static str {
    match report.run.plan.order {
        study::Order::Blocked => {
            "ratio: geometric mean of the ratios within blocks, t interval on logarithms"
        }
        study::Order::Sequential => {
            "ratio: of geometric means, Welch interval on logarithms (no blocks to pair)"
        }
    }
}

/// What few blocks do to an interval, with the coverage that was reached.
pub(crate) fn few(report: &Report<'_>) -> String {
    let reached = report
        .figures()
        .filter(|f| few_values(f))
        .filter_map(|f| f.summary.as_ref()?.median_interval?.achieved)
        .reduce(f64::min);
    let mut text = format!("fewer than {ADVISED} blocks: take the number as a hint");
    if let Some(reached) = reached.filter(|r| *r < report.options.level) {
        text.push_str(&format!(
            "; the median's interval is then the whole range and covers {:.0} % at least, not {:.0} %",
            reached * 100.0,
            report.options.level * 100.0
        ));
    }
    text
}
