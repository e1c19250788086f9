//! Every sample of the report's cells with its place: what CSV and JSON list.

use std::collections::BTreeSet;

use record::Sample;
use study::{Cell, Clock};

use crate::Report;
use crate::model::Mark;
use crate::options::{Options, Part};

/// One sample and where it comes from.
pub(crate) struct Line<'a> {
    /// Number of its trial, from 0.
    pub trial: u32,
    /// Its block, from 0.
    pub block: u32,
    /// The cell of its trial.
    pub cell: &'a Cell,
    /// The sample, in its stored unit.
    pub sample: &'a Sample,
    /// What speaks against it.
    pub marks: BTreeSet<Mark>,
}

/// Whether more is listed than the tables show.
fn of_all(options: &Options) -> bool {
    options.part != Part::Tables && (options.table.is_none() || options.is_pivot())
}

/// Whether `--metric`, `--clock` and `--table` select a sample. A table selects what it shows; its cells are selected
/// with the report's.
pub(crate) fn selected(report: &Report<'_>, sample: &Sample) -> bool {
    let options = report.options;
    let is_shown = || {
        let series = (sample.phase.as_str(), sample.metric.as_str(), sample.clock);
        shown(report).any(|shown| shown == series)
    };
    options.metric.as_ref().is_none_or(|m| *m == sample.metric)
        && options.clock.is_none_or(|clock| clock == sample.clock)
        && (of_all(options) || is_shown())
}

/// Phase, metric and clock of everything that the report's tables, grids and questions of growth show.
fn shown<'a>(report: &'a Report<'_>) -> impl Iterator<Item = (&'a str, &'a str, Clock)> {
    let rows = report.tables.iter().flat_map(|table| &table.rows);
    let rows = rows.filter_map(|r| Some((r.phase.as_deref()?, r.metric.as_deref()?, r.clock?)));
    let panels = report.grids.iter().flat_map(|grid| &grid.panels);
    let heads = panels.flat_map(|panel| &panel.columns);
    let heads = heads.map(|h| (h.phase.as_str(), h.metric.as_str(), h.clock));
    let laws = report.growths.iter();
    let laws = laws.map(|g| (g.phase.as_str(), g.metric.as_str(), g.clock));
    rows.chain(heads).chain(laws)
}

/// The samples in running order.
pub(crate) fn lines<'a>(report: &'a Report<'a>) -> impl Iterator<Item = Line<'a>> {
    report.slots().flat_map(move |(slot, trial)| {
        let cell = report.run.plan.cells.get(slot.cell as usize);
        let samples = trial.samples.iter();
        let samples = samples.filter(move |sample| selected(report, sample));
        samples.filter_map(move |sample| {
            let of_trial = |d: &&crate::validity::Doubt| {
                d.trial == slot.trial && d.phase.as_ref().is_none_or(|p| *p == sample.phase)
            };
            Some(Line {
                trial: slot.trial,
                block: slot.block,
                cell: cell?,
                sample,
                marks: report
                    .validity
                    .doubts
                    .iter()
                    .filter(of_trial)
                    .map(|d| d.mark)
                    .collect(),
            })
        })
    })
}
