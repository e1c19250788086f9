//! Requests that wait for the head or for room in the write cache, oldest first.

use std::collections::VecDeque;

use super::write_cache::Place;
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
    /// How many requests came before it.
    pub(super) number: u64,
    /// Where its first byte is.
    pub(super) place: Place,
    /// Cached writes accepted before it: what a flush waits for.
    pub(super) after: u64,
}

/// Requests by what they wait for, each list oldest first. A device that does not keep up has a million of them, so nothing here
/// looks at more than those that compete.
#[derive(Debug, Default)]
pub(super) struct Queue {
    positioned: VecDeque<Pending>,
    cached: VecDeque<Pending>,
    flushes: VecDeque<Pending>,
    /// Requests that ever came.
    came: u64,
    /// Since when the oldest that waits for the head is the oldest.
    oldest_since: Nanoseconds,
}

impl Queue {
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.positioned.len() + self.cached.len() + self.flushes.len()
    }

    /// Adds a request that comes now.
    pub(super) fn push(
        &mut self,
        now: Nanoseconds,
        kind: Kind,
        request: Request,
        place: Place,
        after: u64,
    ) {
        if kind == Kind::Positioned && self.positioned.is_empty() {
            self.oldest_since = now;
        }
        let list = match kind {
            Kind::Positioned => &mut self.positioned,
            Kind::Cached => &mut self.cached,
            Kind::Flush => &mut self.flushes,
        };
        list.push_back(Pending {
            request,
            number: self.came,
            place,
            after,
        });
        self.came += 1;
    }

    /// Those that wait for the head, as two slices: an iterator over both is slower than the arithmetic that is done with each.
    #[inline]
    pub(super) fn positioned(&self) -> [&[Pending]; 2] {
        let (front, back) = self.positioned.as_slices();
        [front, back]
    }

    /// Since when the oldest of these is the oldest.
    #[inline]
    pub(super) fn oldest_since(&self) -> Nanoseconds {
        self.oldest_since
    }

    /// Takes one that waits for the head, by its place among these.
    pub(super) fn take_positioned(&mut self, now: Nanoseconds, place: usize) -> Option<Pending> {
        if place == 0 {
            self.oldest_since = now;
        }
        self.positioned.remove(place)
    }

    /// The oldest write that waits for room in the write cache.
    #[inline]
    pub(super) fn first_cached(&self) -> Option<&Pending> {
        self.cached.front()
    }

    /// Takes that write.
    pub(super) fn take_cached(&mut self) -> Option<Pending> {
        self.cached.pop_front()
    }

    /// The oldest flush.
    #[inline]
    pub(super) fn first_flush(&self) -> Option<&Pending> {
        self.flushes.front()
    }

    /// Takes that flush.
    pub(super) fn take_flush(&mut self) -> Option<Pending> {
        self.flushes.pop_front()
    }
}
