//! One child in one test: iozone's thread_write_test, thread_read_test and their kin.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use super::files::Files;
use super::original::{self, Kept, Touch};
use crate::buffer::Buffer;
use crate::calls::{Call, Calls};
use crate::clock::{Cpu, now_ns};
use crate::engine::{
    ABORT, Counter, Direction, Engine, Failure, Flags, Job, Latency, Order, Payload, STONEWALL,
};
use crate::gate::Ticket;
use crate::{Error, error};
use params::ThroughputSpec;
use params::throughput::Test;

/// Makes a child's engine, in the child. Tests put slow and failing ones here.
pub(super) type Maker<'a> =
    &'a (dyn Fn(u32, Buffer) -> io::Result<Box<dyn Engine>> + std::marker::Sync);

/// What a child shares with its parent.
#[derive(Clone, Copy)]
pub(super) struct Task<'a> {
    pub(super) options: &'a ThroughputSpec,
    pub(super) test: Test,
    pub(super) child: u32,
    pub(super) files: &'a Files,
    pub(super) order: &'a [u32],
    pub(super) alignment: usize,
    pub(super) flags: &'a Flags,
    pub(super) done: &'a Counter,
    pub(super) maker: Maker<'a>,
    pub(super) kept: &'a Kept,
}

impl Task<'_> {
    fn job<'a>(&'a self, file: &'a File) -> Job<'a> {
        Job {
            file: file.as_fd(),
            direction: self.test.direction(),
            record: self.options.record.get() as usize,
            order: if self.test.is_random() {
                Order::Random(self.order)
            } else {
                Order::Sequential(self.options.records())
            },
            flags: self.flags,
            done: self.done,
            payload: self.options.as_original.then_some(&Touch as &dyn Payload),
        }
    }
}

/// What a child has done. Times are CLOCK_MONOTONIC nanoseconds.
#[derive(Clone, Debug, Default)]
pub(super) struct ChildResult {
    /// BEGIN seen, and end of clock (a): freeze, or end of the last thing inside.
    pub(super) begin_ns: u64,
    pub(super) end_ns: u64,
    /// Its last fsync is done, inside the clock or not.
    pub(super) fsync_ns: u64,
    /// As iozone's child exits: file fsynced (without -c) and closed.
    pub(super) exit_ns: u64,
    /// Records inside clock (a), and all.
    pub(super) counted: u64,
    pub(super) transferred: u64,
    pub(super) short: u64,
    pub(super) cpu: Cpu,
    /// How long its operations took; empty unless that was asked for.
    pub(super) calls: Calls,
}

/// The whole life of a child. An error raises ABORT, so that the others stop as well.
pub(super) fn live(task: &Task<'_>, mut ticket: Ticket<'_>) -> Result<ChildResult, Error> {
    let begun = now_ns();
    let result = prepare(task).and_then(|(file, opened_ns, mut engine)| {
        let timed = task.options.latency;
        let mut calls = Calls::default();
        if timed && task.options.engine.capabilities().transfers {
            calls.record(Call::Open, opened_ns.saturating_sub(begun));
        }
        let latency = timed.then(Latency::default);
        ticket.wait();
        let work = Work {
            task,
            latency,
            calls,
        };
        let result = work.run(file, engine.as_mut());
        task.kept.keep(task.child, engine.into_buffer());
        result
    });
    if result.is_err() {
        task.flags.raise(ABORT);
    }
    result
}

/// File open (and when it was), engine and buffer made and touched: all before READY.
fn prepare(task: &Task<'_>) -> Result<(File, u64, Box<dyn Engine>), Error> {
    let file = task.files.open(task.child, task.test)?;
    let opened_ns = now_ns();
    let record = task.options.record.get() as usize;
    let len = record * task.options.queue_depth as usize;
    let buffer = if task.options.engine.capabilities().transfers {
        let pages = original::pages(task.options);
        task.kept.take(task.child).map_or_else(
            || Buffer::on(pages, task.child, record, len, task.alignment),
            Ok,
        )
    } else {
        Buffer::for_child(0, 1024, 0, 1)
    }
    .map_err(|source| Error::Unsupported {
        what: "a transfer buffer",
        path: task.options.dir.clone(),
        reason: format!("{source}; take fewer threads, a smaller record or a smaller queue depth"),
    })?;
    let engine = (task.maker)(task.child, buffer).map_err(|source| Error::Unsupported {
        what: task.options.engine.name(),
        path: task.options.dir.clone(),
        reason: format!("{source}; {}", task.options.engine.when_refused()),
    })?;
    Ok((file, opened_ns, engine))
}

struct Work<'a> {
    task: &'a Task<'a>,
    /// Of the records; `None`: not asked for.
    latency: Option<Latency>,
    calls: Calls,
}

impl Work<'_> {
    /// From BEGIN to the exit.
    ///
    /// Where the stop flag rises differs in iozone and is kept: in initial write and random write
    /// before the optional fsync and close, in rewrite and the reads after them.
    fn run(mut self, file: File, engine: &mut dyn Engine) -> Result<ChildResult, Error> {
        let Task {
            options,
            test,
            flags,
            ..
        } = *self.task;
        let cpu = Cpu::thread();
        let mut ended = ChildResult {
            begin_ns: now_ns(),
            ..ChildResult::default()
        };
        let frozen = self.transfer(&file, engine, &mut ended)?;
        if test.completes_after_stonewall() {
            self.raise_stonewall();
        }
        let mut file = Some(file);
        if options.include_fsync {
            self.fsync(file.as_ref(), &mut ended)?;
        }
        if options.include_close {
            self.close(file.take());
        }
        if !frozen {
            ended.end_ns = now_ns();
        }
        if !test.completes_after_stonewall() {
            self.raise_stonewall();
        }
        if !options.include_close {
            self.fsync(file.as_ref(), &mut ended)?;
            self.close(file);
        }
        ended.exit_ns = now_ns();
        if options.include_close && !options.include_fsync && !flags.up(ABORT) {
            // iozone never syncs here; clock (b) still needs the file on the device.
            let again = self.task.files.open(self.task.child, Test::Read)?;
            self.fsync(Some(&again), &mut ended)?;
        }
        ended.cpu = Cpu::thread() - cpu;
        if let Some(records) = self.latency.filter(|records| records.count() > 0) {
            let call = match test.direction() {
                Direction::Read => Call::Read,
                Direction::Write => Call::Write,
            };
            self.calls.of(call).merge(records.times());
        }
        ended.calls = self.calls;
        Ok(ended)
    }

    /// The records. True when the result was frozen by the stonewall before they were all done.
    fn transfer(
        &mut self,
        file: &File,
        engine: &mut dyn Engine,
        ended: &mut ChildResult,
    ) -> Result<bool, Error> {
        let task = self.task;
        let Task { options, test, .. } = *task;
        let job = task.job(file);
        let watch = if options.stonewall {
            STONEWALL | ABORT
        } else {
            ABORT
        };
        let run = engine
            .run(&job, 0, watch, self.latency.as_mut())
            .map_err(|f| self.failed(f, 0))?;
        ended.counted = run.counted;
        ended.transferred = run.position;
        ended.short = run.short;
        if !run.stopped || !test.completes_after_stonewall() || self.task.flags.up(ABORT) {
            return Ok(false);
        }
        if options.include_fsync {
            self.fsync(Some(file), ended)?;
        }
        ended.end_ns = now_ns();
        let rest = engine
            .run(&job, run.position, ABORT, None)
            .map_err(|f| self.failed(f, run.position))?;
        ended.transferred = rest.position;
        ended.short += rest.short;
        Ok(true)
    }

    fn raise_stonewall(&self) {
        if self.task.options.stonewall {
            self.task.flags.raise(STONEWALL);
        }
    }

    /// Counts a call that began at a time and has ended, of a write test's fsync and of any close.
    fn timed(&mut self, call: Call, begin_ns: u64) {
        if self.latency.is_some() && self.task.options.engine.capabilities().transfers {
            self.calls.record(call, now_ns().saturating_sub(begin_ns));
        }
    }

    fn close(&mut self, file: Option<File>) {
        let begun = now_ns();
        drop(file);
        self.timed(Call::Close, begun);
    }

    /// A phase that is to end early waits for no disk.
    fn fsync(&mut self, file: Option<&File>, ended: &mut ChildResult) -> Result<(), Error> {
        let transfers = self.task.options.engine.capabilities().transfers;
        if let Some(file) = file
            && transfers
            && !self.task.flags.up(ABORT)
        {
            let bytes = ended.transferred * self.task.options.record.get();
            let begun = now_ns();
            file.sync_all()
                .map_err(|source| self.io_error("fsync", source, bytes))?;
            if self.task.test.direction() == Direction::Write {
                self.timed(Call::Fsync, begun);
            }
        }
        ended.fsync_ns = now_ns();
        Ok(())
    }

    fn failed(&self, failure: Failure, from: u64) -> Error {
        let what = match self.task.test.direction() {
            Direction::Read => "read",
            Direction::Write => "write",
        };
        tracing::debug!(offset = failure.offset, "{what} failed: {}", failure.source);
        let written = from * self.task.options.record.get() + failure.transferred;
        self.io_error(what, failure.source, written)
    }

    fn io_error(&self, what: &'static str, source: io::Error, written: u64) -> Error {
        let path = self.task.files.path(self.task.child);
        if error::is_no_space(&source) {
            return Error::NoSpace {
                phase: self.task.test.name().into(),
                path: path.to_owned(),
                written,
                asked: self.task.options.file_bytes(),
            };
        }
        Error::io(what, path)(source)
    }
}
