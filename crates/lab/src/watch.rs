//! Progress of a run: a terminal, periodic lines, JSON Lines, or nothing.

use record::Entry;
use study::Trial;
use workload::Progress;

/// A consumer of a run's events. The log comes first: an entry is shown only after it is written.
pub trait Watcher: Sync {
    /// An event is in the log.
    fn entry(&self, _entry: &Entry) {}
    /// What the lab is about to do with a trial (`mkfs.xfs`, `waiting for lazy initialisation`).
    fn step(&self, _trial: &Trial, _step: &str) {}
    /// The workload begins a phase.
    fn phase(&self, _name: &str) {}
    /// How far the workload is.
    fn progress(&self, _progress: &Progress) {}
}

/// Reports nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Watcher for Silent {}
