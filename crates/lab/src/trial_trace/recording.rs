//! The recording of a trial's traces, from the undo journal to the files.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use blktrace::analysis::window::Window;
use probe::capture::{self, BUFFER, Changes, Mask, Options, Plan, Recording, Summary};
use record::RunFolder;
use rig::Prepared;
use rig::host::Host;
use rig::undo::{Journal, Step};
use rundir::RunDir;
use workload::clock::now_ns;

/// The most bytes that the traces of one trial may take.
const MOST: u64 = 16 << 30;
/// How often their size is looked at.
const LOOK: Duration = Duration::from_millis(250);
/// How long another tracer is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// A device to be traced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Subject {
    /// Its node.
    pub(crate) node: PathBuf,
    /// What it is to the filesystem.
    pub(crate) role: &'static str,
}

impl Subject {
    /// A device by its kernel name.
    pub(crate) fn named(name: &str, role: &'static str) -> Subject {
        Subject {
            // sysfs writes a slash as an exclamation mark (cciss!c0d0).
            node: Path::new("/dev").join(name.replace('!', "/")),
            role,
        }
    }
}

/// The devices of a trial, the filesystem's first. `disk` is the one under the run's folder.
///
/// # Errors
/// One line: a directory that is on no block device.
pub(crate) fn subjects(prepared: &Prepared, disk: Option<&str>) -> Result<Vec<Subject>, String> {
    if let Some(node) = prepared.device_node() {
        let mut all = vec![Subject {
            node: node.to_path_buf(),
            role: "the filesystem's device",
        }];
        let name = prepared.block_name().unwrap_or_default();
        let disk = disk.filter(|_| name.starts_with("loop"));
        all.extend(disk.map(|disk| Subject::named(disk, "the disk under the image")));
        return Ok(all);
    }
    let host = Host::default();
    let root = prepared.mount_point();
    let names = host.device_below(root);
    let name = names.first().map(|name| host.disk_of(name));
    let name = name.ok_or_else(|| {
        format!(
            "{}: it is on {}, which has no block device; name a directory on a disk, or take \
             trace = true away",
            root.display(),
            prepared.facts().mounted_type
        )
    })?;
    Ok(vec![Subject::named(&name, "the disk under the directory")])
}

/// A recording that runs.
pub(crate) struct Traced {
    shared: Arc<Shared>,
    watcher: Option<JoinHandle<()>>,
    journal: Arc<Journal>,
    step: u64,
    changes: Changes,
    subjects: Vec<Subject>,
    /// Folder of the files, and its path within the run's.
    folder: RunDir,
    below: String,
    begin_ns: u64,
    notes: Vec<String>,
    closed: bool,
}

struct Shared {
    out: PathBuf,
    bound: u64,
    state: Mutex<State>,
}

enum State {
    Runs(Box<Recording>),
    /// It reached the bound, and this came of it.
    Full(Result<Vec<Summary>, capture::Error>),
    Over,
}

/// What was recorded.
pub(crate) struct Recorded {
    pub(super) traces: Vec<(Summary, &'static str)>,
    pub(super) out: RunDir,
    pub(super) below: String,
    pub(super) whole: Window,
    pub(super) notes: Vec<String>,
    /// It was stopped at its bound.
    pub(super) full: Option<u64>,
}

impl Traced {
    /// Starts. The first of `subjects` must be traced; the others are left out, and it is noted why,
    /// when they cannot be.
    ///
    /// # Errors
    /// One line: what keeps the first from being traced.
    pub(crate) fn start(
        journal: &Arc<Journal>,
        run: &RunDir,
        trial: u32,
        mut subjects: Vec<Subject>,
    ) -> Result<Traced, String> {
        let below = RunFolder::traces_of(trial);
        // An earlier attempt at this trial.
        let _ = run.remove_tree(&below);
        let made = run.make_folder(&below).and_then(|_| run.below(&below));
        let folder = made.map_err(|error| error.to_string())?;
        let out = folder.reach();
        let mut notes = Vec::new();
        let begun = patiently(|| begin(journal, &subjects, &out));
        let begun = match begun {
            Err(error) if subjects.len() > 1 => {
                notes.push(format!("{} is not traced: {error}", subjects[1].role));
                subjects.truncate(1);
                patiently(|| begin(journal, &subjects, &out))
            }
            begun => begun,
        };
        let (recording, step, changes) =
            begun.map_err(|error| shown(&folder, &error.to_string()))?;
        let shared = Arc::new(Shared {
            bound: bound(&out),
            out,
            state: Mutex::new(State::Runs(Box::new(recording))),
        });
        let theirs = Arc::clone(&shared);
        let watcher = Builder::new().name("fslab-trace-size".into());
        Ok(Traced {
            // Without a thread there is no bound; the trace is as good.
            watcher: watcher.spawn(move || theirs.watch()).ok(),
            shared,
            journal: Arc::clone(journal),
            step,
            changes,
            subjects,
            folder,
            below,
            begin_ns: now_ns(),
            notes,
            closed: false,
        })
    }

    /// Ends it and takes everything back.
    ///
    /// # Errors
    /// One line: what could not be written or restored.
    pub(crate) fn finish(mut self) -> Result<Recorded, String> {
        let end_ns = now_ns();
        let mut full = None;
        let summaries = match self.shared.end() {
            State::Runs(recording) => recording.finish(),
            State::Full(summaries) => {
                full = Some(self.shared.bound);
                summaries
            }
            State::Over => Ok(Vec::new()),
        };
        self.close();
        let summaries = summaries.map_err(|error| shown(&self.folder, &error.to_string()))?;
        let out = self.folder.try_clone().map_err(|error| error.to_string())?;
        let roles = self.subjects.iter().map(|subject| subject.role);
        Ok(Recorded {
            traces: summaries.into_iter().zip(roles).collect(),
            out,
            below: std::mem::take(&mut self.below),
            whole: Window {
                begin_ns: self.begin_ns,
                end_ns,
            },
            notes: std::mem::take(&mut self.notes),
            full,
        })
    }

    fn close(&mut self) {
        if let Some(watcher) = self.watcher.take() {
            watcher.thread().unpark();
            // There is nothing to report.
            let _ = watcher.join();
        }
        if !self.closed {
            self.closed = true;
            close(&self.journal, self.step, &self.changes);
        }
    }
}

impl Drop for Traced {
    /// A trial that failed: its trace goes back with everything else.
    fn drop(&mut self) {
        drop(self.shared.end());
        self.close();
    }
}

/// Why a recording did not begin.
#[derive(Debug, thiserror::Error)]
enum Hindrance {
    #[error(transparent)]
    Capture(#[from] capture::Error),
    #[error(transparent)]
    Journal(#[from] rig::Error),
}

/// Tries again for a while as long as another tracer is active: a look of `trace-cmd` or another run's trial
/// is over soon, and giving up would cost the cell a trial.
fn patiently<T>(mut attempt: impl FnMut() -> Result<T, Hindrance>) -> Result<T, Hindrance> {
    let until = Instant::now() + PATIENCE;
    loop {
        match attempt() {
            Err(Hindrance::Capture(capture::Error::Busy { .. })) if Instant::now() < until => {
                std::thread::sleep(LOOK);
            }
            result => return result,
        }
    }
}

/// Begins to record; what it changes is in the journal before it is changed.
fn begin(
    journal: &Journal,
    subjects: &[Subject],
    out: &Path,
) -> Result<(Recording, u64, Changes), Hindrance> {
    let plan = Plan::new(&Options {
        devices: subjects
            .iter()
            .map(|subject| subject.node.clone())
            .collect(),
        out: out.to_owned(),
        mask: Mask::default(),
        buffer: BUFFER,
    })?;
    let changes = plan.changes().clone();
    let step = journal.will_make(Step::Trace {
        changes: changes.clone(),
    })?;
    match plan.start() {
        Ok(recording) => Ok((recording, step, changes)),
        Err(error) => {
            close(journal, step, &changes);
            Err(error.into())
        }
    }
}

/// What was changed is changed back; else the step stays for `fslab clean`.
fn close(journal: &Journal, step: u64, changes: &Changes) {
    if !changes.in_force() {
        // A line that is missing makes `clean` look once more.
        let _ = journal.undone(step);
    }
}

/// A message with the folder's path in place of the one by which it was reached.
fn shown(folder: &RunDir, message: &str) -> String {
    let (reach, path) = (folder.reach(), folder.path());
    message.replace(&*reach.to_string_lossy(), &path.to_string_lossy())
}

fn bound(out: &Path) -> u64 {
    let free = rustix::fs::statvfs(out).map(|stat| stat.f_bavail.saturating_mul(stat.f_frsize));
    free.map_or(MOST, |free| (free / 4).min(MOST))
}

impl Shared {
    fn end(&self) -> State {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *state, State::Over)
    }

    /// Stops the recording when its files have become too large.
    fn watch(&self) {
        loop {
            std::thread::park_timeout(LOOK);
            let size = size(&self.out);
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            match std::mem::replace(&mut *state, State::Over) {
                State::Runs(recording) if size < self.bound => *state = State::Runs(recording),
                State::Runs(recording) => *state = State::Full(recording.finish()),
                other => {
                    *state = other;
                    return;
                }
            }
        }
    }
}

/// Bytes of the files in a folder.
fn size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.filter_map(|entry| Some(entry.metadata().ok()?.len()));
    sizes.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slash_in_a_name_is_an_exclamation_mark_in_sysfs() {
        let subject = Subject::named("cciss!c0d0", "x");
        assert_eq!(subject.node, Path::new("/dev/cciss/c0d0"));
    }

    #[test]
    fn a_busy_tracer_is_waited_for_and_nothing_else() {
        let busy = || capture::Error::Busy {
            thing: "the tracer".into(),
            why: "blk".into(),
        };
        let mut tries = 0;
        let result = patiently(|| {
            tries += 1;
            if tries < 3 {
                Err(busy().into())
            } else {
                Ok(tries)
            }
        });
        assert_eq!(result.unwrap(), 3);
        let result: Result<(), _> = patiently(|| {
            tries += 1;
            Err(capture::Error::NoDevice.into())
        });
        assert!(result.is_err() && tries == 4);
    }
}
