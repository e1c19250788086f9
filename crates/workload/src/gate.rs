//! The barrier of a phase: all children READY, one release, all gone.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::clock::now_ns;

/// iozone's children poll a flag with `select`; these sleep until they are woken, which on a
/// machine with fewer processors than children disturbs the first to start much less.
#[derive(Default)]
pub(crate) struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    ready: u32,
    open: bool,
    gone: u32,
}

impl Gate {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Parent: waits until `children` are READY (or gone), at most `patience`.
    pub(crate) fn all_ready(&self, children: u32, patience: Duration) -> bool {
        let state = self.lock();
        let (state, _) = self
            .changed
            .wait_timeout_while(state, patience, |s| s.ready < children)
            .unwrap_or_else(PoisonError::into_inner);
        state.ready >= children
    }

    /// Parent: BEGIN. Returns the parent's start time, taken when the flag is set and no child
    /// can have seen it yet, so that no child's time is longer than the parent's.
    pub(crate) fn open(&self) -> u64 {
        let mut state = self.lock();
        state.open = true;
        let begin = now_ns();
        drop(state);
        self.changed.notify_all();
        begin
    }

    /// Parent: waits until `children` have exited, at most `patience`.
    pub(crate) fn all_gone(&self, children: u32, patience: Duration) -> bool {
        let state = self.lock();
        let (state, _) = self
            .changed
            .wait_timeout_while(state, patience, |s| s.gone < children)
            .unwrap_or_else(PoisonError::into_inner);
        state.gone >= children
    }

    /// Child: the ticket that reports READY and, at the end, that the child is gone, even if it dies.
    pub(crate) fn ticket(&self) -> Ticket<'_> {
        Ticket {
            gate: self,
            ready: false,
        }
    }
}

/// A child's place at the gate.
pub(crate) struct Ticket<'a> {
    gate: &'a Gate,
    ready: bool,
}

impl Ticket<'_> {
    /// Reports READY and waits for BEGIN.
    pub(crate) fn wait(&mut self) {
        let mut state = self.gate.lock();
        state.ready += 1;
        self.ready = true;
        self.gate.changed.notify_all();
        while !state.open {
            state = self
                .gate
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        let mut state = self.gate.lock();
        state.ready += u32::from(!self.ready);
        state.gone += 1;
        drop(state);
        self.gate.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_millis(20);
    const LONG: Duration = Duration::from_secs(20);

    #[test]
    fn none_passes_before_all_are_ready_and_the_gate_opens() {
        let gate = Gate::default();
        std::thread::scope(|scope| {
            let children: Vec<_> = (0..3)
                .map(|_| {
                    scope.spawn(|| {
                        let mut ticket = gate.ticket();
                        ticket.wait();
                        now_ns()
                    })
                })
                .collect();
            assert!(gate.all_ready(3, LONG));
            assert!(!gate.all_gone(1, SOON));
            let begin = gate.open();
            assert!(gate.all_gone(3, LONG));
            for child in children {
                assert!(child.join().unwrap() >= begin);
            }
        });
    }

    #[test]
    fn a_child_that_dies_does_not_hold_the_parent() {
        let gate = Gate::default();
        drop(gate.ticket());
        assert!(gate.all_ready(1, SOON) && gate.all_gone(1, SOON));
        assert!(!gate.all_ready(2, SOON));
    }
}
