//! Submits a record's requests to a model, each when the mode lets it go.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::frontier::Frontier;
use super::kept::{After, Kept, Requests};
use super::linker::{Outline, linked};
use super::place::{Place, Placing};
use super::response::Responses;
use super::{Mode, Recorded};
use crate::model::{Completion, Model, Nanoseconds, Op, Usage};
use crate::slab::Slab;

/// How a record is replayed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// What is kept of the record.
    pub mode: Mode,
    /// Factor of think times; 3 for a processor a third as fast.
    pub cpu: f64,
    /// Placement.
    pub place: Place,
}

impl Options {
    /// A mode with think times and places as recorded.
    pub const fn new(mode: Mode) -> Options {
        Options {
            mode,
            cpu: 1.0,
            place: Place::Keep,
        }
    }
}

/// What stops a replay.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A request is beyond the end of the device.
    #[error(
        "request {index} ends at byte {end} and the device has {capacity} bytes; \
         choose a larger device (--place scale or wrap moves the requests of a trace)"
    )]
    DoesNotFit {
        /// Its number in the record, from 0.
        index: usize,
        /// The byte after its last.
        end: u64,
        /// The size of the device.
        capacity: u64,
    },
    /// The record is not in the order of submission.
    #[error(
        "request {index} was submitted before the one before it; sort the record by submission time"
    )]
    OutOfOrder {
        /// Its number in the record, from 0.
        index: usize,
    },
    /// More requests than numbers.
    #[error("the record has more than 4,294,967,294 requests; replay a part of it")]
    TooMany,
    /// A number that the record does not have.
    #[error("the record has no request {0}; please report it")]
    NoSuch(u32),
    /// What was kept of the record cannot be written or read back.
    #[error("the requests of the record: {0}; make room for temporary files, or set TMPDIR")]
    Kept(String),
}

/// How many submissions are bound in which way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bound {
    /// By a completion.
    pub by_completion: u64,
    /// By a submission shortly before, with no completion between: a burst.
    pub by_burst: u64,
    /// By time.
    pub by_time: u64,
}

impl Bound {
    fn add(&mut self, kept: &Kept, limit: Nanoseconds) {
        match kept.after(limit) {
            After::Completion => self.by_completion += 1,
            After::Submission if kept.gap.is_none() && !kept.is_timed => self.by_burst += 1,
            After::Submission | After::Start => self.by_time += 1,
        }
    }
}

/// What a replay gave. All times are modelled.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// Requests done.
    pub requests: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// From the first submission to the last completion, ns.
    pub elapsed: Nanoseconds,
    /// Response times.
    pub responses: Responses,
    /// How submissions were bound; all 0 in modes other than dependent.
    pub bound: Bound,
    /// Time in which no request was in flight: the host decided, ns.
    pub idle: Nanoseconds,
    /// Most requests that were held at once: in flight, or waiting to go out.
    pub most_held: usize,
    /// What each part of the device did.
    pub usage: Vec<Usage>,
}

impl Replayed {
    /// The share of the time in which the busiest part worked.
    pub fn busiest(&self) -> f64 {
        let busy = self.usage.iter().map(|part| part.busy).max().unwrap_or(0);
        if self.elapsed == 0 {
            0.0
        } else {
            busy as f64 / self.elapsed as f64
        }
    }
}

/// Replays a record that is in memory.
///
/// # Errors
/// A request does not fit, or the record is not in order.
pub fn replay(
    model: &mut dyn Model,
    record: &[Recorded],
    options: Options,
) -> Result<Replayed, Error> {
    let (kept, outline) = linked(record)?;
    let requests = &mut kept.as_slice();
    replay_linked(model, requests, &outline, options, &mut |_, _, _| {})
}

/// Called with a request, and when it was submitted and done.
pub type Each<'a, T> = dyn FnMut(T, Nanoseconds, Nanoseconds) + 'a;

/// A request of a record that is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finished {
    /// Its number in the record, from 0.
    pub number: u32,
    /// What it did.
    pub op: Op,
    /// Its bytes.
    pub len: u64,
}

/// Replays a record whose requests are linked, and passes on each as it is done.
///
/// # Errors
/// A request does not fit, or cannot be read back.
pub fn replay_linked(
    model: &mut dyn Model,
    requests: &mut dyn Requests,
    outline: &Outline,
    options: Options,
    each: &mut Each<'_, Finished>,
) -> Result<Replayed, Error> {
    let (replayed, _) = replay_from(0, model, requests, outline, options, each)?;
    Ok(replayed)
}

/// As [`replay_linked`], from a time on. Returns also when it ended: the same model may go on then.
pub(super) fn replay_from(
    begin: Nanoseconds,
    model: &mut dyn Model,
    requests: &mut dyn Requests,
    outline: &Outline,
    options: Options,
    each: &mut Each<'_, Finished>,
) -> Result<(Replayed, Nanoseconds), Error> {
    let placing = Placing::new(requests, outline, model.capacity(), options.place)?;
    let mut run = Run::new(begin, model, requests, outline, placing, each);
    match options.mode {
        Mode::Open => run.by_time()?,
        Mode::Closed => run.by_depth(None)?,
        Mode::Saturate { depth } => run.by_depth(Some(depth.max(1) - 1))?,
        Mode::Dependent { think_limit } => {
            let limit = think_limit.unwrap_or(outline.think_limit);
            run.by_order(limit, options.cpu)?;
        }
    }
    let end = run.now;
    Ok((run.result(), end))
}

/// A request that will be submitted at a time, or when a flush may.
#[derive(Clone, Copy)]
struct Ready {
    at: Nanoseconds,
    number: u32,
    kept: Kept,
}

impl Ready {
    fn key(&self) -> (Nanoseconds, u32) {
        (self.at, self.number)
    }
}

impl PartialEq for Ready {
    fn eq(&self, other: &Ready) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Ready {}

impl PartialOrd for Ready {
    fn partial_cmp(&self, other: &Ready) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ready {
    fn cmp(&self, other: &Ready) -> Ordering {
        self.key().cmp(&other.key())
    }
}

/// Called with a request that is done, and when.
type Then<'a> = dyn FnMut(&mut dyn Requests, &Flying, Nanoseconds) -> Result<(), Error> + 'a;

/// A request in flight: no more than is needed of it once it is done, because there may be a million.
struct Flying {
    number: u32,
    at: Nanoseconds,
    op: Op,
    len: u64,
    reaction: Option<u32>,
}

/// What is held of a request, before it goes out and while it is in flight, besides what the models hold.
const _: () = assert!(size_of::<Ready>() <= 128 && size_of::<Flying>() <= 32);

/// A replay in progress.
struct Run<'a> {
    model: &'a mut dyn Model,
    requests: &'a mut dyn Requests,
    outline: &'a Outline,
    placing: Placing,
    flying: Slab<Flying>,
    in_flight: usize,
    most_held: usize,
    /// When the record began.
    begin: Nanoseconds,
    now: Nanoseconds,
    start: Option<Nanoseconds>,
    end: Nanoseconds,
    finished: u64,
    idle: Nanoseconds,
    bytes: u64,
    responses: Responses,
    bound: Bound,
    buffer: Vec<Completion>,
    each: &'a mut Each<'a, Finished>,
}

impl<'a> Run<'a> {
    fn new(
        begin: Nanoseconds,
        model: &'a mut dyn Model,
        requests: &'a mut dyn Requests,
        outline: &'a Outline,
        placing: Placing,
        each: &'a mut Each<'a, Finished>,
    ) -> Run<'a> {
        Run {
            model,
            requests,
            outline,
            placing,
            flying: Slab::default(),
            in_flight: 0,
            most_held: 0,
            begin,
            now: begin,
            start: None,
            end: 0,
            finished: 0,
            idle: 0,
            bytes: 0,
            responses: Responses::default(),
            bound: Bound::default(),
            buffer: Vec::new(),
            each,
        }
    }

    /// Submits a request while `waiting` others are held.
    fn submit(&mut self, number: u32, kept: Kept, waiting: usize) -> Result<(), Error> {
        let at = self.now;
        self.start.get_or_insert(at);
        let tag = self.flying.insert(Flying {
            number,
            at,
            op: kept.op,
            len: kept.len,
            reaction: kept.reaction,
        });
        self.in_flight += 1;
        self.most_held = self.most_held.max(self.in_flight + waiting);
        let request = self.placing.request(&kept, number, tag)?;
        self.model.submit(at, request);
        Ok(())
    }

    /// Moves on to `at`, and gives `then` each request that was done: its number, itself, and when.
    fn advance(&mut self, at: Nanoseconds, then: &mut Then<'_>) -> Result<(), Error> {
        if self.in_flight == 0 && self.finished > 0 {
            self.idle += at.saturating_sub(self.now);
        }
        self.now = self.now.max(at);
        self.model.advance(self.now, &mut self.buffer);
        for completion in self.buffer.drain(..) {
            let Some(flying) = self.flying.remove(completion.tag) else {
                continue;
            };
            self.in_flight -= 1;
            self.finished += 1;
            self.bytes += flying.len;
            self.end = self.end.max(completion.at);
            self.responses.add(completion.at.saturating_sub(flying.at));
            let Flying {
                number, op, len, ..
            } = flying;
            (self.each)(Finished { number, op, len }, flying.at, completion.at);
            then(self.requests, &flying, completion.at)?;
        }
        Ok(())
    }

    /// The request of a number; none past the end of the record.
    fn request(&mut self, number: u32) -> Result<Option<Kept>, Error> {
        if number >= self.outline.count {
            return Ok(None);
        }
        self.requests.get(number).map(Some)
    }

    /// Each request when no more are in flight than `depth`, or than when it was recorded.
    fn by_depth(&mut self, depth: Option<u32>) -> Result<(), Error> {
        let mut number = 0;
        let mut next = self.request(number)?;
        loop {
            while let Some(kept) = next
                && self.in_flight <= depth.unwrap_or(kept.depth) as usize
            {
                self.submit(number, kept, 0)?;
                number += 1;
                next = self.request(number)?;
            }
            let Some(at) = self.model.next_event() else {
                return Ok(());
            };
            self.advance(at, &mut |_, _, _| Ok(()))?;
            if next.is_none() && self.in_flight == 0 {
                return Ok(());
            }
        }
    }

    /// Each request at its time.
    fn by_time(&mut self) -> Result<(), Error> {
        let mut number = 0;
        let mut next = self.request(number)?;
        loop {
            while let Some(kept) = next
                && self.begin + kept.submitted <= self.now
            {
                self.submit(number, kept, 0)?;
                number += 1;
                next = self.request(number)?;
            }
            let due = next.map(|kept| self.begin + kept.submitted);
            let Some(at) = crate::timeline::earlier(due, self.model.next_event()) else {
                return Ok(());
            };
            if next.is_none() && self.in_flight == 0 {
                return Ok(());
            }
            self.advance(at, &mut |_, _, _| Ok(()))?;
        }
    }

    /// Each request after what it waited for.
    fn by_order(&mut self, limit: Nanoseconds, cpu: f64) -> Result<(), Error> {
        let mut frontier = Frontier::default();
        let mut ready: BinaryHeap<Reverse<Ready>> = BinaryHeap::new();
        // Flushes that wait for requests before them, lowest first: their time is 0.
        let mut held: BinaryHeap<Reverse<Ready>> = BinaryHeap::new();
        let mut starts = self.outline.starts.iter().copied();
        self.start_next(&mut starts, &mut ready, limit)?;
        loop {
            while let Some(Reverse(flush)) = held.peek().copied()
                && frontier.first_open() >= flush.number
            {
                held.pop();
                ready.push(Reverse(Ready {
                    at: self.now,
                    ..flush
                }));
            }
            while let Some(Reverse(next)) = ready.peek().copied()
                && next.at <= self.now
            {
                ready.pop();
                let Ready { number, kept, .. } = next;
                let is_flush = kept.op == Op::Flush;
                if kept.after(limit) == After::Start {
                    self.start_next(&mut starts, &mut ready, limit)?;
                }
                if is_flush && frontier.first_open() < number {
                    held.push(Reverse(Ready { at: 0, ..next }));
                    continue;
                }
                self.submit(number, kept, ready.len() + held.len())?;
                self.bound.add(&kept, limit);
                if let Some(number) = kept.next {
                    let child = self.requests.get(number)?;
                    if child.after(limit) == After::Submission {
                        let at = self.now + child.submitted.saturating_sub(kept.submitted);
                        let kept = child;
                        ready.push(Reverse(Ready { at, number, kept }));
                    }
                }
            }
            let due = ready.peek().map(|Reverse(next)| next.at);
            let Some(at) = crate::timeline::earlier(due, self.model.next_event()) else {
                return Ok(());
            };
            if self.in_flight == 0 && due.is_none() && held.is_empty() {
                return Ok(());
            }
            self.advance(at, &mut |requests, flying, at| {
                frontier.done(flying.number);
                let mut reaction = flying.reaction;
                while let Some(number) = reaction {
                    let kept = requests.get(number)?;
                    if kept.after(limit) == After::Completion {
                        let think = kept.gap.unwrap_or(0) as f64 * cpu;
                        let at = at + think as Nanoseconds;
                        ready.push(Reverse(Ready { at, number, kept }));
                    }
                    reaction = kept.sibling;
                }
                Ok(())
            })?;
        }
    }

    /// Makes the next process ready for its first request. They begin one after the other, so one of them waits at a time.
    /// A first request that waits for a completion, as a kernel thread's may, is left to that.
    fn start_next(
        &mut self,
        starts: &mut dyn Iterator<Item = u32>,
        ready: &mut BinaryHeap<Reverse<Ready>>,
        limit: Nanoseconds,
    ) -> Result<(), Error> {
        for number in starts {
            let kept = self.requests.get(number)?;
            if kept.after(limit) == After::Start {
                let at = self.begin + kept.submitted;
                ready.push(Reverse(Ready { at, number, kept }));
                return Ok(());
            }
        }
        Ok(())
    }

    fn result(self) -> Replayed {
        let mut usage = Vec::new();
        self.model.usage(&mut usage);
        Replayed {
            requests: self.finished,
            bytes: self.bytes,
            elapsed: self.end.saturating_sub(self.start.unwrap_or(0)),
            responses: self.responses,
            bound: self.bound,
            idle: self.idle,
            most_held: self.most_held,
            usage,
        }
    }
}
