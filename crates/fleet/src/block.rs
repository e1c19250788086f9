//! One block, run on this node.

use std::path::Path;
use std::sync::Arc;

use lab::{Finished, Interrupt, Request, Target, Watcher};
use rundir::RunDir;

use crate::attempts::Attempt;
use crate::error::Error;
use crate::plan::{FILE, FleetPlan};
use crate::slurm;

/// A block that is about to run.
#[derive(Debug)]
pub struct Block {
    /// The request for the lab.
    pub request: Request,
    /// The folder of this attempt, which is new.
    dir: RunDir,
}

impl Block {
    /// Takes the next attempt at a block of the fleet in the folder `run`.
    ///
    /// # Errors
    /// There is no such fleet or block, or it must not be obeyed; its target is not one.
    pub fn take(
        run: &Path,
        block: u32,
        tool: String,
        command: Vec<String>,
    ) -> Result<Block, Error> {
        let (folder, fleet) = FleetPlan::open(run)?;
        let plan = fleet.of_block(block)?;
        let target: Target =
            fleet
                .target
                .parse()
                .map_err(|error: lab::target::ParseTargetError| Error::Changed {
                    path: folder.path().join(FILE),
                    why: error.to_string(),
                })?;
        let attempt = Attempt::take(&folder, block)?;
        let facts = slurm::facts();
        let request = Request {
            target,
            why: fleet.why,
            plan,
            node: Some(slurm::node(&facts)),
            part: Some(attempt.name()),
            facts,
            command,
            tool,
            tags: fleet.tags,
            noise: Arc::new(lab::noise::Host),
        };
        let dir = attempt.open(&folder)?;
        Ok(Block { request, dir })
    }

    /// Runs it. What broke off is left as it is: its folder is undone, and another attempt runs the whole block.
    ///
    /// # Errors
    /// As [`lab::start_in`].
    pub fn run(self, watcher: &dyn Watcher, interrupt: &Interrupt) -> Result<Finished, lab::Error> {
        lab::start_in(&self.request, self.dir, watcher, interrupt)
    }
}
