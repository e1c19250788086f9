//! Jobs that run at the same time: their threads are started, watched and joined.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::thread::{Builder, Scope, ScopedJoinHandle};
use std::time::Duration;

use params::MixSpec;
use progress::Step;

use super::files::{self, Files};
use super::plan::Shown;
use super::stats::{JobStats, Sample, ThreadStats};
use super::thread::{self, Task};
use super::{Job, evidence, report};
use crate::cache::First;
use crate::children::{Children, last_words};
use crate::clock::{Cpu, now_ns, seconds};
use crate::direct::Alignment;
use crate::engine::ABORT;
use crate::gauge::Gauge;
use crate::residency::{self, GLANCE, GLANCES, Residency};
use crate::syncfs::syncfs;
use crate::{Error, Evidence, Observer, Outcome};

/// One group.
pub(super) struct Group<'a> {
    pub(super) number: u32,
    pub(super) jobs: &'a [Job],
    /// Options that all jobs have, for a report of fio.
    pub(super) global: &'a [(String, String)],
    /// Of the phases, one for each job.
    pub(super) names: Vec<String>,
    pub(super) alignments: &'a [Option<Alignment>],
    pub(super) observer: &'a dyn Observer,
}

/// How often the threads' counters are read.
const TICK: Duration = Duration::from_millis(100);

/// Ticks between two samples of a thread's rate: 500 ms, as fio's `bwavgtime`.
const SAMPLE: u32 = 5;

/// A thread's result, or why there is none.
type Ended = Result<ThreadStats, Error>;

/// What was seen of the threads while they ran.
#[derive(Default)]
struct Watched {
    begin_ns: u64,
    /// By thread of the group.
    samples: Vec<Vec<Sample>>,
    /// Most pages of each job's first file seen in the page cache, of jobs with direct I/O.
    most_resident: Vec<Option<u64>>,
    cancelled: bool,
}

/// Parts of a group's progress: its requests, or tenths of seconds where a job ends by time.
pub(super) fn parts(jobs: &[Job]) -> u64 {
    tenths(jobs).unwrap_or_else(|| {
        let of = |job: &Job| job.spec.blocks() * u64::from(job.spec.threads);
        jobs.iter().map(of).sum()
    })
}

fn tenths(jobs: &[Job]) -> Option<u64> {
    let timed = jobs.iter().filter(|job| job.spec.time_based);
    let of = |spec: &MixSpec| ((spec.runtime + spec.ramp_time) * 10.0).ceil() as u64;
    timed.map(|job| of(&job.spec)).max()
}

/// Pages of a job's files in the page cache.
fn resident(spec: &MixSpec) -> std::io::Result<Residency> {
    let mut sum = Residency::default();
    for path in files::paths(spec) {
        sum = sum.plus(residency::of_path(&path)?);
    }
    Ok(sum)
}

fn first(spec: &MixSpec) -> Option<u64> {
    let path = files::paths(spec).into_iter().next()?;
    residency::of_path(&path).ok().map(|seen| seen.resident)
}

impl Group<'_> {
    /// Runs it and adds a phase for each job.
    pub(super) fn run(&self, files: &mut Files, outcome: &mut Outcome) -> Result<(), Error> {
        let mut gathered: Vec<Vec<Evidence>> = Vec::new();
        for job in self.jobs {
            gathered.push(vec![files.prepare(&job.spec, self.observer)?]);
        }
        let before: Vec<_> = self.jobs.iter().map(|job| resident(&job.spec)).collect();
        let first_before: Vec<_> = self.jobs.iter().map(|job| first(&job.spec)).collect();
        for ((job, before), gathered) in self.jobs.iter().zip(&before).zip(&mut gathered) {
            gathered.extend(evidence::cache_state(
                &job.spec,
                before,
                &mut outcome.warnings,
            ));
        }
        self.observer.begin(Step::new(self.names.join(", ")));
        for name in &self.names {
            self.observer.phase_started(name);
        }
        let cpu = Cpu::thread();
        let (watched, threads) = self.threads()?;
        let cpu = Cpu::thread() - cpu;
        self.sync()?;
        let sync_ns = now_ns();
        let mut threads = threads.into_iter();
        for (at, job) in self.jobs.iter().enumerate() {
            let stats = JobStats {
                name: job.name.clone(),
                options: job.options.clone(),
                global: self.global.to_vec(),
                group: self.number,
                group_reporting: job.group_reporting,
                spec: job.spec.clone(),
                threads: threads.by_ref().take(job.spec.threads as usize).collect(),
            };
            let seen = report::Seen {
                name: &self.names[at],
                begin_ns: watched.begin_ns,
                sync_ns,
                // The parent's work is that of all jobs; the first has it.
                cpu: if at == 0 { cpu } else { Cpu::default() },
            };
            let pages = First {
                before: first_before[at].unwrap_or_default(),
                most: watched.most_resident[at],
            };
            let mut found = std::mem::take(&mut gathered[at]);
            found.extend(evidence::direct(
                &job.spec,
                &before[at],
                pages,
                &resident(&job.spec),
            ));
            found.extend(evidence::of_stats(&stats));
            let phase = report::phase(stats, &seen, found);
            self.observer.phase_finished(&phase);
            outcome.phases.push(phase);
        }
        Ok(())
    }

    /// Runs all threads. They have been joined when this returns, also with an error.
    fn threads(&self) -> Result<(Watched, Vec<ThreadStats>), Error> {
        let number = self.jobs.iter().map(|job| job.spec.threads as usize).sum();
        let shared = Children::new(number);
        let shown: Vec<Shown> = (0..number).map(|_| Shown::default()).collect();
        let tasks = self.tasks(&shared, &shown);
        std::thread::scope(|scope| {
            let _release = shared.let_go_at_the_end();
            let (mut refused, mut handles) = (None, Vec::new());
            for task in &tasks {
                match start(scope, &shared, task) {
                    Ok(handle) => handles.push(handle),
                    Err(source) => {
                        shared.flags.raise(ABORT);
                        let path = task.spec.path(task.thread);
                        refused = Some(Error::io("start a thread for", path)(source));
                        break;
                    }
                }
            }
            let watched = self.watch(&shared, &shown, handles.len() as u32);
            let mut ended = self.join(handles, refused, watched.cancelled)?;
            for (thread, samples) in ended.iter_mut().zip(&watched.samples) {
                thread.samples.clone_from(samples);
            }
            Ok((watched, ended))
        })
    }

    fn tasks<'t>(&'t self, shared: &'t Children, shown: &'t [Shown]) -> Vec<Task<'t>> {
        let mut shown = shown.iter();
        let mut tasks = Vec::new();
        for ((job, name), alignment) in self.jobs.iter().zip(&self.names).zip(self.alignments) {
            let alignment = alignment.as_ref().map_or(4096, |a| a.memory.max(4096));
            for (thread, shown) in (0..job.spec.threads).zip(shown.by_ref()) {
                tasks.push(Task {
                    spec: &job.spec,
                    thread,
                    phase: name,
                    alignment: alignment as usize,
                    flags: &shared.flags,
                    shown,
                });
            }
        }
        tasks
    }

    /// From READY to the last exit.
    fn watch(&self, shared: &Children, shown: &[Shown], threads: u32) -> Watched {
        let mut watched = Watched {
            samples: vec![Vec::new(); shown.len()],
            most_resident: vec![None; self.jobs.len()],
            ..Watched::default()
        };
        while !watched.cancelled && !shared.gate.all_ready(threads, TICK) {
            watched.cancelled = shared.cancel_if_asked(self.observer);
        }
        let gauge = Gauge::new(self.observer);
        watched.begin_ns = shared.gate.open();
        let direct = self.jobs.iter().any(|job| job.spec.direct);
        let (mut glances, mut ticks) = (if direct { GLANCES } else { 0 }, 0);
        loop {
            let wait = if glances > 0 { GLANCE } else { TICK };
            if shared.gate.all_gone(threads, wait) {
                break;
            }
            self.look_at_cache(&mut watched.most_resident);
            if glances > 0 {
                glances -= 1;
                continue;
            }
            watched.cancelled = watched.cancelled || shared.cancel_if_asked(self.observer);
            ticks += 1;
            if ticks % SAMPLE == 0 {
                sample(shown, &mut watched.samples);
            }
            self.show(shown, watched.begin_ns, &gauge);
        }
        // A group that ended before its time is over all the same.
        gauge.read(parts(self.jobs), 0);
        watched
    }

    fn look_at_cache(&self, most: &mut [Option<u64>]) {
        for (job, most) in self.jobs.iter().zip(most) {
            if job.spec.direct {
                *most = (*most).max(first(&job.spec));
            }
        }
    }

    fn show(&self, shown: &[Shown], begin_ns: u64, gauge: &Gauge<'_>) {
        let (mut requests, mut bytes) = (0, 0);
        let mut shown = shown.iter();
        for job in self.jobs {
            for thread in shown.by_ref().take(job.spec.threads as usize) {
                let done = thread.reads.get() + thread.writes.get();
                requests += done;
                bytes += done * job.spec.block.get();
            }
        }
        let parts = match tenths(self.jobs) {
            Some(all) => ((seconds(begin_ns, now_ns()) * 10.0) as u64).min(all),
            None => requests,
        };
        gauge.read(parts, bytes);
    }

    /// Takes in the threads. A real error outranks an interrupt.
    fn join(
        &self,
        handles: Vec<ScopedJoinHandle<'_, Ended>>,
        refused: Option<Error>,
        cancelled: bool,
    ) -> Result<Vec<ThreadStats>, Error> {
        let (mut ended, mut error) = (Vec::new(), refused);
        for (number, handle) in handles.into_iter().enumerate() {
            match handle.join() {
                Ok(Ok(stats)) => ended.push(stats),
                Ok(Err(e)) => error = error.or(Some(e)),
                Err(panic) => {
                    let defect = Error::Defect {
                        phase: self.names.join(", "),
                        what: format!("thread {number}"),
                        reason: last_words(panic.as_ref()),
                    };
                    error = error.or(Some(defect));
                }
            }
        }
        match error {
            Some(error) => Err(error),
            None if cancelled => Err(Error::Interrupted {
                phase: self.names.join(", "),
            }),
            None => Ok(ended),
        }
    }

    /// Brings each filesystem to its device that a job of the group may have written to.
    fn sync(&self) -> Result<(), Error> {
        let written = self
            .jobs
            .iter()
            .filter(|job| job.spec.rw.writes() && job.spec.engine.capabilities().transfers);
        let dirs: BTreeSet<PathBuf> = written.map(|job| job.spec.dir.clone()).collect();
        dirs.iter()
            .try_for_each(|dir: &PathBuf| syncfs(Path::new(dir)))
    }
}

fn start<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    shared: &'scope Children,
    task: &'env Task<'env>,
) -> std::io::Result<ScopedJoinHandle<'scope, Ended>> {
    let ticket = shared.gate.ticket();
    Builder::new()
        .name(format!("mix-{}", task.thread))
        .spawn_scoped(scope, move || thread::live(task, ticket))
}

fn sample(shown: &[Shown], samples: &mut [Vec<Sample>]) {
    let at_ns = now_ns();
    for (shown, samples) in shown.iter().zip(samples) {
        samples.push(Sample {
            at_ns,
            reads: shown.reads.get(),
            writes: shown.writes.get(),
        });
    }
}
