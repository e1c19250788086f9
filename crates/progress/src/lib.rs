//! Progress reports of long operations, and cancellation.
//!
//! Everything that takes longer than a moment takes a `&dyn` [`Progress`]: checkers, forges, workloads, mkfs, the wait for lazy
//! initialisation, guests. It reports what it does and how much of it is done, and asks whether to stop. The implementation decides what
//! is drawn and where: the terminal of `fslab`, the channel of a guest, [`Recorder`] in tests, or [`Silent`].
//!
//! An operation is a sequence of steps. A step has a name and, where that is known, an amount in one unit. An operation that knows its
//! whole amount in advance reports it with [`Progress::foresee`]; share and time left are then those of the operation, and otherwise
//! those of the step.
//!
//! Amounts are added, not set, so that several threads may report at once. A hot loop counts for itself and reports a batch at a
//! time. Rejected: a bar per operation as indicatif has it, because a line that the caller's thread
//! draws costs measured time; a hierarchy of steps, because every early return would have to close all of them. [`Within`] puts the name of
//! a part before the names of its steps instead.

mod event;
mod recorder;
mod step;
mod within;

pub use event::Event;
pub use recorder::Recorder;
pub use step::{Step, Unit};
pub use within::{Until, Within};

/// Receives progress, and may ask to stop. Called from all threads of an operation; each call should take well under a microsecond,
/// except [`Progress::begin`], [`Progress::end`] and [`Progress::message`], which may take a lock.
///
/// What an implementation does not define goes to [`Progress::inner`]: a layer defines only what it changes.
pub trait Progress: Send + Sync {
    /// Receives what this implementation does not define.
    fn inner(&self) -> &dyn Progress {
        &Silent
    }

    /// A step begins; the step before it is over.
    fn begin(&self, step: Step) {
        self.inner().begin(step);
    }

    /// From here on all remaining steps will cover about this amount, in the unit of the steps. May be called again with a better
    /// estimate.
    fn foresee(&self, amount: u64) {
        self.inner().foresee(amount);
    }

    /// The current step will cover this much more than reported so far.
    fn expect(&self, amount: u64) {
        self.inner().expect(amount);
    }

    /// This much more is done, what was skipped (holes, unreadable ranges) included: a plan that shrinks while it is carried out gives no
    /// useful share.
    fn advance(&self, amount: u64) {
        self.inner().advance(amount);
    }

    /// This many more bytes were read or written. Only for steps whose unit is not [`Unit::Bytes`]: it gives them a rate.
    fn moved(&self, bytes: u64) {
        self.inner().moved(bytes);
    }

    /// The current step is over, and another one need not follow at once.
    fn end(&self) {
        self.inner().end();
    }

    /// A line for the log or the terminal that stays. One line, without a newline at its end.
    fn message(&self, text: &str) {
        self.inner().message(text);
    }

    /// Whether the operation should stop at the next convenient point. Asked once a batch, not once an item.
    fn cancelled(&self) -> bool {
        self.inner().cancelled()
    }
}

/// Reports nothing and never asks to stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Silent;

impl Progress for Silent {
    fn begin(&self, _step: Step) {}
    fn foresee(&self, _amount: u64) {}
    fn expect(&self, _amount: u64) {}
    fn advance(&self, _amount: u64) {}
    fn moved(&self, _bytes: u64) {}
    fn end(&self) {}
    fn message(&self, _text: &str) {}
    fn cancelled(&self) -> bool {
        false
    }
}
