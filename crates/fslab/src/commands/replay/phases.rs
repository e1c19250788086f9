//! Phases of a run's trial, for a replay of its block trace.
//!
//! A trace names no phases. That of a trial lies in its run's folder, whose record says when each phase ran, by the same clock.

use std::path::Path;

use blktrace::analysis::window::Window;
use record::{Run, RunFolder};

/// The phases of the trial that a trace is of: those whose requests are theirs alone, checks and their passes among them. None of another trace.
pub(super) fn of_trace(base: &Path) -> Vec<(String, Window)> {
    let Some(trial) = trial(base) else {
        return Vec::new();
    };
    let own = trial.phases.iter().filter(|phase| {
        // A phase without its own counters is between the operations of others.
        phase.usage.is_some()
            || ["check", "scan"]
                .iter()
                .any(|name| phase.name.starts_with(name))
    });
    own.map(|phase| {
        let window = Window {
            begin_ns: phase.begin_ns,
            end_ns: phase.end_ns,
        };
        (phase.name.clone(), window)
    })
    .collect()
}

/// The trial of a base `RUN/traces/trial-N/NAME`, or of its folder.
fn trial(base: &Path) -> Option<record::TrialRecord> {
    let folder = if base.is_dir() { base } else { base.parent()? };
    let folder = folder.canonicalize().ok()?;
    let number: u32 = folder
        .file_name()?
        .to_str()?
        .strip_prefix("trial-")?
        .parse()
        .ok()?;
    let trial = number.checked_sub(1)?;
    let run = folder.parent()?.parent()?;
    if run.join(RunFolder::traces_of(trial)) != folder {
        return None;
    }
    let mut trials = Run::load(run).ok()?.trials;
    (trial < trials.len() as u32).then(|| trials.swap_remove(trial as usize))
}
