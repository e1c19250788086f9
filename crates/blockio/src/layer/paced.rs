//! A model of a device says when a read would be done, and its completion is held back until then.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::error::{OpenError, ReadError};
use crate::queue::{Completion, Queue, Request};
use crate::source::BlockSource;

/// A model of a device's timing.
pub(crate) trait Pace: Send {
    /// When a read that is submitted at `now` would be done. Called in the order of submission.
    fn due(&mut self, now: Instant, offset: u64, len: u64) -> Instant;
}

/// A source whose reads are done when its model says, or when the source below has done them,
/// whichever is later.
pub(crate) struct Paced<S, P> {
    inner: S,
    pace: Mutex<P>,
}

impl<S: BlockSource, P: Pace> Paced<S, P> {
    pub(super) fn with(inner: S, pace: P) -> Paced<S, P> {
        Paced {
            inner,
            pace: Mutex::new(pace),
        }
    }

    fn due(&self, offset: u64, len: u64) -> Instant {
        let mut pace = self.pace.lock().unwrap_or_else(PoisonError::into_inner);
        // The clock is read under the lock: a model must not see time go back.
        pace.due(Instant::now(), offset, len)
    }
}

fn sleep_until(due: Instant) {
    let left = due.saturating_duration_since(Instant::now());
    if !left.is_zero() {
        std::thread::sleep(left);
    }
}

impl<S: BlockSource, P: Pace> crate::source::Layer for Paced<S, P> {
    type Below = S;

    fn below(&self) -> &S {
        &self.inner
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<(), ReadError> {
        let due = self.due(offset, buf.len() as u64);
        let result = self.inner.read_at(buf, offset);
        sleep_until(due);
        result
    }

    fn will_need(&self, _offset: u64, _len: u64) {
        // Reading ahead would bypass the model.
    }

    fn queue(&self, depth: usize) -> Result<Box<dyn Queue + '_>, OpenError> {
        Ok(Box::new(PacedQueue {
            source: self,
            inner: self.inner.queue(depth)?,
            below: HashMap::new(),
            held: BTreeMap::new(),
            next: 0,
        }))
    }
}

struct PacedQueue<'a, S, P> {
    source: &'a Paced<S, P>,
    inner: Box<dyn Queue + 'a>,
    /// Requests in flight below, by an internal number: the caller's tag, and when it is due.
    below: HashMap<u64, (u64, Instant)>,
    /// Requests that have been read but were not due when last checked.
    held: BTreeMap<(Instant, u64), Completion>,
    next: u64,
}

impl<S: BlockSource, P: Pace> Queue for PacedQueue<'_, S, P> {
    fn depth(&self) -> usize {
        self.inner.depth()
    }

    fn in_flight(&self) -> usize {
        self.below.len() + self.held.len()
    }

    fn submit(&mut self, mut request: Request) -> Result<(), Request> {
        if !self.has_room() {
            return Err(request);
        }
        let due = self.source.due(request.offset, request.len as u64);
        let number = self.next;
        self.next += 1;
        let tag = std::mem::replace(&mut request.tag, number);
        self.below.insert(number, (tag, due));
        if let Err(mut refused) = self.inner.submit(request) {
            // Only if the queue below is smaller than it says: the request goes back to the caller.
            self.below.remove(&number);
            refused.tag = tag;
            return Err(refused);
        }
        Ok(())
    }

    fn flush(&mut self) {
        self.inner.flush();
    }

    fn wait(&mut self) -> Option<Completion> {
        // The request that is due first may still be in flight below: wait for it there.
        while let Some(first) = self.below.values().map(|(_, due)| *due).min() {
            let ready = self.held.keys().next();
            if ready.is_some_and(|(due, _)| *due <= first) {
                break;
            }
            let Some(mut done) = self.inner.wait() else {
                break;
            };
            if let Some((tag, due)) = self.below.remove(&done.tag) {
                let number = std::mem::replace(&mut done.tag, tag);
                self.held.insert((due, number), done);
            }
        }
        let ((due, _), completion) = self.held.pop_first()?;
        // The source below works while this thread sleeps.
        self.inner.flush();
        sleep_until(due);
        Some(completion)
    }
}
