//! `fslab clean`: undoes what a killed run left, for one run or for all below a folder.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rundir::RunDir;

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
/// The folder is opened once, and the runs in it by its descriptor: what is listed is what is cleaned.
///
/// # Errors
/// When `dir` is a link or cannot be read, or as stated above.
pub fn clean(dir: &Path, dry_run: bool) -> Result<Cleaned, Error> {
    let mut cleaned = Cleaned::default();
    let opened = RunDir::open_itself(dir).map_err(|error| match error {
        rundir::Error::Io { source, .. } => Error::Preflight(format!(
            "{}: {source}; name a run's folder or a folder of runs",
            dir.display()
        )),
        refused @ rundir::Error::Refused { .. } => record::Error::from(refused).into(),
    })?;
    if is_run_folder(&opened) {
        cleaned.add(rig::clean_folder(opened, dry_run)?);
        return Ok(cleaned);
    }
    for name in opened.names("").map_err(record::Error::from)? {
        // A link is not followed: the run that it leads to has its own folder.
        let Ok(run) = opened.below(OsStr::from_bytes(name.to_bytes())) else {
            continue;
        };
        if !is_run_folder(&run) {
            continue;
        }
        match rig::clean_folder(run, dry_run) {
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
fn is_run_folder(dir: &RunDir) -> bool {
    [record::folder::EVENTS, rig::undo::FILE]
        .iter()
        .any(|name| {
            dir.status(Path::new(name))
                .is_ok_and(|found| found.is_some())
        })
}
