//! A disk with one head assembly: seeks, rotation, zones, look-ahead, a write cache and a queue.

mod geometry;
mod line;
mod look_ahead;
mod queue;
mod seek;
mod write_cache;

use std::collections::VecDeque;

pub use geometry::Geometry;
pub use seek::{SeekCurve, share_of_power};

use crate::model::{Completion, Model, Nanoseconds, Op, Request, Usage};
use crate::timeline::{earlier, moving};
use look_ahead::Stream;
use queue::{Pending, Queue, Waiting};
use write_cache::{Place, WriteCache};

/// The oldest request is next when it has been passed over for this long since it became the oldest. Counted from its arrival, a drive of
/// 7,200 rpm with 32 random reads, which wait 200 ms on average, gains 1.98 to 2.08 times instead of 2.16 to 2.26.
const PATIENCE: Nanoseconds = 500_000_000;

/// What a disk is made of.
#[derive(Clone, Debug)]
pub struct Parameters {
    /// Bytes, radii and angles.
    pub geometry: Geometry,
    /// Seek times.
    pub seek: SeekCurve,
    /// Processing a command, ns.
    pub command: Nanoseconds,
    /// Rate of the interface, bytes a second.
    pub interface: f64,
    /// Bytes read on after a read; 0 for none.
    pub look_ahead: u64,
    /// Size of the write cache in bytes; 0 for write-through.
    pub write_cache: u64,
    /// How many of the oldest cached writes compete to be destaged; 1 for destaging in order.
    pub destage_window: usize,
    /// How many of the oldest requests compete by positioning time; 1 for service in order.
    pub window: usize,
    /// Whether a read goes to the host only when all of it is in the buffer, as on drives with a slow bus.
    pub store_and_forward: bool,
    /// Whether no request passes a flush (SATA).
    pub flush_is_barrier: bool,
}

impl Parameters {
    /// Seek and rotation to a place from `ready` on, if that is below `least`.
    #[inline]
    fn reaching(
        &self,
        ready: f64,
        head: f64,
        place: Place,
        is_write: bool,
        least: f64,
    ) -> Option<f64> {
        let distance = (head - place.from).abs();
        if self.seek.at_least(distance) >= least {
            return None;
        }
        let seek = self.seek.time(distance, is_write);
        if seek >= least {
            return None;
        }
        let cost = seek + self.geometry.rotation(place.angle, ready + seek);
        Some(cost).filter(|cost| *cost < least)
    }
}

/// What the head is doing.
#[derive(Clone, Copy, Debug)]
struct Working {
    until: Nanoseconds,
    /// The request that is then done; `None` for destaging.
    tag: Option<u64>,
}

/// How a request would be served if it were started now.
struct Plan {
    done: f64,
    seek: f64,
    rotation: f64,
    transfer: f64,
    hit: bool,
    stream: Option<Stream>,
}

/// A disk in simulated time.
pub struct Disk {
    parts: Parameters,
    queue: Queue,
    working: Option<Working>,
    /// Where the head rests, as a radius; while it reads ahead, the stream knows.
    head: f64,
    stream: Option<Stream>,
    cache: WriteCache,
    /// Writes on their way into the cache, in order: (tag, offset, length).
    incoming: VecDeque<(u64, u64, u64)>,
    /// When the first of `incoming` is in the cache.
    received: Option<Nanoseconds>,
    destaged_last: bool,
    done: Vec<Completion>,
    usage: Usage,
}

impl Disk {
    /// An idle disk whose head rests at byte 0.
    pub fn new(parts: Parameters) -> Disk {
        Disk {
            cache: WriteCache::new(parts.write_cache),
            queue: Queue::new(parts.window),
            parts,
            working: None,
            head: 0.0,
            stream: None,
            incoming: VecDeque::new(),
            received: None,
            destaged_last: false,
            done: Vec::new(),
            usage: Usage {
                part: "disk",
                ..Usage::default()
            },
        }
    }

    fn run(&mut self, now: Nanoseconds) {
        while let Some(at) = self.next_internal().filter(|at| *at <= now) {
            if self.received == Some(at) {
                self.receive(at);
            }
            if let Some(working) = self.working.filter(|w| w.until == at) {
                self.working = None;
                if let Some(tag) = working.tag {
                    self.done.push(Completion { tag, at });
                }
            }
            self.start(at);
        }
    }

    fn next_internal(&self) -> Option<Nanoseconds> {
        earlier(self.received, self.working.map(|working| working.until))
    }

    /// The first incoming write is in the cache: it is done.
    fn receive(&mut self, at: Nanoseconds) {
        let Some((tag, offset, len)) = self.incoming.pop_front() else {
            self.received = None;
            return;
        };
        let place = Place::of(&self.parts.geometry, offset);
        self.cache.insert(offset, len, place);
        self.done.push(Completion { tag, at });
        self.received = self
            .incoming
            .front()
            .map(|next| at + self.receiving(next.2));
    }

    /// Time that the electronics need for a command and its bytes.
    fn receiving(&self, len: u64) -> Nanoseconds {
        self.parts.command + moving(len, self.parts.interface)
    }

    /// Moves queued writes that the cache has room for into it, in order.
    fn accept(&mut self, now: Nanoseconds) {
        let barrier = self.barrier();
        while let Some(pending) = self.queue.first_cached() {
            if pending.number > barrier || !self.cache.reserve(pending.request.len) {
                break;
            }
            let Some(Waiting { request, .. }) = self.queue.take_cached() else {
                break;
            };
            self.count(&request, true);
            self.usage.overhead += self.parts.command;
            if self.incoming.is_empty() {
                self.received = Some(now + self.receiving(request.len));
            }
            self.incoming
                .push_back((request.tag, request.offset, request.len));
        }
    }

    /// Nothing that came after this number passes the oldest flush.
    fn barrier(&self) -> u64 {
        let flush = self.queue.first_flush();
        flush
            .filter(|_| self.parts.flush_is_barrier)
            .map_or(u64::MAX, |flush| flush.number)
    }

    /// Whether the write cache takes it: a write larger than the cache goes to the medium.
    fn is_cached(&self, request: &Request) -> bool {
        request.op == Op::Write && !request.fua && request.len <= self.parts.write_cache
    }

    fn count(&mut self, request: &Request, hit: bool) {
        self.usage.requests += 1;
        self.usage.bytes += request.len;
        self.usage.hits += u64::from(hit);
    }

    /// Gives the head its next work, if it is free.
    fn start(&mut self, now: Nanoseconds) {
        self.accept(now);
        if self.working.is_some() {
            return;
        }
        let waiting = self.queue.first_flush().map(|flush| flush.after);
        let drain = waiting.is_some_and(|after| self.cache.has_before(after));
        let pressed = drain || self.cache.is_pressed();
        // In turn with requests, or where there is none: choosing one takes most of the time of a queue that is full.
        if pressed && !self.destaged_last && self.destage(now) {
            self.destaged_last = true;
            return;
        }
        let choice = self.choose(now);
        if pressed && choice.is_none() && self.destage(now) {
            self.destaged_last = true;
            return;
        }
        self.destaged_last = false;
        let is_flushed = |after: u64| !drain && self.cache.received() >= after;
        let flushed = waiting.is_some_and(is_flushed);
        // It needs no positioning, so it is the shortest; as a barrier it waits for what came before it.
        if flushed && (choice.is_none() || !self.parts.flush_is_barrier) {
            self.finish_flush(now);
        } else if let Some(place) = choice {
            self.serve(now, place);
        } else {
            self.destage(now);
        }
    }

    fn finish_flush(&mut self, now: Nanoseconds) {
        if let Some(flush) = self.queue.take_flush() {
            self.count(&flush.request, false);
            self.usage.overhead += self.parts.command;
            self.work(now, now + self.parts.command, Some(flush.request.tag));
        }
    }

    /// The place of the request to serve next: the one with the shortest positioning time of the oldest.
    fn choose(&self, now: Nanoseconds) -> Option<usize> {
        let barrier = self.barrier();
        let slices = self.queue.competing();
        slices[0].first().filter(|first| first.number < barrier)?;
        let waited = now.saturating_sub(self.queue.oldest_since());
        if slices[0].len() + slices[1].len() == 1 || waited > PATIENCE {
            return Some(0);
        }
        let head = self.head_at(now as f64);
        let (mut best, mut least) = (None, f64::INFINITY);
        let mut place = 0;
        for part in slices {
            for pending in part {
                if pending.number > barrier {
                    return best;
                }
                if let Some(cost) = self.positioning(now as f64, head, pending, least) {
                    (best, least) = (Some(place), cost);
                }
                place += 1;
            }
        }
        best
    }

    /// Seek and rotation of a request that starts now, ns; 0 for one that needs neither. None if it is not below `least`: most are
    /// out of the question by their seek alone.
    #[inline]
    fn positioning(&self, now: f64, head: f64, pending: &Pending, least: f64) -> Option<f64> {
        let request = &pending.request;
        if request.op == Op::Discard || self.is_buffered(now, request) {
            return Some(0.0).filter(|cost| *cost < least);
        }
        let ready = now + self.parts.command as f64;
        let is_write = request.op == Op::Write;
        self.parts
            .reaching(ready, head, pending.place, is_write, least)
    }

    /// Whether a read needs no positioning: cached writes or the look-ahead have its bytes.
    #[inline]
    fn is_buffered(&self, now: f64, request: &Request) -> bool {
        if request.op != Op::Read {
            return false;
        }
        let stream = self.stream.as_ref();
        stream.is_some_and(|s| s.serves(&self.parts.geometry, request.offset, now))
            || self.cache.holds(request.offset, request.len)
    }

    fn head_at(&self, now: f64) -> f64 {
        let stream = self.stream.as_ref();
        stream.map_or(self.head, |s| s.head(&self.parts.geometry, now))
    }

    fn serve(&mut self, now: Nanoseconds, place: usize) {
        let Some(pending) = self.queue.take_competing(now, place, &self.parts.geometry) else {
            return;
        };
        let request = pending.request;
        let plan = self.plan(now as f64, &pending);
        self.count(&request, plan.hit);
        self.usage.overhead += self.parts.command;
        self.follow(&request, &plan);
        self.work(now, plan.done.ceil() as Nanoseconds, Some(request.tag));
    }

    /// Books what a plan costs and moves the head.
    fn follow(&mut self, request: &Request, plan: &Plan) {
        self.usage.seek += plan.seek as Nanoseconds;
        self.usage.rotation += plan.rotation as Nanoseconds;
        self.usage.transfer += plan.transfer as Nanoseconds;
        let moved = !plan.hit && request.op != Op::Discard;
        if moved {
            self.head = self.parts.geometry.radius(request.end());
            self.stream = None;
        }
        if plan.stream.is_some() {
            self.stream.clone_from(&plan.stream);
        }
    }

    fn work(&mut self, now: Nanoseconds, until: Nanoseconds, tag: Option<u64>) {
        self.usage.busy += until - now;
        self.working = Some(Working { until, tag });
    }

    /// How a request is served that starts at `now`.
    fn plan(&self, now: f64, pending: &Pending) -> Plan {
        let request = &pending.request;
        let ready = now + self.parts.command as f64;
        let link = request.len as f64 * 1e9 / self.parts.interface;
        let idle = Plan {
            done: ready,
            seek: 0.0,
            rotation: 0.0,
            transfer: 0.0,
            hit: false,
            stream: None,
        };
        if request.op == Op::Discard || request.op == Op::Flush {
            return idle;
        }
        if self.is_buffered(now, request) {
            if self.cache.holds(request.offset, request.len) {
                let done = ready + link;
                return Plan {
                    done,
                    transfer: link,
                    hit: true,
                    ..idle
                };
            }
            if let Some(stream) = &self.stream {
                let ahead = self.parts.look_ahead;
                let (passed, stream) = stream.extended(&self.parts.geometry, request, ready, ahead);
                let done = passed.max(ready + link);
                return Plan {
                    done,
                    transfer: done - ready,
                    hit: true,
                    stream: Some(stream),
                    ..idle
                };
            }
        }
        self.positioned(now, link, request, pending.place, ready)
    }

    /// A request that needs the head to be moved to it.
    fn positioned(&self, now: f64, link: f64, request: &Request, place: Place, ready: f64) -> Plan {
        let geometry = &self.parts.geometry;
        let distance = (self.head_at(now) - place.from).abs();
        let seek = self.parts.seek.time(distance, request.op == Op::Write);
        let rotation = geometry.rotation(place.angle, ready + seek);
        let begin = ready + seek + rotation;
        let medium = begin + geometry.reading(place.from, geometry.radius(request.end()));
        let done = if self.parts.store_and_forward && request.op == Op::Read {
            medium + link
        } else {
            medium.max(ready + link)
        };
        let reads_on = request.op == Op::Read && self.parts.look_ahead > 0;
        Plan {
            done,
            seek,
            rotation,
            transfer: done - begin,
            stream: reads_on
                .then(|| Stream::after(geometry, request, medium, self.parts.look_ahead)),
            hit: false,
        }
    }

    /// Starts to write a cached extent to the medium; `false` if there is none.
    fn destage(&mut self, now: Nanoseconds) -> bool {
        let head = self.head_at(now as f64);
        let parts = &self.parts;
        let cost = |place: Place, least: f64| parts.reaching(now as f64, head, place, true, least);
        let Some((offset, len, place)) = self.cache.take(parts.destage_window, cost) else {
            return false;
        };
        // Its bytes and its command are in the cache already.
        let request = Request::write(0, offset, len);
        let plan = self.positioned(now as f64, 0.0, &request, place, now as f64);
        self.follow(&request, &plan);
        self.work(now, plan.done.ceil() as Nanoseconds, None);
        true
    }
}

impl Model for Disk {
    fn capacity(&self) -> u64 {
        self.parts.geometry.capacity()
    }

    fn submit(&mut self, now: Nanoseconds, request: Request) {
        self.run(now);
        if request.op == Op::Flush {
            let after = self.cache.received() + self.incoming.len() as u64;
            self.queue.push_flush(request, after);
        } else if self.is_cached(&request) {
            self.queue.push_cached(request);
        } else {
            let geometry = &self.parts.geometry;
            self.queue.push_positioned(now, request, geometry);
        }
        self.start(now);
    }

    fn next_event(&self) -> Option<Nanoseconds> {
        let done = self.done.first().map(|completion| completion.at);
        earlier(done, self.next_internal())
    }

    fn advance(&mut self, now: Nanoseconds, done: &mut Vec<Completion>) {
        self.run(now);
        done.append(&mut self.done);
    }

    fn has_volatile_cache(&self) -> bool {
        self.parts.write_cache > 0
    }

    fn usage(&self, parts: &mut Vec<Usage>) {
        parts.push(self.usage.clone());
    }
}

#[cfg(test)]
mod tests;
