//! A job's phase.

use std::collections::BTreeMap;

use super::stats::{JobStats, Recorder, ThreadStats};
use crate::clock::{Cpu, seconds};
use crate::engine::Direction;
use crate::{Clocks, Evidence, PhaseReport, ThreadReport};

/// What the thread that watched knows of a phase.
pub(super) struct Seen<'a> {
    pub(super) name: &'a str,
    /// The threads were released.
    pub(super) begin_ns: u64,
    /// syncfs has ended.
    pub(super) sync_ns: u64,
    /// The watching thread's own.
    pub(super) cpu: Cpu,
}

/// The phase of a job.
///
/// Clock (a) runs from the end of the ramp until the slowest thread has nothing in flight, and has the
/// requests that completed in it. Clocks (b) and (c) run from the release of the threads, and have all
/// requests.
pub(super) fn phase(stats: JobStats, seen: &Seen<'_>, evidence: Vec<Evidence>) -> PhaseReport {
    let block = stats.spec.block.get();
    let threads: Vec<ThreadReport> = (0..)
        .zip(&stats.threads)
        .map(|(number, thread)| thread_report(number, thread, block))
        .collect();
    let longest = threads.iter().map(|t| t.seconds).fold(0.0, f64::max);
    let transferred: u64 = stats.threads.iter().map(|t| t.transfers * block).sum();
    let last_fsync = stats.threads.iter().map(|t| t.fsync_ns).max();
    let clock_seconds = Clocks {
        original: Some(longest),
        fsync: Some(seconds(seen.begin_ns, last_fsync.unwrap_or_default())),
        syncfs: Some(seconds(seen.begin_ns, seen.sync_ns)),
    };
    let mut recorder = Recorder::default();
    let mut cpu = seen.cpu;
    for thread in &stats.threads {
        recorder.merge(&thread.recorder);
        cpu += thread.cpu;
    }
    let calls = recorder.calls();
    let bytes: u64 = threads.iter().map(|t| t.bytes).sum();
    let mut figures = figures(&stats, &recorder, longest, cpu);
    figures.extend(calls.figures());
    let moves = stats.spec.engine.capabilities().transfers;
    PhaseReport {
        name: seen.name.to_owned(),
        bytes_asked: stats.spec.file_bytes() * u64::from(stats.spec.threads),
        bytes,
        bytes_transferred: if moves { transferred } else { 0 },
        operations: threads.iter().map(|t| t.operations).sum(),
        short_operations: stats.threads.iter().map(|t| t.course.short).sum(),
        seconds: longest,
        clock_seconds,
        user_seconds: cpu.user,
        system_seconds: cpu.system,
        bytes_per_s: Clocks {
            original: rate(bytes, Some(longest)),
            fsync: rate(transferred, clock_seconds.fsync),
            syncfs: rate(transferred, clock_seconds.syncfs),
        },
        figures,
        threads,
        latency: calls.reports(),
        evidence,
        job: Some(Box::new(stats)),
        ..PhaseReport::default()
    }
}

fn rate(bytes: u64, seconds: Option<f64>) -> Option<f64> {
    let seconds = seconds.filter(|seconds| *seconds > 0.0)?;
    Some(bytes as f64 / seconds)
}

fn thread_report(thread: u32, stats: &ThreadStats, block: u64) -> ThreadReport {
    let seconds = stats.seconds();
    let bytes = stats.operations() * block;
    ThreadReport {
        thread,
        bytes,
        bytes_transferred: stats.transfers * block,
        operations: stats.operations(),
        seconds,
        bytes_per_s: rate(bytes, Some(seconds)).unwrap_or_default(),
    }
}

/// `read_rate`, `write_rate`, `iops`, `read_iops`, `write_iops`, `read_share`, `cpu_per_request`: of the
/// directions that the job has.
fn figures(stats: &JobStats, recorder: &Recorder, seconds: f64, cpu: Cpu) -> BTreeMap<String, f64> {
    let mut figures = BTreeMap::new();
    let all = recorder.read.count() + recorder.write.count();
    if seconds <= 0.0 || all == 0 {
        return figures;
    }
    let mut add = |name: &str, value: f64| figures.insert(name.to_owned(), value);
    for (direction, rate, iops) in [
        (Direction::Read, "read_rate", "read_iops"),
        (Direction::Write, "write_rate", "write_iops"),
    ] {
        if stats.spec.has(direction) {
            let requests = recorder.of(direction).count();
            add(iops, requests as f64 / seconds);
            let bytes = requests * stats.spec.block.get();
            add(rate, bytes as f64 / seconds);
        }
    }
    add("iops", all as f64 / seconds);
    add("read_share", recorder.read.count() as f64 / all as f64);
    let requests: u64 = stats.threads.iter().map(|thread| thread.transfers).sum();
    add("cpu_per_request", cpu.total() / requests.max(1) as f64);
    figures
}
