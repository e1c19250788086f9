//! What the passes of a format leave.

use blockio::BlockSource;

use super::affected::{Affected, Harms, Unreachable};
use super::cost::Cost;
use super::log::Findings;
use super::memory::Estimate;
use super::report::{Filesystem, Inventory, Memory, Report, Subject, Unjudged};
use super::usage::Usage;
use super::verdict::{Reference, ReferenceRun, Verdicts};

/// What the passes of a format leave: all of its report but verdicts and costs.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// What was found.
    pub(crate) findings: Findings,
    /// What its problems do to a file.
    pub(crate) harms: Harms,
    /// Files below directories that no name leads to.
    pub(crate) unreachable: Unreachable,
    /// How the reference program would have run, where that is not what its verdict says.
    pub(crate) run: Option<ReferenceRun>,
    /// The filesystem; none where it could not be opened.
    pub(crate) filesystem: Option<Filesystem>,
    /// The memory that was stated.
    pub(crate) estimate: Option<Estimate>,
    /// What could not be judged.
    pub(crate) unjudged: Unjudged,
    /// What the filesystem contains.
    pub(crate) inventory: Option<Inventory>,
    /// The log of the filesystem is not replayed.
    pub(crate) unstable: bool,
}

impl Outcome {
    /// The report on a device: with the costs of the passes and of all together, and the verdicts, one of which follows `reference`.
    pub(crate) fn report(
        self,
        source: &dyn BlockSource,
        (passes, total): (Vec<Cost>, Cost),
        reference: Reference,
        verdicts: Verdicts,
    ) -> Report {
        let block_size = self
            .filesystem
            .as_ref()
            .map_or(0, |fs| fs.block_size.into());
        let affected = Affected::of(&self.findings, self.harms, block_size, &self.unreachable);
        Report {
            affected,
            subject: Subject {
                name: source.name().to_string(),
                bytes: source.len(),
                filesystem: self.filesystem,
            },
            reference: Some(reference),
            verdicts,
            reference_run: self.run,
            unstable: self.unstable,
            mounted: false,
            findings: self.findings,
            next: Vec::new(),
            unjudged: self.unjudged,
            inventory: self.inventory,
            passes,
            total,
            memory: Memory {
                stated_total: self.estimate.as_ref().map(Estimate::total),
                stated: self.estimate,
                peak: Usage::now().peak_memory,
            },
            sequential_rate: None,
        }
    }
}
