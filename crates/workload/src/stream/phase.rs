//! One phase: prepared, timed, and watched.
//!
//! The thread that called does the I/O, as aiod's and dd's one thread does; a second one wakes up
//! five times a second to show progress and to ask whether to stop.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, ScopedJoinHandle};

use progress::Step;

use super::close::close;
use super::content;
use super::file::{Target, phase_name};
use super::verify::{Checker, Damage};
use crate::buffer::Buffer;
use crate::calls::{Call, Calls};
use crate::children::TICK;
use crate::clock::{Cpu, now_ns, seconds};
use crate::engine::{
    self, ABORT, Counter, Direction, Engine, Failure, Flags, Job, Latency, Order, Payload,
};
use crate::gauge::Gauge;
use crate::residency::{self, GLANCE, GLANCES, Residency};
use crate::syncfs::syncfs;
use crate::{Clocks, Error, Observer, PhaseReport, ThreadReport, error};
use params::StreamSpec;
use params::stream::Flush;

/// One phase.
pub(super) struct Phase<'a> {
    pub(super) options: &'a StreamSpec,
    pub(super) direction: Direction,
    pub(super) target: &'a Target<'a>,
    pub(super) alignment: usize,
    pub(super) observer: &'a dyn Observer,
    /// The run that writes, or has written, the file; none: not known.
    pub(super) run: Option<u64>,
}

/// What was seen of it. Times are CLOCK_MONOTONIC nanoseconds.
#[derive(Debug)]
pub(super) struct PhaseResult {
    pub(super) open_ns: u64,
    pub(super) begin_ns: u64,
    /// Clock (a): records, flush asked for, close.
    pub(super) end_ns: u64,
    pub(super) fsync_ns: u64,
    pub(super) syncfs_ns: u64,
    pub(super) records: u64,
    pub(super) short: u64,
    /// From begin to the end of clock (c).
    pub(super) cpu: Cpu,
    /// From begin to the end of clock (a).
    pub(super) cpu_original: Cpu,
    /// The run whose units a verified read has found.
    pub(super) found_run: u64,
    pub(super) before: io::Result<Residency>,
    pub(super) after: io::Result<Residency>,
    /// Most pages of the file seen in the page cache while it ran under O_DIRECT.
    pub(super) most_resident: Option<u64>,
    /// How long its operations took; empty unless that was asked for.
    pub(super) calls: Calls,
}

impl Default for PhaseResult {
    fn default() -> PhaseResult {
        PhaseResult {
            open_ns: 0,
            begin_ns: 0,
            end_ns: 0,
            fsync_ns: 0,
            syncfs_ns: 0,
            records: 0,
            short: 0,
            cpu: Cpu::default(),
            cpu_original: Cpu::default(),
            found_run: 0,
            before: Ok(Residency::default()),
            after: Ok(Residency::default()),
            most_resident: None,
            calls: Calls::default(),
        }
    }
}

/// All that is made before the clock starts.
struct Ready {
    file: Option<File>,
    engine: Box<dyn Engine>,
    writer: Option<content::Writer>,
    checker: Option<Checker>,
}

/// What the two threads share.
#[derive(Default)]
struct Shared {
    flags: Flags,
    done: Counter,
    over: AtomicBool,
}

/// Ends the watcher, also when the phase panics.
struct Over<'a, 'scope>(&'a Shared, Option<ScopedJoinHandle<'scope, Watched>>);

impl Drop for Over<'_, '_> {
    fn drop(&mut self) {
        self.0.over.store(true, Ordering::Release);
        if let Some(watcher) = &self.1 {
            watcher.thread().unpark();
        }
    }
}

#[derive(Default)]
struct Watched {
    most_resident: Option<u64>,
    cpu: Cpu,
    cancelled: bool,
}

impl Phase<'_> {
    fn name(&self) -> &'static str {
        phase_name(self.direction)
    }

    fn transfers(&self) -> bool {
        self.options.engine.capabilities().transfers
    }

    /// Runs it, to the end of syncfs.
    pub(super) fn run(&self) -> Result<PhaseResult, Error> {
        let before = residency::of_path(self.target.path());
        let mut seen = PhaseResult::default();
        let begun = now_ns();
        let file = if self.transfers() {
            Some(self.target.open(self.direction)?)
        } else {
            None
        };
        seen.open_ns = now_ns() - begun;
        if self.options.latency && file.is_some() {
            seen.calls.record(Call::Open, seen.open_ns);
        }
        // A file that is not there yet has no pages; O_TRUNC frees those it had.
        seen.before = match self.direction {
            Direction::Write if !self.options.reuse => Ok(Residency::default()),
            _ => before,
        };
        let ready = self.prepare(file)?;
        self.observer.begin(Step::new(self.name()));
        self.observer.phase_started(self.name());
        let shared = Shared::default();
        let watched = std::thread::scope(|scope| {
            let watcher = Builder::new()
                .name(format!("{}-watch", self.name()))
                .spawn_scoped(scope, || self.watch(&shared))
                .map_err(Error::io("start a thread for", self.target.path()))?;
            let mut over = Over(&shared, Some(watcher));
            let result = self.work(ready, &shared, &mut seen);
            let watcher = over.1.take();
            shared.over.store(true, Ordering::Release);
            let watched = watcher.map_or(Ok(Watched::default()), |watcher| {
                watcher.thread().unpark();
                watcher.join().map_err(|_| self.defect())
            })?;
            result.map(|()| watched)
        })?;
        if watched.cancelled {
            return Err(Error::Interrupted {
                phase: self.name().into(),
            });
        }
        seen.most_resident = watched.most_resident;
        seen.cpu += watched.cpu;
        seen.after = residency::of_path(self.target.path());
        Ok(seen)
    }

    fn defect(&self) -> Error {
        Error::Defect {
            phase: self.name().into(),
            what: "the watcher".into(),
            reason: "its last words are above".into(),
        }
    }

    /// Buffers with their content, and the engine.
    fn prepare(&self, file: Option<File>) -> Result<Ready, Error> {
        let options = self.options;
        let (block, depth) = (options.block.get() as usize, options.queue_depth);
        let memory = |source| Error::Unsupported {
            what: "a transfer buffer",
            path: options.dir.clone(),
            reason: format!("{source}; take a smaller block or a smaller queue depth"),
        };
        let len = block * depth as usize;
        let mut buffer = if self.transfers() {
            Buffer::for_child(0, block, len, self.alignment)
        } else {
            Buffer::for_child(0, 1024, 0, 1)
        }
        .map_err(memory)?;
        let writes = self.direction == Direction::Write && self.transfers();
        let writer = if writes {
            content::writer(options, self.run.unwrap_or(1), buffer.as_mut_slice())
        } else {
            None
        };
        let checks = options.verify && self.direction == Direction::Read;
        let engine = engine::make(options.engine, depth, block, buffer);
        let engine = engine.map_err(|source| Error::Unsupported {
            what: options.engine.name(),
            path: options.dir.clone(),
            reason: format!("{source}; {}", options.engine.when_refused()),
        })?;
        Ok(Ready {
            file,
            engine,
            writer,
            checker: checks.then(|| Checker::new(options.block.get(), self.run)),
        })
    }

    /// All that the clocks cover.
    fn work(&self, ready: Ready, shared: &Shared, seen: &mut PhaseResult) -> Result<(), Error> {
        let Ready {
            file,
            mut engine,
            writer,
            checker,
        } = ready;
        let first = self.options.first(self.direction);
        // The null engine has a file too, which it does not touch.
        let null = File::open("/dev/null").map_err(Error::io("open", "/dev/null"))?;
        let payload = writer
            .as_ref()
            .map(|w| w as &dyn Payload)
            .or(checker.as_ref().map(|c| c as &dyn Payload));
        let job = Job {
            file: file.as_ref().unwrap_or(&null).as_fd(),
            direction: self.direction,
            record: self.options.block.get() as usize,
            order: Order::Sequential(first + self.options.count),
            flags: &shared.flags,
            done: &shared.done,
            payload,
        };
        let mut latency = self.options.latency.then(Latency::default);
        let cpu = Cpu::thread();
        seen.begin_ns = now_ns();
        let run = engine
            .run(&job, first, ABORT, latency.as_mut())
            .map_err(|failure| self.failed(failure))?;
        (seen.records, seen.short) = (run.position - first, run.short);
        seen.found_run = checker.as_ref().map_or(0, Checker::run);
        self.close(file, shared, seen)?;
        seen.cpu_original = Cpu::thread() - cpu;
        self.flush(shared, seen)?;
        seen.cpu = Cpu::thread() - cpu;
        if let Some(records) = latency.filter(|records| records.count() > 0) {
            let call = match self.direction {
                Direction::Read => Call::Read,
                Direction::Write => Call::Write,
            };
            seen.calls.of(call).merge(records.times());
        }
        Ok(())
    }

    /// Counts a call that began at a time and has just ended.
    fn timed(&self, seen: &mut PhaseResult, call: Call, begin_ns: u64) {
        if self.options.latency {
            seen.calls.record(call, now_ns().saturating_sub(begin_ns));
        }
    }

    /// Flush and close inside clock (a). A phase that is to end early waits for no disk.
    fn close(
        &self,
        file: Option<File>,
        shared: &Shared,
        seen: &mut PhaseResult,
    ) -> Result<(), Error> {
        let written = seen.records * self.options.block.get();
        let waits = self.transfers() && !shared.flags.up(ABORT);
        if let Some(file) = file {
            let begun = now_ns();
            if self.direction == Direction::Write && waits {
                match self.options.flush {
                    Flush::None => Ok(()),
                    Flush::Fsync => file.sync_all(),
                    Flush::Fdatasync => file.sync_data(),
                }
                .map_err(|e| self.io_error("flush", e, written))?;
                if self.options.flush != Flush::None {
                    self.timed(seen, Call::Fsync, begun);
                }
            }
            let begun = now_ns();
            close(file).map_err(|e| self.io_error("close", e, written))?;
            self.timed(seen, Call::Close, begun);
        }
        seen.end_ns = now_ns();
        Ok(())
    }

    /// fsync for clock (b) and syncfs for (c). Both stop while the observer looks at the files.
    fn flush(&self, shared: &Shared, seen: &mut PhaseResult) -> Result<(), Error> {
        let written = seen.records * self.options.block.get();
        let waits = self.transfers() && !shared.flags.up(ABORT);
        let begun = now_ns();
        if self.direction == Direction::Write && waits {
            self.observer.written(self.name(), &[self.target.path()]);
        }
        let looked = now_ns() - begun;
        if waits {
            let flushed = self.target.fsync();
            flushed.map_err(|e| self.io_error("fsync", e, written))?;
            if self.direction == Direction::Write && self.options.flush == Flush::None {
                self.timed(seen, Call::Fsync, begun + looked);
            }
        }
        seen.fsync_ns = now_ns() - looked;
        if waits {
            syncfs(&self.options.dir)?;
        }
        seen.syncfs_ns = now_ns() - looked;
        Ok(())
    }

    fn failed(&self, failure: Failure) -> Error {
        let Failure {
            transferred,
            offset,
            source,
        } = failure;
        let what = self.name();
        tracing::debug!(offset, "{what} failed: {source}");
        match source.downcast::<Damage>() {
            Ok(damage) => Error::Damaged {
                phase: what.into(),
                path: self.target.path().to_owned(),
                offset: damage.offset,
                found: damage.found,
            },
            Err(source) => self.io_error(what, source, transferred),
        }
    }

    fn io_error(&self, what: &'static str, source: io::Error, written: u64) -> Error {
        if error::is_no_space(&source) {
            return Error::NoSpace {
                phase: self.name().into(),
                path: self.target.path().to_owned(),
                written,
                asked: self.options.bytes(),
            };
        }
        Error::io(what, self.target.path())(source)
    }

    /// The second thread, until the phase is over.
    fn watch(&self, shared: &Shared) -> Watched {
        let mut watched = Watched::default();
        let gauge = Gauge::new(self.observer);
        let mut glances = if self.options.direct { GLANCES } else { 0 };
        loop {
            std::thread::park_timeout(if glances > 0 { GLANCE } else { TICK });
            if shared.over.load(Ordering::Acquire) {
                break;
            }
            if self.options.direct {
                let now = residency::of_path(self.target.path()).ok();
                watched.most_resident = watched.most_resident.max(now.map(|r| r.resident));
            }
            if glances > 0 {
                glances -= 1;
                continue;
            }
            if !watched.cancelled && self.observer.cancelled() {
                watched.cancelled = true;
                shared.flags.raise(ABORT);
            }
            self.show(shared, &gauge);
        }
        self.show(shared, &gauge);
        watched.cpu = Cpu::thread();
        watched
    }

    fn show(&self, shared: &Shared, gauge: &Gauge<'_>) {
        let done = shared.done.get();
        let records = done.saturating_sub(self.options.first(self.direction));
        gauge.read(records, records * self.options.block.get());
    }
}

/// The report of a phase.
pub(super) fn report(
    options: &StreamSpec,
    direction: Direction,
    seen: &PhaseResult,
) -> PhaseReport {
    let bytes = seen.records * options.block.get();
    let moved = options.engine.capabilities().transfers;
    let clock_seconds = Clocks {
        original: Some(seconds(seen.begin_ns, seen.end_ns)),
        fsync: Some(seconds(seen.begin_ns, seen.fsync_ns)),
        syncfs: Some(seconds(seen.begin_ns, seen.syncfs_ns)),
    };
    let rate = |clock: Option<f64>| clock.map(|s| bytes as f64 / s.max(1e-9));
    let bytes_per_s = Clocks {
        original: rate(clock_seconds.original),
        fsync: rate(clock_seconds.fsync),
        syncfs: rate(clock_seconds.syncfs),
    };
    let seconds = clock_seconds.original.unwrap_or_default();
    let cpu = seen.cpu_original;
    let mut figures = seen.calls.figures();
    let own = [
        ("open_seconds", seen.open_ns as f64 / 1e9),
        ("user_seconds", cpu.user),
        ("system_seconds", cpu.system),
        ("cpu_share", (cpu.user + cpu.system) / seconds.max(1e-9)),
    ];
    figures.extend(own.map(|(name, value)| (name.to_owned(), value)));
    PhaseReport {
        name: phase_name(direction).into(),
        bytes_asked: options.bytes(),
        bytes,
        bytes_transferred: if moved { bytes } else { 0 },
        operations: seen.records,
        short_operations: seen.short,
        seconds,
        clock_seconds,
        user_seconds: seen.cpu.user,
        system_seconds: seen.cpu.system,
        bytes_per_s,
        figures,
        latency: seen.calls.reports(),
        threads: vec![ThreadReport {
            thread: 0,
            bytes,
            bytes_transferred: if moved { bytes } else { 0 },
            operations: seen.records,
            seconds,
            bytes_per_s: bytes_per_s.original.unwrap_or_default(),
        }],
        ..PhaseReport::default()
    }
}
