//! All processes of one iteration: started together, watched, taken in.

use std::thread::{Builder, Scope, ScopedJoinHandle};

use super::child::{self, ChildResult, How, Stopped, Task};
use super::place::Walk;
use crate::calls::Calls;
use crate::children::{Children, TICK, last_words};
use crate::clock::Cpu;
use crate::engine::{ABORT, Counter};
use crate::gauge::Gauge;
use crate::{Error, Observer};

/// The processes of an iteration.
pub(crate) struct Workers<'a> {
    pub(crate) how: &'a How,
    pub(crate) tasks: &'a [Task<'a>],
    pub(crate) observer: &'a dyn Observer,
}

/// Times and counts of all processes.
#[derive(Debug)]
pub(crate) struct FillResult {
    /// Time of their release, ns.
    pub(crate) begin_ns: u64,
    /// One for each task; `None` of one that died.
    pub(crate) children: Vec<Option<ChildResult>>,
    /// Whole files of each, also of a failed one.
    pub(crate) files: Vec<u64>,
    /// The parent's CPU time.
    pub(crate) cpu: Cpu,
    /// Why they stopped early, if they did.
    pub(crate) stopped: Option<Stopped>,
    /// Whether the observer asked to stop.
    pub(crate) cancelled: bool,
}

impl FillResult {
    /// Where a task's files are, as far as it is known.
    pub(crate) fn walk<'s>(&'s self, child: usize, task: &'s Task<'_>) -> &'s Walk {
        match self.children.get(child) {
            Some(Some(ended)) => &ended.walk,
            _ => &task.walk,
        }
    }

    /// The error that ends the run here, unless it is a full filesystem.
    pub(crate) fn take_failure(&mut self, phase: &str) -> Result<(), Error> {
        match self.stopped.take() {
            Some(Stopped::Failed(error)) => Err(error),
            _ if self.cancelled => Err(Error::Interrupted {
                phase: phase.into(),
            }),
            full => {
                self.stopped = full;
                Ok(())
            }
        }
    }
}

impl Workers<'_> {
    /// Makes the files. All processes have been joined when this returns, also with an error.
    pub(crate) fn create(&self) -> FillResult {
        let shared = Children::new(self.tasks.len());
        let cpu = Cpu::thread();
        std::thread::scope(|scope| {
            let _release = shared.let_go_at_the_end();
            let mut refused = None;
            let mut handles = Vec::new();
            for number in 0..self.tasks.len() {
                match self.start(scope, &shared, number) {
                    Ok(handle) => handles.push(handle),
                    Err(source) => {
                        shared.flags.raise(ABORT);
                        let base = self.tasks[number].base;
                        refused = Some(Error::io("start a thread for", base)(source));
                        break;
                    }
                }
            }
            let (begin_ns, cancelled) = self.watch(&shared, handles.len() as u32);
            let mut seen = self.join(handles);
            if let Some(error) = refused {
                seen.stopped = Some(Stopped::Failed(error));
            }
            FillResult {
                begin_ns,
                files: shared.done.iter().map(Counter::get).collect(),
                cpu: Cpu::thread() - cpu,
                cancelled,
                ..seen
            }
        })
    }

    fn start<'scope, 'env>(
        &'env self,
        scope: &'scope Scope<'scope, 'env>,
        shared: &'scope Children,
        number: usize,
    ) -> std::io::Result<ScopedJoinHandle<'scope, Result<ChildResult, Error>>>
    where
        'env: 'scope,
    {
        let ticket = shared.gate.ticket();
        let (task, done) = (&self.tasks[number], &shared.done[number]);
        Builder::new()
            .name(format!("{}-{number}", self.how.phase))
            .spawn_scoped(scope, move || {
                child::live(self.how, task, &shared.flags, done, ticket)
            })
    }

    /// From READY to the last exit: the time of release, and whether a stop was requested.
    fn watch(&self, shared: &Children, children: u32) -> (u64, bool) {
        let mut cancelled = false;
        while !cancelled && !shared.gate.all_ready(children, TICK) {
            cancelled = shared.cancel_if_asked(self.observer);
        }
        let gauge = Gauge::new(self.observer);
        let begin_ns = shared.gate.open();
        while !shared.gate.all_gone(children, TICK) {
            cancelled = cancelled || shared.cancel_if_asked(self.observer);
            self.show(shared, &gauge);
        }
        self.show(shared, &gauge);
        (begin_ns, cancelled)
    }

    fn show(&self, shared: &Children, gauge: &Gauge<'_>) {
        let files = shared.all_done();
        gauge.read(files, files * self.how.size);
    }

    /// Takes in the processes. A failure outranks a full filesystem.
    fn join(&self, handles: Vec<ScopedJoinHandle<'_, Result<ChildResult, Error>>>) -> FillResult {
        let mut children = Vec::new();
        let (mut failure, mut full) = (None, None);
        for (number, handle) in handles.into_iter().enumerate() {
            let mut ended = match handle.join() {
                Ok(Ok(ended)) => ended,
                Ok(Err(error)) => {
                    failure = failure.or(Some(error));
                    children.push(None);
                    continue;
                }
                Err(panic) => {
                    failure = failure.or(Some(self.defect(number, panic.as_ref())));
                    children.push(None);
                    continue;
                }
            };
            match ended.stopped.take() {
                Some(Stopped::Failed(error)) => failure = failure.or(Some(error)),
                other => full = full.or(other),
            }
            children.push(Some(ended));
        }
        FillResult {
            begin_ns: 0,
            children,
            files: Vec::new(),
            cpu: Cpu::default(),
            stopped: failure.map(Stopped::Failed).or(full),
            cancelled: false,
        }
    }

    fn defect(&self, number: usize, panic: &(dyn std::any::Any + Send)) -> Error {
        Error::Defect {
            phase: self.how.phase.into(),
            what: format!("process {number}"),
            reason: last_words(panic),
        }
    }

    /// Removes what [`Workers::create`] made, each process its own files, and measures the time. With
    /// `clean_up` also a file that a dead process may have left half made.
    pub(crate) fn unlink(&self, seen: &FillResult, clean_up: bool) -> Result<Calls, Error> {
        let removed: Vec<Result<Calls, Error>> = std::thread::scope(|scope| {
            let begin = |(number, task)| {
                let files = seen.files.get(number).copied().unwrap_or_default();
                let walk = seen.walk(number, task);
                let more = u64::from(clean_up);
                scope.spawn(move || child::unlink(task, walk, files + more, clean_up))
            };
            let handles: Vec<_> = self.tasks.iter().enumerate().map(begin).collect();
            let join = |(number, handle): (usize, ScopedJoinHandle<'_, _>)| {
                handle
                    .join()
                    .unwrap_or_else(|panic| Err(self.defect(number, panic.as_ref())))
            };
            handles.into_iter().enumerate().map(join).collect()
        });
        let mut calls = Calls::default();
        for process in removed {
            calls.merge(&process?);
        }
        Ok(calls)
    }
}
