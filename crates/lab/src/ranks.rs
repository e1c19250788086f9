//! Trials on ranks of MPI: what the study and the command line ask for, and what can be known before anything is written.

use std::time::Duration;

use ::ranks::Launcher;
use study::{FleetSpec, Plan};

use crate::error::Error;
use crate::planning::RanksRequest;
use crate::target::Target;

/// Times its estimate that a trial may take without a sign of progress.
const PATIENCE: f64 = 10.0;
/// Seconds that it may take in any case.
const LEAST: f64 = 60.0;

/// The target of a plan whose trials run on ranks in a directory.
pub(crate) fn target(plan: &Plan, named: &Target, asked: &RanksRequest) -> Result<Target, Error> {
    let Target::Directory(dir) = named else {
        return Err(Error::Preflight(
            "--executor mpi needs --dir DIR, a directory that all nodes share".into(),
        ));
    };
    Ok(Target::Ranks {
        dir: dir.clone(),
        launcher: launcher(plan, &plan.fleet, asked),
    })
}

fn launcher(plan: &Plan, fleet: &FleetSpec, asked: &RanksRequest) -> Launcher {
    let estimate = study::estimate::estimate(plan, study::estimate::Rates::default());
    let trial = estimate.seconds / plan.slots.len().max(1) as f64;
    let stall = fleet.stall.unwrap_or_else(|| LEAST.max(PATIENCE * trial));
    let command = match &asked.launcher {
        Some(line) => Launcher::of_line(line).command,
        None => fleet.launcher.clone(),
    };
    Launcher {
        command,
        library: asked.library.clone().or_else(|| fleet.mpi_library.clone()),
        nodes: fleet.nodes,
        patience: Duration::try_from_secs_f64(stall).unwrap_or(Duration::MAX),
    }
}

/// Refuses ranks that only processes can be where nothing starts them.
pub(crate) fn refuse_copies(plan: &Plan) -> Result<(), Error> {
    match plan.cells.iter().find(|cell| cell.workload.copies() > 1) {
        None => Ok(()),
        Some(cell) => Err(Error::Preflight(format!(
            "{}: its {} ranks are processes of MPI; add --executor mpi, or use threads or processes of {}",
            cell.label(),
            cell.workload.copies(),
            cell.workload.kind()
        ))),
    }
}

/// Refuses workloads that do not run on ranks, and a launcher and a library that do not work together: the largest number of ranks is
/// started once, and does nothing.
pub(crate) fn preflight(plan: &Plan, launcher: &Launcher) -> Result<(), Error> {
    let mut most = 0;
    for cell in &plan.cells {
        let ranks = cell.workload.ranks().ok_or_else(|| {
            Error::Preflight(format!(
                "{}: its workload {} {}; leave out --executor mpi for others",
                cell.label(),
                cell.workload.kind(),
                workload::group::each::OTHERS
            ))
        })?;
        most = most.max(ranks);
    }
    let ready = launcher
        .check(most)
        .map_err(|refusal| Error::Preflight(refusal.to_string()))?;
    for cell in &plan.cells {
        if let study::WorkloadSpec::Shared(spec) = &cell.workload
            && spec.ranks == most
        {
            workload::shared::source(spec, &ready.places)
                .map_err(|error| Error::Preflight(format!("{}: {error}", cell.label())))?;
        }
    }
    Ok(())
}
