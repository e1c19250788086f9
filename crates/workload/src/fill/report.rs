//! fs_mark's numbers, of one iteration and of all.

use std::collections::BTreeMap;

use super::child::{ChildResult, How};
use super::workers::FillResult;
use crate::calls::Calls;
use crate::clock::{Cpu, seconds};
use crate::{Clocks, PhaseReport, RunReport, ThreadReport};

/// What the processes of one iteration (or one round of an ageing) did together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Iteration {
    /// Whole files.
    pub(crate) files: u64,
    /// Their bytes.
    pub(crate) bytes: u64,
    pub(crate) short: u64,
    pub(crate) repeated: u64,
    /// fs_mark's `Files/sec`: the sum of the processes' files over their own loop seconds.
    pub(crate) rate: f64,
    /// The longest process's loop, seconds: clock (a).
    pub(crate) longest: f64,
    /// From release to the end of the last loop, seconds.
    pub(crate) elapsed: f64,
    /// From release to the end of syncfs, seconds.
    pub(crate) synced: Option<f64>,
    /// fs_mark's `App Overhead`: the sum over processes of loop time less time in calls, seconds.
    pub(crate) overhead: f64,
    pub(crate) calls: Calls,
    pub(crate) cpu: Cpu,
    pub(crate) threads: Vec<ThreadReport>,
}

impl Iteration {
    /// Of the processes that were taken in; `sync_ns` is when syncfs ended.
    pub(crate) fn new(how: &How, seen: &FillResult, sync_ns: Option<u64>) -> Iteration {
        let mut sum = Iteration {
            cpu: seen.cpu,
            synced: sync_ns.map(|end| seconds(seen.begin_ns, end)),
            ..Iteration::default()
        };
        for (number, child) in (0..).zip(&seen.children) {
            if let Some(child) = child {
                sum.add(how, number, child, seen.begin_ns);
            }
        }
        sum
    }

    fn add(&mut self, how: &How, number: u32, child: &ChildResult, begin_ns: u64) {
        let loop_ns = child.end_ns.saturating_sub(child.begin_ns);
        // A loop without a nanosecond would have no rate.
        let own = loop_ns.max(1) as f64 / 1e9;
        let bytes = child.files * how.size;
        self.files += child.files;
        self.bytes += bytes;
        self.short += child.short;
        self.repeated += child.repeated;
        self.rate += child.files as f64 / own;
        self.longest = self.longest.max(own);
        self.elapsed = self.elapsed.max(seconds(begin_ns, child.end_ns));
        self.overhead += loop_ns.saturating_sub(child.calls.inside_loop_ns()) as f64 / 1e9;
        self.cpu += child.cpu;
        self.calls.merge(&child.calls);
        self.threads.push(ThreadReport {
            thread: number,
            bytes,
            bytes_transferred: bytes,
            operations: child.files,
            seconds: own,
            bytes_per_s: bytes as f64 / own,
        });
    }

    /// Files over the time from release to the end of the last loop.
    pub(crate) fn total_over_elapsed(&self) -> f64 {
        self.files as f64 / self.elapsed.max(1e-9)
    }

    /// As one of a phase's runs. `figures` are more of its own.
    pub(crate) fn run(&self, number: u32, figures: &[(&str, f64)]) -> RunReport {
        let mut all = self.calls.means();
        all.insert("files_per_s".into(), self.rate);
        all.insert("total_over_elapsed".into(), self.total_over_elapsed());
        all.insert("app_overhead".into(), self.overhead);
        for (name, value) in figures {
            all.insert((*name).into(), *value);
        }
        RunReport {
            number,
            bytes: self.bytes,
            files: self.files,
            seconds: self.longest,
            user_seconds: self.cpu.user,
            system_seconds: self.cpu.system,
            figures: all,
            ..RunReport::default()
        }
    }
}

/// All iterations so far, in memory that grows with their number only by [`RunReport`]s.
#[derive(Clone, Debug, Default)]
pub(crate) struct Total {
    pub(crate) runs: Vec<RunReport>,
    asked: u64,
    sum: Iteration,
    /// Seconds to the end of all syncfs; none when one was missing.
    synced: Option<f64>,
}

impl Total {
    /// Takes an iteration in. `asked` are the files it should have made.
    pub(crate) fn add(&mut self, iteration: Iteration, asked: u64, run: RunReport) {
        let first = self.runs.is_empty();
        self.runs.push(run);
        self.asked += asked;
        self.synced = match (first, self.synced, iteration.synced) {
            (true, _, synced) => synced,
            (false, Some(before), Some(synced)) => Some(before + synced),
            _ => None,
        };
        let sum = &mut self.sum;
        sum.files += iteration.files;
        sum.bytes += iteration.bytes;
        sum.short += iteration.short;
        sum.repeated += iteration.repeated;
        sum.rate += iteration.rate;
        sum.longest += iteration.longest;
        sum.elapsed += iteration.elapsed;
        sum.overhead += iteration.overhead;
        sum.cpu += iteration.cpu;
        sum.calls.merge(&iteration.calls);
        if first {
            sum.threads = iteration.threads;
        } else {
            for (mine, other) in sum.threads.iter_mut().zip(iteration.threads) {
                mine.bytes += other.bytes;
                mine.bytes_transferred += other.bytes_transferred;
                mine.operations += other.operations;
                mine.seconds += other.seconds;
                mine.bytes_per_s = mine.bytes as f64 / mine.seconds;
            }
        }
    }

    /// What a reader must know of calls that were repeated.
    pub(crate) fn warning(&self, phase: &str) -> Option<String> {
        (self.sum.repeated > 0).then(|| {
            format!(
                "{phase}: ENOSPC {} times while space was only reserved for files not \
                 yet written; it synced and tried again, inside the clock",
                self.sum.repeated
            )
        })
    }

    /// Whole files of all iterations.
    pub(crate) fn files(&self) -> u64 {
        self.sum.files
    }

    /// As a phase. Files/sec (a) is the mean over the iterations (fs_mark's `Average Files/sec`);
    /// seconds and counts are sums.
    ///
    /// Clock (b) is there when the sync method has fsynced every file, and then is the end of the
    /// last loop.
    pub(crate) fn phase(&self, how: &How, figures: &[(&str, f64)]) -> PhaseReport {
        let sum = &self.sum;
        let fsync = how.method.fsyncs_all().then_some(sum.elapsed);
        let rate = |count: f64, clock: Option<f64>| clock.map(|s| count / s.max(1e-9));
        let mean = sum.rate / self.runs.len().max(1) as f64;
        let mut all: BTreeMap<String, f64> = sum.calls.figures();
        all.insert("total_over_elapsed".into(), sum.total_over_elapsed());
        all.insert("app_overhead".into(), sum.overhead);
        for (name, value) in figures {
            all.insert((*name).into(), *value);
        }
        let clocks = |original: f64, count: f64| Clocks {
            original: Some(original),
            fsync: rate(count, fsync),
            syncfs: rate(count, self.synced),
        };
        PhaseReport {
            name: how.phase.into(),
            bytes_asked: self.asked.saturating_mul(how.size),
            bytes: sum.bytes,
            bytes_transferred: sum.bytes,
            operations: sum.files,
            short_operations: sum.short,
            seconds: sum.longest,
            clock_seconds: Clocks {
                original: Some(sum.longest),
                fsync,
                syncfs: self.synced,
            },
            user_seconds: sum.cpu.user,
            system_seconds: sum.cpu.system,
            bytes_per_s: clocks(mean * how.size as f64, sum.bytes as f64),
            files_per_s: Some(clocks(mean, sum.files as f64)),
            figures: all,
            threads: sum.threads.clone(),
            runs: self.runs.clone(),
            latency: sum.calls.reports(),
            ..PhaseReport::default()
        }
    }
}
