//! A series and its steps in words.

use compare::format::phrase;
use compare::history::{Series, Step};

/// Longest name of a run, in bytes.
const LONGEST: usize = 120;

/// `write throughput (c)`.
pub(super) fn figure(one: &Series) -> String {
    let clock = one.clock.mark();
    match &one.times {
        compare::context::Times::Real => format!("{} {} {clock}", one.phase, one.metric),
        other => format!("{} {} {clock}, {other}", one.phase, one.metric),
    }
}

/// The cell with its figure.
pub(super) fn name(one: &Series) -> String {
    format!("{}, {}", one.cell, figure(one))
}

/// `-8.3 % (worse) between 2026-01-02 (run-1) and 2026-01-05 (run-4)`.
pub(super) fn words_of(step: &Step) -> String {
    let what = if step.worse { "worse" } else { "better" };
    let [before, after] = &step.labels;
    let [last, first] = step.runs.each_ref().map(|run| words::cut(run, LONGEST));
    format!(
        "{} ({what}) between {before} ({last}) and {after} ({first})",
        phrase::percent(step.ratio)
    )
}
