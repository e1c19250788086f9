//! A source that is as slow as a modelled device, in real time.

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
}

/// A source whose reads are done when a modelled device has done them, or when the source below has, whichever is later.
///
/// Unlike [`super::Throttle`] the model is asked again with each request: what comes later can change when an
/// earlier one is done, as in a queue that is sorted.
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
        state
            .model
            .submit(now, ModelRequest::read(tag, offset, len));
        drop(state);
        // Another may sleep until an event that is now later, or earlier.
        self.changed.notify_all();
        (tag, now)
    }

    /// Waits until the model has done one of some reads; the one that was done first.
    fn wait_for<'t>(&self, tags: &(impl Iterator<Item = &'t u64> + Clone)) -> Option<Read> {
        let mut state = self.state();
        loop {
            state.run(self.now());
            let first = tags
                .clone()
                .filter_map(|tag| Some((*state.done.get(tag)?, *tag)))
                .min();
            if let Some((done, number)) = first {
                state.done.remove(&number);
                let submitted = state.submitted.remove(&number).unwrap_or(done);
                return Some(Read {
                    number,
                    submitted,
                    done,
                });
            }
            // A model that has nothing to do will not finish them either.
            let next = state.model.next_event()?;
            let left = Duration::from_nanos(next.saturating_sub(self.now()));
            let slept = self.changed.wait_timeout(state, left);
            state = slept.unwrap_or_else(PoisonError::into_inner).0;
        }
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

struct OnModelQueue<'a, S: BlockSource> {
    source: &'a OnModel<S>,
    inner: Box<dyn Queue + 'a>,
    /// The caller's tags of requests in flight, by their numbers in the model.
    tags: HashMap<u64, u64>,
    /// Requests that were read below before the model has done them.
    held: HashMap<u64, Completion>,
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
        let read = self.source.wait_for(&self.tags.keys())?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::Buffer;
    use crate::ram::Ram;
    use device::{Catalogue, Variation};

    fn disk() -> Box<dyn Model> {
        let catalogue = Catalogue::shipped().unwrap();
        catalogue
            .model("cheetah-15k.5", Variation::Nominal)
            .unwrap()
    }

    #[test]
    fn a_read_takes_at_least_its_modelled_time() {
        let source = OnModel::new(Ram::sparse(1 << 40), disk());
        let mut buf = [0; 4096];
        let begin = Instant::now();
        for i in 0..5 {
            source.read_at(&mut buf, (i * 37 % 100) << 30).unwrap();
        }
        // Five random reads of a disk of 15,000 rpm: no more is certain than a tenth of the mean.
        let elapsed = begin.elapsed();
        assert!(elapsed > Duration::from_millis(3));
        let served = source.lateness().so_far();
        assert_eq!(served.requests, 5);
        let waited = Duration::from_nanos(served.modelled + served.lateness);
        assert!(
            waited <= elapsed && served.modelled > 3_000_000,
            "{served:?}"
        );
    }

    #[test]
    fn a_queue_hands_out_each_read_once_in_the_order_of_the_model() {
        let bytes: Vec<u8> = (0..64_u8).flat_map(|i| [i; 4096]).collect();
        let source = OnModel::new(Ram::new(&bytes), disk());
        let mut queue = source.queue(8).unwrap();
        let mut seen = Vec::new();
        for i in 0..8_u64 {
            let request = Request {
                tag: i,
                offset: (i * 29 % 64) * 4096,
                len: 4096,
                buffer: Buffer::empty(),
            };
            queue.submit(request).unwrap();
        }
        assert_eq!(queue.in_flight(), 8);
        while let Some(done) = queue.wait() {
            assert_eq!(done.bytes().unwrap()[0], (done.tag * 29 % 64) as u8);
            seen.push(done.tag);
        }
        seen.sort_unstable();
        assert_eq!(seen, (0..8).collect::<Vec<_>>());
    }
}
