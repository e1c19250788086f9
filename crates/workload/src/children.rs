//! The children of a phase, as the parent that starts, watches and joins them sees them.
//!
//! iozone's children and fs_mark's processes are threads of one kind: all wait at a [`Gate`] until
//! the last is READY, look at the same [`Flags`], and show how far they are in a counter each.

use std::any::Any;
use std::time::Duration;

use crate::Observer;
use crate::engine::{ABORT, Counter, Flags};
use crate::gate::Gate;

/// How often a parent looks around: for an interrupt, and to show progress.
pub(crate) const TICK: Duration = Duration::from_millis(200);

/// What the parent and its children share.
pub(crate) struct Children {
    pub(crate) gate: Gate,
    pub(crate) flags: Flags,
    /// How far each is, by number.
    pub(crate) done: Vec<Counter>,
}

impl Children {
    /// For this number of children, none of them started.
    pub(crate) fn new(number: usize) -> Children {
        Children {
            gate: Gate::default(),
            flags: Flags::default(),
            done: (0..number).map(|_| Counter::default()).collect(),
        }
    }

    /// Keep this inside the scope of the threads: it lets the children go when the parent leaves
    /// early, because the observer panicked; the scope waits for them before it lets the panic
    /// through. In every other case all have been joined.
    pub(crate) fn let_go_at_the_end(&self) -> LetGo<'_> {
        LetGo(self)
    }

    /// Stops the children when the observer asks for it; whether it does.
    pub(crate) fn cancel_if_asked(&self, observer: &dyn Observer) -> bool {
        let asked = observer.cancelled();
        if asked {
            self.flags.raise(ABORT);
        }
        asked
    }

    /// Sum of the progress of all children.
    pub(crate) fn all_done(&self) -> u64 {
        self.done.iter().map(Counter::get).sum()
    }
}

/// See [`Children::let_go_at_the_end`].
pub(crate) struct LetGo<'a>(&'a Children);

impl Drop for LetGo<'_> {
    fn drop(&mut self) {
        self.0.flags.raise(ABORT);
        self.0.gate.open();
    }
}

/// The message of a child's panic.
pub(crate) fn last_words(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message")
        .to_owned()
}
