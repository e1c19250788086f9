//! our own group, which the whole process enters for a trial and leaves after it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::statfs;
use rustix::io::Errno;

use super::put;
use crate::undo::{Journal, Step};
use crate::{Error, Result};

/// One process is in one group at a time.
static INSIDE: AtomicBool = AtomicBool::new(false);

/// How long a group may stay busy: a child that has just ended is still in it for a moment.
const PATIENCE: Duration = Duration::from_secs(5);

/// Names tried when a group of that name is there: a killed process of the same id left it.
const NAMES: u32 = 1000;

/// The group, with this process in it.
#[derive(Debug)]
pub(crate) struct Group {
    folder: PathBuf,
    home: PathBuf,
    journal: Arc<Journal>,
    /// The journal's line; none once it is gone.
    step: Option<u64>,
    entered: bool,
}

impl Group {
    /// Makes `fslab-PID-N` below `parent`. `home` is the group to return to.
    pub(crate) fn make(journal: &Arc<Journal>, parent: &Path, home: &Path) -> Result<Group> {
        let pid = std::process::id();
        for number in 1..=NAMES {
            let folder = parent.join(format!("fslab-{pid}-{number}"));
            if folder.exists() {
                continue;
            }
            let step = journal.will_make(Step::Group {
                folder: folder.clone(),
            })?;
            if let Err(error) = fs::create_dir(&folder) {
                journal.note_undone(step);
                if error.kind() == io::ErrorKind::AlreadyExists {
                    continue;
                }
                return Err(refused(&folder, "cannot make a control group", &error));
            }
            return Ok(Group {
                folder,
                home: home.into(),
                journal: journal.clone(),
                step: Some(step),
                entered: false,
            });
        }
        Err(refused(
            parent,
            "cannot make a control group",
            &io::Error::from(io::ErrorKind::AlreadyExists),
        ))
    }

    /// Moves this whole process into it. Children inherit it.
    pub(crate) fn enter(&mut self) -> Result<()> {
        if INSIDE.swap(true, Ordering::SeqCst) {
            return Err(Error::Cannot {
                thing: self.folder.display().to_string(),
                what: "cannot enter the control group".into(),
                why: "another trial of this process holds one".into(),
                next: "finish that trial first".into(),
            });
        }
        self.entered = true;
        let file = self.folder.join("cgroup.procs");
        put(&file, &std::process::id().to_string())
            .map_err(|error| refused(&file, "cannot enter the control group", &error))
    }

    /// A file of it.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Its folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Sets a value of it.
    pub(crate) fn set(&self, name: &str, value: &str) -> Result<()> {
        let file = self.file(name);
        put(&file, value)
            .map_err(|error| refused(&file, &format!("the kernel refused {value:?}"), &error))
    }

    /// Moves this process back where it was and removes the group. Called again it does nothing.
    pub(crate) fn leave(&mut self) -> Result<()> {
        if self.entered {
            let file = self.home.join("cgroup.procs");
            put(&file, &std::process::id().to_string()).map_err(|error| Error::NotUndone {
                thing: self.folder.display().to_string(),
                why: format!("this process cannot return to {}: {error}", file.display()),
                next: format!("write its id to {} by hand", file.display()),
            })?;
            self.entered = false;
            INSIDE.store(false, Ordering::SeqCst);
        }
        if let Some(step) = self.step {
            remove(&self.folder, PATIENCE)?;
            self.step = None;
            self.journal.note_undone(step);
        }
        Ok(())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Err(error) = self.leave() {
            tracing::warn!("{error}");
        }
    }
}

fn refused(thing: &Path, what: &str, error: &io::Error) -> Error {
    Error::Cannot {
        thing: thing.display().to_string(),
        what: what.into(),
        why: error.to_string(),
        next: match error.kind() {
            io::ErrorKind::PermissionDenied => "run as root",
            io::ErrorKind::ReadOnlyFilesystem => {
                "mount the control groups writable, or run outside of the container"
            }
            _ => "see the kernel log (dmesg) for the cause",
        }
        .into(),
    }
}

/// Removes a group of ours; gone already is success. Its page cache goes with it: the kernel is
/// asked to drop what it can (version 1 has a file for that) and hands the rest to the parent.
fn remove(folder: &Path, patience: Duration) -> Result<()> {
    let stays = |why: String, next: &str| {
        Err(Error::NotUndone {
            thing: folder.display().to_string(),
            why,
            next: next.into(),
        })
    };
    if folder.symlink_metadata().is_err() {
        return Ok(());
    }
    if !is_ours(folder) {
        return stays(
            "the journal says control group, but it is not one of ours".into(),
            "look at it and remove it by hand",
        );
    }
    let begun = Instant::now();
    loop {
        // Fails while something is still mapped; rmdir does not depend on it.
        let _ = put(&folder.join("memory.force_empty"), "0");
        match rustix::fs::rmdir(folder) {
            Ok(()) | Err(Errno::NOENT) => return Ok(()),
            Err(Errno::BUSY) if begun.elapsed() < patience => {
                thread::sleep(Duration::from_millis(20));
            }
            Err(Errno::BUSY) => {
                return stays(
                    format!("still holds {}", inhabitants(folder)),
                    "end them, then clean again",
                );
            }
            Err(error) => {
                return Err(Error::io(folder, "cannot remove the control group", error));
            }
        }
    }
}

/// A folder of our naming in a control group filesystem (linux/magic.h).
fn is_ours(folder: &Path) -> bool {
    const V1: i128 = 0x0027_e0eb;
    const V2: i128 = 0x6367_7270;
    let named = folder
        .file_name()
        .is_some_and(|name| name.to_string_lossy().starts_with("fslab-"));
    named && statfs(folder).is_ok_and(|stat| [V1, V2].contains(&i128::from(stat.f_type)))
}

fn inhabitants(folder: &Path) -> String {
    named(&fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default())
}

/// Processes by their IDs, with their names: `bash (pid 12)`.
pub(crate) fn named(pids: &str) -> String {
    let named: Vec<String> = pids
        .split_whitespace()
        .map(|pid| {
            let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            format!("{} (pid {pid})", name.trim())
        })
        .collect();
    if named.is_empty() {
        "a group below it".into()
    } else {
        named.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_no_control_group_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let group = folder.path().join("fslab-1-1");
        fs::create_dir(&group).unwrap();
        let error = remove(&group, Duration::ZERO).unwrap_err().to_string();
        assert!(error.contains("not one of ours"), "{error}");
        assert!(group.is_dir());
        remove(&folder.path().join("fslab-9-9"), Duration::ZERO).unwrap();
    }

    #[test]
    fn a_group_that_cannot_be_made_is_the_cells_trouble_and_not_journalled() {
        let run = tempfile::tempdir().unwrap();
        let journal = Journal::open(run.path()).unwrap();
        let nowhere = run.path().join("none");
        let error = Group::make(&journal, &nowhere, &nowhere).unwrap_err();
        assert_eq!(error.class(), crate::Class::Cell);
        assert!(
            error.to_string().contains("cannot make a control group"),
            "{error}"
        );
        assert_eq!(journal.left(), Vec::new());
    }
}
