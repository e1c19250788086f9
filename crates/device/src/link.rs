//! A link between host and device: a latency that requests do not share, and a rate that they do.

use crate::model::{Completion, Model, Nanoseconds, Op, Request, Usage};
use crate::slab::Slab;
use crate::timeline::{Serial, Timeline, earlier, moving};

/// What a link is made of.
#[derive(Clone, Copy, Debug)]
pub struct Parameters {
    /// Added to each request, ns.
    pub latency: Nanoseconds,
    /// Bytes a second of all requests together.
    pub rate: f64,
}

/// A link and the device at its far end.
pub struct Link {
    parts: Parameters,
    child: Box<dyn Model>,
    wire: Serial,
    requests: Slab<Request>,
    /// Writes whose bytes are on the way to the device.
    sending: Timeline<u64>,
    done: Timeline<u64>,
    buffer: Vec<Completion>,
    usage: Usage,
}

impl Link {
    /// A link to `child`.
    pub fn new(parts: Parameters, child: Box<dyn Model>) -> Link {
        Link {
            parts,
            child,
            wire: Serial::default(),
            requests: Slab::default(),
            sending: Timeline::default(),
            done: Timeline::default(),
            buffer: Vec::new(),
            usage: Usage {
                part: "link",
                ..Usage::default()
            },
        }
    }

    fn run(&mut self, now: Nanoseconds) {
        while let Some(at) = self.next_internal().filter(|at| *at <= now) {
            while let Some((at, key)) = self.sending.pop_due(at) {
                self.pass_on(at, key);
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
        earlier(self.sending.next(), self.child.next_event())
    }

    fn pass_on(&mut self, at: Nanoseconds, key: u64) {
        if let Some(request) = self.requests.get_mut(key) {
            let request = Request {
                tag: key,
                ..*request
            };
            self.child.submit(at, request);
        }
    }

    fn child_done(&mut self, completion: Completion) {
        let Some(request) = self.requests.remove(completion.tag) else {
            return;
        };
        let arrived = match request.op {
            Op::Read => self.carry(completion.at, request.len),
            Op::Write | Op::Flush | Op::Discard => completion.at,
        };
        self.done.push(arrived + self.parts.latency, request.tag);
    }

    fn carry(&mut self, ready: Nanoseconds, len: u64) -> Nanoseconds {
        let time = moving(len, self.parts.rate);
        self.usage.transfer += time;
        self.wire.occupy(ready, time)
    }
}

impl Model for Link {
    fn capacity(&self) -> u64 {
        self.child.capacity()
    }

    fn submit(&mut self, now: Nanoseconds, request: Request) {
        self.run(now);
        self.usage.requests += 1;
        self.usage.bytes += request.len;
        self.usage.overhead += self.parts.latency;
        let key = self.requests.insert(request);
        match request.op {
            Op::Write => {
                let at = self.carry(now, request.len);
                self.sending.push(at, key);
            }
            Op::Read | Op::Flush | Op::Discard => self.pass_on(now, key),
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
        self.child.has_volatile_cache()
    }

    fn usage(&self, parts: &mut Vec<Usage>) {
        parts.push(Usage {
            busy: self.wire.busy,
            ..self.usage.clone()
        });
        self.child.usage(parts);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::run_alone;
    use crate::ssd::{self, Ssd};

    const MS: u64 = 1_000_000;

    /// A link with 1 ms of latency and 4 KiB a millisecond to flash that takes no time.
    fn link() -> Link {
        let flash = ssd::Parameters {
            capacity: 1 << 30,
            channels: 1,
            dies: 1,
            page: 4096,
            read: 0,
            read_step: 0,
            program: 0,
            channel: f64::INFINITY,
            link: f64::INFINITY,
            read_firmware: 0,
            write_firmware: 0,
            buffer: 1 << 20,
            amplification: 1.0,
            suspend: false,
            flush: Some(0),
        };
        let parts = Parameters {
            latency: MS,
            rate: 4096.0 * 1000.0,
        };
        Link::new(parts, Box::new(Ssd::new(flash)))
    }

    #[test]
    fn requests_share_the_rate_and_not_the_latency() {
        for write in [false, true] {
            let mut link = link();
            for tag in 0..4 {
                let read = Request::read(tag, tag * 4096, 4096);
                let op = if write { Op::Write } else { Op::Read };
                link.submit(0, Request { op, ..read });
            }
            let mut done = Vec::new();
            while let Some(at) = link.next_event() {
                link.advance(at, &mut done);
            }
            let times: Vec<u64> = done.iter().map(|c| c.at / MS).collect();
            assert_eq!(times, [2, 3, 4, 5], "write: {write}");
        }
        // A flush has no bytes.
        assert_eq!(run_alone(&mut link(), 0, Request::flush(1)), MS);
    }
}
