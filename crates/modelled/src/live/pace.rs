//! A model in the time of a clock: which requests are done by now, and when the next will be.

use std::collections::HashMap;

use device::{Completion, Model, Op, Request};

use super::Served;

/// Requests for which there is room from the start: more than a host has in flight.
const ROOM: usize = 1024;

/// A model, and what waits for it. `T` is what a front needs to answer a request.
///
/// Times of calls are those of the clock, and never go back. Room for a host's requests is there from the start.
pub(super) struct Pace<T> {
    model: Box<dyn Model>,
    next: u64,
    waiting: HashMap<u64, (u64, T)>,
    /// Where the model is in time: at most `lead` ahead of the clock.
    at: u64,
    /// By how much answers leave before they are due, ns; none: at once, and the model is not asked.
    lead: Option<u64>,
    buffer: Vec<Completion>,
    served: Served,
}

/// What answers a request, and how late it is already, ns; none for one that is answered at once.
pub(super) type Due<T> = (T, Option<u64>);

/// What is done to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Work {
    pub(super) op: Op,
    pub(super) offset: u64,
    pub(super) len: u64,
    pub(super) fua: bool,
}

impl Work {
    pub(super) fn new(op: Op, offset: u64, len: u64) -> Work {
        Work {
            op,
            offset,
            len,
            fua: false,
        }
    }

    pub(super) fn write(offset: u64, len: usize, fua: bool) -> Work {
        Work {
            fua,
            ..Work::new(Op::Write, offset, len as u64)
        }
    }
}

impl<T> Pace<T> {
    pub(super) fn new(model: Box<dyn Model>) -> Pace<T> {
        Pace {
            model,
            next: 0,
            waiting: HashMap::with_capacity(ROOM),
            at: 0,
            lead: Some(0),
            buffer: Vec::with_capacity(ROOM),
            served: Served::default(),
        }
    }

    /// Without a lead, answers at once from now on; with one, `lead` ns before the model says.
    pub(super) fn set_lead(&mut self, lead: Option<u64>) {
        self.lead = lead;
    }

    /// Whether it answers at once.
    pub(super) fn is_held(&self) -> bool {
        self.lead.is_none()
    }

    /// What it has done so far.
    pub(super) fn served(&self) -> Served {
        self.served
    }

    /// Takes a request. What is given back is to be answered at once.
    pub(super) fn submit(&mut self, now: u64, work: Work, with: T, due: &mut Vec<Due<T>>) {
        if self.lead.is_none() {
            due.push((with, None));
            return;
        }
        self.advance(now, due);
        let now = now.max(self.at);
        let tag = self.next;
        self.next += 1;
        self.waiting.insert(tag, (now, with));
        let Work {
            op,
            offset,
            len,
            fua,
        } = work;
        let request = Request {
            tag,
            op,
            offset,
            len,
            fua,
            // No front says who waits.
            sync: true,
        };
        self.model.submit(now, request);
    }

    /// Brings the model up to `now`, event by event, and appends what is to be answered.
    pub(super) fn advance(&mut self, now: u64, due: &mut Vec<Due<T>>) {
        let lead = self.lead.unwrap_or(0);
        let mut buffer = std::mem::take(&mut self.buffer);
        while let Some(at) = self
            .model
            .next_event()
            .filter(|at| *at <= now.saturating_add(lead))
        {
            self.at = self.at.max(at);
            self.model.advance(at, &mut buffer);
        }
        self.at = self.at.max(now);
        self.model.advance(self.at, &mut buffer);
        for done in buffer.drain(..) {
            if let Some((submitted, with)) = self.waiting.remove(&done.tag) {
                let lateness = now.saturating_add(lead).saturating_sub(done.at);
                let modelled = done.at.saturating_sub(submitted);
                self.served.add(modelled, lateness);
                due.push((with, Some(lateness)));
            }
        }
        self.buffer = buffer;
    }

    /// An answer that was this late when it was due left `more` ns later: its bytes were not there yet.
    pub(super) fn delayed(&mut self, lateness: u64, more: u64) {
        self.served.delay(lateness, more);
    }

    /// Nanoseconds until something is to be done; none while the model is idle.
    pub(super) fn next_in(&self, now: u64) -> Option<u64> {
        let at = self.model.next_event()?;
        Some(at.saturating_sub(now.saturating_add(self.lead.unwrap_or(0))))
    }
}
