//! Undoes what a killed run left on the host.
//!
//! Idempotent, and careful in three directions. It obeys a journal only in a folder that no one but root and the
//! caller may write, and each step only as far as it names what a run makes ([`undo::Task`]). It believes the
//! journal only where the kernel or the filesystem agrees: a loop device is the run's when its backing file is,
//! by any number; a mount when it is below the run's folder and shows a device of the run. And it asks the kernel
//! for what the journal does not know. It touches nothing of a run that lives.
//!
//! Everything below the run's folder is reached by the folder's descriptor and never through a link
//! (docs/security.md). At the end the kernel is asked again: what is still mounted or bound is reported.

mod bounds;
mod files;
mod leftovers;
mod owned;
mod trace;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rundir::{Authority, RunDir};

use crate::undo::{self, Journal, Left, Step, Task};
use crate::{Error, Result};
use leftovers::Leftovers;

/// One thing undone, or to be undone in a dry run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undone {
    /// `block trace`, `device limit`, `mount`, `mapped device`, `md array`, `null_blk device`, `modelled disk`, `loop device`, `image`, `mount point`,
    /// `working folder`, `readahead`, `control group`.
    pub what: &'static str,
    /// Its path or name.
    pub thing: PathBuf,
}

impl std::fmt::Display for Undone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.what, self.thing.display())
    }
}

/// What a clean did, and what it did not.
#[derive(Debug, Default)]
pub struct Cleaning {
    /// Undone, or in a dry run to be undone.
    pub undone: Vec<Undone>,
    /// Not undone because the journal asks for what no run makes, or for what another owns.
    pub refused: Vec<Error>,
    /// Not undone because it did not work.
    pub failed: Vec<Error>,
    /// What else a reader must know, a line each.
    pub notes: Vec<String>,
}

impl Cleaning {
    /// What was undone, or the first problem.
    ///
    /// # Errors
    /// What failed, else what was refused.
    pub fn into_result(self) -> Result<Vec<Undone>> {
        match self.failed.into_iter().chain(self.refused).next() {
            Some(error) => Err(error),
            None => Ok(self.undone),
        }
    }

    /// Sorts a problem to what was refused or to what failed.
    fn problem(&mut self, error: Error) {
        match error {
            Error::Untrusted { .. } => self.refused.push(error),
            _ => self.failed.push(error),
        }
    }
}

/// Undoes everything of the run in `run`. A dry run changes nothing and lists what it would do.
///
/// # Errors
/// As [`clean_up`]; the first thing that cannot be undone, after all others were.
pub fn clean(run: &Path, dry_run: bool) -> Result<Vec<Undone>> {
    clean_up(run, dry_run)?.into_result()
}

/// Does as [`clean()`], and reports every problem.
///
/// # Errors
/// [`Error::StillRunning`] when the run's process lives; [`Error::Untrusted`] when the folder or its journal is another
/// user's, or `run` is a link; [`Error::Copied`].
pub fn clean_up(run: &Path, dry_run: bool) -> Result<Cleaning> {
    clean_folder(undo::open_folder(run, "cannot clean the run")?, dry_run)
}

/// Does as [`clean_up`] for a folder that is open.
///
/// # Errors
/// As [`clean_up`].
pub fn clean_folder(dir: RunDir, dry_run: bool) -> Result<Cleaning> {
    dir.require(Authority::Obeys).map_err(undo::unusable)?;
    if let Some(pid) = undo::living_owner(&dir)? {
        let run = dir.path().into();
        return Err(Error::StillRunning { run, pid });
    }
    let left = undo::peek(&dir)?;
    let known = JournalTasks::of(left, &dir);
    let found = Leftovers::find(&dir, &known.tasks)?;
    if dry_run {
        let mut cleaning = Cleaning {
            undone: trace::traces(&known.tasks),
            refused: known.refused,
            ..Cleaning::default()
        };
        cleaning.undone.extend(bounds::limits(&dir, &known.tasks));
        cleaning.undone.extend(found.list());
        cleaning.undone.extend(bounds::groups(&known.tasks));
        cleaning.refused.extend(found.refused);
        return Ok(cleaning);
    }
    if known.is_empty() && found.is_empty() {
        return Ok(Cleaning {
            refused: found.refused,
            ..Cleaning::default()
        });
    }
    let again = dir.try_clone().map_err(undo::unusable)?;
    match Journal::reopen(dir)? {
        Some(journal) => clean_locked(&journal),
        // The kernel knows of things, and no journal does.
        None => clean_locked(&Journal::open_in(again)?),
    }
}

/// What the kernel still has of the run in `run`: mounts below its folder and loop devices on files in it, in words.
///
/// # Errors
/// When the folder or the kernel's lists cannot be read.
pub fn still_there(run: &Path) -> Result<Vec<String>> {
    let dir = RunDir::open(run).map_err(undo::unusable)?;
    let found = Leftovers::find(&dir, &[])?;
    Ok(found.of_kernel())
}

/// The tasks of a journal, and the steps that are none.
struct JournalTasks {
    tasks: Vec<(u64, Task)>,
    /// Steps of files outside of the run's folder that do not exist: there is nothing to undo.
    gone: Vec<u64>,
    refused: Vec<Error>,
}

impl JournalTasks {
    fn of(left: Left, dir: &RunDir) -> JournalTasks {
        let mut known = JournalTasks {
            tasks: Vec::new(),
            gone: Vec::new(),
            refused: Vec::new(),
        };
        let journal = dir.path().join(undo::FILE);
        let refuse = |number: u64, why: String| Error::Untrusted {
            thing: format!("step {number} of {}", journal.display()),
            why: format!("not undone: {why}"),
            next: "look at it, undo it by hand and remove its line".into(),
        };
        for (number, step) in &left.steps {
            match undo::parse(step, dir.path(), &left.owners) {
                Ok(Some(task)) => known.tasks.push((*number, task)),
                Ok(None) => {}
                Err(_) if is_gone(step) => known.gone.push(*number),
                Err(why) => known.refused.push(refuse(*number, why)),
            }
        }
        for (number, why) in left.unreadable {
            known.refused.push(refuse(number, why));
        }
        known
    }

    fn is_empty(&self) -> bool {
        self.tasks.is_empty() && self.refused.is_empty()
    }
}

/// Whether the file that a step is about does not exist.
fn is_gone(step: &Step) -> bool {
    let (Step::Image { path } | Step::Loop { image: path, .. }) = step else {
        return false;
    };
    let found = path.symlink_metadata();
    found.is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}

/// The same under a journal that is already held: a new run begins where a killed one left.
pub(crate) fn clean_locked(journal: &Arc<Journal>) -> Result<Cleaning> {
    let dir = journal.dir();
    let known = JournalTasks::of(journal.all_left(), dir);
    let mut cleaning = Cleaning {
        refused: known.refused,
        ..Cleaning::default()
    };
    if journal.is_read_only() && !known.tasks.is_empty() {
        cleaning.notes.push(format!(
            "{}: can only be read, so it keeps the steps that are undone now; once it can be written, `fslab clean {}` marks them",
            dir.path().join(undo::FILE).display(),
            dir.path().display()
        ));
    }
    for number in known.gone {
        journal.undone(number)?;
    }
    let (known, unreadable) = (known.tasks, cleaning.refused.len());
    // It has nothing to do with the rest, and slows it down.
    trace::undo(&known, &mut cleaning);
    // First of all: a sync at a trickle would take long, and the device's number is still ours.
    bounds::undo_limits(dir, &known, &mut cleaning);
    let found = undo_in_rounds(dir, &known, &mut cleaning)?;
    found.undo_files(dir, &mut cleaning);
    cleaning.refused.extend(found.refused);
    owned::undo_readahead(&known, &mut cleaning);
    bounds::undo_groups(&known, &mut cleaning);
    let whole = cleaning.failed.is_empty() && cleaning.refused.len() == unreadable;
    for (number, task) in known {
        let certain = matches!(task, Task::Loop { .. } | Task::Mount { .. });
        // A formatted disk stays formatted; its line is what lets the run go on with it.
        if (whole || certain) && !matches!(task, Task::Formatted { .. }) {
            journal.undone(number)?;
        }
    }
    Ok(cleaning)
}

/// Undoes mounts, stacked devices and loop devices. They may be nested in any way (a loop device on an image inside a mount), so
/// rounds go on for as long as they get something undone. What the kernel still has then is a failure.
fn undo_in_rounds(
    dir: &RunDir,
    known: &[(u64, Task)],
    cleaning: &mut Cleaning,
) -> Result<Leftovers> {
    loop {
        let left = Leftovers::find(dir, known)?;
        let before = cleaning.undone.len();
        let mut problems = left.undo_mounts(dir, &mut cleaning.undone);
        problems.extend(left.undo_stacks(&mut cleaning.undone));
        problems.extend(left.undo_loops(dir, &mut cleaning.undone));
        if cleaning.undone.len() > before {
            continue;
        }
        if problems.is_empty() {
            problems.extend(left.stays(dir));
        }
        for problem in problems {
            cleaning.problem(problem);
        }
        return Ok(left);
    }
}
