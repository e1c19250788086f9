//! A device of tests: it takes a time for each request, and notes what it was sent.

use std::sync::{Arc, Mutex};

use crate::model::{Completion, Model, Nanoseconds, Op, Request, Usage};
use crate::timeline::{Serial, Timeline};

/// What devices were sent, in order: the number of the device, operation, offset, length.
pub(crate) type Sent = Arc<Mutex<Vec<(usize, Op, u64, u64)>>>;

/// A device that takes the same time for each request.
pub(crate) struct Noted {
    pub(crate) number: usize,
    pub(crate) capacity: u64,
    pub(crate) service: Nanoseconds,
    /// Whether one request is served at a time, and not all at once.
    pub(crate) in_turn: bool,
    pub(crate) sent: Sent,
    server: Serial,
    done: Timeline<u64>,
}

impl Noted {
    /// One that serves all at once.
    pub(crate) fn new(number: usize, capacity: u64, service: Nanoseconds, sent: &Sent) -> Noted {
        Noted {
            number,
            capacity,
            service,
            in_turn: false,
            sent: Arc::clone(sent),
            server: Serial::default(),
            done: Timeline::default(),
        }
    }
}

impl Model for Noted {
    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn submit(&mut self, now: Nanoseconds, request: Request) {
        let what = (self.number, request.op, request.offset, request.len);
        self.sent.lock().unwrap().push(what);
        let at = if self.in_turn {
            self.server.occupy(now, self.service)
        } else {
            now + self.service
        };
        self.done.push(at, request.tag);
    }

    fn next_event(&self) -> Option<Nanoseconds> {
        self.done.next()
    }

    fn advance(&mut self, now: Nanoseconds, done: &mut Vec<Completion>) {
        self.done.complete(now, done);
    }

    fn usage(&self, parts: &mut Vec<Usage>) {
        parts.push(Usage {
            part: "disk",
            busy: self.server.busy,
            ..Usage::default()
        });
    }
}
