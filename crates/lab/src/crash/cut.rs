//! A power cut while a trial runs: the moment, what was promised until then, and a witness that it came.
//!
//! dm-flakey is under the filesystem. At the moment its table is exchanged for one that keeps nothing any more (or fails each
//! write, as the device was made), which no request sees half of. A machine without power would not go on, so the workload is
//! stopped; the filesystem is unmounted without anything of that reaching the disk, and the disk is what the cut has left.
//!
//! Two moments can be chosen. After a phase everything has just been synced, so all of it is promised. In the middle of a
//! phase the filesystem writes what it likes; promised is what was there when the phase began, and is untouched since.
//!
//! A cut that never came looks just like a filesystem that lost nothing. So a witness is written and synced after it, and has to be
//! gone later.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use record::PowerCut;
use rig::device::PowerSwitch;
use rundir::RunDir;
use serde::{Deserialize, Serialize};
use study::CrashSpec;

use super::durability::Promise;
use crate::error::Error;

/// The witness's name at the root of the filesystem.
pub(super) const WITNESS: &str = "written-after-the-power-cut";

/// The file of a trial's promise, below the run's folder.
pub(crate) fn file_of(trial: u32) -> PathBuf {
    PathBuf::from(format!("promises/trial-{:04}.json", trial + 1))
}

/// A cut that came, as the trial leaves it to be judged.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Came {
    pub(super) cut: PowerCut,
    pub(super) promise: Promise,
    pub(super) notes: Vec<String>,
}

impl Came {
    /// Keeps it in a run's folder.
    pub(crate) fn keep(&self, run: &RunDir, trial: u32) -> Result<(), Error> {
        let name = file_of(trial);
        let bytes = serde_json::to_vec(self).map_err(|error| Error::File {
            path: run.path().join(&name),
            source: error.into(),
        })?;
        Ok(run.replace(name, &bytes).map_err(record::Error::from)?)
    }

    /// Whether a phase was broken off by it.
    pub(crate) fn is_within(&self) -> bool {
        self.cut.after_seconds.is_some()
    }

    /// That phase, or the one after which it came.
    pub(crate) fn phase(&self) -> &str {
        &self.cut.phase
    }

    pub(super) fn read(path: &Path) -> Result<Came, Error> {
        let read = std::fs::read(path).and_then(|bytes| Ok(serde_json::from_slice(&bytes)?));
        read.map_err(|source| Error::File {
            path: path.to_owned(),
            source,
        })
    }
}

/// Cuts the power of a trial's device once.
pub(crate) struct Cutter {
    phase: Option<String>,
    after: Option<Duration>,
    switch: PowerSwitch,
    root: PathBuf,
    /// Whether there is no power any more, or never will be a cut: either way the workload has nothing more to do.
    over: Arc<AtomicBool>,
    state: Mutex<State>,
}

enum State {
    Before,
    /// Within the phase of this name.
    Within {
        phase: String,
        timer: Timer,
    },
    Cut(Moment),
    Failed(String),
}

/// The power is off.
struct Moment {
    phase: String,
    /// Seconds from its beginning; none: it came after it.
    after: Option<f64>,
    promise: Promise,
    notes: Vec<String>,
}

impl Cutter {
    /// Of the device with this switch, whose filesystem is mounted at `root`.
    pub(crate) fn new(spec: &CrashSpec, switch: PowerSwitch, root: &Path) -> Cutter {
        Cutter {
            phase: spec.cut_phase.clone(),
            after: spec.cut_after_ms.map(|ms| Duration::from_millis(ms.into())),
            switch,
            root: root.to_owned(),
            over: Arc::default(),
            state: Mutex::new(State::Before),
        }
    }

    /// Whether the workload is to stop.
    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// A phase is about to begin.
    pub(crate) fn phase_started(&self, name: &str) {
        let (true, Some(after)) = (self.is_wanted(name), self.after) else {
            return;
        };
        self.step(|state| match state {
            State::Before => Ok(State::Within {
                phase: name.to_owned(),
                timer: self.timer(after)?,
            }),
            later => Ok(later),
        });
    }

    /// Cuts the power when this time has passed.
    fn timer(&self, after: Duration) -> Result<Timer, String> {
        let promise = self.promise()?;
        let (switch, over) = (self.switch.clone(), Arc::clone(&self.over));
        let root = self.root.clone();
        let cut = move |begun| {
            let cut = fire(begun, promise, &switch, &root);
            over.store(true, Ordering::Release);
            cut
        };
        Timer::start(Builder::new(), after, cut)
    }

    /// A phase has ended and is reported.
    pub(crate) fn phase_finished(&self, name: &str) {
        self.step(|state| match state {
            State::Before if self.is_wanted(name) => self.cut_after(name, Vec::new()),
            State::Within { phase, timer } if phase == name => match timer.stop() {
                Some(fired) => fired.map(|fired| cut_within(phase, fired)),
                None => self.cut_after(
                    name,
                    vec![format!(
                        "the phase was over before {} ms had passed: the power was cut after it",
                        self.after.unwrap_or_default().as_millis()
                    )],
                ),
            },
            other => Ok(other),
        });
    }

    /// Without a name it is the first that comes.
    fn is_wanted(&self, name: &str) -> bool {
        self.phase.as_deref().is_none_or(|phase| phase == name)
    }

    /// Cuts the power after everything was written.
    fn cut_after(&self, phase: &str, notes: Vec<String>) -> Result<State, String> {
        let promise = self.promise()?;
        self.switch.cut().map_err(|error| error.to_string())?;
        self.over.store(true, Ordering::Release);
        Ok(State::Cut(Moment {
            phase: phase.to_owned(),
            after: None,
            promise,
            notes,
        }))
    }

    fn promise(&self) -> Result<Promise, String> {
        Promise::at(&self.root).map_err(|error| {
            format!(
                "{}: cannot list what is synced: {error}",
                self.root.display()
            )
        })
    }

    /// From one state to the next.
    fn step(&self, next: impl FnOnce(State) -> Result<State, String>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = std::mem::replace(&mut *state, State::Before);
        *state = next(now).unwrap_or_else(|why| {
            self.over.store(true, Ordering::Release);
            State::Failed(why)
        });
    }

    /// The workload has ended, in whatever way. Whether its power was cut before, or that failed.
    ///
    /// A device without power may end a workload by an error, before the thread that cut it has reported.
    pub(crate) fn came(&self) -> bool {
        self.step(|state| match state {
            State::Within { phase, timer } => match timer.stop() {
                Some(fired) => fired.map(|fired| cut_within(phase, fired)),
                None => Ok(State::Before),
            },
            other => Ok(other),
        });
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        !matches!(*state, State::Before)
    }

    /// After the workload, which finished these phases: writes the witness.
    ///
    /// # Errors
    /// The power was never cut: why.
    pub(crate) fn finish(&self, phases: &[&str]) -> Result<Came, String> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match std::mem::replace(&mut *state, State::Before) {
            State::Cut(moment) => Ok(self.witnessed(moment)),
            State::Failed(why) => Err(why),
            State::Before | State::Within { .. } => Err(format!(
                "cut_phase={}: the workload has no such phase; it has {}",
                self.phase.as_deref().unwrap_or_default(),
                phases.join(", ")
            )),
        }
    }

    fn witnessed(&self, moment: Moment) -> Came {
        let sync_after = match witness(&self.root.join(WITNESS)) {
            Ok(()) => "succeeded".to_owned(),
            Err(error) => error.to_string(),
        };
        let Moment {
            phase,
            after,
            promise,
            mut notes,
        } = moment;
        if promise.unlisted > 0 {
            notes.push(format!(
                "{} more were there and are not looked for",
                promise.unlisted
            ));
        }
        if promise.touched > 0 {
            notes.push(format!(
                "{} more were touched between the sync and the cut: nothing was promised of them",
                promise.touched
            ));
        }
        let (promised_bytes, read) = promise.bytes();
        let cut = PowerCut {
            by: format!("dm-flakey ({})", self.switch.failure),
            phase,
            after_seconds: after,
            promised: promise.len(),
            promised_bytes,
            read,
            sync_after,
            ..PowerCut::default()
        };
        Came {
            cut,
            promise,
            notes,
        }
    }
}

fn cut_within(phase: String, (after, promise): Fired) -> State {
    State::Cut(Moment {
        phase,
        after: Some(after),
        promise,
        notes: Vec::new(),
    })
}

fn witness(path: &Path) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(b"this must not be here\n")?;
    file.sync_all()
}

/// Seconds until the cut, and what was promised and untouched by then.
type Fired = (f64, Promise);

/// Cuts the power when its time has come.
struct Timer {
    stop: Sender<()>,
    thread: JoinHandle<Option<Result<Fired, String>>>,
}

impl Timer {
    /// `cut` gets the time of the start.
    fn start(
        thread: Builder,
        after: Duration,
        cut: impl FnOnce(Instant) -> Result<Fired, String> + Send + 'static,
    ) -> Result<Timer, String> {
        let (stop, stopped) = channel();
        let thread = thread.name("fslab-power-cut".into()).spawn(move || {
            let begun = Instant::now();
            // A sender that is gone: the trial has ended with its own error.
            if stopped.recv_timeout(after) != Err(RecvTimeoutError::Timeout) {
                return None;
            }
            Some(cut(begun))
        });
        let thread = thread.map_err(|error| {
            format!("cannot start the thread that cuts the power: {error}; raise the limits of processes and memory")
        })?;
        Ok(Timer { stop, thread })
    }

    /// When it came; none: it had not come yet, and never will.
    fn stop(self) -> Option<Result<Fired, String>> {
        let _ = self.stop.send(());
        let ended = self.thread.join();
        ended.unwrap_or_else(|_| Some(Err("the thread that cuts the power ended early".into())))
    }
}

/// The workload goes on until it is stopped, which is after this: what it removes when it is stopped was promised.
fn fire(
    begun: Instant,
    mut promise: Promise,
    switch: &PowerSwitch,
    root: &Path,
) -> Result<Fired, String> {
    switch.cut().map_err(|error| error.to_string())?;
    let seconds = begun.elapsed().as_secs_f64();
    promise.keep_untouched(root);
    Ok((seconds, promise))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_thread_there_is_one_clear_error() {
        // No address space has room for such a stack.
        let thread = Builder::new().stack_size(1 << 48);
        let cut = |_| Err("never".to_owned());
        let why = Timer::start(thread, Duration::ZERO, cut).err().unwrap();
        assert!(
            why.starts_with("cannot start the thread that cuts the power: "),
            "{why}"
        );
        assert!(!why.contains('\n'), "{why}");
    }

    #[test]
    fn a_timer_that_is_stopped_in_time_cuts_nothing() {
        let cut = |_| Err("cut".to_owned());
        let timer = Timer::start(Builder::new(), Duration::from_secs(1000), cut).unwrap();
        assert!(timer.stop().is_none());
    }
}
