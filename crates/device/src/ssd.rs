//! A solid-state drive: dies, channels, a link and a write buffer.
//!
//! Garbage collection as a process and SLC caches are not modelled.

use crate::model::{Completion, Model, Nanoseconds, Op, Request, Usage};
use crate::timeline::{Serial, Timeline, moving};

/// What an SSD is made of.
#[derive(Clone, Debug)]
pub struct Parameters {
    /// Bytes.
    pub capacity: u64,
    /// Channels.
    pub channels: usize,
    /// Dies and planes on each channel that work on their own.
    pub dies: usize,
    /// Page size in bytes.
    pub page: u64,
    /// Sensing a page of the fastest kind, ns.
    pub read: Nanoseconds,
    /// A third of the pages takes `read`, a third one step more, a third three steps more, ns.
    pub read_step: Nanoseconds,
    /// Programming a page, ns.
    pub program: Nanoseconds,
    /// Rate of a channel, bytes a second.
    pub channel: f64,
    /// Rate of the host link, bytes a second.
    pub link: f64,
    /// Firmware of a read, ns.
    pub read_firmware: Nanoseconds,
    /// Firmware of a write, ns.
    pub write_firmware: Nanoseconds,
    /// Write buffer in bytes.
    pub buffer: u64,
    /// Pages programmed for each page written at random.
    pub amplification: f64,
    /// Whether a read interrupts a program.
    pub suspend: bool,
    /// Time of a flush with power-loss protection, ns; `None`: a flush drains the buffer.
    pub flush: Option<Nanoseconds>,
}

/// An SSD in simulated time.
///
/// All resources are served in order of arrival, so the time of a completion is known at submission.
pub struct Ssd {
    parts: Parameters,
    /// When each die is free for a read, and for a program.
    dies: Vec<Die>,
    channels: Vec<Serial>,
    link: Serial,
    /// Bytes that leave the buffer when a page is programmed.
    programs: Timeline<u64>,
    buffered: u64,
    /// When the last page is programmed.
    drained: Nanoseconds,
    /// End of the last write.
    written: u64,
    /// Programs owed to write amplification, in parts of a page.
    owed: f64,
    /// Writes enter the buffer in order.
    admitted: Nanoseconds,
    done: Timeline<u64>,
    usage: Usage,
}

#[derive(Clone, Copy, Debug, Default)]
struct Die {
    free: Nanoseconds,
    /// The part of `free` that is programs, which a read may interrupt.
    reads: Nanoseconds,
    /// Sum of what it sensed and programmed.
    busy: Nanoseconds,
}

impl Ssd {
    /// An idle, empty drive.
    pub fn new(parts: Parameters) -> Ssd {
        Ssd {
            dies: vec![Die::default(); parts.channels * parts.dies],
            channels: vec![Serial::default(); parts.channels],
            link: Serial::default(),
            programs: Timeline::default(),
            buffered: 0,
            drained: 0,
            written: 0,
            owed: 0.0,
            admitted: 0,
            done: Timeline::default(),
            usage: Usage {
                part: "ssd",
                ..Usage::default()
            },
            parts,
        }
    }

    fn read(&mut self, now: Nanoseconds, request: &Request) -> Nanoseconds {
        let ready = now + self.parts.read_firmware;
        let page = self.parts.page;
        // When the last page has come, and what that page took without waiting.
        let mut last = (ready, 0);
        for number in request.offset / page..request.end().max(request.offset + 1).div_ceil(page) {
            let from = request.offset.max(number * page);
            let to = request.end().min((number + 1) * page);
            last = last.max(self.read_page(ready, number, to.saturating_sub(from)));
        }
        let (here, alone) = last;
        let moved = moving(request.len, self.parts.link);
        self.usage.overhead += self.parts.read_firmware;
        self.usage.transfer += alone + moved;
        self.link.occupy(here, moved)
    }

    /// When a page is here, and what it takes alone.
    fn read_page(
        &mut self,
        ready: Nanoseconds,
        number: u64,
        len: u64,
    ) -> (Nanoseconds, Nanoseconds) {
        let count = self.dies.len() as u64;
        let index = (number % count) as usize;
        let steps = [0, 1, 3][(number / count % 3) as usize];
        let sensing = self.parts.read + steps * self.parts.read_step;
        let die = &mut self.dies[index];
        let begin = if self.parts.suspend {
            die.reads.max(ready)
        } else {
            die.free.max(ready)
        };
        let sensed = begin + sensing;
        die.reads = sensed;
        // An interrupted program ends later by what interrupted it.
        die.free = if die.free > begin {
            die.free + sensing
        } else {
            sensed
        };
        die.busy += sensing;
        let channel = index % self.parts.channels;
        let moved = moving(len, self.parts.channel);
        let here = self.channels[channel].occupy(sensed, moved);
        (here, sensing + moved)
    }

    fn write(&mut self, now: Nanoseconds, request: &Request) -> Nanoseconds {
        let ready = (now + self.parts.write_firmware).max(self.admitted);
        let moved = moving(request.len, self.parts.link);
        self.usage.overhead += self.parts.write_firmware;
        self.usage.transfer += moved;
        let received = self.link.occupy(ready, moved);
        let random = request.offset != self.written;
        self.written = request.end();
        let (mut at, mut safe) = (received, received);
        let mut left = request.len;
        while left > 0 {
            let piece = left.min(self.parts.page);
            at = self.room(at, piece);
            safe = self.program(at, piece, random).unwrap_or(safe);
            left -= piece;
        }
        self.admitted = at;
        // With power-loss protection what is in the buffer is safe.
        if !request.fua || self.parts.flush.is_some() {
            return at;
        }
        safe.max(at).max(self.program_rest(at))
    }

    /// When the buffer has room for `len` bytes.
    fn room(&mut self, at: Nanoseconds, len: u64) -> Nanoseconds {
        while let Some((_, freed)) = self.programs.pop_due(at) {
            self.buffered -= freed;
        }
        let mut at = at;
        while self.buffered + len > self.parts.buffer {
            let Some((freed_at, freed)) = self.programs.pop_due(Nanoseconds::MAX) else {
                break;
            };
            self.buffered -= freed;
            at = at.max(freed_at);
        }
        self.buffered += len;
        at
    }

    /// Programs part of a page on the die that is free first; returns when that is done, if a page is full.
    fn program(&mut self, at: Nanoseconds, len: u64, random: bool) -> Option<Nanoseconds> {
        let share = len as f64 / self.parts.page as f64;
        self.owed += share
            * if random {
                self.parts.amplification
            } else {
                1.0
            };
        let mut programmed = None;
        while self.owed >= 1.0 - 1e-9 {
            self.owed -= 1.0;
            programmed = Some(self.program_page(at));
        }
        let freed_at = programmed.unwrap_or(self.drained.max(at));
        self.drained = self.drained.max(freed_at);
        self.programs.push(freed_at, len);
        programmed
    }

    /// Programs what is left and less than a page, for which a page is used; returns when that is done.
    fn program_rest(&mut self, at: Nanoseconds) -> Nanoseconds {
        if self.owed <= 1e-9 {
            return at;
        }
        self.owed = 0.0;
        let programmed = self.program_page(at);
        self.drained = self.drained.max(programmed);
        programmed
    }

    fn program_page(&mut self, at: Nanoseconds) -> Nanoseconds {
        let count = self.dies.len();
        let index = (0..count).min_by_key(|i| self.dies[*i].free).unwrap_or(0);
        let moved = moving(self.parts.page, self.parts.channel);
        let begin = self.channels[index % self.parts.channels].occupy(at, moved);
        let die = &mut self.dies[index];
        die.free = die.free.max(begin) + self.parts.program;
        die.busy += self.parts.program;
        die.free
    }

    fn flush(&mut self, now: Nanoseconds) -> Nanoseconds {
        if let Some(time) = self.parts.flush {
            return now + time;
        }
        self.program_rest(now);
        self.drained.max(now + self.parts.write_firmware)
    }
}

impl Model for Ssd {
    fn capacity(&self) -> u64 {
        self.parts.capacity
    }

    fn submit(&mut self, now: Nanoseconds, request: Request) {
        self.usage.requests += 1;
        self.usage.bytes += request.len;
        let done = match request.op {
            Op::Read => self.read(now, &request),
            Op::Write => self.write(now, &request),
            Op::Flush => self.flush(now),
            Op::Discard => now + self.parts.write_firmware,
        };
        self.done.push(done, request.tag);
    }

    fn next_event(&self) -> Option<Nanoseconds> {
        self.done.next()
    }

    fn advance(&mut self, now: Nanoseconds, done: &mut Vec<Completion>) {
        self.done.complete(now, done);
    }

    fn usage(&self, parts: &mut Vec<Usage>) {
        let channels = self.channels.iter().map(|channel| channel.busy);
        let busiest = channels.chain(self.dies.iter().map(|die| die.busy)).max();
        parts.push(Usage {
            busy: self.link.busy.max(busiest.unwrap_or(0)),
            ..self.usage.clone()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::run_alone;

    /// The consumer drive that NVMeVirt publishes, with one read time.
    fn parts() -> Parameters {
        Parameters {
            capacity: 1 << 40,
            channels: 8,
            dies: 2,
            page: 32 << 10,
            read: 36_000,
            read_step: 0,
            program: 185_000,
            channel: 800e6,
            link: 3.36e9,
            read_firmware: 21_500,
            write_firmware: 4_000,
            buffer: 8 << 20,
            amplification: 1.0,
            suspend: false,
            flush: None,
        }
    }

    #[test]
    fn a_small_read_is_the_sum_of_its_parts() {
        let mut ssd = Ssd::new(parts());
        // 21.5 + 36 + 4096 / 800 MB/s (5.12) + 4096 / 3.36 GB/s (1.219) us.
        assert_eq!(run_alone(&mut ssd, 0, Request::read(1, 0, 4096)), 63_839);
    }

    #[test]
    fn pages_of_one_die_wait_for_each_other_and_kinds_of_pages_differ() {
        let mut ssd = Ssd::new(Parameters {
            read_step: 4_000,
            ..parts()
        });
        // Pages 0, 16 and 32 are on die 0: 36, 40 and 48 us, one after the other.
        for (tag, page) in [(0, 0), (1, 16), (2, 32)] {
            ssd.submit(0, Request::read(tag, page << 15, 4096));
        }
        let mut done = Vec::new();
        ssd.advance(u64::MAX, &mut done);
        let times: Vec<u64> = done.iter().map(|d| d.at).collect();
        assert_eq!(times, [63_839, 63_839 + 40_000, 63_839 + 88_000]);
    }

    #[test]
    fn sustained_writes_are_bound_by_programming() {
        let mut ssd = Ssd::new(parts());
        let (mut now, count) = (0, 4_000_u64);
        for i in 0..count {
            now = run_alone(&mut ssd, now, Request::write(i, i << 17, 1 << 17));
        }
        // 16 dies, 32 KiB each in 185 us: 2.834 GB/s.
        let rate = ((count << 17) - (8 << 20)) as f64 / now as f64;
        assert!((rate / 2.834 - 1.0).abs() < 0.02, "{rate}");
    }

    #[test]
    fn a_flush_waits_for_the_buffer_and_protected_drives_do_not() {
        let mut ssd = Ssd::new(parts());
        let written = run_alone(&mut ssd, 0, Request::write(0, 0, 32 << 10));
        assert!(written < 20_000);
        let flushed = run_alone(&mut ssd, written, Request::flush(1));
        assert!(flushed > 185_000);
        let mut ssd = Ssd::new(Parameters {
            flush: Some(1000),
            ..parts()
        });
        let written = run_alone(&mut ssd, 0, Request::write(0, 0, 32 << 10));
        assert_eq!(
            run_alone(&mut ssd, written, Request::flush(1)),
            written + 1000
        );
    }

    #[test]
    fn a_forced_write_is_programmed_unless_the_buffer_is_protected() {
        let forced = |len| Request {
            fua: true,
            ..Request::write(0, 0, len)
        };
        // A part of a page takes a page: firmware, link, channel, and 185 us.
        for len in [4096, 32 << 10] {
            let done = run_alone(&mut Ssd::new(parts()), 0, forced(len));
            assert!((185_000..240_000).contains(&done), "{len}: {done}");
        }
        let mut protected = Ssd::new(Parameters {
            flush: Some(1000),
            ..parts()
        });
        assert!(run_alone(&mut protected, 0, forced(4096)) < 20_000);
    }

    #[test]
    fn random_writes_are_amplified_and_writes_in_order_are_not() {
        let sustained = |stride: u64| {
            let mut ssd = Ssd::new(Parameters {
                amplification: 3.0,
                ..parts()
            });
            let mut now = 0;
            for i in 0..1_000 {
                now = run_alone(
                    &mut ssd,
                    now,
                    Request::write(i, (i * stride) << 17, 1 << 17),
                );
            }
            now
        };
        let ratio = sustained(5) as f64 / sustained(1) as f64;
        assert!((2.8..3.2).contains(&ratio), "{ratio}");
    }

    #[test]
    fn a_read_waits_for_a_program_unless_it_may_interrupt_it() {
        let read_after_write = |suspend| {
            let mut ssd = Ssd::new(Parameters { suspend, ..parts() });
            let mut now = 0;
            for i in 0..16 {
                now = run_alone(&mut ssd, now, Request::write(i, i << 15, 1 << 15));
            }
            run_alone(&mut ssd, now, Request::read(99, 15 << 15, 4096)) - now
        };
        assert!(read_after_write(false) > 100_000);
        assert!(read_after_write(true) < 110_000);
        assert!(read_after_write(true) < read_after_write(false));
    }
}
