//! A source that is as slow as a modelled device, in real time.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use device::{Completion as Done, Model, Request as ModelRequest, Served};

use crate::error::{OpenError, ReadError};
use crate::queue::{Completion, Queue, Request};
use crate::source::BlockSource;

/// The model, and what it has done.
struct State {
    model: Box<dyn Model>,
    next: u64,
    /// When those in flight were submitted.
    submitted: HashMap<u64, u64>,
    /// When requests were done that were not yet handed out.
    done: HashMap<u64, u64>,
    buffer: Vec<Done>,
    lead: Lead,
}

impl State {
    /// Brings the model up to `now`, event by event.
    fn run(&mut self, now: u64) {
        let mut buffer = std::mem::take(&mut self.buffer);
        while let Some(at) = self.model.next_event().filter(|at| *at <= now) {
            self.model.advance(at, &mut buffer);
        }
        self.model.advance(now, &mut buffer);
        self.done
            .extend(buffer.drain(..).map(|done| (done.tag, done.at)));
        self.buffer = buffer;
    }

    /// Takes the one of some reads that was done first.
    fn take<'t>(&mut self, tags: impl Iterator<Item = &'t u64>) -> Option<Read> {
        let done = tags.filter_map(|tag| Some((*self.done.get(tag)?, *tag)));
        let (done, number) = done.min()?;
        self.done.remove(&number);
        Some(Read {
            number,
            submitted: self.submitted.remove(&number).unwrap_or(done),
            done,
        })
    }
}

/// How long before an event a sleeping reader has itself woken, ns; it looks at the clock for the rest.
///
/// It is what waking up took lately, and a quarter: an idle processor of a virtual machine needs 30 to 100 us.
struct Lead(u64);

impl Lead {
    /// Until the first reader has slept.
    const FIRST: u64 = 100_000;
    /// A machine on which waking up takes longer is busy, and looking at the clock would make it busier.
    const MOST: u64 = 200_000;

    /// A reader woke up this late.
    fn woke(&mut self, late: u64) {
        let wanted = late.saturating_add(late / 4).min(Self::MOST);
        // Up at once, down slowly: one that wakes up early only looks at the clock for longer.
        self.0 = wanted.max(self.0 - self.0 / 32);
    }
}

/// A source whose reads are done when a modelled device has done them, or when the source below has, whichever is later.
///
/// Unlike [`super::Throttle`] the model is asked again with each request: what comes later can change when an
/// earlier one is done, as in a queue that is sorted. Each reader sleeps by itself, not a thread that wakes them: one wake-up less.
pub struct OnModel<S> {
    inner: S,
    origin: Instant,
    state: Mutex<State>,
    served: Lateness,
    changed: Condvar,
}

/// How late the reads of a source are answered, also after it was given away.
#[derive(Clone, Debug, Default)]
pub struct Lateness(Arc<Mutex<Served>>);

impl Lateness {
    /// The reads so far.
    pub fn so_far(&self) -> Served {
        *self.served()
    }

    fn served(&self) -> MutexGuard<'_, Served> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A read that the model has done.
#[derive(Clone, Copy)]
struct Read {
    number: u64,
    submitted: u64,
    done: u64,
}

impl<S: BlockSource> OnModel<S> {
    /// Reads from `inner` as slowly as from `model`, whose capacity is at least that of `inner`.
    pub fn new(inner: S, model: Box<dyn Model>) -> OnModel<S> {
        OnModel {
            inner,
            origin: Instant::now(),
            state: Mutex::new(State {
                model,
                next: 0,
                submitted: HashMap::new(),
                done: HashMap::new(),
                buffer: Vec::new(),
                lead: Lead(Lead::FIRST),
            }),
            served: Lateness::default(),
            changed: Condvar::new(),
        }
    }

    /// How late its reads are answered.
    pub fn lateness(&self) -> Lateness {
        self.served.clone()
    }

    /// A read is handed out to a reader that has waited for it since `since`.
    fn hand_out(&self, read: Read, since: u64) {
        // One that came later has not waited for the device, but worked.
        let late = self.now().saturating_sub(read.done.max(since));
        let modelled = read.done.saturating_sub(read.submitted);
        self.served.served().add(modelled, late);
    }

    fn now(&self) -> u64 {
        u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a read to the model; returns its number there, and when that was.
    fn submit(&self, offset: u64, len: u64) -> (u64, u64) {
        let mut state = self.state();
        // The clock is read under the lock: the model must not see time go back.
        let now = self.now();
        state.run(now);
        let tag = state.next;
        state.next += 1;
        state.submitted.insert(tag, now);
        let before = state.model.next_event();
        state
            .model
            .submit(now, ModelRequest::read(tag, offset, len));
        let after = state.model.next_event();
        drop(state);
        // Others sleep until the event that was next or wake up before it; only one that is now earlier would be missed.
        if after.is_some_and(|after| before.is_none_or(|before| after < before)) {
            self.changed.notify_all();
        }
        (tag, now)
    }

    /// Waits until the model has done one of some reads; the one that was done first.
    fn wait_for<'t>(&self, tags: &(impl Iterator<Item = &'t u64> + Clone)) -> Option<Read> {
        let mut state = self.state();
        loop {
            state.run(self.now());
            let read = state.take(tags.clone());
            if read.is_some() {
                return read;
            }
            // A model that has nothing to do will not finish them either.
            let next = state.model.next_event()?;
            state = self.pass_time(state, next);
        }
    }

    /// The same without waiting.
    fn done_of<'t>(&self, tags: impl Iterator<Item = &'t u64>) -> Option<Read> {
        let mut state = self.state();
        state.run(self.now());
        state.take(tags)
    }

    /// Sleeps until shortly before an event, or until another may be earlier; from there on waits for the event itself.
    fn pass_time<'s>(&'s self, state: MutexGuard<'s, State>, event: u64) -> MutexGuard<'s, State> {
        let wake = event.saturating_sub(state.lead.0);
        let now = self.now();
        if now < wake {
            let slept = self
                .changed
                .wait_timeout(state, Duration::from_nanos(wake - now));
            let (mut state, slept) = slept.unwrap_or_else(PoisonError::into_inner);
            if slept.timed_out() {
                state.lead.woke(self.now().saturating_sub(wake));
            }
            return state;
        }
        drop(state);
        while self.now() < event {
            // Another thread that has work goes first.
            std::thread::yield_now();
        }
        self.state()
    }
}

impl<S: BlockSource> crate::source::Layer for OnModel<S> {
    type Below = S;

    fn below(&self) -> &S {
        &self.inner
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<(), ReadError> {
        let (tag, since) = self.submit(offset, buf.len() as u64);
        let result = self.inner.read_at(buf, offset);
        if let Some(read) = self.wait_for(&std::iter::once(&tag)) {
            self.hand_out(read, since);
        }
        result
    }

    fn will_need(&self, _offset: u64, _len: u64) {
        // Reading ahead would bypass the model.
    }

    fn queue(&self, depth: usize) -> Result<Box<dyn Queue + '_>, OpenError> {
        Ok(Box::new(OnModelQueue {
            source: self,
            inner: self.inner.queue(depth)?,
            tags: HashMap::new(),
            held: HashMap::new(),
        }))
    }
}

/// The reads of one thread.
struct OnModelQueue<'a, S: BlockSource> {
    source: &'a OnModel<S>,
    inner: Box<dyn Queue + 'a>,
    /// The caller's tags of requests in flight, by their numbers in the model.
    tags: HashMap<u64, u64>,
    /// Requests that were read below before the model has done them.
    held: HashMap<u64, Completion>,
}

impl<S: BlockSource> OnModelQueue<'_, S> {
    /// Reads what this thread has to read itself while the model's time runs, until the model has done one. Else each read would
    /// be as late as its copy takes.
    fn read_below(&mut self) -> Option<Read> {
        while self.inner.reads_when_waited_for() && self.held.len() < self.tags.len() {
            let read = self.source.done_of(self.tags.keys());
            if read.is_some() {
                return read;
            }
            let done = self.inner.wait()?;
            self.held.insert(done.tag, done);
        }
        None
    }
}

impl<S: BlockSource> Queue for OnModelQueue<'_, S> {
    fn depth(&self) -> usize {
        self.inner.depth()
    }

    fn in_flight(&self) -> usize {
        self.tags.len()
    }

    fn submit(&mut self, mut request: Request) -> Result<(), Request> {
        if !self.has_room() || !self.inner.has_room() {
            return Err(request);
        }
        let (number, _) = self.source.submit(request.offset, request.len as u64);
        self.tags.insert(number, request.tag);
        request.tag = number;
        self.inner.submit(request).map_err(|mut refused| {
            refused.tag = self.tags.remove(&number).unwrap_or(refused.tag);
            refused
        })
    }

    fn flush(&mut self) {
        self.inner.flush();
    }

    fn wait(&mut self) -> Option<Completion> {
        if self.tags.is_empty() {
            return None;
        }
        let since = self.source.now();
        // The source below works while this thread sleeps.
        self.inner.flush();
        let read = match self.read_below() {
            Some(read) => read,
            None => self.source.wait_for(&self.tags.keys())?,
        };
        let number = read.number;
        let mut completion = loop {
            if let Some(held) = self.held.remove(&number) {
                break held;
            }
            let done = self.inner.wait()?;
            self.held.insert(done.tag, done);
        };
        completion.tag = self.tags.remove(&number)?;
        self.source.hand_out(read, since);
        Some(completion)
    }
}
