//! Measurements that the forecast of every format has.

use std::time::{Duration, Instant};

use blockio::{BlockSource, Content, Piece, Span};

use super::{Interval, Sample};
use crate::frame::sweep::{Crew, Sweeper};

/// The interval of rates that were measured in several places.
pub(crate) fn measured(mut rates: Vec<f64>) -> Interval {
    rates.sort_by(f64::total_cmp);
    match rates.as_slice() {
        [] => Interval::default(),
        [low, .., high] => Interval {
            low: *low,
            likely: rates[rates.len() / 2],
            high: *high,
        },
        [one] => Interval {
            low: one * 0.7,
            likely: *one,
            high: one * 1.4,
        },
    }
}

/// What a format counts in the inodes of a sample.
pub(crate) trait Tally: Default + Send {
    /// Adds what another thread counted.
    fn add(&mut self, other: Self);
}

/// What the parallel part of a sample saw.
#[derive(Debug, Default)]
pub(crate) struct Seen<T> {
    /// Bytes read.
    pub(crate) bytes: u64,
    /// Bytes of holes.
    pub(crate) holes: u64,
    /// What the inodes are.
    pub(crate) tally: T,
}

impl<T: Tally> Seen<T> {
    /// Reads inodes in one place, as the check will. Its bytes per second; none where nothing was read.
    pub(crate) fn read(
        &mut self,
        sweeper: &Sweeper<'_>,
        spans: Vec<Span>,
        look: impl Fn(&mut T, &[u8]) + Sync,
    ) -> Option<f64> {
        let begin = Instant::now();
        let each = |seen: &mut Seen<T>, piece: &Piece<'_>| match piece.content {
            Content::Data(data) => {
                seen.bytes += data.len() as u64;
                look(&mut seen.tally, data);
            }
            Content::Hole(len) => seen.holes += len,
            Content::Failed(_) => {}
        };
        let parts = sweeper.run(Crew::All, spans, Seen::default, each).ok()?;
        let seconds = begin.elapsed().as_secs_f64();
        let before = self.bytes;
        for part in parts {
            self.bytes += part.bytes;
            self.holes += part.holes;
            self.tally.add(part.tally);
        }
        let bytes = self.bytes - before;
        (bytes > 0 && seconds > 0.0).then(|| bytes as f64 / seconds)
    }

    /// Share of holes.
    pub(crate) fn holes(&self) -> f64 {
        self.holes as f64 / (self.holes + self.bytes).max(1) as f64
    }
}

/// What a busy thread gets of a CPU while as many are busy as the check has.
pub(crate) fn cpu_share(threads: usize) -> f64 {
    const WATCHED: Duration = Duration::from_millis(150);
    let cpu = || clock::thread_cpu_ns() as f64 / 1e9;
    let one = || {
        let (begin, used) = (Instant::now(), cpu());
        while begin.elapsed() < WATCHED {
            std::hint::spin_loop();
        }
        ((cpu() - used) / begin.elapsed().as_secs_f64()).clamp(0.05, 1.0)
    };
    let shares: Vec<f64> = std::thread::scope(|scope| {
        let spinning: Vec<_> = (0..threads.clamp(1, 64))
            .map(|_| scope.spawn(one))
            .collect();
        spinning
            .into_iter()
            .filter_map(|thread| thread.join().ok())
            .collect()
    });
    shares.iter().sum::<f64>() / shares.len().max(1) as f64
}

/// Seconds to read this much at a rate; none where the rate is not known.
fn reading(bytes: f64, rate: f64) -> f64 {
    if rate > 0.0 { bytes / rate } else { 0.0 }
}

/// Time that the parallel part of a sample takes at most, roughly; the other parts take a quarter each.
pub(crate) const LONG: Duration = Duration::from_secs(2);
/// Random reads of a sample.
const RANDOM: usize = 200;

/// Reads of a sample, one request at a time, after the places that were read in parallel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OneByOne {
    /// Bytes of a request.
    pub(crate) request: u64,
    /// Bytes that are read in each place.
    pub(crate) each: u64,
    /// Bytes of holes that are passed over in each place.
    pub(crate) holes: u64,
}

impl OneByOne {
    /// Bytes per second, 0 where there was too little, and bytes read.
    pub(crate) fn measure(self, source: &dyn BlockSource, ends: &[u64]) -> (f64, u64) {
        let mut buffer = vec![0; self.request as usize];
        let (begin, mut bytes) = (Instant::now(), 0);
        for end in ends {
            let mut at = end.next_multiple_of(self.request);
            while at < end + self.each && begin.elapsed() < LONG / 4 {
                let data = source.next_data(at);
                let Some(data) = data.filter(|data| data.start < end + self.holes) else {
                    break;
                };
                at = data.start.max(at).next_multiple_of(self.request);
                if at + self.request > data.end || source.read_at(&mut buffer, at).is_err() {
                    break;
                }
                at += self.request;
                bytes += self.request;
            }
        }
        let seconds = begin.elapsed().as_secs_f64();
        if bytes < 4 * self.request || seconds <= 0.0 {
            return (0.0, bytes);
        }
        (bytes as f64 / seconds, bytes)
    }
}

/// Seconds of one read of one block at random, and reads: some of these blocks.
pub(crate) fn random(blocks: &[u64], read: impl Fn(u64) -> bool) -> (f64, u64) {
    let stride = (blocks.len() / RANDOM).max(1);
    let mut blocks: Vec<u64> = blocks.iter().copied().step_by(stride).collect();
    // Never in the order of the device, in which it would read ahead.
    blocks.sort_by_key(|block| block.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let (begin, mut reads) = (Instant::now(), 0_u32);
    for block in blocks {
        if begin.elapsed() > LONG / 4 {
            break;
        }
        reads += u32::from(read(block));
    }
    let seconds = begin.elapsed().as_secs_f64() / f64::from(reads.max(1));
    (if reads == 0 { 0.0 } else { seconds }, reads.into())
}

/// What a program has to do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    /// Bytes that it reads.
    pub(crate) bytes: f64,
    /// CPU time of its start, seconds.
    pub(crate) start: f64,
    /// CPU time of the rest in one thread, seconds.
    pub(crate) work: f64,
    /// Directories, which may be anywhere.
    pub(crate) directories: u64,
}

impl Load {
    /// Time where several threads read while they compute, with `depth` requests in flight.
    pub(crate) fn in_parallel(self, threads: usize, depth: usize, sample: &Sample) -> Interval {
        let work = self.work / threads.max(1) as f64;
        let busy = work / sample.cpu_share;
        let read = |rate: f64| reading(self.bytes, rate);
        let rate = sample.parallel_rate;
        // Directories that are not neighbours are read one at a time by each request in flight.
        let scattered = self.directories as f64 * sample.random_read / depth.max(1) as f64;
        Interval {
            low: 0.5 * (self.start + read(rate.high).max(work / 2.0)),
            likely: self.start + read(rate.likely).max(busy) + 0.25 * scattered,
            high: 1.4
                * (2.0 * self.start / sample.cpu_share + read(rate.low) + 2.0 * busy + scattered),
        }
    }

    /// Time of one thread that waits for each read, whose readahead hides a part of the waiting; it reads everything `times` times at most.
    pub(crate) fn one_by_one(self, times: f64, sample: &Sample) -> Interval {
        let rate = sample.parallel_rate;
        let serial = if sample.serial_rate > 0.0 {
            sample.serial_rate
        } else {
            rate.low
        };
        let busy = self.work / sample.cpu_share;
        let fast = reading(self.bytes, rate.high.max(serial));
        let slow = reading(times * self.bytes, serial.min(rate.low));
        let scattered = self.directories as f64 * sample.random_read;
        Interval {
            low: 0.5 * (self.start + fast.max(self.work / times)),
            likely: self.start
                + reading(self.bytes, serial).max(fast) * 0.7
                + busy
                + 0.3 * scattered,
            high: 1.4 * (2.0 * self.start / sample.cpu_share + slow + 1.6 * busy + scattered),
        }
    }
}
