//! A modelled device in real time: a store that answers when the model says.
//!
//! Bytes move at once; only the answer waits. A thread sleeps until the model's next event and calls what waits for it, so that
//! requests of all connections compete in one queue as they would on the device. A front ([`nbd`], [`fuse`]) translates a protocol.

pub mod fuse;
pub mod nbd;
mod priority;
mod store;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use device::{Completion, Model, Op, Request};

pub use priority::{in_time, keep_in_memory};
pub use store::Store;

/// Answers that leave later than this after they are due are late.
const LATE: u64 = 50_000;

/// What is called when a request is done.
type Answer = Box<dyn FnOnce() + Send>;

struct State {
    model: Box<dyn Model>,
    next: u64,
    waiting: HashMap<u64, (u64, Answer)>,
    /// Where the model is in time: at most `lead` ahead of the clock.
    at: u64,
    /// By how much answers leave before they are due, ns; none: at once, and the model is not asked.
    lead: Option<u64>,
    buffer: Vec<Completion>,
    served: Served,
    is_over: bool,
}

/// What a server has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// Requests.
    pub requests: u64,
    /// Sum of their modelled times, ns.
    pub modelled: u64,
    /// Sum of the times by which their answers left late, ns.
    pub lateness: u64,
    /// Answers that left more than 50 us late.
    pub late: u64,
}

impl Served {
    /// Whether times that were measured with it stand for the device: at most 1 % of the answers more than 50 us late, and the mean
    /// lateness at most 5 % of the mean time.
    pub fn is_sound(&self) -> bool {
        self.late * 100 <= self.requests && self.lateness * 20 <= self.modelled
    }
}

/// A modelled device with a store.
pub struct Live {
    store: Store,
    origin: Instant,
    state: Mutex<State>,
    changed: Condvar,
}

impl Live {
    /// A device whose bytes are in a store; the store is as large as the device or smaller.
    pub fn new(model: Box<dyn Model>, store: Store) -> Live {
        Live {
            store,
            origin: Instant::now(),
            state: Mutex::new(State {
                model,
                next: 0,
                waiting: HashMap::new(),
                at: 0,
                lead: Some(0),
                buffer: Vec::new(),
                served: Served::default(),
                is_over: false,
            }),
            changed: Condvar::new(),
        }
    }

    /// Answers at once from now on, until [`Live::begin`]: what a request takes then is the way to the server and back alone.
    pub fn hold(&self) {
        self.state().lead = None;
    }

    /// Answers when the model says, less `lead` ns: what the way to the server and back takes by itself.
    pub fn begin(&self, lead: u64) {
        self.state().lead = Some(lead);
    }

    /// Its size, bytes.
    pub fn size(&self) -> u64 {
        self.store.size()
    }

    /// What it has done so far.
    pub fn served(&self) -> Served {
        self.state().served
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
            let due = advance(&mut state, now);
            if !due.is_empty() {
                drop(state);
                for answer in due {
                    answer();
                }
                state = self.state();
                continue;
            }
            let next = state.model.next_event();
            let left = next.map_or(Duration::from_secs(3600), |at| {
                let lead = state.lead.unwrap_or(0);
                Duration::from_nanos(at.saturating_sub(self.now() + lead))
            });
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
        let bytes = self.store.read(offset, len)?;
        self.submit(
            Op::Read,
            offset,
            len as u64,
            false,
            Box::new(move || answer(bytes)),
        );
        Ok(())
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
        self.store.write(offset, bytes)?;
        self.submit(Op::Write, offset, bytes.len() as u64, fua, Box::new(answer));
        Ok(())
    }

    /// Calls `answer` when all completed writes would be on the medium.
    pub fn flush(&self, answer: impl FnOnce() + Send + 'static) {
        self.submit(Op::Flush, 0, 0, false, Box::new(answer));
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
        self.store.discard(offset, len)?;
        self.submit(Op::Discard, offset, len, false, Box::new(answer));
        Ok(())
    }

    fn submit(&self, op: Op, offset: u64, len: u64, fua: bool, answer: Answer) {
        let mut state = self.state();
        // The clock is read under the lock: the model must not see time go back.
        let now = self.now();
        if state.lead.is_none() {
            drop(state);
            answer();
            return;
        }
        let due = advance(&mut state, now);
        let now = now.max(state.at);
        let tag = state.next;
        state.next += 1;
        state.waiting.insert(tag, (now, answer));
        let request = Request {
            tag,
            op,
            offset,
            len,
            fua,
        };
        state.model.submit(now, request);
        drop(state);
        self.changed.notify_all();
        for answer in due {
            answer();
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Brings the model up to `now`, event by event, and returns what is to be called.
fn advance(state: &mut State, now: u64) -> Vec<Answer> {
    let mut buffer = std::mem::take(&mut state.buffer);
    let lead = state.lead.unwrap_or(0);
    while let Some(at) = state.model.next_event().filter(|at| *at <= now + lead) {
        state.at = state.at.max(at);
        state.model.advance(at, &mut buffer);
    }
    state.at = state.at.max(now);
    state.model.advance(state.at, &mut buffer);
    let mut due = Vec::new();
    for done in buffer.drain(..) {
        if let Some((submitted, answer)) = state.waiting.remove(&done.tag) {
            let lateness = (now + lead).saturating_sub(done.at);
            let served = &mut state.served;
            served.requests += 1;
            served.modelled += done.at.saturating_sub(submitted);
            served.lateness += lateness;
            served.late += u64::from(lateness > LATE);
            due.push(answer);
        }
    }
    state.buffer = buffer;
    due
}
