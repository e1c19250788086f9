//! A controller before its disks: time for each request, a rate, a read cache, and a write cache with a battery.

use std::collections::{BTreeMap, VecDeque};

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::model::{Completion, Model, Nanoseconds, Op, Request, Usage};
use crate::slab::Slab;
use crate::timeline::{Serial, Timeline, earlier, moving};

/// Sequential streams that read-ahead follows.
const STREAMS: usize = 8;
/// Requests that are destaged at a time when writes wait.
const DESTAGING: usize = 16;
/// Largest request that is destaged, bytes, where the child has no rows.
const DESTAGED: u64 = 1 << 20;

/// What a controller is made of.
#[derive(Clone, Copy, Debug)]
pub struct Parameters {
    /// Processing a request, ns.
    pub request: Nanoseconds,
    /// Bytes a second to the host.
    pub rate: f64,
    /// A request's time and that of its bytes pass side by side, as limits of requests and of bytes a second do: the longer one counts.
    pub side_by_side: bool,
    /// Unit of the read cache in bytes; 0 for no read cache.
    pub unit: u64,
    /// Units that the read cache holds.
    pub units: usize,
    /// Units read ahead of a sequential stream.
    pub read_ahead: u64,
    /// Write cache with a battery, bytes; 0 for none.
    pub write_cache: u64,
    /// Writes are done at once up to this share of the write cache, and wait beyond it.
    pub high_water: f64,
    /// Bytes of a row of the disks below, by which cached writes are destaged; 0: as far as they follow each other.
    pub row: u64,
}

/// A request of the host.
struct Waiting {
    request: Request,
    /// Units or child requests that it waits for.
    missing: u32,
}

/// What a request to the child was for.
enum Purpose {
    /// One request of the host, passed through.
    Pass(u64),
    /// Units of the read cache.
    Load { first: u64, count: u64 },
    /// Cached writes of this many bytes.
    Destage(u64),
}

/// A unit of the read cache.
enum Unit {
    Ready,
    /// Those who wait for it: seldom more than one.
    Loading(SmallVec<[u64; 2]>),
}

/// A controller in simulated time.
pub struct Controller {
    parts: Parameters,
    child: Box<dyn Model>,
    processor: Serial,
    /// Moves the bytes, where that is beside the processor's work.
    mover: Serial,
    waiting: Slab<Waiting>,
    purposes: Slab<Purpose>,
    units: FxHashMap<u64, Unit>,
    /// Units in the order in which they were last loaded.
    ages: VecDeque<u64>,
    /// Where sequential streams go on, most recent last.
    streams: VecDeque<u64>,
    /// Cached writes: offset -> length.
    dirty: BTreeMap<u64, u64>,
    /// Bytes of these, of writes on their way in, and of those being destaged.
    used: u64,
    destaging: usize,
    /// Writes that wait for room in the cache.
    blocked: VecDeque<u64>,
    /// Writes that the processor has in hand.
    receiving: Timeline<u64>,
    done: Timeline<u64>,
    buffer: Vec<Completion>,
    usage: Usage,
}

impl Controller {
    /// A controller before `child`.
    pub fn new(parts: Parameters, child: Box<dyn Model>) -> Controller {
        Controller {
            parts,
            child,
            processor: Serial::default(),
            mover: Serial::default(),
            waiting: Slab::default(),
            purposes: Slab::default(),
            units: FxHashMap::default(),
            ages: VecDeque::new(),
            streams: VecDeque::new(),
            dirty: BTreeMap::new(),
            used: 0,
            destaging: 0,
            blocked: VecDeque::new(),
            receiving: Timeline::default(),
            done: Timeline::default(),
            buffer: Vec::new(),
            usage: Usage {
                part: "controller",
                ..Usage::default()
            },
        }
    }

    fn run(&mut self, now: Nanoseconds) {
        while let Some(at) = self.next_internal().filter(|at| *at <= now) {
            while let Some((at, key)) = self.receiving.pop_due(at) {
                self.received(at, key);
            }
            let mut done = std::mem::take(&mut self.buffer);
            self.child.advance(at, &mut done);
            for completion in done.drain(..) {
                self.child_done(completion);
            }
            self.buffer = done;
        }
    }

    fn next_internal(&self) -> Option<Nanoseconds> {
        earlier(self.receiving.next(), self.child.next_event())
    }

    fn process(&mut self, ready: Nanoseconds, len: u64) -> Nanoseconds {
        let (request, transfer) = (self.parts.request, moving(len, self.parts.rate));
        self.usage.overhead += request;
        if self.parts.side_by_side {
            self.usage.transfer += transfer.saturating_sub(request);
            let moved = self.mover.occupy(ready, transfer);
            return self.processor.occupy(ready, request).max(moved);
        }
        self.usage.transfer += transfer;
        self.processor.occupy(ready, request + transfer)
    }

    /// All of a read is here: it goes to the host.
    fn answer(&mut self, at: Nanoseconds, key: u64) {
        if let Some(waiting) = self.waiting.remove(key) {
            let sent = self.process(at, waiting.request.len);
            self.done.push(sent, waiting.request.tag);
        }
    }

    fn forward(&mut self, now: Nanoseconds, purpose: Purpose, request: Request) {
        let tag = self.purposes.insert(purpose);
        self.child.submit(now, Request { tag, ..request });
    }

    fn child_done(&mut self, completion: Completion) {
        match self.purposes.remove(completion.tag) {
            Some(Purpose::Pass(key)) => self.passed(completion.at, key),
            Some(Purpose::Load { first, count }) => {
                for unit in first..first + count {
                    self.loaded(completion.at, unit);
                }
            }
            Some(Purpose::Destage(len)) => {
                self.destaging -= 1;
                self.used -= len;
                self.admit(completion.at);
                self.destage(completion.at);
            }
            None => {}
        }
    }

    /// The child is done with a request of the host.
    fn passed(&mut self, at: Nanoseconds, key: u64) {
        let is_read = self
            .waiting
            .get_mut(key)
            .map(|waiting| waiting.request.op == Op::Read);
        if is_read == Some(true) {
            self.answer(at, key);
        } else if let Some(waiting) = self.waiting.remove(key) {
            self.done.push(at, waiting.request.tag);
        }
    }

    fn loaded(&mut self, at: Nanoseconds, unit: u64) {
        if let Some(Unit::Loading(readers)) = self.units.insert(unit, Unit::Ready) {
            for key in readers {
                self.one_less(at, key);
            }
        }
        self.ages.push_back(unit);
        while self.ages.len() > self.parts.units.max(1) {
            if let Some(oldest) = self.ages.pop_front() {
                self.units.remove(&oldest);
            }
        }
    }

    fn one_less(&mut self, at: Nanoseconds, key: u64) {
        let Some(waiting) = self.waiting.get_mut(key) else {
            return;
        };
        waiting.missing -= 1;
        if waiting.missing == 0 {
            self.answer(at, key);
        }
    }

    fn read(&mut self, now: Nanoseconds, request: Request) {
        let key = self.waiting.insert(Waiting {
            request,
            missing: 0,
        });
        if self.parts.unit == 0 {
            self.forward(now, Purpose::Pass(key), request);
            return;
        }
        let unit = self.parts.unit;
        let (first, last) = (
            request.offset / unit,
            request.end().max(request.offset + 1).div_ceil(unit),
        );
        let missing = self.load(now, first, last, Some(key));
        self.usage.hits += u64::from(missing == 0);
        if missing == 0 {
            self.answer(now, key);
        } else if let Some(waiting) = self.waiting.get_mut(key) {
            waiting.missing = missing;
        }
        self.read_ahead(now, request, last);
    }

    /// Loads the units that are missing, neighbours together; returns how many a reader waits for.
    fn load(&mut self, now: Nanoseconds, first: u64, last: u64, reader: Option<u64>) -> u32 {
        let last = last.min(self.child.capacity().div_ceil(self.parts.unit));
        let (mut missing, mut run) = (0, None::<u64>);
        for unit in first..last {
            match self.units.get_mut(&unit) {
                Some(Unit::Ready) => {
                    self.load_run(now, run.take(), unit);
                    continue;
                }
                Some(Unit::Loading(readers)) => {
                    readers.extend(reader);
                    missing += 1;
                    self.load_run(now, run.take(), unit);
                    continue;
                }
                None => {}
            }
            self.units
                .insert(unit, Unit::Loading(reader.into_iter().collect()));
            missing += 1;
            run = run.or(Some(unit));
        }
        self.load_run(now, run, last);
        missing
    }

    fn load_run(&mut self, now: Nanoseconds, run: Option<u64>, end: u64) {
        let Some(first) = run else {
            return;
        };
        let (from, unit) = (first * self.parts.unit, self.parts.unit);
        let to = (end * unit).min(self.child.capacity());
        let count = end - first;
        self.forward(
            now,
            Purpose::Load { first, count },
            Request::read(0, from, to - from),
        );
    }

    /// Follows sequential streams.
    fn read_ahead(&mut self, now: Nanoseconds, request: Request, last: u64) {
        if self.parts.read_ahead == 0 {
            return;
        }
        let known = self.streams.iter().position(|end| *end == request.offset);
        if let Some(index) = known {
            self.streams.remove(index);
            self.load(now, last, last + self.parts.read_ahead, None);
        }
        self.streams.push_back(request.end());
        if self.streams.len() > STREAMS {
            self.streams.pop_front();
        }
    }

    fn write(&mut self, now: Nanoseconds, request: Request) {
        let key = self.waiting.insert(Waiting {
            request,
            missing: 0,
        });
        if request.len > self.room() {
            let at = self.process(now, request.len);
            self.receiving.push(at, key);
            return;
        }
        self.blocked.push_back(key);
        self.admit(now);
        self.destage(now);
    }

    /// Takes writes into the cache as far as there is room.
    fn admit(&mut self, now: Nanoseconds) {
        while let Some(&key) = self.blocked.front() {
            let len = self
                .waiting
                .get_mut(key)
                .map_or(0, |waiting| waiting.request.len);
            if self.used + len > self.room() {
                return;
            }
            self.blocked.pop_front();
            self.used += len;
            let at = self.process(now, len);
            self.receiving.push(at, key);
        }
    }

    /// The bytes of a write have arrived from the host.
    fn received(&mut self, at: Nanoseconds, key: u64) {
        let Some(waiting) = self.waiting.get_mut(key) else {
            return;
        };
        let request = waiting.request;
        if request.len > self.room() {
            self.forward(at, Purpose::Pass(key), request);
            return;
        }
        self.waiting.remove(key);
        self.done.push(at, request.tag);
        self.hold(request.offset, request.len);
        self.destage(at);
    }

    /// Bytes of the write cache that writes may fill.
    fn room(&self) -> u64 {
        (self.parts.high_water * self.parts.write_cache as f64) as u64
    }

    /// Adds a cached write, of which the room is taken; a rewrite gives that of the shorter one back.
    fn hold(&mut self, offset: u64, len: u64) {
        if let Some(old) = self.dirty.insert(offset, len) {
            self.used -= old.min(len);
            self.dirty.insert(offset, old.max(len));
        }
    }

    /// Sends cached writes to the child in ascending order, all of a row together: so it is written without reads if it is complete. A child
    /// without rows gets neighbours as one request.
    fn destage(&mut self, now: Nanoseconds) {
        let pressed = !self.blocked.is_empty() || self.used > self.room() / 2;
        let most = if pressed { DESTAGING } else { 1 };
        while self.destaging < most {
            let Some((first, _)) = self.dirty.first_key_value() else {
                return;
            };
            let row = first.checked_div(self.parts.row);
            let until = row.map_or(first.saturating_add(DESTAGED), |row| {
                (row + 1).saturating_mul(self.parts.row)
            });
            while let Some((offset, len)) = self.take(until) {
                self.destaging += 1;
                let write = Request::write(0, offset, len);
                self.forward(now, Purpose::Destage(len), write);
                if row.is_none() {
                    break;
                }
            }
        }
    }

    /// Takes the first cached writes that follow each other and begin before a byte; what is beyond it stays.
    fn take(&mut self, until: u64) -> Option<(u64, u64)> {
        let (&offset, _) = self
            .dirty
            .first_key_value()
            .filter(|(at, _)| **at < until)?;
        let mut end = offset;
        while end < until
            && let Some(len) = self.dirty.remove(&end)
        {
            end += len;
        }
        if end > until {
            self.hold(until, end - until);
            end = until;
        }
        Some((offset, end - offset))
    }
}

impl Model for Controller {
    fn capacity(&self) -> u64 {
        self.child.capacity()
    }

    fn submit(&mut self, now: Nanoseconds, request: Request) {
        self.run(now);
        self.usage.requests += 1;
        self.usage.bytes += request.len;
        match request.op {
            Op::Read => self.read(now, request),
            Op::Write => self.write(now, request),
            // The battery keeps what is cached, so there is nothing to do.
            Op::Flush if self.parts.write_cache > 0 => self.done.push(now, request.tag),
            Op::Flush | Op::Discard => {
                let key = self.waiting.insert(Waiting {
                    request,
                    missing: 0,
                });
                self.forward(now, Purpose::Pass(key), request);
            }
        }
    }

    fn next_event(&self) -> Option<Nanoseconds> {
        earlier(self.done.next(), self.next_internal())
    }

    fn advance(&mut self, now: Nanoseconds, done: &mut Vec<Completion>) {
        self.run(now);
        self.done.complete(now, done);
    }

    fn has_volatile_cache(&self) -> bool {
        // The battery keeps what is cached.
        self.parts.write_cache == 0 && self.child.has_volatile_cache()
    }

    fn usage(&self, parts: &mut Vec<Usage>) {
        parts.push(Usage {
            // Side by side, the one that is busier limits.
            busy: self.processor.busy.max(self.mover.busy),
            ..self.usage.clone()
        });
        self.child.usage(parts);
    }
}

#[cfg(test)]
mod tests;
