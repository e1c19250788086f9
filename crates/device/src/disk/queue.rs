//! Requests that wait for the head or for room in the write cache, oldest first.

use std::collections::VecDeque;

use crate::model::{Nanoseconds, Request};

/// What a request waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The head.
    Positioned,
    /// Room in the write cache.
    Cached,
    /// What was cached before it.
    Flush,
}

/// A request in the queue.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    pub(super) request: Request,
    pub(super) kind: Kind,
    pub(super) arrived: Nanoseconds,
    /// Radius of its first byte.
    pub(super) from: f64,
    /// Angle of its first byte.
    pub(super) angle: f64,
    /// Cached writes accepted before it: what a flush waits for.
    pub(super) after: u64,
}

/// A queue that knows how many of some kinds it has: it is looked at whenever something happens, and most of the time there are none.
#[derive(Debug, Default)]
pub(super) struct Queue {
    all: VecDeque<Pending>,
    positioned: usize,
    cached: usize,
    flushes: usize,
}

impl Queue {
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn push(&mut self, pending: Pending) {
        *self.count(pending.kind) += 1;
        self.all.push_back(pending);
    }

    pub(super) fn remove(&mut self, index: usize) -> Option<Pending> {
        let pending = self.all.remove(index)?;
        *self.count(pending.kind) -= 1;
        Some(pending)
    }

    pub(super) fn get(&self, index: usize) -> Option<&Pending> {
        self.all.get(index)
    }

    /// All in order, as two slices: an iterator over both is slower than the arithmetic that is done with each.
    #[inline]
    pub(super) fn slices(&self) -> [&[Pending]; 2] {
        let (front, back) = self.all.as_slices();
        [front, back]
    }

    #[inline]
    pub(super) fn has_cached(&self) -> bool {
        self.cached > 0
    }

    /// The place of the oldest flush.
    #[inline]
    pub(super) fn first_flush(&self) -> Option<usize> {
        if self.flushes == 0 {
            return None;
        }
        self.all.iter().position(|p| p.kind == Kind::Flush)
    }

    fn count(&mut self, kind: Kind) -> &mut usize {
        match kind {
            Kind::Cached => &mut self.cached,
            Kind::Flush => &mut self.flushes,
            Kind::Positioned => &mut self.positioned,
        }
    }
}
