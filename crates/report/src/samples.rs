//! Every sample of the report's cells with its place: what CSV and JSON list.

use std::collections::BTreeSet;

use record::Sample;
use study::Cell;

use crate::Report;
use crate::model::Mark;

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

/// The samples in running order.
pub(crate) fn lines<'a>(report: &'a Report<'a>) -> impl Iterator<Item = Line<'a>> {
    report.slots().flat_map(move |(slot, trial)| {
        let cell = report.run.plan.cells.get(slot.cell as usize);
        trial.samples.iter().filter_map(move |sample| {
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
