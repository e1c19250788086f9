//! Requests that wait for the head or for room in the write cache, oldest first.

use std::collections::VecDeque;

use super::geometry::Geometry;
use super::line::Line;
use super::write_cache::Place;
use crate::model::{Nanoseconds, Request};

/// A request that competes for the head.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    pub(super) request: Request,
    /// How many requests came before it.
    pub(super) number: u64,
    /// Where its first byte is.
    pub(super) place: Place,
}

/// A request that waits in order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub(super) request: Request,
    /// How many requests came before it.
    pub(super) number: u64,
}

/// A flush.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flush {
    pub(super) request: Request,
    /// How many requests came before it.
    pub(super) number: u64,
    /// Cached writes accepted before it: what it waits for.
    pub(super) after: u64,
}

/// Requests by what they wait for, each list oldest first. A device that does not keep up has a million of them, so nothing here
/// looks at more than those that compete, and of the others as little is kept as can be.
#[derive(Debug)]
pub(super) struct Queue {
    /// How many of the oldest compete for the head.
    window: usize,
    competing: VecDeque<Pending>,
    /// Those that will compete after them.
    later: Line<Waiting>,
    cached: Line<Waiting>,
    flushes: VecDeque<Flush>,
    /// Requests that ever came.
    came: u64,
    /// Since when the oldest that waits for the head is the oldest.
    oldest_since: Nanoseconds,
}

impl Queue {
    /// Of a disk on which this many of the oldest requests compete.
    pub(super) fn new(window: usize) -> Queue {
        Queue {
            window: window.max(1),
            competing: VecDeque::new(),
            later: Line::default(),
            cached: Line::default(),
            flushes: VecDeque::new(),
            came: 0,
            oldest_since: 0,
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.competing.len() + self.later.len() + self.cached.len() + self.flushes.len()
    }

    /// The number of a request that comes.
    fn next_number(&mut self) -> u64 {
        self.came += 1;
        self.came - 1
    }

    /// Adds a request that comes now and waits for the head.
    pub(super) fn push_positioned(
        &mut self,
        now: Nanoseconds,
        request: Request,
        geometry: &Geometry,
    ) {
        let number = self.next_number();
        if self.competing.is_empty() {
            self.oldest_since = now;
        }
        let waiting = Waiting { request, number };
        if self.competing.len() < self.window {
            self.compete(waiting, geometry);
        } else {
            self.later.push(waiting);
        }
    }

    /// Adds a write that the write cache takes once it has room.
    pub(super) fn push_cached(&mut self, request: Request) {
        let number = self.next_number();
        self.cached.push(Waiting { request, number });
    }

    /// Adds a flush of the first `after` cached writes.
    pub(super) fn push_flush(&mut self, request: Request, after: u64) {
        let number = self.next_number();
        self.flushes.push_back(Flush {
            request,
            number,
            after,
        });
    }

    fn compete(&mut self, waiting: Waiting, geometry: &Geometry) {
        let Waiting { request, number } = waiting;
        self.competing.push_back(Pending {
            request,
            number,
            place: Place::of(geometry, request.offset),
        });
    }

    /// Those that compete for the head, as two slices: an iterator over both is slower than the arithmetic that is done with each.
    #[inline]
    pub(super) fn competing(&self) -> [&[Pending]; 2] {
        let (front, back) = self.competing.as_slices();
        [front, back]
    }

    /// Since when the oldest of these is the oldest.
    #[inline]
    pub(super) fn oldest_since(&self) -> Nanoseconds {
        self.oldest_since
    }

    /// Takes one of these by its place among them; the next one competes then.
    pub(super) fn take_competing(
        &mut self,
        now: Nanoseconds,
        place: usize,
        geometry: &Geometry,
    ) -> Option<Pending> {
        if place == 0 {
            self.oldest_since = now;
        }
        let taken = self.competing.remove(place);
        if let Some(next) = self.later.take_first() {
            self.compete(next, geometry);
        }
        taken
    }

    /// The oldest write that waits for room in the write cache.
    #[inline]
    pub(super) fn first_cached(&self) -> Option<&Waiting> {
        self.cached.first()
    }

    /// Takes that write.
    pub(super) fn take_cached(&mut self) -> Option<Waiting> {
        self.cached.take_first()
    }

    /// The oldest flush.
    #[inline]
    pub(super) fn first_flush(&self) -> Option<&Flush> {
        self.flushes.front()
    }

    /// Takes that flush.
    pub(super) fn take_flush(&mut self) -> Option<Flush> {
        self.flushes.pop_front()
    }
}
