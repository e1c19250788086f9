//! What is recorded of a job's threads.

use params::MixSpec;

use crate::calls::{Call, Calls, Times};
use crate::clock::{Cpu, Faults};
use crate::engine::Direction;
use crate::engine::mixed::{Action, Course};

/// Times of the requests that completed after the ramp.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Recorder {
    pub(super) read: Times,
    pub(super) write: Times,
    pub(super) fsync: Times,
    counts_ns: u64,
}

impl Recorder {
    /// Requests that complete before this time are not recorded.
    pub(super) fn start(&mut self, counts_ns: u64) {
        self.counts_ns = counts_ns;
    }

    /// When recording starts.
    pub(super) const fn counts_ns(&self) -> u64 {
        self.counts_ns
    }

    #[inline]
    pub(super) fn finished(&mut self, action: Action, latency_ns: u64, now_ns: u64) {
        if now_ns < self.counts_ns {
            return;
        }
        match action {
            Action::Transfer(Direction::Read, _) => self.read.record(latency_ns),
            Action::Transfer(Direction::Write, _) => self.write.record(latency_ns),
            Action::Fsync => self.fsync.record(latency_ns),
        }
    }

    pub(super) const fn of(&self, direction: Direction) -> &Times {
        match direction {
            Direction::Read => &self.read,
            Direction::Write => &self.write,
        }
    }

    pub(super) fn merge(&mut self, other: &Recorder) {
        self.read.merge(&other.read);
        self.write.merge(&other.write);
        self.fsync.merge(&other.fsync);
    }

    /// The same by kind of call, of the kinds that were made.
    pub(super) fn calls(&self) -> Calls {
        let mut calls = Calls::default();
        for (call, times) in [
            (Call::Read, &self.read),
            (Call::Write, &self.write),
            (Call::Fsync, &self.fsync),
        ] {
            if times.count() > 0 {
                calls.of(call).merge(times);
            }
        }
        calls
    }
}

/// Blocks that a thread had transferred at a time; the thread that watches takes these samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sample {
    pub(super) at_ns: u64,
    pub(super) reads: u64,
    pub(super) writes: u64,
}

/// What a thread did. Times are CLOCK_MONOTONIC nanoseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ThreadStats {
    pub(super) recorder: Recorder,
    /// Its first request could begin.
    pub(super) begin_ns: u64,
    /// Nothing is in flight any more.
    pub(super) end_ns: u64,
    /// Its file is on stable storage.
    pub(super) fsync_ns: u64,
    /// All transfers, those of the ramp included.
    pub(super) transfers: u64,
    /// From its begin to its end.
    pub(super) cpu: Cpu,
    pub(super) faults: Faults,
    pub(super) course: Course,
    /// Twice a second while it ran.
    pub(super) samples: Vec<Sample>,
}

impl ThreadStats {
    /// Seconds that are recorded: from the end of the ramp to the end.
    pub(super) fn seconds(&self) -> f64 {
        let begin = self.begin_ns.max(self.recorder.counts_ns());
        crate::clock::seconds(begin, self.end_ns)
    }

    /// Requests recorded, without fsyncs.
    pub(super) fn operations(&self) -> u64 {
        self.recorder.read.count() + self.recorder.write.count()
    }
}

/// What a job's threads did, as a report of fio has it.
#[derive(Clone, Debug, PartialEq)]
pub struct JobStats {
    pub(super) name: String,
    pub(super) options: Vec<(String, String)>,
    /// Options that all jobs have.
    pub(super) global: Vec<(String, String)>,
    pub(super) group: u32,
    pub(super) group_reporting: bool,
    pub(super) spec: MixSpec,
    pub(super) threads: Vec<ThreadStats>,
}
