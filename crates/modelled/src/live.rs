//! A modelled device in real time: a store that answers when the model says.
//!
//! Bytes move at once; only the answer waits. A thread sleeps until the model's next event and calls what waits for it, so that
//! requests of all threads compete in one queue as they would on the device. The front [`fuse`] translates a protocol.
//! The front [`ublk`] has that thread take requests, too: the kernel's driver binds a queue to one thread.

mod direct;
pub mod fuse;
mod lead;
mod pace;
mod priority;
mod slots;
mod store;
#[cfg(test)]
mod tests;
pub mod ublk;

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub use device::Served;
use device::{Model, Op};

use self::pace::{Due, Pace, Work};
pub use lead::Lead;
pub use priority::{Does, available_memory, in_time, keep_in_memory};
use slots::{Bytes, HEAD, Slot, Slots};
pub use store::Store;

/// Where answers go: a connection of a front.
trait Front: Send + Sync {
    /// Answers a request, which the front knows by its cookie. A read's answer has room for the front's head, of [`HEAD`] bytes, and
    /// what was read after it; others have that room alone.
    fn answer(&self, cookie: u64, work: Work, answer: &mut [u8]);
}

/// Who waits for a request.
#[derive(Clone)]
struct Waiting {
    front: Arc<dyn Front>,
    cookie: u64,
}

/// What is done when a request is.
struct Answer {
    to: Waiting,
    work: Work,
    slot: Arc<Slot>,
}

type Dues = Vec<Due<Answer>>;

struct State {
    pace: Pace<Answer>,
    is_over: bool,
    /// Empty lists for answers that are due.
    lists: Vec<Dues>,
}

/// A modelled device with a store.
pub struct Live {
    store: Store,
    volatile_cache: bool,
    origin: Instant,
    state: Mutex<State>,
    changed: Condvar,
    slots: Slots,
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
                lists: Vec::with_capacity(slots::ROOM),
            }),
            changed: Condvar::new(),
            slots: Slots::new(),
        }
    }

    /// Answers at once from now on, until [`Live::begin`]: what a request takes then is the way to the server and back alone.
    pub fn hold(&self) {
        self.state().pace.set_lead(None);
    }

    /// Answers when the model says, less what the way to the server and back takes by itself.
    pub fn begin(&self, lead: Lead) {
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

    /// Gives answers when they are due, until [`Live::stop`]. One thread does this.
    pub fn run(&self) {
        let mut due = Vec::with_capacity(slots::ROOM);
        let mut state = self.state();
        while !state.is_over {
            let now = self.now();
            state.pace.advance(now, &mut due);
            if !due.is_empty() {
                drop(state);
                self.give(&mut due);
                state = self.state();
                continue;
            }
            let next = state.pace.next_in(self.now());
            let left = next.map_or(Duration::from_secs(3600), Duration::from_nanos);
            let slept = self.changed.wait_timeout(state, left);
            state = slept.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Reads bytes, and answers with them when the device would have them.
    ///
    /// # Errors
    /// The range is not in the store, or it cannot be read; it is not answered then.
    fn read(&self, to: Waiting, offset: u64, len: usize) -> io::Result<()> {
        let work = Work::new(Op::Read, offset, len as u64);
        self.serve(to, work, self.slots.take(), |slot| {
            let answer = slot.answer(len);
            self.store.read(offset, &mut answer[HEAD..])
        })
    }

    /// Writes bytes, and answers when the device would have them.
    ///
    /// # Errors
    /// The range is not in the store, or it cannot be written; it is not answered then.
    fn write(&self, to: Waiting, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let work = Work::write(offset, bytes.len(), false);
        self.serve(to, work, self.slots.take(), |_| {
            self.store.write(offset, bytes)
        })
    }

    /// Answers when all completed writes would be on the medium.
    fn flush(&self, to: Waiting) {
        let work = Work::new(Op::Flush, 0, 0);
        // It has no bytes that could fail to move.
        let _ = self.serve(to, work, self.slots.take(), |_| Ok(()));
    }

    /// Gives bytes up: they read as zeros.
    ///
    /// # Errors
    /// As with [`Live::write`].
    fn discard(&self, to: Waiting, offset: u64, len: u64) -> io::Result<()> {
        let work = Work::new(Op::Discard, offset, len);
        self.serve(to, work, self.slots.take(), |_| {
            self.store.discard(offset, len)
        })
    }

    /// Has the device take a request, and moves its bytes meanwhile: what that takes is part of the time that the device takes. The
    /// answer waits for both.
    fn serve(
        &self,
        to: Waiting,
        work: Work,
        slot: Arc<Slot>,
        moved: impl FnOnce(&mut Bytes) -> io::Result<()>,
    ) -> io::Result<()> {
        if let Err(error) = self.store.within(work.offset, work.len) {
            self.slots.put(slot);
            return Err(error);
        }
        let answer = Answer {
            to,
            work,
            slot: Arc::clone(&slot),
        };
        // An answer that is due before its bytes have moved waits for this lock.
        let mut bytes = slot.bytes();
        let (mut due, is_held) = self.submit(work, answer);
        if !is_held {
            self.give(&mut due);
        }
        let result = moved(&mut bytes);
        // Its front answers by itself what could not be moved.
        bytes.is_failed = result.is_err();
        drop(bytes);
        self.give(&mut due);
        self.state().lists.push(due);
        result
    }

    /// Gives answers that are due. One whose bytes are not there yet waits for them, and those after it wait, too.
    fn give(&self, due: &mut Dues) {
        let mut waited = 0;
        for (answer, lateness) in due.drain(..) {
            waited += answer.give();
            self.slots.put(answer.slot);
            if waited > 0
                && let Some(lateness) = lateness
            {
                self.state().pace.delayed(lateness, waited);
            }
        }
    }

    /// Submits a request to the model. Returns answers that are due; and whether all are answered at once, this one among them.
    fn submit(&self, work: Work, answer: Answer) -> (Dues, bool) {
        let mut state = self.state();
        let mut due = state.lists.pop().unwrap_or_default();
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

impl Answer {
    /// Answers; returns how long it waited for bytes, ns.
    fn give(&self) -> u64 {
        let (mut bytes, waited) = self.slot.bytes_in_time();
        if !bytes.is_failed {
            let len = if self.work.op == Op::Read {
                self.work.len as usize
            } else {
                0
            };
            let answer = bytes.answer(len);
            self.to.front.answer(self.to.cookie, self.work, answer);
        }
        waited
    }
}
