//! A program on a host, in modelled time: it submits, waits and computes.

use std::collections::HashSet;

use device::{Completion, Model, Op, Request};

/// A host with one thread.
pub(super) struct Host<'a> {
    model: &'a mut dyn Model,
    now: u64,
    next: u64,
    in_flight: HashSet<u64>,
    buffer: Vec<Completion>,
}

impl<'a> Host<'a> {
    pub(super) fn new(model: &'a mut dyn Model) -> Host<'a> {
        Host {
            model,
            now: 0,
            next: 0,
            in_flight: HashSet::new(),
            buffer: Vec::new(),
        }
    }

    /// Now, s.
    pub(super) fn seconds(&self) -> f64 {
        self.now as f64 / 1e9
    }

    pub(super) fn capacity(&self) -> u64 {
        self.model.capacity()
    }

    pub(super) fn submit(&mut self, op: Op, offset: u64, len: u64) -> u64 {
        let tag = self.next;
        self.next += 1;
        let request = Request {
            op,
            ..Request::read(tag, offset, len)
        };
        self.in_flight.insert(tag);
        self.model.submit(self.now, request);
        tag
    }

    pub(super) fn is_done(&self, tag: u64) -> bool {
        !self.in_flight.contains(&tag)
    }

    /// Waits for one request.
    pub(super) fn wait(&mut self, tag: u64) {
        while self.in_flight.contains(&tag) && self.step() {}
    }

    /// Waits until fewer than `depth` requests are in flight.
    pub(super) fn wait_below(&mut self, depth: usize) {
        while self.in_flight.len() >= depth.max(1) && self.step() {}
    }

    /// Goes on to the next event; false when there is none.
    fn step(&mut self) -> bool {
        let Some(at) = self.model.next_event() else {
            return false;
        };
        self.now = self.now.max(at);
        self.advance();
        true
    }

    /// Computes for a time, in which the device works on.
    pub(super) fn compute(&mut self, ns: f64) {
        let until = self.now.saturating_add(ns.max(0.0) as u64);
        while self.model.next_event().is_some_and(|at| at <= until) && self.step() {}
        self.now = until;
        self.advance();
    }

    fn advance(&mut self) {
        self.model.advance(self.now, &mut self.buffer);
        for done in self.buffer.drain(..) {
            self.in_flight.remove(&done.tag);
        }
    }
}
