//! A model in the time of a clock: which requests are done by now, and when the next will be.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use device::{Completion, Model, Op, Request};

use super::Served;
use super::lead::Lead;

/// Requests for which there is room from the start: more than a host has in flight.
const ROOM: usize = 1024;

/// A model, and what waits for it. `T` is what a front needs to answer a request.
///
/// Times of calls are those of the clock, and never go back. Room for a host's requests is there from the start.
pub(super) struct Pace<T> {
    model: Box<dyn Model>,
    next: u64,
    waiting: HashMap<u64, Waits<T>>,
    /// Requests that the model has done, by when their answers leave.
    done: BinaryHeap<Reverse<(u64, u64)>>,
    /// Where the model is in time: ahead of the clock by at most the longest lead of what waits.
    at: u64,
    /// By how much answers leave before they are due; none: at once, and the model is not asked.
    lead: Option<Lead>,
    /// The longest lead of what waits, ns; more until that is known anew.
    longest: u64,
    buffer: Vec<Completion>,
    served: Served,
}

/// A request that is not answered.
struct Waits<T> {
    submitted: u64,
    lead: u64,
    /// When the model has done it.
    done: Option<u64>,
    with: T,
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
            done: BinaryHeap::with_capacity(ROOM),
            at: 0,
            lead: Some(Lead::default()),
            longest: 0,
            buffer: Vec::with_capacity(ROOM),
            served: Served::default(),
        }
    }

    /// Without a lead, answers at once from now on; with one, that much before the model says.
    pub(super) fn set_lead(&mut self, lead: Option<Lead>) {
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
        let Some(lead) = self.lead else {
            due.push((with, None));
            return;
        };
        self.advance(now, due);
        let now = now.max(self.at);
        let tag = self.next;
        self.next += 1;
        let lead = lead.of(work);
        self.longest = self.longest.max(lead);
        let waits = Waits {
            submitted: now,
            lead,
            done: None,
            with,
        };
        self.waiting.insert(tag, waits);
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
        let until = now.saturating_add(self.longest);
        let mut buffer = std::mem::take(&mut self.buffer);
        while let Some(at) = self.model.next_event().filter(|at| *at <= until) {
            self.at = self.at.max(at);
            self.model.advance(at, &mut buffer);
        }
        self.at = self.at.max(now);
        self.model.advance(self.at, &mut buffer);
        for done in buffer.drain(..) {
            if let Some(waits) = self.waiting.get_mut(&done.tag) {
                waits.done = Some(done.at);
                let leaves = done.at.saturating_sub(waits.lead);
                self.done.push(Reverse((leaves, done.tag)));
            }
        }
        self.buffer = buffer;
        self.answer(now, due);
    }

    /// Appends what is to be answered of what the model has done.
    fn answer(&mut self, now: u64, due: &mut Vec<Due<T>>) {
        while let Some(Reverse((leaves, tag))) = self.done.peek().copied()
            && leaves <= now
        {
            self.done.pop();
            let Some(waits) = self.waiting.remove(&tag) else {
                continue;
            };
            let modelled = waits.done.unwrap_or(now).saturating_sub(waits.submitted);
            let lateness = now - leaves;
            self.served.add(modelled, lateness);
            due.push((waits.with, Some(lateness)));
            if waits.lead == self.longest {
                let leads = self.waiting.values().map(|waits| waits.lead);
                self.longest = leads.max().unwrap_or(0);
            }
        }
    }

    /// An answer that was this late when it was due left `more` ns later: its bytes were not there yet.
    pub(super) fn delayed(&mut self, lateness: u64, more: u64) {
        self.served.delay(lateness, more);
    }

    /// Nanoseconds until something is to be done; none while the model is idle.
    pub(super) fn next_in(&self, now: u64) -> Option<u64> {
        let model = self.model.next_event();
        let model = model.map(|at| at.saturating_sub(self.longest));
        let answer = self.done.peek().map(|Reverse((leaves, _))| *leaves);
        let next = model.into_iter().chain(answer).min()?;
        Some(next.saturating_sub(now))
    }
}

#[cfg(test)]
mod tests {
    use device::{Catalogue, Variation};

    use super::*;

    #[test]
    fn answers_leave_earlier_by_their_own_way_and_the_model_is_no_further_ahead() {
        let catalogue = Catalogue::shipped().unwrap();
        let model = catalogue.model("nvme-2018", Variation::Nominal).unwrap();
        let mut pace = Pace::new(model);
        let lead = Lead {
            ns: 1000,
            ns_per_mib: 64_000,
        };
        pace.set_lead(Some(lead));
        let read = |offset, len| Work::new(Op::Read, offset, len);
        assert_eq!(lead.of(read(0, 1 << 18)), 17_000);
        assert_eq!(lead.of(Work::new(Op::Discard, 0, 1 << 30)), 1000);
        let mut due = Vec::new();
        // Alone: when it is done, and when it is answered.
        let mut alone = |pace: &mut Pace<u32>, now: u64, work: Work| {
            let before = pace.served();
            pace.submit(now, work, 7, &mut due);
            let mut at = now;
            while due.is_empty() {
                at += pace.next_in(at).unwrap();
                pace.advance(at, &mut due);
                assert!(pace.at <= at + lead.of(work));
            }
            assert_eq!(std::mem::take(&mut due), [(7, Some(0))]);
            (pace.served().modelled - before.modelled, at - now)
        };
        for len in [4096, 1 << 18] {
            let work = read(1 << 30, len);
            let (modelled, took) = alone(&mut pace, len << 10, work);
            assert_eq!(took, modelled - lead.of(work), "{len}");
        }
        // A small one beside a large one is not answered with the large one's lead.
        let begun = 1 << 40;
        pace.submit(begun, read(0, 1 << 18), 1, &mut due);
        pace.submit(begun, read(1 << 31, 4096), 2, &mut due);
        let mut answers = Vec::new();
        let mut at = begun;
        while answers.len() < 2 {
            at += pace.next_in(at).unwrap();
            pace.advance(at, &mut due);
            answers.extend(due.drain(..).map(|(with, late)| (with, late, at)));
        }
        assert!(
            answers.iter().all(|answer| answer.1 == Some(0)),
            "{answers:?}"
        );
        assert_eq!(pace.longest, 0);
    }
}
