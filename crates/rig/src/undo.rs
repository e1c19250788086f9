//! The undo journal: what this run makes on the host, written down before it is made.
//!
//! A run that ends in any orderly way undoes its mounts, loop devices, images and folders itself.
//! After a kill -9 only two witnesses are left: this journal and the kernel. The journal alone is
//! not enough (a loop device's number is given away again at once, a line may be torn), the kernel
//! alone is not either (an image that is bound to nothing, a folder), so `clean` asks both.
//!
//! One line of JSON for each step, appended with one write; a second line says that it is undone.
//! An exclusive flock(2) on the file is the sign of life of the run: the kernel drops it with the
//! process, which no pid file can promise.
//!
//! The file is not synced: a power cut takes mounts, loop devices and control groups with it, and the images that stay on
//! disk are in the run's folder, where `clean` finds them without the journal.
//!
//! Paths are absolute, so a journal means something else once its folder was copied. Each process
//! therefore writes down where the journal is, by path, device and inode: a copy is refused, and
//! in a folder that was moved only what is below it counts.

pub(crate) mod actions;
mod names;
mod place;
mod read;
mod step;
mod task;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rundir::{Authority, RunDir};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

pub(crate) use names::{Beneath, ControlFile, DeviceNumber, OwnFolder};
pub use place::Place;
use read::{Contents, Entry};
pub use step::{Setting, Step};
pub(crate) use task::{Task, parse};

use crate::fsck::lives;
use crate::{Error, Result};

/// Name of the journal in the run's folder.
pub const FILE: &str = crate::error::JOURNAL;

/// The journal of a living run.
#[derive(Debug)]
pub struct Journal {
    dir: RunDir,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    file: File,
    next: u64,
    /// The last write failed, perhaps half-way: the next line begins on its own line.
    torn: bool,
    /// The file can only be read: what is undone is known in memory alone.
    read_only: bool,
    open: Vec<(u64, Step)>,
    unreadable: Vec<(u64, String)>,
    owners: BTreeSet<u32>,
}

/// What a journal holds that is not undone.
#[derive(Debug, Default)]
pub(crate) struct Left {
    /// Steps, in the order they were made.
    pub(crate) steps: Vec<(u64, Step)>,
    /// Steps that cannot be read, and why.
    pub(crate) unreadable: Vec<(u64, String)>,
    /// Processes that used the journal.
    pub(crate) owners: BTreeSet<u32>,
}

impl Journal {
    /// Opens the journal of the run in `run`, an existing folder, and locks it. What an earlier
    /// process left undone is in [`Journal::left`]. As root, folder and journal must belong to root or to the
    /// caller.
    ///
    /// # Errors
    /// [`Error::Untrusted`]; [`Error::StillRunning`]; [`Error::Copied`].
    pub fn open(run: &Path) -> Result<Arc<Journal>> {
        Journal::open_in(open_folder(run, "cannot use it as the run's folder")?)
    }

    /// Opens the journal of a run whose folder is open.
    pub(crate) fn open_in(dir: RunDir) -> Result<Arc<Journal>> {
        let file = dir.append(FILE).map_err(unusable)?;
        let journal = Journal::of(dir, file, false)?;
        journal.begin()?;
        Ok(Arc::new(journal))
    }

    /// The same to undo what a killed process left. On a filesystem that has become read-only the journal is only read;
    /// what is undone is then known in memory alone. `None`: there is no journal.
    pub(crate) fn reopen(dir: RunDir) -> Result<Option<Arc<Journal>>> {
        let Some(readable) = dir.read_trusted(FILE).map_err(unusable)? else {
            return Ok(None);
        };
        let journal = match dir.append(FILE) {
            Ok(file) => Journal::of(dir, file, false)?,
            Err(rundir::Error::Io { source, .. }) if cannot_write(&source) => {
                Journal::of(dir, readable, true)?
            }
            Err(error) => return Err(unusable(error)),
        };
        journal.begin()?;
        Ok(Some(Arc::new(journal)))
    }

    fn of(dir: RunDir, file: File, read_only: bool) -> Result<Journal> {
        let path = dir.path().join(FILE);
        if let Err(pid) = lock(&file, FlockOperation::NonBlockingLockExclusive, &path)? {
            return Err(Error::StillRunning {
                run: dir.path().into(),
                pid,
            });
        }
        let contents = Contents::read(&file, &path)?;
        let next = contents.next;
        let left = adopt(contents, &Place::of(&dir))?;
        Ok(Journal {
            dir,
            state: Mutex::new(State {
                file,
                next,
                torn: false,
                read_only,
                open: left.steps,
                unreadable: left.unreadable,
                owners: left.owners,
            }),
        })
    }

    /// Ends a torn line and writes down who uses the journal. On a full disk that is done without: it must not stop
    /// what is being undone, and the lock is what counts.
    fn begin(&self) -> Result<()> {
        let path = self.dir.path().join(FILE);
        // A torn last line must not swallow the next: end it.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.owners.insert(std::process::id());
        if state.read_only {
            return Ok(());
        }
        let length = state.file.metadata().map_or(0, |meta| meta.len());
        let torn = length > 0 && !ends_with_newline(&state.file, length);
        if torn {
            state
                .file
                .write_all(b"\n")
                .map_err(|error| Error::io(&path, "cannot write the undo journal", error))?;
        }
        drop(state);
        let number = self.will_make(Step::Opened {
            pid: std::process::id(),
            place: Some(Place::of(&self.dir)),
        })?;
        // Nothing to undo: it is there only so that others can name the owner.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.open.retain(|(n, _)| *n != number);
        Ok(())
    }

    /// The run's folder, canonical.
    pub fn run(&self) -> &Path {
        self.dir.path()
    }

    /// The run's folder, opened.
    pub(crate) fn dir(&self) -> &RunDir {
        &self.dir
    }

    /// Whether the journal can only be read.
    pub(crate) fn is_read_only(&self) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.read_only
    }

    /// Writes down a step before it is done. The number is for [`Journal::undone`].
    pub fn will_make(&self, step: Step) -> Result<u64> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let number = state.next;
        state.next += 1;
        let line = Entry::Made {
            number,
            step: step.clone(),
        };
        self.append(&mut state, &line)?;
        state.open.push((number, step));
        Ok(number)
    }

    /// Writes down that a step is undone.
    pub fn undone(&self, number: u64) -> Result<()> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.open.retain(|(n, _)| *n != number);
        state.unreadable.retain(|(n, _)| *n != number);
        self.append(&mut state, &Entry::Undone { undone: number })
    }

    /// The same where it must not stop what is being undone: on a full disk the line is missing, and
    /// `clean` finds the thing gone.
    pub(crate) fn note_undone(&self, number: u64) {
        if let Err(error) = self.undone(number) {
            tracing::warn!("{error}");
        }
    }

    /// Steps not undone, in the order they were made.
    pub fn left(&self) -> Vec<(u64, Step)> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.open.clone()
    }

    /// The same with what cannot be read, and who used the journal.
    pub(crate) fn all_left(&self) -> Left {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        Left {
            steps: state.open.clone(),
            unreadable: state.unreadable.clone(),
            owners: state.owners.clone(),
        }
    }

    fn append(&self, state: &mut State, line: &Entry) -> Result<()> {
        let path = self.dir.path().join(FILE);
        let failed = |error: io::Error| Error::io(&path, "cannot write the undo journal", error);
        if state.read_only {
            return match line {
                Entry::Undone { .. } => Ok(()),
                Entry::Made { .. } => Err(failed(io::ErrorKind::ReadOnlyFilesystem.into())),
            };
        }
        let mut text = serde_json::to_string(line).map_err(|error| failed(error.into()))?;
        text.push('\n');
        if state.torn {
            text.insert(0, '\n');
        }
        state.torn = true;
        state.file.write_all(text.as_bytes()).map_err(failed)?;
        state.torn = false;
        Ok(())
    }
}

/// Locks the journal. Tried for a moment, because a process that only asks whether the owner lives holds the lock
/// shortly; and for longer where the owner is dead, because a child that it had just forked holds the lock until
/// it has become its program or died too, which on a busy machine takes seconds.
fn lock(
    file: &File,
    operation: FlockOperation,
    path: &Path,
) -> Result<std::result::Result<(), u32>> {
    let begun = Instant::now();
    loop {
        match flock(file, operation) {
            Ok(()) => return Ok(Ok(())),
            Err(Errno::WOULDBLOCK) => {}
            Err(error) => return Err(Error::io(path, "cannot lock it", error)),
        }
        let owner = Contents::read(file, path)?.last_owner;
        let patience = if i32::try_from(owner).is_ok_and(lives) {
            OF_A_LOOK
        } else {
            OF_A_FORK
        };
        if begun.elapsed() > patience {
            return Ok(Err(owner));
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// How long a lock is waited for that a look holds.
const OF_A_LOOK: Duration = Duration::from_millis(300);
/// How long one is waited for that the child of a dead owner holds.
const OF_A_FORK: Duration = Duration::from_secs(10);

/// What the journal in `dir` holds that is not undone, without locking it.
pub(crate) fn peek(dir: &RunDir) -> Result<Left> {
    let path = dir.path().join(FILE);
    match dir.read(FILE).map_err(unusable)? {
        Some(file) => adopt(Contents::read(&file, &path)?, &Place::of(dir)),
        None => Ok(Left::default()),
    }
}

/// The process that holds the journal in `dir`, if one lives.
pub(crate) fn living_owner(dir: &RunDir) -> Result<Option<u32>> {
    let path = dir.path().join(FILE);
    match dir.read(FILE).map_err(unusable)? {
        Some(file) => Ok(lock(&file, FlockOperation::NonBlockingLockShared, &path)?.err()),
        None => Ok(None),
    }
}

/// Opens a run's folder that will be written or obeyed.
pub(crate) fn open_folder(run: &Path, what: &str) -> Result<RunDir> {
    RunDir::open_as(run, Authority::Obeys).map_err(|error| match error {
        rundir::Error::Io { source, .. } => Error::io(run, what, source),
        refused @ rundir::Error::Refused { .. } => unusable(refused),
    })
}

pub(crate) fn unusable(error: rundir::Error) -> Error {
    match error {
        rundir::Error::Refused { path, why, next } => Error::Untrusted {
            thing: path.display().to_string(),
            why,
            next,
        },
        rundir::Error::Io {
            doing,
            path,
            source,
        } => Error::io(&path, &format!("cannot {doing} it"), source),
    }
}

/// Whether the journal is there to be read alone.
fn cannot_write(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied
    )
}

/// The steps of a journal, with their paths as they are here.
fn adopt(contents: Contents, here: &Place) -> Result<Left> {
    let mut left = Left {
        steps: Vec::new(),
        unreadable: contents.unreadable.into_iter().collect(),
        owners: contents.owners,
    };
    for (number, (then, step)) in contents.open {
        if let Some(step) = here.adopt(then.as_ref(), &step)? {
            left.steps.push((number, step));
        } else {
            tracing::warn!(
                "{}: left alone, since the run's folder was moved: {step:?}",
                here.run().display()
            );
        }
    }
    Ok(left)
}

fn ends_with_newline(file: &File, length: u64) -> bool {
    use std::os::unix::fs::FileExt;
    let mut last = [0u8; 1];
    file.read_exact_at(&mut last, length - 1).is_ok() && last[0] == b'\n'
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, OpenOptions};

    fn peeked(folder: &Path) -> Vec<(u64, Step)> {
        peek(&RunDir::open(folder).unwrap()).unwrap().steps
    }

    fn owner_of(folder: &Path) -> Option<u32> {
        living_owner(&RunDir::open(folder).unwrap()).unwrap()
    }

    fn image(name: &str) -> Step {
        Step::Image { path: name.into() }
    }

    #[test]
    fn what_is_not_undone_is_left_and_a_torn_line_is_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::open(folder.path()).unwrap();
        let first = journal.will_make(image("a")).unwrap();
        journal.will_make(image("b")).unwrap();
        journal.undone(first).unwrap();
        drop(journal);
        let path = folder.path().join(FILE);
        let mut text = fs::read_to_string(&path).unwrap();
        text.push_str("{\"number\":9,\"made\":\"ima");
        fs::write(&path, text).unwrap();

        let journal = Journal::open(folder.path()).unwrap();
        let left: Vec<Step> = journal.left().into_iter().map(|(_, step)| step).collect();
        assert_eq!(left, vec![image("b")]);
        journal.will_make(image("c")).unwrap();
        assert_eq!(peeked(folder.path()).len(), 2);
    }

    #[test]
    fn every_step_comes_back_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::open(folder.path()).unwrap();
        let setting = Setting {
            file: "/sys/fs/cgroup/f".into(),
            asked: 10,
            was: 0,
        };
        let steps = [
            image("a"),
            Step::Loop {
                device: "/dev/loop0".into(),
                image: "a".into(),
            },
            Step::MountPoint { path: "p".into() },
            Step::Mount {
                device: "/dev/loop0".into(),
                point: "p".into(),
            },
            Step::Folder { path: "f".into() },
            Step::Readahead {
                device: "/dev/loop0".into(),
                sectors: 256,
                serial: Some("S1".into()),
            },
            Step::Limit {
                device: "/dev/loop0".into(),
                device_number: "7:0".into(),
                settings: vec![setting],
            },
            Step::Group {
                folder: "/sys/fs/cgroup/memory/fslab-1-1".into(),
            },
            Step::Trace {
                changes: serde_json::from_str(
                    r#"{"devices":["/sys/x/trace"],"buffer_kib":8,"clock":"local","on":true}"#,
                )
                .unwrap(),
            },
            Step::Formatted {
                serial: "s".into(),
                uuid: "u".into(),
            },
        ];
        for step in &steps {
            journal.will_make(step.clone()).unwrap();
        }
        let read: Vec<Step> = peeked(folder.path()).into_iter().map(|(_, s)| s).collect();
        assert_eq!(read, steps);
    }

    #[test]
    fn a_journal_that_cannot_be_written_stops_no_undoing() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::open(folder.path()).unwrap();
        let number = journal.will_make(image("a")).unwrap();
        // As on a full disk.
        journal.state.lock().unwrap().file = File::create("/dev/full").unwrap();
        assert!(journal.will_make(image("b")).is_err());
        journal.note_undone(number);
        assert_eq!(journal.left(), Vec::new());
        assert_eq!(peeked(folder.path()).len(), 1, "the line is missing");

        // There is room again, after half a line: the next one must not be lost with it.
        let path = folder.path().join(FILE);
        let mut file = OpenOptions::new().append(true).open(path).unwrap();
        file.write_all(b"{\"undo").unwrap();
        journal.state.lock().unwrap().file = file;
        journal.will_make(image("c")).unwrap();
        journal.will_make(image("d")).unwrap();
        assert_eq!(peeked(folder.path()).len(), 3);
    }

    #[test]
    fn a_child_of_a_dead_owner_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        drop(Journal::open(folder.path()).unwrap());
        let mut gone = std::process::Command::new("true").spawn().unwrap();
        gone.wait().unwrap();
        let path = folder.path().join(FILE);
        let place = Place::of(&RunDir::open(folder.path()).unwrap());
        let step = Step::Opened {
            pid: gone.id(),
            place: Some(place),
        };
        let opened = Entry::Made { number: 1, step };
        fs::write(&path, serde_json::to_string(&opened).unwrap() + "\n").unwrap();
        let held = File::open(&path).unwrap();
        flock(&held, FlockOperation::NonBlockingLockExclusive).unwrap();
        let begun = Instant::now();
        let child = thread::spawn(move || {
            thread::sleep(3 * OF_A_LOOK);
            drop(held);
        });
        assert_eq!(owner_of(folder.path()), None);
        assert!(begun.elapsed() > 2 * OF_A_LOOK);
        child.join().unwrap();
    }

    #[test]
    fn a_living_owner_is_named() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(owner_of(folder.path()), None);
        let journal = Journal::open(folder.path()).unwrap();
        assert_eq!(owner_of(folder.path()), Some(std::process::id()));
        match Journal::open(folder.path()) {
            Err(Error::StillRunning { pid, .. }) => assert_eq!(pid, std::process::id()),
            other => panic!("{other:?}"),
        }
        drop(journal);
        assert_eq!(owner_of(folder.path()), None);
    }
}
