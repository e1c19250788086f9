//! `fslab clean`: undoes what a killed run left, for one run or for all below a folder.

use std::fs;
use std::path::Path;

use crate::error::Error;

/// Undoes, or with `dry_run` lists, what the runs at or below `dir` left behind. Each line names
/// the thing. A run that is still going is an error when it is `dir` itself, and is left alone,
/// with a line that says so, when it is one of many.
///
/// # Errors
/// When `dir` cannot be read, a run is still going, or something cannot be undone.
pub fn clean(dir: &Path, dry_run: bool) -> Result<Vec<String>, Error> {
    if is_run_folder(dir) {
        return Ok(lines(&rig::clean(dir, dry_run)?));
    }
    let entries = fs::read_dir(dir).map_err(|error| {
        Error::Preflight(format!(
            "{}: {error}; name a run's folder or a folder of runs",
            dir.display()
        ))
    })?;
    let mut undone = Vec::new();
    for entry in entries
        .flatten()
        .filter(|entry| is_run_folder(&entry.path()))
    {
        match rig::clean(&entry.path(), dry_run) {
            Ok(found) => undone.extend(lines(&found)),
            Err(error) => undone.push(format!("left alone: {error}")),
        }
    }
    Ok(undone)
}

fn lines(undone: &[rig::Undone]) -> Vec<String> {
    undone.iter().map(ToString::to_string).collect()
}

/// Whether a run lives, or lived, in `dir`: it has a log, or a journal of what was made.
fn is_run_folder(dir: &Path) -> bool {
    dir.join(record::folder::EVENTS).is_file() || dir.join(rig::undo::FILE).is_file()
}
