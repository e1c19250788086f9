//! Things that are due at known times, and a resource that serves one after the other.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

use crate::model::{Completion, Nanoseconds};

/// Values by the time at which they are due; equal times keep the order of insertion.
#[derive(Debug)]
pub(crate) struct Timeline<T> {
    heap: BinaryHeap<Reverse<(Nanoseconds, u64)>>,
    values: FxHashMap<u64, T>,
    inserted: u64,
}

impl<T> Default for Timeline<T> {
    fn default() -> Timeline<T> {
        Timeline {
            heap: BinaryHeap::new(),
            values: FxHashMap::default(),
            inserted: 0,
        }
    }
}

impl<T> Timeline<T> {
    /// Adds a value that is due at `at`.
    pub(crate) fn push(&mut self, at: Nanoseconds, value: T) {
        self.heap.push(Reverse((at, self.inserted)));
        self.values.insert(self.inserted, value);
        self.inserted += 1;
    }

    /// The earliest time.
    pub(crate) fn next(&self) -> Option<Nanoseconds> {
        self.heap.peek().map(|Reverse((at, _))| *at)
    }

    /// Takes the first value that is due at `now` or before.
    pub(crate) fn pop_due(&mut self, now: Nanoseconds) -> Option<(Nanoseconds, T)> {
        if self.next()? > now {
            return None;
        }
        let Reverse((at, key)) = self.heap.pop()?;
        Some((at, self.values.remove(&key)?))
    }
}

/// Requests by the time at which they are done.
impl Timeline<u64> {
    /// Takes those that are done by `now`.
    pub(crate) fn complete(&mut self, now: Nanoseconds, done: &mut Vec<Completion>) {
        while let Some((at, tag)) = self.pop_due(now) {
            done.push(Completion { tag, at });
        }
    }
}

/// A resource that serves one request at a time, in the order in which they come.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Serial {
    free: Nanoseconds,
    /// Sum of what it served.
    pub(crate) busy: Nanoseconds,
}

impl Serial {
    /// Serves for `duration` from `ready` or as soon as it is free; returns the end.
    pub(crate) fn occupy(&mut self, ready: Nanoseconds, duration: Nanoseconds) -> Nanoseconds {
        self.free = self.free.max(ready).saturating_add(duration);
        self.busy = self.busy.saturating_add(duration);
        self.free
    }
}

/// Nanoseconds that `len` bytes take at `rate` bytes a second; none where the rate is infinite.
pub(crate) fn moving(len: u64, rate: f64) -> Nanoseconds {
    (len as f64 * 1e9 / rate).round() as Nanoseconds
}

/// The earlier of two events.
pub(crate) fn earlier(a: Option<Nanoseconds>, b: Option<Nanoseconds>) -> Option<Nanoseconds> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
