//! A run from its plan to its report: the loop over trials, and what must hold around it.
//!
//! The session owns the log. Every event goes there first, is flushed, and only then reaches the
//! watcher; when the log cannot be written the current trial is stopped and undone and the run
//! ends with an error, because a measurement that is not kept is not one. A resumed run takes
//! the slots that have no whole trial yet, in the order of the same plan: nothing is drawn again.

mod context;
mod ending;
mod trials;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use record::{Event, Log, Reference, Run, RunFolder};
use rundir::RunDir;
use rustix::fs::Mode;
use rustix::process::umask;
use study::{Measured, Plan};

use crate::error::{Class, Error};
use crate::executor::Executor;
use crate::guest::GuestExecutor;
use crate::interrupt::Interrupt;
use crate::local::LocalExecutor;
use crate::target::Target;
use crate::vigil::Vigil;
use crate::watch::Watcher;
use crate::{noise, preflight};

pub use ending::Ending;
use ending::{counting, ending, tally};

/// A run to begin.
#[derive(Clone, Debug)]
pub struct Request {
    /// Everything that will run.
    pub plan: Plan,
    /// The machine and device that it runs on.
    pub target: Target,
    /// Why this target was chosen, in one line.
    pub why: Option<String>,
    /// The command line, for the log.
    pub command: Vec<String>,
    /// fslab's version and commit.
    pub tool: String,
    /// The user's tags, for the log.
    pub tags: record::Tags,
    /// The node that it runs on, and block and attempt, where it is a part of a run on many nodes.
    pub node: Option<String>,
    /// See `node`.
    pub part: Option<String>,
    /// Items of the context that no file of the machine has: what a scheduler says of the job.
    pub facts: std::collections::BTreeMap<String, String>,
    /// Where readings of the machine's noise come from: [`crate::noise::Host`].
    pub noise: Arc<dyn noise::Source>,
}

/// A run that ended, one way or another, with its log read back.
#[derive(Clone, Debug)]
pub struct Finished {
    /// Its folder.
    pub dir: PathBuf,
    /// What the log says.
    pub run: Run,
    /// How it ended.
    pub ending: Ending,
}

/// Begins a run in the folder `out`, which it makes.
///
/// # Errors
/// Before the folder is made: a plan that cannot run here, a refused device. After: recording
/// trouble; everything mounted is undone.
pub fn start(
    request: &Request,
    out: &Path,
    watcher: &dyn Watcher,
    interrupt: &Interrupt,
) -> Result<Finished, Error> {
    preflight::check(&request.plan, &request.target, out)?;
    begin(request, RunFolder::create(out)?, watcher, interrupt)
}

/// Begins a run in an empty folder that is open.
///
/// # Errors
/// As [`start`].
pub fn start_in(
    request: &Request,
    dir: RunDir,
    watcher: &dyn Watcher,
    interrupt: &Interrupt,
) -> Result<Finished, Error> {
    preflight::check(&request.plan, &request.target, dir.path())?;
    begin(request, RunFolder::begin(dir)?, watcher, interrupt)
}

fn begin(
    request: &Request,
    folder: RunFolder,
    watcher: &dyn Watcher,
    interrupt: &Interrupt,
) -> Result<Finished, Error> {
    let mut log = Log::create(folder.opened())?;
    let begun = Event::RunStarted {
        format: record::FORMAT,
        run: folder.name().to_owned(),
        tool: request.tool.clone(),
        command: request.command.clone(),
        target: request.target.to_string(),
        tags: request.tags.clone(),
        part: request.part.clone(),
        plan: Box::new(request.plan.clone()),
    };
    watcher.entry(&log.emit(begun)?);
    Session::new(
        folder,
        log,
        request.target.clone(),
        &request.tool,
        watcher,
        interrupt,
    )
    .because(request.why.clone())
    .listening(Arc::clone(&request.noise))
    .on(request)
    .go()
}

/// Measures what the time of a plan is made of, without running it: every variant is made, mounted and
/// unmounted once, in a folder beside those of the runs that is removed again. None where trials run
/// in guests.
///
/// # Errors
/// As [`start`] before its first trial.
pub fn probe(
    plan: &Plan,
    target: &Target,
    watcher: &dyn Watcher,
    interrupt: &Interrupt,
) -> Result<Option<Measured>, Error> {
    if matches!(target, Target::Guest(_)) {
        return Ok(None);
    }
    let name = format!("probe-{}", std::process::id());
    let out = Path::new(record::folder::RUNS).join(name);
    preflight::check(plan, target, &out)?;
    let folder = RunFolder::create(&out)?;
    let measured = LocalExecutor::open(target, &folder, watcher, interrupt)
        .and_then(|mut executor| executor.try_variants(plan));
    folder.discard(&[rig::undo::FILE]);
    measured
}

/// Goes on with a run that was interrupted or killed.
///
/// # Errors
/// When there is no such run, it is being written by another process, or as [`start`].
pub fn resume(
    dir: &Path,
    tool: &str,
    watcher: &dyn Watcher,
    interrupt: &Interrupt,
) -> Result<Finished, Error> {
    let folder = RunFolder::open_to_write(dir)?;
    let run = Run::read(folder.opened())?;
    let target: Target = run
        .target
        .parse()
        .map_err(|error| Error::Preflight(format!("{}: {error}", dir.display())))?;
    if run.remaining().is_empty() && run.closing.is_some() {
        return Ok(Finished {
            dir: dir.to_owned(),
            ending: ending(&run),
            run,
        });
    }
    let (mut log, _) = Log::append_to(folder.opened())?;
    watcher.entry(&log.emit(Event::Resumed {
        tool: tool.to_owned(),
    })?);
    Session::new(folder, log, target, tool, watcher, interrupt)
        .because(run.context_item("run.choice"))
        .go()
}

struct Session<'a> {
    folder: RunFolder,
    log: Log,
    target: Target,
    tool: String,
    /// Why the trials run there.
    why: Option<String>,
    watcher: &'a dyn Watcher,
    interrupt: &'a Interrupt,
    began: Instant,
    /// What the disks themselves can do, as measured before the first trial.
    references: Vec<Reference>,
    noise: Arc<dyn noise::Source>,
    /// The node, in a run on many.
    node: Option<String>,
    /// What a scheduler says of the job.
    facts: std::collections::BTreeMap<String, String>,
    /// A variant was refused before the first trial: the folder is of no use.
    refused: bool,
}

impl<'a> Session<'a> {
    fn new(
        folder: RunFolder,
        log: Log,
        target: Target,
        tool: &str,
        watcher: &'a dyn Watcher,
        interrupt: &'a Interrupt,
    ) -> Self {
        Session {
            folder,
            log,
            target,
            tool: tool.to_owned(),
            why: None,
            watcher,
            interrupt,
            began: Instant::now(),
            references: Vec::new(),
            noise: Arc::new(noise::Host),
            node: None,
            facts: std::collections::BTreeMap::new(),
            refused: false,
        }
    }

    fn listening(mut self, noise: Arc<dyn noise::Source>) -> Self {
        self.noise = noise;
        self
    }

    fn on(mut self, request: &Request) -> Self {
        self.node.clone_from(&request.node);
        self.facts.clone_from(&request.facts);
        self
    }

    fn because(mut self, why: Option<String>) -> Self {
        self.why = why;
        self
    }

    fn go(mut self) -> Result<Finished, Error> {
        keep_files_from_others();
        let run = Run::read(self.folder.opened())?;
        let vigil = Vigil::begin(&self.folder, self.interrupt)?;
        let mut executor = self.executor(&run.plan)?;
        let measured = self.measure(&run, &mut *executor);
        drop(run);
        let ended = match measured {
            Ok(None) => self.close(executor),
            Ok(Some(source)) => {
                drop(executor);
                return Err(self.unrecorded(source));
            }
            Err(error) => {
                drop(executor);
                Err(error)
            }
        };
        drop(vigil);
        if self.refused {
            self.folder.discard(&[rig::undo::FILE]);
            return ended;
        }
        ended.map_err(|error| match (self.require_folder(), error) {
            // Without its folder the run could not go on after any failure.
            (Err(gone), _) => self.unrecorded(gone),
            (Ok(()), Error::Record(source @ record::Error::CannotRecord { .. })) => {
                self.unrecorded(source)
            }
            (Ok(()), error) => error,
        })
    }

    /// References, contexts and trials. `Some`: an event could not be kept.
    fn measure(
        &mut self,
        run: &Run,
        executor: &mut dyn Executor,
    ) -> Result<Option<record::Error>, Error> {
        self.try_variants(run, executor)?;
        self.reference(run, executor)?;
        let contexts = self.contexts("start", run, executor)?;
        executor.compare_with(contexts);
        if let Some(lost) = self.trials(run, executor)? {
            return Ok(Some(lost));
        }
        self.repeats(executor)
    }

    /// Makes and mounts every variant once, unless a trial has shown already that they can be had.
    fn try_variants(&mut self, run: &Run, executor: &mut dyn Executor) -> Result<(), Error> {
        let begun = run.trials.iter().any(|trial| trial.started_at.is_some());
        if begun || run.plan.measured.is_some() || self.interrupt.is_raised() {
            return Ok(());
        }
        match executor.try_variants(&run.plan) {
            Ok(Some(measured)) => self.emit(Event::Probed { measured }),
            Ok(None) => Ok(()),
            // The run can be resumed from here.
            Err(Error::Interrupted(_)) if self.interrupt.is_raised() => Ok(()),
            Err(error) => {
                self.refused = error.class() == Class::Usage && run.resumed == 0;
                Err(error)
            }
        }
    }

    fn require_folder(&self) -> Result<(), record::Error> {
        self.folder.presence()?.require()
    }

    /// The end of a run whose log could not be written. The executor is gone and has undone what it could; the kernel
    /// says whether that was all, and what stayed is undone as `fslab clean` does it.
    fn unrecorded(&self, source: record::Error) -> Error {
        let here = match &source {
            record::Error::FolderGone { now: Some(now), .. } => now.clone(),
            _ => self.folder.dir().to_owned(),
        };
        let still = || rig::still_there(&here).unwrap_or_default();
        if !still().is_empty() {
            // What it cannot undo is in the message below.
            let _ = rig::clean_up(&here, false);
        }
        Error::Unrecorded {
            run: here.clone(),
            source: Box::new(source),
            left: still(),
        }
    }

    /// What runs the trials on this target.
    fn executor(&self, plan: &Plan) -> Result<Box<dyn Executor + 'a>, Error> {
        let (folder, watcher, interrupt) = (&self.folder, self.watcher, self.interrupt);
        Ok(match &self.target {
            Target::Guest(guest) => {
                let executor = GuestExecutor::open(guest, plan, folder, watcher, interrupt)?;
                Box::new(executor.listening(Arc::clone(&self.noise)))
            }
            target => {
                let executor = LocalExecutor::open(target, folder, watcher, interrupt)?;
                Box::new(executor.listening(Arc::clone(&self.noise)))
            }
        })
    }

    /// Measures what the disks themselves can do, once a run. What cannot be measured is noted and
    /// ends nothing: the trials do not need it, their reader does.
    fn reference(&mut self, run: &Run, executor: &mut dyn Executor) -> Result<(), Error> {
        self.references.clone_from(&run.references);
        let wanted = run.plan.reference_seconds > 0.0 && run.references.is_empty();
        if !wanted || run.remaining().is_empty() || self.interrupt.is_raised() {
            return Ok(());
        }
        for measured in executor.references(&run.plan) {
            let event = match measured {
                Ok(reference) => {
                    self.references.push(reference.clone());
                    Event::Reference { reference }
                }
                Err(message) => Event::Note { message },
            };
            self.emit(event)?;
        }
        Ok(())
    }

    fn emit(&mut self, event: Event) -> Result<(), Error> {
        let entry = self.log.emit(event)?;
        self.watcher.entry(&entry);
        Ok(())
    }

    /// Writes the last event, the index and the reports.
    fn close(&mut self, mut executor: Box<dyn Executor + 'a>) -> Result<Finished, Error> {
        self.require_folder()?;
        let dir = self.folder.dir().to_owned();
        // A loaded run is most of the lab's memory: never two at a time.
        let (remaining, trials, (finished, failed)) = {
            let run = Run::read(self.folder.opened())?;
            let remaining = run.remaining().len() as u32;
            // Its own guest for each trial: none of them has an end to look at.
            if remaining == 0 && !matches!(self.target, Target::Guest(_)) {
                self.contexts("end", &run, &mut *executor)?;
            }
            (remaining, counting(&run).count() as u32, tally(&run))
        };
        if remaining == 0 {
            let event = Event::RunFinished {
                finished,
                failed,
                skipped: trials - finished - failed,
                seconds: self.began.elapsed().as_secs_f64(),
                peak_rss: probe::memory::peak_rss().unwrap_or(0),
            };
            self.emit(event)?;
        }
        drop(executor);
        store::index::rebuild(self.folder.opened())?;
        let run = Run::read(self.folder.opened())?;
        write_reports(&run, self.folder.opened())?;
        let ending = if remaining > 0 {
            Ending::Interrupted { remaining }
        } else {
            ending(&run)
        };
        Ok(Finished { dir, run, ending })
    }
}

/// Takes away the right of others to write what this process makes: root resumes no run that they could have changed.
fn keep_files_from_others() {
    let others = Mode::WGRP | Mode::WOTH;
    let before = umask(others);
    umask(before | others);
}

/// `report.txt` and `report.html` in the run's folder.
fn write_reports(run: &Run, folder: &RunDir) -> Result<(), Error> {
    for (name, format) in [
        ("report.txt", report::Format::Text),
        ("report.html", report::Format::Html),
    ] {
        let options = report::Options {
            format,
            ..report::Options::default()
        };
        let text = report::render(run, Some(folder.path()), &options)?;
        folder
            .replace(name, text.as_bytes())
            .map_err(record::Error::from)?;
    }
    Ok(())
}

#[cfg(test)]
mod repeat_tests;
