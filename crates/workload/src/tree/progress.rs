//! Progress of a run, reported by a second thread.
//!
//! The working thread only adds to two counters; a second thread, asleep for a tenth of a second
//! at a time, reads them and reports to the observer, so that a slow terminal never costs measured time.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use progress::Step;

use crate::gauge::Gauge;
use crate::{Error, Observer};

/// Counters of all operations, the phase of the one that runs, and the way to stop it.
pub(super) struct Reporter<'a> {
    observer: &'a dyn Observer,
    phase: Mutex<&'static str>,
    bytes: AtomicU64,
    steps: AtomicU64,
    done: AtomicBool,
}

impl<'a> Reporter<'a> {
    pub(super) fn new(observer: &'a dyn Observer) -> Self {
        Reporter {
            observer,
            phase: Mutex::new(""),
            bytes: AtomicU64::new(0),
            steps: AtomicU64::new(0),
            done: AtomicBool::new(false),
        }
    }

    /// An operation of `phase` begins.
    pub(super) fn begin(&self, phase: &'static str) {
        *self.lock() = phase;
    }

    /// A file of `bytes` is done.
    pub(super) fn add(&self, bytes: u64) {
        // One writer: a load and a store are cheaper than a locked addition.
        self.bytes.store(self.bytes.load(Relaxed) + bytes, Relaxed);
    }

    /// The operation is done.
    pub(super) fn step(&self) {
        self.steps.store(self.steps.load(Relaxed) + 1, Relaxed);
    }

    /// The error to return when the run was cancelled.
    pub(super) fn check(&self) -> Result<(), Error> {
        if self.observer.cancelled() {
            return Err(Error::Interrupted {
                phase: (*self.lock()).to_owned(),
            });
        }
        Ok(())
    }

    /// Reports to the observer ten times a second until the [`Stopper`] is dropped: the body of the
    /// reporting thread.
    pub(super) fn report(&self) {
        let gauge = Gauge::new(self.observer);
        let mut shown = "";
        while !self.done.load(Relaxed) {
            std::thread::park_timeout(Duration::from_millis(100));
            let phase = *self.lock();
            if phase != shown {
                shown = phase;
                self.observer.begin(Step::new(phase));
            }
            gauge.read(self.steps.load(Relaxed), self.bytes.load(Relaxed));
        }
    }

    /// Ends [`Reporter::report`] of `thread` when dropped, hence also when the working thread panics:
    /// a scope waits for its threads before it lets a panic through.
    pub(super) fn until_dropped(&'a self, thread: &'a std::thread::Thread) -> Stopper<'a> {
        Stopper {
            reporter: self,
            thread,
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, &'static str> {
        self.phase
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// See [`Reporter::until_dropped`].
pub(super) struct Stopper<'a> {
    reporter: &'a Reporter<'a>,
    thread: &'a std::thread::Thread,
}

impl Drop for Stopper<'_> {
    fn drop(&mut self) {
        self.reporter.done.store(true, Relaxed);
        self.thread.unpark();
    }
}
