//! What is gathered while btt's state machine runs.

use rustc_hash::FxHashMap;

use super::latency::Latencies;
use super::process::{Accounts, Kind};
use super::scatter::{Point, Sampler};
use super::sizes::Sizes;
use super::timeline::Recorder;
use super::{Analysis, Chains, Depth, Direction, DirectionSummary, Losses};
use crate::btt::average::Interval;
use crate::file::Event;
use crate::record::{Category, Head};

/// Requests that are followed at once.
const FLYING: usize = 100_000;

/// Sequence numbers of a CPU: the first, the last, the largest, and how many were seen.
#[derive(Clone, Copy)]
struct Sequence {
    first: u32,
    last: u32,
    largest: u32,
    seen: u64,
    gaps: u64,
    time: u64,
    backwards: u64,
}

#[derive(Default)]
pub(crate) struct Extra {
    events: u64,
    first_time: Option<u64>,
    last_time: u64,
    passthrough: u64,
    /// By file and CPU.
    sequences: FxHashMap<u64, Sequence>,
    directions: [Counts; 3],
    latencies: Latencies,
    accounts: Accounts,
    bio_sizes: Sizes,
    request_sizes: Sizes,
    /// Requests at the drivers: device and first sector, to the sector after the last.
    flying: FxHashMap<(u32, u64), u64>,
    recorder: Recorder,
    sampler: Sampler,
    remaps: FxHashMap<(u32, u32), u64>,
    pub(crate) chains: Chains,
    /// Device, first sector, sector after the last, and whether it was data, of the last request.
    last_request: Option<(u32, u64, u64, bool)>,
    kind_switches: u64,
}

#[derive(Clone, Copy, Default)]
struct Counts {
    bios: u64,
    bio_bytes: u64,
    requests: u64,
    request_bytes: u64,
    completed_bytes: u64,
    merges: u64,
    requeues: u64,
    errors: u64,
    barriers: u64,
}

/// A time before the first event, which an exchanged record can have, is taken for the first.
#[inline]
fn forwards(time: u64) -> u64 {
    if time > u64::MAX / 2 { 0 } else { time }
}

impl Extra {
    pub(crate) fn learn(&mut self, note: &Event<'_>) {
        self.accounts.learn(note);
    }

    /// Every event that has a sequence number; `time` is ns from the first one of all.
    #[inline]
    pub(crate) fn sequence(&mut self, file: usize, head: &Head, time: u64) {
        self.events += 1;
        let number = head.sequence;
        let place = (file as u64) << 32 | u64::from(head.cpu);
        let known = self.sequences.entry(place).or_insert(Sequence {
            first: number,
            last: number.wrapping_sub(1),
            largest: number,
            seen: 0,
            gaps: 0,
            time: 0,
            backwards: 0,
        });
        let time = forwards(time);
        known.backwards += u64::from(time < known.time);
        known.time = time;
        known.seen += 1;
        known.gaps += u64::from(number > known.last.wrapping_add(1) && number > known.largest);
        known.last = number;
        known.largest = known.largest.max(number);
        known.first = known.first.min(number);
    }

    pub(crate) fn skipped(&mut self, head: &Head) {
        self.passthrough += u64::from(head.has(Category::Passthrough));
    }

    /// The time of any event, ns from the first.
    #[inline]
    pub(crate) fn at(&mut self, time: u64) {
        let time = forwards(time);
        self.first_time.get_or_insert(time);
        self.last_time = self.last_time.max(time);
    }

    #[inline]
    pub(crate) fn interval(&mut self, interval: Interval, action: u32, ns: u64) {
        self.latencies.add(interval, Direction::of(action), ns);
    }

    #[inline]
    pub(crate) fn queue(&mut self, head: &Head) {
        let direction = Direction::of(head.action);
        let counts = &mut self.directions[direction as usize];
        counts.bios += 1;
        counts.bio_bytes += u64::from(head.bytes);
        counts.barriers += u64::from(head.has(Category::Flush) || head.has(Category::Fua));
        self.bio_sizes.add(direction, head.bytes);
        self.accounts.queue(head, direction);
    }

    pub(crate) fn merge(&mut self, head: &Head) {
        self.directions[Direction::of(head.action) as usize].merges += 1;
    }

    pub(crate) fn requeue(&mut self, head: &Head) {
        self.directions[Direction::of(head.action) as usize].requeues += 1;
        if self.flying.remove(&(head.device, head.sector)).is_some() {
            let depth = self.recorder.depth.saturating_sub(1);
            self.recorder.depth(forwards(head.time), depth);
        }
    }

    pub(crate) fn issue(&mut self, head: &Head) {
        let direction = Direction::of(head.action);
        let counts = &mut self.directions[direction as usize];
        counts.requests += 1;
        counts.request_bytes += u64::from(head.bytes);
        self.request_sizes.add(direction, head.bytes);
        let time = forwards(head.time);
        self.chains.issue(head);
        let data = self.accounts.kind(head) == Kind::Data;
        let request = (head.device, head.sector, head.end(), data);
        if let Some((device, sector, end, before)) = self.last_request.replace(request) {
            let touches = device == head.device && head.sector <= end && sector <= head.end();
            self.kind_switches += u64::from(before != data && !touches);
        }
        let accounts = &mut self.accounts;
        self.sampler.add(|| Point {
            seconds: time as f64 / 1e9,
            device: head.device,
            sector: head.sector,
            sectors: head.sectors(),
            direction,
            kind: accounts.kind(head),
        });
        if self.flying.len() >= FLYING {
            // Completions are lost, or never traced: start over.
            self.flying.clear();
            self.recorder.depth(time, 0);
        }
        let before = self.flying.insert((head.device, head.sector), head.end());
        if before.is_none() {
            self.recorder.depth(time, self.recorder.depth + 1);
        }
    }

    pub(crate) fn complete(&mut self, head: &Head) {
        let direction = Direction::of(head.action);
        let counts = &mut self.directions[direction as usize];
        counts.completed_bytes += u64::from(head.bytes);
        counts.errors += u64::from(head.error != 0);
        self.chains.complete(head);
        let time = forwards(head.time);
        self.recorder.complete(time, direction, head.bytes);
        let Some(end) = self.flying.remove(&(head.device, head.sector)) else {
            return;
        };
        if head.end() < end {
            self.flying.insert((head.device, head.end()), end);
        } else {
            let depth = self.recorder.depth.saturating_sub(1);
            self.recorder.depth(time, depth);
        }
    }

    #[inline]
    pub(crate) fn end(&mut self, time: u64, d2c: Option<u64>) {
        if let Some(ns) = d2c {
            self.recorder.latency(forwards(time), ns);
        }
    }

    pub(crate) fn remap(&mut self, from: u32, to: u32) {
        *self.remaps.entry((from, to)).or_insert(0) += 1;
    }

    /// What was gathered; the rest of the analysis is btt's.
    pub(crate) fn analysis(&self, name: &str) -> Analysis {
        let first = self.first_time.unwrap_or(0);
        let span = self.last_time.saturating_sub(first);
        let (mean, mean_busy) = self.recorder.means(span);
        let mut remaps: Vec<_> = self.remaps.iter().map(|(k, &n)| (k.0, k.1, n)).collect();
        remaps.sort_unstable();
        Analysis {
            name: name.to_owned(),
            events: self.events,
            seconds: span as f64 / 1e9,
            begin: first as f64 / 1e9,
            losses: self.losses(),
            directions: self.directions(),
            intervals: self.latencies.summaries(),
            bio_sizes: self.bio_sizes.counts(),
            request_sizes: self.request_sizes.counts(),
            devices: Vec::new(),
            processes: self.accounts.summaries(),
            kinds: self.accounts.kinds(),
            depth: Depth {
                mean,
                mean_busy,
                max: self.recorder.deepest,
            },
            timeline: self.recorder.timeline(),
            scatter: self.sampler.scatter(),
            remaps,
            chains: self.chains.summaries(),
            kind_switches: self.kind_switches,
        }
    }

    /// Spreads what is still outstanding up to the end.
    pub(crate) fn finish(&mut self) {
        self.recorder.advance(self.last_time);
    }

    fn losses(&self) -> Losses {
        let mut losses = Losses {
            passthrough: self.passthrough,
            legs: self.chains.unfinished(),
            ..Losses::default()
        };
        for sequence in self.sequences.values() {
            let range = u64::from(sequence.largest - sequence.first) + 1;
            losses.missing += range.saturating_sub(sequence.seen);
            losses.gaps += sequence.gaps;
            losses.backwards += sequence.backwards;
        }
        losses
    }

    fn directions(&self) -> Vec<DirectionSummary> {
        let of = |direction: Direction| {
            let counts = &self.directions[direction as usize];
            DirectionSummary {
                direction,
                bios: counts.bios,
                bio_bytes: counts.bio_bytes,
                requests: counts.requests,
                request_bytes: counts.request_bytes,
                completed_bytes: counts.completed_bytes,
                merges: counts.merges,
                requeues: counts.requeues,
                errors: counts.errors,
                barriers: counts.barriers,
            }
        };
        Direction::ALL.into_iter().map(of).collect()
    }
}
