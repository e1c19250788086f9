//! The parent of one test: starts the children, waits, and adds up.

use std::thread::{Builder, Scope, ScopedJoinHandle};
use std::time::Duration;

use super::child::{self, ChildResult, Maker, Task};
use super::files::Files;
use super::numbers::{self, Share, effective_seconds};
use super::original::Kept;
use crate::calls::Calls;
use crate::children::{Children, TICK, last_words};
use crate::clock::{Cpu, now_ns, seconds};
use crate::engine::ABORT;
use crate::gauge::Gauge;
use crate::residency::{GLANCE, GLANCES, Residency};
use crate::{Clocks, Error, Observer, PhaseReport, ThreadReport};
use params::ThroughputSpec;
use params::throughput::Test;

/// One test.
pub(super) struct Phase<'a> {
    pub(super) options: &'a ThroughputSpec,
    pub(super) test: Test,
    pub(super) files: &'a Files,
    pub(super) order: &'a [u32],
    pub(super) alignment: usize,
    pub(super) maker: Maker<'a>,
    pub(super) kept: &'a Kept,
    pub(super) observer: &'a dyn Observer,
}

/// What the children and the parent saw of it.
pub(super) struct TestResult {
    /// The parent's start time.
    pub(super) begin_ns: u64,
    /// The children's accounts, by number.
    pub(super) children: Vec<ChildResult>,
    /// Most pages of child 0's file seen in the page cache while it ran under O_DIRECT.
    pub(super) most_resident: Option<u64>,
    /// CPU time of the parent in the phase.
    pub(super) cpu: Cpu,
}

impl Phase<'_> {
    /// Runs it. All children have been joined when this returns, also with an error.
    pub(super) fn run(&self) -> Result<TestResult, Error> {
        let threads = self.options.threads;
        let shared = Children::new(threads as usize);
        let cpu = Cpu::thread();
        std::thread::scope(|scope| {
            let _release = shared.let_go_at_the_end();
            let mut refused = None;
            let mut children = Vec::new();
            for child in 0..threads {
                match self.start(scope, &shared, child) {
                    Ok(handle) => children.push(handle),
                    Err(source) => {
                        shared.flags.raise(ABORT);
                        refused = Some(Error::io("start a thread for", self.files.path(child))(
                            source,
                        ));
                        break;
                    }
                }
            }
            let (begin_ns, most_resident, cancelled) = self.watch(&shared, children.len() as u32);
            let ended = self.join(children, refused, cancelled)?;
            Ok(TestResult {
                begin_ns,
                children: ended,
                most_resident,
                cpu: Cpu::thread() - cpu,
            })
        })
    }

    fn start<'scope, 'env>(
        &'env self,
        scope: &'scope Scope<'scope, 'env>,
        shared: &'scope Children,
        child: u32,
    ) -> std::io::Result<ScopedJoinHandle<'scope, Result<ChildResult, Error>>>
    where
        'env: 'scope,
    {
        let task = Task {
            options: self.options,
            test: self.test,
            child,
            files: self.files,
            order: self.order,
            alignment: self.alignment,
            flags: &shared.flags,
            done: &shared.done[child as usize],
            maker: self.maker,
            kept: self.kept,
        };
        let ticket = shared.gate.ticket();
        Builder::new()
            .name(format!("{}-{child}", self.test.name()))
            .spawn_scoped(scope, move || child::live(&task, ticket))
    }

    /// From READY to the last exit: the start time, the most resident pages, and whether someone
    /// asked to stop.
    fn watch(&self, shared: &Children, children: u32) -> (u64, Option<u64>, bool) {
        let mut cancelled = false;
        while !cancelled && !shared.gate.all_ready(children, TICK) {
            cancelled = shared.cancel_if_asked(self.observer);
        }
        let gauge = Gauge::new(self.observer);
        let begin_ns = shared.gate.open();
        let mut most = None;
        // iozone's parent only waits; one that wakes each millisecond keeps a processor from sleeping, which speeds
        // up what the device does there.
        let mut glances = if self.options.direct && !self.options.as_original {
            GLANCES
        } else {
            0
        };
        while !shared
            .gate
            .all_gone(children, if glances > 0 { GLANCE } else { TICK })
        {
            if self.options.direct {
                let now = crate::residency::of_path(self.files.path(0)).ok();
                most = most.max(now.map(|r: Residency| r.resident));
            }
            if glances > 0 {
                glances -= 1;
                continue;
            }
            cancelled = cancelled || shared.cancel_if_asked(self.observer);
            self.show(shared, &gauge);
        }
        // A test that a stonewall ends is over, whatever its children left.
        gauge.read(self.records(), 0);
        (begin_ns, most, cancelled)
    }

    fn show(&self, shared: &Children, gauge: &Gauge<'_>) {
        let records = shared.all_done();
        gauge.read(records, records * self.options.record.get());
    }

    /// Records of all children.
    fn records(&self) -> u64 {
        self.options.records() * u64::from(self.options.threads)
    }

    /// Takes in the children. A real error outranks an interrupt, which outranks nothing.
    fn join(
        &self,
        children: Vec<ScopedJoinHandle<'_, Result<ChildResult, Error>>>,
        refused: Option<Error>,
        cancelled: bool,
    ) -> Result<Vec<ChildResult>, Error> {
        let mut ended = Vec::new();
        let mut error = refused;
        for (number, child) in children.into_iter().enumerate() {
            match child.join() {
                Ok(Ok(child)) => ended.push(child),
                Ok(Err(e)) => error = error.or(Some(e)),
                Err(panic) => {
                    let defect = Error::Defect {
                        phase: self.test.name().into(),
                        what: format!("child {number}"),
                        reason: last_words(panic.as_ref()),
                    };
                    error = error.or(Some(defect));
                }
            }
        }
        match error {
            Some(error) => Err(error),
            None if cancelled => Err(Error::Interrupted {
                phase: self.test.name().into(),
            }),
            None => Ok(ended),
        }
    }
}

/// The report of a phase, from what was seen and the time `syncfs` ended after it.
///
/// `seconds` and clock (a) are the longest child's; the rate (a) is iozone's children's figure, a
/// sum of rates, and therefore not bytes / seconds. Rates (b) and (c) are all bytes that were
/// transferred over the time from release to the end of the last fsync, or of syncfs.
pub(super) fn report(
    options: &ThroughputSpec,
    test: Test,
    seen: &TestResult,
    sync_ns: u64,
) -> PhaseReport {
    let record = options.record.get();
    let threads: Vec<ThreadReport> = (0..)
        .zip(&seen.children)
        .map(|(number, child)| thread_report(number, child, record))
        .collect();
    let latest =
        |of: fn(&ChildResult) -> u64| seen.children.iter().map(of).max().unwrap_or_default();
    let parent = seconds(seen.begin_ns, latest(|c| c.exit_ns));
    let shares: Vec<Share> = threads
        .iter()
        .map(|t| Share {
            bytes: t.bytes,
            seconds: t.seconds,
        })
        .collect();
    let mut figures = numbers::figures(&shares, parent);
    let mut calls = Calls::default();
    seen.children.iter().for_each(|c| calls.merge(&c.calls));
    figures.extend(calls.figures());
    let longest = threads.iter().map(|t| t.seconds).fold(0.0, f64::max);
    let transferred: u64 = threads.iter().map(|t| t.bytes_transferred).sum();
    let clock_seconds = Clocks {
        original: Some(longest),
        fsync: Some(seconds(seen.begin_ns, latest(|c| c.fsync_ns))),
        syncfs: Some(seconds(seen.begin_ns, sync_ns)),
    };
    let rate = |clock: Option<f64>| clock.map(|s| transferred as f64 / effective_seconds(s));
    let moves = options.engine.capabilities().transfers;
    let mut cpu = seen.cpu;
    seen.children.iter().for_each(|c| cpu += c.cpu);
    PhaseReport {
        name: test.name().into(),
        bytes_asked: options.file_bytes() * u64::from(options.threads),
        bytes: threads.iter().map(|t| t.bytes).sum(),
        bytes_transferred: if moves { transferred } else { 0 },
        operations: threads.iter().map(|t| t.operations).sum(),
        short_operations: seen.children.iter().map(|c| c.short).sum(),
        seconds: longest,
        clock_seconds,
        user_seconds: cpu.user,
        system_seconds: cpu.system,
        bytes_per_s: Clocks {
            original: figures.get("children").copied(),
            fsync: rate(clock_seconds.fsync),
            syncfs: rate(clock_seconds.syncfs),
        },
        figures,
        threads,
        latency: calls.reports(),
        ..PhaseReport::default()
    }
}

fn thread_report(thread: u32, child: &ChildResult, record: u64) -> ThreadReport {
    let share = Share {
        bytes: child.counted * record,
        seconds: effective_seconds(seconds(child.begin_ns, child.end_ns)),
    };
    ThreadReport {
        thread,
        bytes: share.bytes,
        bytes_transferred: child.transferred * record,
        operations: child.counted,
        seconds: share.seconds,
        bytes_per_s: share.rate(),
    }
}

/// Rests for `time`, checking periodically for a stop request, which is an error.
pub(super) fn rest(time: Duration, observer: &dyn Observer, phase: Test) -> Result<(), Error> {
    let end = now_ns() + time.as_nanos() as u64;
    loop {
        if observer.cancelled() {
            return Err(Error::Interrupted {
                phase: phase.name().into(),
            });
        }
        let left = Duration::from_nanos(end.saturating_sub(now_ns()));
        if left.is_zero() {
            return Ok(());
        }
        std::thread::sleep(left.min(TICK));
    }
}
