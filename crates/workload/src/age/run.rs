//! The rounds.

use std::path::{Path, PathBuf};

use progress::Step;
use serde_json::json;

use super::accounting::{Accounting, Draws, Victim};
use super::log::Log;
use super::remove::remove;
use super::removed::Removed;
use super::root::Root;
use crate::calls::Calls;
use crate::clock::{Cpu, now_ns, seconds};
use crate::fill::child::{How, Made, Stopped, Task};
use crate::fill::count::{Counts, count};
use crate::fill::names::{self, Names};
use crate::fill::place::Walk;
use crate::fill::report::{Iteration, Total};
use crate::fill::workers::{FillResult, Workers};
use crate::fill::{Mkdir, SyncMethod, evidence, space};
use crate::syncfs::syncfs;
use crate::{Error, Evidence, Observer, Outcome, PhaseReport, RunReport, Workload};
use params::{AgeSpec, FillSpec, Parameters};

const FILL: &str = "age_fill";
const REMOVE: &str = "age_remove";
const ADD: &str = "age_add";

impl Workload for AgeSpec {
    fn kind(&self) -> &'static str {
        Self::KIND
    }

    fn dirs(&self) -> Vec<&Path> {
        vec![&self.dir]
    }

    fn run(&self, observer: &dyn Observer) -> Result<Outcome, Error> {
        run(self, observer)
    }
}

/// Ages a directory, reporting to `observer`. Phases `age_fill`, `age_remove`, `age_add`,
/// each with a run for each round.
///
/// # Errors
/// A value that cannot be used; a directory that is not empty; a system call that failed; an
/// interruption. A filesystem that fills up is [`Error::Full`], which keeps what was measured.
/// What was made is removed unless it is to be kept.
pub fn run(options: &AgeSpec, observer: &dyn Observer) -> Result<Outcome, Error> {
    options.validate()?;
    let mut root = Root::make(options)?;
    let fill = options.fill();
    space::refuse_if_too_much(&fill)?;
    let prefix = |base: &PathBuf| match base.strip_prefix(&options.dir) {
        Ok(inside) if inside != Path::new("") => format!("{}/", inside.display()),
        _ => String::new(),
    };
    let mut age = Age {
        options,
        observer,
        accounting: Accounting::new(fill.dirs.iter().map(prefix).collect(), fill.directories),
        draws: Draws::new(options.seed),
        made: 0,
        swapped_in: evidence::pages_swapped_in(),
        filled: Total::default(),
        removed: Removed::default(),
        added: Total::default(),
        fill,
    };
    let end = age.rounds();
    let result = age.result(end);
    root.remove()?;
    result
}

/// Why the rounds ended before the last.
enum End {
    Full(&'static str, PathBuf),
    Failed(Error),
}

impl From<Error> for End {
    fn from(error: Error) -> End {
        End::Failed(error)
    }
}

/// An ageing at work.
struct Age<'a> {
    options: &'a AgeSpec,
    observer: &'a dyn Observer,
    fill: FillSpec,
    accounting: Accounting,
    draws: Draws,
    /// Files that names were given to.
    made: u64,
    swapped_in: Option<u64>,
    filled: Total,
    removed: Removed,
    added: Total,
}

impl Age<'_> {
    fn how(&self, phase: &'static str) -> How {
        How {
            phase,
            size: self.options.size.get(),
            write_size: self.options.write_size.get(),
            method: SyncMethod::None,
            mkdir: Mkdir::FirstUse,
            sync_target_only: true,
        }
    }

    fn rounds(&mut self) -> Result<(), End> {
        let last = self.options.rounds;
        self.observer.foresee(self.options.files_made());
        for round in 1..=last {
            for phase in [FILL, REMOVE, ADD] {
                self.observer.begin(Step::new(phase));
                if round == 1 {
                    self.observer.phase_started(phase);
                }
                self.stop_if_asked(phase)?;
                match phase {
                    FILL => self.fill(round)?,
                    REMOVE => self.remove(round)?,
                    _ => self.add(round)?,
                }
                if round == last {
                    self.observer.phase_finished(&self.phase(phase)?);
                }
            }
        }
        Ok(())
    }

    fn stop_if_asked(&self, phase: &str) -> Result<(), Error> {
        if self.observer.cancelled() {
            return Err(Error::Interrupted {
                phase: phase.into(),
            });
        }
        Ok(())
    }

    /// (a)
    fn fill(&mut self, round: u32) -> Result<(), End> {
        let iteration = round - 1;
        let walk = Walk::new(&self.fill, names::seconds(self.fill.seed, iteration));
        let nothing = Made::default();
        let bases = self.fill.dirs.clone();
        let base_of = |process: u32| process as usize % bases.len();
        let tasks: Vec<Task<'_>> = (0..self.fill.processes)
            .map(|process| Task {
                base: &bases[base_of(process)],
                walk: walk.clone(),
                names: self.names(iteration, u64::from(process) * self.fill.files),
                files: self.fill.files,
                made: &nothing,
            })
            .collect();
        let mut seen = self.create(FILL, &tasks);
        self.made += self.fill.files_of_iteration();
        for (process, files) in (0..).zip(&seen.files) {
            let base = base_of(process) as u32;
            for (directory, files) in dealt(&walk, *files) {
                self.accounting.fill(base, directory, files);
            }
        }
        self.book(FILL, round, &mut seen, self.fill.files_of_iteration())
    }

    /// Names from the run's next file on, `more` of which others have.
    fn names(&self, iteration: u32, more: u64) -> Names {
        let lengths = (self.fill.name_length, self.fill.random_length);
        Names::from(self.fill.seed, lengths, iteration, self.made + more)
    }

    fn create(&self, phase: &'static str, tasks: &[Task<'_>]) -> FillResult {
        Workers {
            how: &self.how(phase),
            tasks,
            observer: self.observer,
        }
        .create()
    }

    /// Waits for syncfs and takes a round's files in.
    fn book(
        &mut self,
        phase: &'static str,
        round: u32,
        seen: &mut FillResult,
        asked: u64,
    ) -> Result<(), End> {
        seen.take_failure(phase)?;
        syncfs(&self.options.dir)?;
        let iteration = Iteration::new(&self.how(phase), seen, Some(now_ns()));
        let counts = self.accounting.counts();
        let mut run = iteration.run(
            round,
            &[
                ("count", counts.files as f64),
                ("directories", counts.directories as f64),
            ],
        );
        run.target = format!("round {round}");
        match phase {
            FILL => self.filled.add(iteration, asked, run),
            _ => self.added.add(iteration, asked, run),
        }
        match seen.stopped.take() {
            Some(Stopped::Full(path)) => Err(End::Full(phase, path)),
            _ => Ok(()),
        }
    }

    /// (b)
    fn remove(&mut self, round: u32) -> Result<(), End> {
        let (cpu, begin) = (Cpu::thread(), now_ns());
        let mut calls = Calls::default();
        let mut counts = Counts::default();
        let mut log = Log::default();
        for _ in 0..self.options.step * round {
            self.stop_if_asked(REMOVE)?;
            let Some(victim) = self.accounting.strike(&mut self.draws) else {
                break;
            };
            counts.add(self.remove_one(&victim, &mut calls)?);
            log.add(&victim.path);
        }
        let end = now_ns();
        syncfs(&self.options.dir)?;
        let synced = now_ns();
        let all = &mut self.removed;
        all.cpu += Cpu::thread() - cpu;
        all.seconds += seconds(begin, end);
        all.synced += seconds(begin, synced);
        all.asked += u64::from(self.options.step * round);
        all.counts.add(counts);
        let there = self.accounting.counts();
        let mut figures = calls.means();
        figures.insert("count".into(), there.files as f64);
        figures.insert("directories".into(), there.directories as f64);
        all.calls.merge(&calls);
        let cpu = Cpu::thread() - cpu;
        all.runs.push(RunReport {
            number: round,
            target: format!("round {round}"),
            note: format!(
                "removed {} directories ({} with those inside them): {}",
                log.directories,
                counts.directories,
                log.text()
            ),
            files: counts.files,
            bytes: counts.files * self.options.size.get(),
            seconds: seconds(begin, end),
            user_seconds: cpu.user,
            system_seconds: cpu.system,
            figures,
        });
        Ok(())
    }

    /// Removes one directory, and checks that it held what the accounting expects.
    fn remove_one(&self, victim: &Victim, calls: &mut Calls) -> Result<Counts, Error> {
        let counts = remove(&self.options.dir, &victim.path, calls)?;
        if counts == victim.counts {
            return Ok(counts);
        }
        Err(Error::Defect {
            phase: REMOVE.into(),
            what: format!("the record of {}", victim.path),
            reason: format!(
                "{} files in {} directories expected, {} in {} found, unless another program works \
                 in {}",
                victim.counts.files,
                victim.counts.directories,
                counts.files,
                counts.directories,
                self.options.dir.display()
            ),
        })
    }

    /// (c): new directories are dealt to the processes in turn.
    fn add(&mut self, round: u32) -> Result<(), End> {
        let added = self
            .accounting
            .add(self.options.step * round, &mut self.draws);
        let mut log = Log::default();
        for (_, path) in &added {
            log.add(path);
        }
        let each = self.options.per_directory;
        let processes = (self.options.processes as usize).min(added.len());
        let nothing = Made::default();
        let mut first = 0;
        let mut tasks = Vec::new();
        for process in 0..processes {
            let mine = added.iter().skip(process).step_by(processes);
            let paths: Vec<Vec<u8>> = mine.map(|(_, path)| path.clone().into_bytes()).collect();
            let files = paths.len() as u64 * each;
            tasks.push(Task {
                base: &self.options.dir,
                walk: Walk::List { paths, each },
                names: self.names(round - 1, first),
                files,
                made: &nothing,
            });
            first += files;
        }
        let mut seen = self.create(ADD, &tasks);
        self.made += first;
        for (process, files) in seen.files.iter().enumerate() {
            let mine = added.iter().skip(process).step_by(processes.max(1));
            for (at, (id, _)) in (0..).zip(mine) {
                self.accounting
                    .stock(*id, files.saturating_sub(at * each).min(each));
            }
        }
        self.book(ADD, round, &mut seen, first)?;
        if let Some(run) = self.added.runs.last_mut() {
            run.note = format!(
                "added {} directories, each inside another: {}",
                log.directories,
                log.text()
            );
        }
        Ok(())
    }

    fn phase(&self, phase: &'static str) -> Result<PhaseReport, Error> {
        let there = self.accounting.counts();
        let mut figures = vec![
            ("count", there.files as f64),
            ("directories", there.directories as f64),
        ];
        if phase == REMOVE {
            return Ok(self
                .removed
                .phase(REMOVE, self.options.size.get(), &figures));
        }
        let used = space::used_percent(&self.options.dir)?;
        figures.push(("fs_use", f64::from(used)));
        let total = if phase == FILL {
            &self.filled
        } else {
            &self.added
        };
        let mut report = total.phase(&self.how(phase), &figures);
        if phase == ADD {
            report.evidence = self.proof()?;
        }
        Ok(report)
    }

    /// Compares the accounting with a walk of the whole tree, and checks for swapping.
    fn proof(&self) -> Result<Vec<Evidence>, Error> {
        let mut walked = count(std::slice::from_ref(&self.options.dir))?;
        // Base directories are not counted.
        let bases = self.options.bases();
        walked.directories -= bases.iter().filter(|b| **b != self.options.dir).count() as u64;
        Ok(vec![
            evidence::counts_agree(self.accounting.counts(), walked),
            evidence::no_swap_in(self.swapped_in),
        ])
    }

    /// The outcome, also of rounds that a full filesystem ended.
    fn result(&self, end: Result<(), End>) -> Result<Outcome, Error> {
        let full = match end {
            Ok(()) => None,
            Err(End::Full(phase, path)) => Some((phase, path)),
            Err(End::Failed(error)) => return Err(error),
        };
        let mut phases = Vec::new();
        for (phase, runs) in [
            (FILL, &self.filled.runs),
            (REMOVE, &self.removed.runs),
            (ADD, &self.added.runs),
        ] {
            if !runs.is_empty() {
                phases.push(self.phase(phase)?);
            }
        }
        let outcome = Outcome {
            workload: "age".into(),
            parameters: parameters(self.options),
            phases,
            warnings: [self.filled.warning(FILL), self.added.warning(ADD)]
                .into_iter()
                .flatten()
                .collect(),
        };
        match full {
            None => Ok(outcome),
            Some((phase, path)) => Err(Error::Full {
                phase: phase.into(),
                path,
                files: self.accounting.counts().files,
                partial: Box::new(outcome),
            }),
        }
    }
}

/// Which directories a fill of `files` files fills, and how many it gives each time it comes by.
pub(super) fn dealt(walk: &Walk, files: u64) -> impl Iterator<Item = (u32, u64)> + '_ {
    let each = match walk {
        Walk::RoundRobin { each, .. } => *each,
        _ => 1,
    };
    (0..files.div_ceil(each)).map(move |turn| {
        let first = turn * each;
        (walk.made_in(first), each.min(files - first))
    })
}

fn parameters(options: &AgeSpec) -> serde_json::Value {
    json!({
        "dir": options.dir,
        "rounds": options.rounds,
        "files": options.files,
        "processes": options.processes,
        "directories": options.directories,
        "per_directory": options.per_directory,
        "step": options.step,
        "shared": options.shared,
        "size": options.size,
        "write_size": options.write_size,
        "seed": options.seed,
        "keep": options.keep,
        "content": "zero",
        "began": jiff::Timestamp::now(),
    })
}
