//! One block, run on this node.

use std::path::Path;
use std::sync::Arc;

use lab::{Finished, Interrupt, Request, Target, Watcher};

use crate::attempts::Attempt;
use crate::error::Error;
use crate::plan::FleetPlan;
use crate::slurm;

/// What is run: the request for the lab.
///
/// # Errors
/// There is no such fleet or block; its target is not one.
pub fn request(
    run: &Path,
    block: u32,
    tool: String,
    command: Vec<String>,
) -> Result<Request, Error> {
    let fleet = FleetPlan::load(run)?;
    let plan = fleet.of_block(block)?;
    let target: Target = fleet
        .target
        .parse()
        .map_err(|error: lab::target::ParseTargetError| Error::Changed {
            path: run.join(crate::plan::FILE),
            why: error.to_string(),
        })?;
    let attempt = Attempt::take(run, block)?;
    let facts = slurm::facts();
    Ok(Request {
        target,
        why: fleet.why,
        plan,
        node: Some(slurm::node(&facts)),
        part: Some(attempt.name()),
        facts,
        out: attempt.dir,
        command,
        tool,
        tags: fleet.tags,
        noise: Arc::new(lab::noise::Host),
    })
}

/// Runs it. What broke off is left as it is: its folder is undone, and another attempt runs the whole block.
///
/// # Errors
/// As [`lab::start`].
pub fn run(
    request: &Request,
    watcher: &dyn Watcher,
    interrupt: &Interrupt,
) -> Result<Finished, lab::Error> {
    lab::start(request, watcher, interrupt)
}
