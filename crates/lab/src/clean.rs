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
    /// Not obeyed, for safety: another user's folder, or a step that no run writes.
    pub refused: Vec<String>,
    /// What could not be undone.
    pub failed: Vec<String>,
    /// What else a reader must know.
    pub notes: Vec<String>,
}

/// Undoes, or with `dry_run` lists, what the runs at or below `dir` left. A run that is
/// still going, or whose folder is refused, is an error when it is `dir` itself; when it is one of
/// many the others are cleaned all the same, and it is reported.
///
/// # Errors
/// When `dir` cannot be read, or as stated above.
pub fn clean(dir: &Path, dry_run: bool) -> Result<Cleaned, Error> {
    let mut cleaned = Cleaned::default();
    if is_run_folder(dir) {
        cleaned.add(rig::clean_up(dir, dry_run)?);
        return Ok(cleaned);
    }
    let entries = fs::read_dir(dir).map_err(|error| {
        Error::Preflight(format!(
            "{}: {error}; name a run's folder or a folder of runs",
            dir.display()
        ))
    })?;
    let mut runs: Vec<_> = entries
        .flatten()
        // A link is not followed: the run that it leads to has its own folder.
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .filter(|run| is_run_folder(run))
        .collect();
    runs.sort();
    for run in runs {
        match rig::clean_up(&run, dry_run) {
            Ok(found) => cleaned.add(found),
            Err(error @ rig::Error::StillRunning { .. }) => cleaned.running.push(error.to_string()),
            Err(error) => cleaned.problem(&error),
        }
    }
    Ok(cleaned)
}

impl Cleaned {
    fn add(&mut self, found: rig::Cleaning) {
        self.undone
            .extend(found.undone.iter().map(ToString::to_string));
        self.notes.extend(found.notes);
        for error in found.failed.iter().chain(&found.refused) {
            self.problem(error);
        }
    }

    fn problem(&mut self, error: &rig::Error) {
        let list = match error.class() {
            rig::Class::Safety => &mut self.refused,
            _ => &mut self.failed,
        };
        list.push(error.to_string());
    }
}

/// Whether a run lives, or lived, in `dir`: it has a log, or a journal of what was made, of any file type.
fn is_run_folder(dir: &Path) -> bool {
    [record::folder::EVENTS, rig::undo::FILE]
        .iter()
        .any(|name| dir.join(name).symlink_metadata().is_ok())
}
