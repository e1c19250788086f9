//! One thread of a job, from its open file to its last fsync.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use super::data::{self, Scramble};
use super::files;
use super::plan::{Plan, Shown};
use super::stats::ThreadStats;
use crate::buffer::Buffer;
use crate::clock::{Cpu, Faults, now_ns};
use crate::engine::mixed::{Mixed, Target};
use crate::engine::{ABORT, Direction, Flags};
use crate::gate::Ticket;
use crate::{Error, error};
use params::MixSpec;

/// What a thread is to do.
#[derive(Clone, Copy)]
pub(super) struct Task<'a> {
    pub(super) spec: &'a MixSpec,
    /// Number of the thread in its job.
    pub(super) thread: u32,
    /// Name of the job's phase.
    pub(super) phase: &'a str,
    pub(super) alignment: usize,
    pub(super) flags: &'a Flags,
    pub(super) shown: &'a Shown,
}

/// A thread's life. An error raises ABORT, so that the others stop as well.
pub(super) fn live(task: &Task<'_>, mut ticket: Ticket<'_>) -> Result<ThreadStats, Error> {
    let result = Prepared::new(task).and_then(|prepared| {
        ticket.wait();
        prepared.run()
    });
    if result.is_err() {
        task.flags.raise(ABORT);
    }
    result
}

/// All that is there before the clock starts.
struct Prepared<'a> {
    task: &'a Task<'a>,
    path: PathBuf,
    file: File,
    engine: Mixed,
    plan: Plan<'a>,
}

impl<'a> Prepared<'a> {
    fn new(task: &'a Task<'a>) -> Result<Prepared<'a>, Error> {
        let spec = task.spec;
        let (path, file) = files::open(spec, task.thread)?;
        let engine = engine(task).map_err(|source| Error::Unsupported {
            what: spec.engine.name(),
            path: spec.dir.clone(),
            reason: format!("{source}; {}", spec.engine.when_refused()),
        })?;
        Ok(Prepared {
            task,
            path,
            file,
            engine,
            plan: Plan::new(spec, task.thread, task.shown),
        })
    }

    fn run(mut self) -> Result<ThreadStats, Error> {
        let Task { spec, flags, .. } = *self.task;
        let scramble = Scramble {
            seed: spec.seed ^ u64::from(self.task.thread),
        };
        let target = Target {
            file: self.file.as_fd(),
            block: spec.block.get() as usize,
            flags,
            payload: Some(&scramble),
        };
        let (cpu, faults) = (Cpu::thread(), Faults::thread());
        let begin_ns = now_ns();
        self.plan.start(begin_ns);
        let course = self.engine.run(&target, &mut self.plan);
        let end_ns = now_ns();
        let (cpu, faults) = (Cpu::thread() - cpu, Faults::thread() - faults);
        let course = course.map_err(|failure| {
            tracing::debug!(
                offset = failure.offset,
                "request failed: {}",
                failure.source
            );
            self.failed("transfer a block of", failure.source)
        })?;
        // What is only read has nothing to bring to the disk.
        if spec.has(Direction::Write) && spec.engine.capabilities().transfers && !flags.up(ABORT) {
            let synced = self.file.sync_all();
            synced.map_err(|source| self.failed("fsync", source))?;
        }
        Ok(ThreadStats {
            begin_ns,
            end_ns,
            fsync_ns: now_ns(),
            transfers: self.plan.transfers(),
            recorder: self.plan.recorder,
            cpu,
            faults,
            course,
            samples: Vec::new(),
        })
    }

    fn failed(&self, what: &'static str, source: io::Error) -> Error {
        let path: &Path = &self.path;
        if error::is_no_space(&source) {
            return Error::NoSpace {
                phase: self.task.phase.into(),
                path: path.to_owned(),
                written: self.plan.transfers() * self.task.spec.block.get(),
                asked: self.task.spec.file_bytes(),
            };
        }
        Error::io(what, path)(source)
    }
}

/// The engine, with a buffer of random bytes for each request in flight.
fn engine(task: &Task<'_>) -> io::Result<Mixed> {
    let spec = task.spec;
    let block = spec.block.get() as usize;
    let len = block * spec.queue_depth as usize;
    let mut buffer = if spec.engine.capabilities().transfers {
        Buffer::for_child(task.thread, block, len, task.alignment)?
    } else {
        Buffer::for_child(0, 1024, 0, 1)?
    };
    data::fill(buffer.as_mut_slice(), spec.seed ^ u64::from(task.thread));
    Mixed::new(spec.engine, spec.queue_depth, block, buffer)
}
