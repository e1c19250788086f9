//! What a run reports while it goes on: to a terminal, as periodic lines, as JSON Lines, or to nothing.

use progress::{Progress, Silent};
use record::Entry;
use study::Trial;

/// A consumer of a run's events and progress. The log comes first: an entry is shown only after it is written.
pub trait Watcher: Progress {
    /// An event is in the log.
    fn entry(&self, _entry: &Entry) {}

    /// What the lab is about to do with a trial (`preparing`, `checking`). Steps that begin afterwards are parts of it.
    fn activity(&self, _trial: &Trial, _activity: &str) {}
}

impl Watcher for Silent {}
