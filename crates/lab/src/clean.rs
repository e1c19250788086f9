//! `fslab clean`: undoes what a killed run left, for one run or for all below a folder.

use std::fs;
use std::path::Path;

use crate::error::Error;

/// What a clean did and what it could not do, a line each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// Undone, or in a dry run to be undone.
    pub undone: Vec<String>,
    /// Runs that are still going: left alone, rightly.
    pub running: Vec<String>,
    /// What could not be undone.
    pub failed: Vec<String>,
}

/// Undoes, or with `dry_run` lists, what the runs at or below `dir` left behind. A run that is
/// still going, or that cannot be undone, is an error when it is `dir` itself; when it is one of
/// many the others are cleaned all the same, and it is told of.
///
/// # Errors
/// When `dir` cannot be read, or as said above.
pub fn clean(dir: &Path, dry_run: bool) -> Result<Cleaned, Error> {
    let mut cleaned = Cleaned::default();
    if is_run_folder(dir) {
        cleaned.undone = lines(&rig::clean(dir, dry_run)?);
        return Ok(cleaned);
    }
    let entries = fs::read_dir(dir).map_err(|error| {
        Error::Preflight(format!(
            "{}: {error}; name a run's folder or a folder of runs",
            dir.display()
        ))
    })?;
    for entry in entries
        .flatten()
        .filter(|entry| is_run_folder(&entry.path()))
    {
        match rig::clean(&entry.path(), dry_run) {
            Ok(found) => cleaned.undone.extend(lines(&found)),
            Err(error @ rig::Error::StillRunning { .. }) => cleaned.running.push(error.to_string()),
            Err(error) => cleaned.failed.push(error.to_string()),
        }
    }
    Ok(cleaned)
}

fn lines(undone: &[rig::Undone]) -> Vec<String> {
    undone.iter().map(ToString::to_string).collect()
}

/// Whether a run lives, or lived, in `dir`: it has a log, or a journal of what was made.
fn is_run_folder(dir: &Path) -> bool {
    dir.join(record::folder::EVENTS).is_file() || dir.join(rig::undo::FILE).is_file()
}
