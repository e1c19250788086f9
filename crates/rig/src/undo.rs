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
//! Paths are absolute, so a journal means something else once its folder was copied. Each process
//! therefore writes down where the journal lies, by path, device and inode: a copy is refused, and
//! in a folder that was moved only what lies below it counts.

mod step;

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

pub use step::Step;

use crate::fsck::lives;
pub use crate::limits::throttle::Setting;
use crate::{Error, Result};

/// Name of the journal in the run's folder.
pub const FILE: &str = "undo.jsonl";

/// Where a journal lies. The folder's path alone does not tell a run from its copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The run's folder, canonical.
    run: PathBuf,
    /// Its device (`st_dev`).
    dev: u64,
    /// Its inode number.
    ino: u64,
}

impl Place {
    fn of(run: &Path) -> Result<Place> {
        let meta = std::fs::metadata(run)
            .map_err(|error| Error::io(run, "cannot look at the run's folder", error))?;
        Ok(Place {
            run: run.into(),
            dev: meta.dev(),
            ino: meta.ino(),
        })
    }

    /// A step of a journal that lay at `then`, as it is to be understood here; `None` when it
    /// counts no longer. A copy is refused: the original's things are not the copy's to undo.
    fn adopt(&self, then: Option<&Place>, step: &Step) -> Result<Option<Step>> {
        let old = match then {
            Some(then) if then == self => return Ok(Some(step.clone())),
            None => &self.run,
            // Device numbers may change over a reboot.
            Some(then) if then.ino == self.ino && then.run == self.run => &self.run,
            Some(then) if (then.dev, then.ino) == (self.dev, self.ino) && is_missing(&then.run) => {
                &then.run
            }
            Some(then) => {
                return Err(Error::Copied {
                    run: self.run.clone(),
                    original: then.run.clone(),
                });
            }
        };
        Ok(step.moved(old, &self.run))
    }
}

fn is_missing(path: &Path) -> bool {
    path.symlink_metadata()
        .is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum Line {
    Made {
        number: u64,
        #[serde(flatten)]
        step: Step,
    },
    Undone {
        undone: u64,
    },
}

/// The journal of a living run.
#[derive(Debug)]
pub struct Journal {
    run: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    file: File,
    next: u64,
    /// The last write failed, perhaps half-way: the next line begins on a line of its own.
    torn: bool,
    open: Vec<(u64, Step)>,
}

impl Journal {
    /// Opens the journal of the run in `run`, an existing folder, and locks it. What an earlier
    /// process left undone is in [`Journal::left`].
    pub fn open(run: &Path) -> Result<Arc<Journal>> {
        let run = run
            .canonicalize()
            .map_err(|error| Error::io(run, "cannot use it as the run's folder", error))?;
        let path = run.join(FILE);
        let place = Place::of(&run)?;
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(&path)
            .map_err(|error| Error::io(&path, "cannot open the undo journal", error))?;
        if let Err(pid) = lock(&file, FlockOperation::NonBlockingLockExclusive, &path)? {
            return Err(Error::StillRunning { run, pid });
        }
        let lines = read_lines(&file, &path)?;
        let next = lines.iter().map(Line::number).max().map_or(0, |n| n + 1);
        let journal = Journal {
            run,
            state: Mutex::new(State {
                file,
                next,
                torn: false,
                open: still_open(&lines, &place)?,
            }),
        };
        journal.begin(&path, place)?;
        Ok(Arc::new(journal))
    }

    fn begin(&self, path: &Path, place: Place) -> Result<()> {
        // A torn last line must not swallow the next: end it.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let length = state.file.metadata().map_or(0, |meta| meta.len());
        let torn = length > 0 && !ends_with_newline(&state.file, length);
        if torn {
            state
                .file
                .write_all(b"\n")
                .map_err(|error| Error::io(path, "cannot write the undo journal", error))?;
        }
        drop(state);
        let number = self.will_make(Step::Opened {
            pid: std::process::id(),
            place: Some(place),
        })?;
        // Nothing to undo: it is there only so that others can name the owner.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.open.retain(|(n, _)| *n != number);
        Ok(())
    }

    /// The run's folder, canonical.
    pub fn run(&self) -> &Path {
        &self.run
    }

    /// Writes down a step before it is done. The number is for [`Journal::undone`].
    pub fn will_make(&self, step: Step) -> Result<u64> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let number = state.next;
        state.next += 1;
        let line = Line::Made {
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
        self.append(&mut state, &Line::Undone { undone: number })
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

    fn append(&self, state: &mut State, line: &Line) -> Result<()> {
        let path = self.run.join(FILE);
        let failed = |error: io::Error| Error::io(&path, "cannot write the undo journal", error);
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

impl Line {
    fn number(&self) -> u64 {
        match self {
            Line::Made { number, .. } => *number,
            Line::Undone { undone } => *undone,
        }
    }
}

/// Locks the journal. Tried for a moment, because somebody who only asks whether the owner lives holds the lock
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
        let owner = owner(&read_lines(file, path)?);
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

/// Steps that the journal in `run` (canonical) holds and nobody undid, without locking it.
pub(crate) fn peek(run: &Path) -> Result<Vec<(u64, Step)>> {
    let path = run.join(FILE);
    match File::open(&path) {
        Ok(file) => still_open(&read_lines(&file, &path)?, &Place::of(run)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(Error::io(&path, "cannot read the undo journal", error)),
    }
}

/// The process that holds the journal of `run`, if one lives.
pub(crate) fn living_owner(run: &Path) -> Result<Option<u32>> {
    let path = run.join(FILE);
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::io(&path, "cannot read the undo journal", error)),
    };
    Ok(lock(&file, FlockOperation::NonBlockingLockShared, &path)?.err())
}

/// Lines that can be read; a torn or foreign one is passed over (the kernel is asked as well).
fn read_lines(file: &File, path: &Path) -> Result<Vec<Line>> {
    use std::io::Seek;
    let mut reader = BufReader::new(file);
    let failed = |error| Error::io(path, "cannot read the undo journal", error);
    reader.rewind().map_err(failed)?;
    let mut lines = Vec::new();
    for text in reader.split(b'\n') {
        let text = text.map_err(failed)?;
        lines.extend(serde_json::from_slice::<Line>(&text).ok());
    }
    Ok(lines)
}

fn still_open(lines: &[Line], here: &Place) -> Result<Vec<(u64, Step)>> {
    let mut open: Vec<(u64, Option<&Place>, &Step)> = Vec::new();
    let mut place = None;
    for line in lines {
        match line {
            Line::Made {
                step: Step::Opened { place: then, .. },
                ..
            } => place = then.as_ref(),
            Line::Made { number, step } => open.push((*number, place, step)),
            Line::Undone { undone } => open.retain(|(number, ..)| number != undone),
        }
    }
    let mut adopted = Vec::new();
    for (number, then, step) in open {
        if let Some(step) = here.adopt(then, step)? {
            adopted.push((number, step));
        } else {
            tracing::warn!(
                "{}: left alone, since the run's folder was moved: {step:?}",
                here.run.display()
            );
        }
    }
    Ok(adopted)
}

fn owner(lines: &[Line]) -> u32 {
    let opened = lines.iter().rev().find_map(|line| match line {
        Line::Made {
            step: Step::Opened { pid, .. },
            ..
        } => Some(*pid),
        _ => None,
    });
    opened.unwrap_or(0)
}

fn ends_with_newline(file: &File, length: u64) -> bool {
    use std::os::unix::fs::FileExt;
    let mut last = [0u8; 1];
    file.read_exact_at(&mut last, length - 1).is_ok() && last[0] == b'\n'
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

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
        assert_eq!(peek(folder.path()).unwrap().len(), 2);
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
        let read: Vec<Step> = peek(folder.path())
            .unwrap()
            .into_iter()
            .map(|(_, s)| s)
            .collect();
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
        assert_eq!(peek(folder.path()).unwrap().len(), 1, "the line is missing");

        // There is room again, after half a line: the next one must not be lost with it.
        let path = folder.path().join(FILE);
        let mut file = OpenOptions::new().append(true).open(path).unwrap();
        file.write_all(b"{\"undo").unwrap();
        journal.state.lock().unwrap().file = file;
        journal.will_make(image("c")).unwrap();
        journal.will_make(image("d")).unwrap();
        assert_eq!(peek(folder.path()).unwrap().len(), 3);
    }

    #[test]
    fn a_child_of_a_dead_owner_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        drop(Journal::open(folder.path()).unwrap());
        let mut gone = std::process::Command::new("true").spawn().unwrap();
        gone.wait().unwrap();
        let path = folder.path().join(FILE);
        let place = Place::of(folder.path()).unwrap();
        let step = Step::Opened {
            pid: gone.id(),
            place: Some(place),
        };
        let opened = Line::Made { number: 1, step };
        fs::write(&path, serde_json::to_string(&opened).unwrap() + "\n").unwrap();
        let held = File::open(&path).unwrap();
        flock(&held, FlockOperation::NonBlockingLockExclusive).unwrap();
        let begun = Instant::now();
        let child = thread::spawn(move || {
            thread::sleep(3 * OF_A_LOOK);
            drop(held);
        });
        assert_eq!(living_owner(folder.path()).unwrap(), None);
        assert!(begun.elapsed() > 2 * OF_A_LOOK);
        child.join().unwrap();
    }

    #[test]
    fn a_living_owner_is_named() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(living_owner(folder.path()).unwrap(), None);
        let journal = Journal::open(folder.path()).unwrap();
        assert_eq!(
            living_owner(folder.path()).unwrap(),
            Some(std::process::id())
        );
        match Journal::open(folder.path()) {
            Err(Error::StillRunning { pid, .. }) => assert_eq!(pid, std::process::id()),
            other => panic!("{other:?}"),
        }
        drop(journal);
        assert_eq!(living_owner(folder.path()).unwrap(), None);
    }
}
