//! Where a trial runs. Here: in this process. A guest kernel or many ranks may come later, so a
//! trial is a value that serialises, and what happens in it comes back as a stream of events.

use record::{Event, FailureKind, Ledger};
use study::Trial;

/// How a trial ended that did not end well. Everything it made is undone already.
#[derive(Debug)]
pub struct Failure {
    /// What kind.
    pub kind: FailureKind,
    /// One line: what, why, what next.
    pub message: String,
    /// Where the time went.
    pub ledger: Ledger,
    /// Set when no further trial can run: the target was refused, or cannot serve.
    pub fatal: Option<Box<rig::Error>>,
}

/// Takes the events of a trial. `false` means that they cannot be kept: stop.
pub type Emit<'a> = dyn FnMut(Event) -> bool + Send + 'a;

/// Runs trials.
pub trait Executor {
    /// Runs one trial, from a bare device to a bare device. On success the last event it emitted
    /// is [`Event::TrialFinished`].
    ///
    /// # Errors
    /// A [`Failure`], for which the caller writes [`Event::TrialFailed`].
    fn run(&mut self, trial: &Trial, emit: &mut Emit<'_>) -> Result<(), Failure>;
}
