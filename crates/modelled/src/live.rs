//! A modelled device in real time: a store that answers when the model says.
//!
//! Bytes move at once; only the answer waits. A thread sleeps until the model's next event and calls what waits for it, so that
//! requests of all connections compete in one queue as they would on the device. A front ([`nbd`], [`fuse`]) translates a protocol.
//! The front [`ublk`] has that thread take requests, too: the kernel's driver binds a queue to one thread.

mod direct;
pub mod fuse;
pub mod nbd;
mod pace;
mod priority;
mod store;
#[cfg(test)]
mod tests;
pub mod ublk;

use std::io;
use std::sync::mpsc::{TryRecvError, sync_channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub use device::Served;
use device::{Model, Op};

use self::pace::{Due, Pace, Work};
pub use priority::{Does, in_time, keep_in_memory};
pub use store::Store;

/// What is called when a request is done; it says how long it waited for bytes, ns.
type Answer = Box<dyn FnOnce() -> u64 + Send>;

struct State {
    pace: Pace<Answer>,
    is_over: bool,
}

/// A modelled device with a store.
pub struct Live {
    store: Store,
    volatile_cache: bool,
    origin: Instant,
    state: Mutex<State>,
    changed: Condvar,
}

impl Live {
    /// A device whose bytes are in a store; the store is as large as the device or smaller.
    pub fn new(model: Box<dyn Model>, store: Store) -> Live {
        Live {
            store,
            volatile_cache: model.has_volatile_cache(),
            origin: Instant::now(),
            state: Mutex::new(State {
                pace: Pace::new(model),
                is_over: false,
            }),
            changed: Condvar::new(),
        }
    }

    /// Answers at once from now on, until [`Live::begin`]: what a request takes then is the way to the server and back alone.
    pub fn hold(&self) {
        self.state().pace.set_lead(None);
    }

    /// Answers when the model says, less `lead` ns: what the way to the server and back takes by itself.
    pub fn begin(&self, lead: u64) {
        self.state().pace.set_lead(Some(lead));
    }

    /// Its size, bytes.
    pub fn size(&self) -> u64 {
        self.store.size()
    }

    /// Whether completed writes may be lost without a flush.
    pub fn has_volatile_cache(&self) -> bool {
        self.volatile_cache
    }

    /// What it has done so far.
    pub fn served(&self) -> Served {
        self.state().pace.served()
    }

    /// Ends [`Live::run`]. Requests in flight are not answered.
    pub fn stop(&self) {
        self.state().is_over = true;
        self.changed.notify_all();
    }

    /// Whether it was stopped.
    pub fn is_over(&self) -> bool {
        self.state().is_over
    }

    /// Calls answers when they are due, until [`Live::stop`]. One thread does this.
    pub fn run(&self) {
        let mut state = self.state();
        while !state.is_over {
            let now = self.now();
            let mut due = Vec::new();
            state.pace.advance(now, &mut due);
            if !due.is_empty() {
                drop(state);
                self.give(due);
                state = self.state();
                continue;
            }
            let next = state.pace.next_in(self.now());
            let left = next.map_or(Duration::from_secs(3600), Duration::from_nanos);
            let slept = self.changed.wait_timeout(state, left);
            state = slept.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Reads bytes, and calls `answer` with them when the device would have them.
    ///
    /// # Errors
    /// The range is not in the store, or it cannot be read; `answer` is not called then.
    pub fn read(
        &self,
        offset: u64,
        len: usize,
        answer: impl FnOnce(Vec<u8>) + Send + 'static,
    ) -> io::Result<()> {
        let work = Work {
            op: Op::Read,
            offset,
            len: len as u64,
            fua: false,
        };
        self.serve(work, answer, || self.store.read(offset, len))
    }

    /// Writes bytes, and calls `answer` when the device would have them: on its medium with `fua`.
    ///
    /// # Errors
    /// The range is not in the store, or it cannot be written; `answer` is not called then.
    pub fn write(
        &self,
        offset: u64,
        bytes: &[u8],
        fua: bool,
        answer: impl FnOnce() + Send + 'static,
    ) -> io::Result<()> {
        let work = Work {
            op: Op::Write,
            offset,
            len: bytes.len() as u64,
            fua,
        };
        self.serve(work, |()| answer(), || self.store.write(offset, bytes))
    }

    /// Calls `answer` when all completed writes would be on the medium.
    pub fn flush(&self, answer: impl FnOnce() + Send + 'static) {
        let work = Work {
            op: Op::Flush,
            offset: 0,
            len: 0,
            fua: false,
        };
        let answer = || {
            answer();
            0
        };
        let (due, _) = self.submit(work, Box::new(answer));
        self.give(due);
    }

    /// Gives bytes up: they read as zeros.
    ///
    /// # Errors
    /// As with [`Live::write`].
    pub fn discard(
        &self,
        offset: u64,
        len: u64,
        answer: impl FnOnce() + Send + 'static,
    ) -> io::Result<()> {
        let work = Work {
            op: Op::Discard,
            offset,
            len,
            fua: false,
        };
        self.serve(work, |()| answer(), || self.store.discard(offset, len))
    }

    /// Has the device take a request, and moves its bytes meanwhile: what that takes is part of the time that the device takes. The
    /// answer waits for both.
    fn serve<T: Send + 'static>(
        &self,
        work: Work,
        answer: impl FnOnce(T) + Send + 'static,
        moved: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<()> {
        self.store.within(work.offset, work.len)?;
        let (here, bytes) = sync_channel(1);
        let (due, is_held) = self.submit(
            work,
            Box::new(move || {
                let there = bytes.try_recv();
                let (there, waited) = match there {
                    Err(TryRecvError::Empty) => {
                        let begun = Instant::now();
                        let there = bytes.recv().map_err(|_| TryRecvError::Disconnected);
                        (there, begun.elapsed().as_nanos() as u64)
                    }
                    there => (there, 0),
                };
                // None that could not be moved: its front answers that by itself.
                if let Ok(bytes) = there {
                    answer(bytes);
                }
                waited
            }),
        );
        let (before, own) = if is_held {
            (Vec::new(), due)
        } else {
            (due, Vec::new())
        };
        self.give(before);
        let result = moved().map(|bytes| {
            // The answer may have been dropped with the model.
            let _ = here.send(bytes);
        });
        drop(here);
        self.give(own);
        result
    }

    /// Gives answers that are due. One whose bytes are not there yet waits for them, and those after it wait, too.
    fn give(&self, due: Vec<Due<Answer>>) {
        let mut waited = 0;
        for (answer, lateness) in due {
            waited += answer();
            if waited > 0
                && let Some(lateness) = lateness
            {
                self.state().pace.delayed(lateness, waited);
            }
        }
    }

    /// Submits a request to the model. Returns answers that are due; and whether all are answered at once, this one among them.
    fn submit(&self, work: Work, answer: Answer) -> (Vec<Due<Answer>>, bool) {
        let mut due = Vec::new();
        let mut state = self.state();
        // The clock is read under the lock: the model must not see time go back.
        let now = self.now();
        let is_held = state.pace.is_held();
        state.pace.submit(now, work, answer, &mut due);
        drop(state);
        self.changed.notify_all();
        (due, is_held)
    }

    fn now(&self) -> u64 {
        u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
