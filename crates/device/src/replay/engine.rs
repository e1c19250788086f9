//! Submits a record's requests to a model, each when the mode lets it go.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::dependency::{After, Bound, dependencies};
use super::response::Responses;
use super::{Mode, Recorded};
use crate::model::{Completion, Model, Nanoseconds, Op, Request, Usage};

/// Where requests go on a device of another size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// Where they were; what does not fit is refused.
    #[default]
    Keep,
    /// In proportion to the sizes, at multiples of 4 KiB.
    Scale,
    /// Modulo the size of the device.
    Wrap,
}

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
         place requests by scale or wrap, or choose a larger device"
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

/// Replays a record.
///
/// # Errors
/// A request does not fit, or the record is not in order.
pub fn replay(
    model: &mut dyn Model,
    record: &[Recorded],
    options: Options,
) -> Result<Replayed, Error> {
    replay_each(model, record, options, &mut |_, _, _| {})
}

/// Called with a request's number in the record, and when it was submitted and done.
pub type Each<'a> = dyn FnMut(usize, Nanoseconds, Nanoseconds) + 'a;

/// Replays a record and passes on each request as it is done.
///
/// # Errors
/// A request does not fit, or the record is not in order.
pub fn replay_each(
    model: &mut dyn Model,
    record: &[Recorded],
    options: Options,
    each: &mut Each<'_>,
) -> Result<Replayed, Error> {
    let unordered = record
        .windows(2)
        .position(|pair| pair[1].submitted < pair[0].submitted);
    if let Some(before) = unordered {
        return Err(Error::OutOfOrder { index: before + 1 });
    }
    let requests = placed(record, model.capacity(), options.place)?;
    let mut bound = Bound::default();
    let gates = match options.mode {
        Mode::Open => {
            let start = record.first().map_or(0, |first| first.submitted);
            Gates::Order(
                record
                    .iter()
                    .map(|r| After::Start(r.submitted - start))
                    .collect(),
            )
        }
        Mode::Dependent { think_limit } => {
            let (mut after, found) = dependencies(record, think_limit);
            bound = found;
            scale_think_times(&mut after, options.cpu);
            Gates::Order(after)
        }
        Mode::Closed => Gates::Depth(depths(record)),
        Mode::Saturate { depth } => Gates::Depth(vec![depth.max(1) - 1; record.len()]),
    };
    let mut run = Run::new(model, requests, each);
    match gates {
        Gates::Order(after) => run.by_order(&after, matches!(options.mode, Mode::Dependent { .. })),
        Gates::Depth(depths) => run.by_depth(&depths),
    }
    Ok(run.result(bound))
}

enum Gates {
    Order(Vec<After>),
    Depth(Vec<u32>),
}

fn scale_think_times(after: &mut [After], factor: f64) {
    for one in after {
        if let After::Completion(_, think) = one {
            *think = (*think as f64 * factor) as Nanoseconds;
        }
    }
}

pub(super) fn placed(
    record: &[Recorded],
    capacity: u64,
    place: Place,
) -> Result<Vec<Request>, Error> {
    let end_of = |r: &Recorded| r.offset.saturating_add(r.len);
    let size = record.iter().map(end_of).max().unwrap_or(0).max(1);
    let place_one = |(index, r): (usize, &Recorded)| {
        let scaled = (u128::from(r.offset) * u128::from(capacity) / u128::from(size)) as u64;
        let room = capacity.saturating_sub(r.len);
        let offset = match place {
            Place::Scale if size > capacity => (scaled / 4096 * 4096).min(room),
            Place::Wrap if end_of(r) > capacity => (r.offset % capacity.max(1)).min(room),
            Place::Keep | Place::Scale | Place::Wrap => r.offset,
        };
        let end = offset.saturating_add(r.len);
        if end > capacity {
            return Err(Error::DoesNotFit {
                index,
                end,
                capacity,
            });
        }
        Ok(Request {
            tag: index as u64,
            op: r.op,
            offset,
            len: r.len,
            fua: r.fua,
        })
    };
    record.iter().enumerate().map(place_one).collect()
}

/// How many requests were in flight at each submission, without it.
fn depths(record: &[Recorded]) -> Vec<u32> {
    let mut in_flight: BinaryHeap<Reverse<Nanoseconds>> = BinaryHeap::new();
    let depth = |request: &Recorded| {
        while in_flight
            .peek()
            .is_some_and(|Reverse(end)| *end <= request.submitted)
        {
            in_flight.pop();
        }
        let depth = in_flight.len() as u32;
        in_flight.push(Reverse(request.completed.unwrap_or(Nanoseconds::MAX)));
        depth
    };
    record.iter().map(depth).collect()
}

/// No request.
const NONE: u32 = u32::MAX;

/// Lists of the requests that wait for each request, in two arrays.
struct Waiting {
    first: Vec<u32>,
    next: Vec<u32>,
}

impl Waiting {
    fn new(count: usize) -> Waiting {
        Waiting {
            first: vec![NONE; count],
            next: vec![NONE; count],
        }
    }

    fn add(&mut self, waits_for: u32, index: u32) {
        self.next[index as usize] = self.first[waits_for as usize];
        self.first[waits_for as usize] = index;
    }

    fn of(&self, index: u32) -> impl Iterator<Item = u32> + '_ {
        let start = Some(self.first[index as usize]).filter(|i| *i != NONE);
        std::iter::successors(start, |i| {
            Some(self.next[*i as usize]).filter(|i| *i != NONE)
        })
    }
}

/// A replay in progress.
struct Run<'a> {
    model: &'a mut dyn Model,
    requests: Vec<Request>,
    submitted: Vec<Nanoseconds>,
    is_done: Vec<bool>,
    /// All requests before this one are done.
    frontier: usize,
    in_flight: u32,
    now: Nanoseconds,
    end: Nanoseconds,
    finished: u64,
    idle: Nanoseconds,
    bytes: u64,
    responses: Responses,
    buffer: Vec<Completion>,
    each: &'a mut Each<'a>,
}

impl<'a> Run<'a> {
    fn new(model: &'a mut dyn Model, requests: Vec<Request>, each: &'a mut Each<'a>) -> Run<'a> {
        Run {
            model,
            submitted: vec![0; requests.len()],
            is_done: vec![false; requests.len()],
            requests,
            frontier: 0,
            in_flight: 0,
            now: 0,
            end: 0,
            finished: 0,
            idle: 0,
            bytes: 0,
            responses: Responses::default(),
            buffer: Vec::new(),
            each,
        }
    }

    fn submit(&mut self, index: usize) {
        self.submitted[index] = self.now;
        self.in_flight += 1;
        self.model.submit(self.now, self.requests[index]);
    }

    /// Moves on to `at` and returns what was done.
    fn advance(&mut self, at: Nanoseconds) -> Vec<Completion> {
        if self.in_flight == 0 && self.finished > 0 {
            self.idle += at.saturating_sub(self.now);
        }
        self.now = self.now.max(at);
        let mut done = std::mem::take(&mut self.buffer);
        self.model.advance(self.now, &mut done);
        for completion in &done {
            let index = completion.tag as usize;
            self.is_done[index] = true;
            self.in_flight -= 1;
            self.finished += 1;
            self.bytes += self.requests[index].len;
            self.end = self.end.max(completion.at);
            let response = completion.at.saturating_sub(self.submitted[index]);
            self.responses.add(response);
            (self.each)(index, self.submitted[index], completion.at);
        }
        while self.is_done.get(self.frontier) == Some(&true) {
            self.frontier += 1;
        }
        done
    }

    fn give_back(&mut self, mut done: Vec<Completion>) {
        done.clear();
        self.buffer = done;
    }

    fn by_depth(&mut self, depths: &[u32]) {
        let mut next = 0;
        loop {
            while depths
                .get(next)
                .is_some_and(|depth| self.in_flight <= *depth)
            {
                self.submit(next);
                next += 1;
            }
            let Some(at) = self.model.next_event() else {
                return;
            };
            let done = self.advance(at);
            self.give_back(done);
            if next == depths.len() && self.in_flight == 0 {
                return;
            }
        }
    }

    fn by_order(&mut self, after: &[After], flushes_wait: bool) {
        let (mut on_completion, mut on_submission) =
            (Waiting::new(after.len()), Waiting::new(after.len()));
        let mut ready: BinaryHeap<Reverse<(Nanoseconds, u32)>> = BinaryHeap::new();
        for (index, after) in after.iter().enumerate() {
            match after {
                After::Start(at) => ready.push(Reverse((*at, index as u32))),
                After::Completion(of, _) => on_completion.add(*of, index as u32),
                After::Submission(of, _) => on_submission.add(*of, index as u32),
            }
        }
        let gap = |index: u32| match after[index as usize] {
            After::Start(gap) | After::Completion(_, gap) | After::Submission(_, gap) => gap,
        };
        // Flushes that wait for requests before them, lowest first.
        let mut held: BinaryHeap<Reverse<u32>> = BinaryHeap::new();
        loop {
            while let Some(Reverse(index)) = held.peek().copied()
                && self.frontier >= index as usize
            {
                held.pop();
                ready.push(Reverse((self.now, index)));
            }
            while let Some(Reverse((at, index))) = ready.peek().copied()
                && at <= self.now
            {
                ready.pop();
                let waits = flushes_wait
                    && self.requests[index as usize].op == Op::Flush
                    && self.frontier < index as usize;
                if waits {
                    held.push(Reverse(index));
                    continue;
                }
                self.submit(index as usize);
                for child in on_submission.of(index) {
                    ready.push(Reverse((self.now + gap(child), child)));
                }
            }
            let next_ready = ready.peek().map(|Reverse((at, _))| *at);
            let next_event = self.model.next_event();
            let Some(at) = crate::timeline::earlier(next_ready, next_event) else {
                return;
            };
            if self.in_flight == 0 && next_ready.is_none() && held.is_empty() {
                return;
            }
            let done = self.advance(at);
            for completion in &done {
                for child in on_completion.of(completion.tag as u32) {
                    ready.push(Reverse((completion.at + gap(child), child)));
                }
            }
            self.give_back(done);
        }
    }

    fn result(self, bound: Bound) -> Replayed {
        let mut usage = Vec::new();
        self.model.usage(&mut usage);
        let start = self.submitted.iter().copied().min().unwrap_or(0);
        Replayed {
            requests: self.finished,
            bytes: self.bytes,
            elapsed: self.end.saturating_sub(start),
            responses: self.responses,
            bound,
            idle: self.idle,
            usage,
        }
    }
}
