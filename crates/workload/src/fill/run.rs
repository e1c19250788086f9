//! One run: its bases, its iterations, the end.

use std::io;
use std::path::{Path, PathBuf};

use progress::Step;
use serde_json::json;

use super::child::{How, Made, Stopped, Task};
use super::count::{Counts, count};
use super::method::SyncMethod;
use super::names::{self, Names};
use super::place::{Walk, subdirectory};
use super::report::{Iteration, Total};
use super::workers::{FillResult, Workers};
use super::{evidence, space};
use crate::calls::Call;
use crate::clock::now_ns;
use crate::syncfs::syncfs;
use crate::{Error, Observer, Outcome, Workload};
use params::fill::{distinct_names, random_length_for};
use params::{FillSpec, Parameters};

pub(super) const PHASE: &str = "fill";

impl Workload for FillSpec {
    fn kind(&self) -> &'static str {
        Self::KIND
    }

    fn dirs(&self) -> Vec<&Path> {
        self.dirs.iter().map(PathBuf::as_path).collect()
    }

    fn run(&self, observer: &dyn Observer) -> Result<Outcome, Error> {
        run(self, observer)
    }
}

/// Fills the bases, reporting to `observer`. One phase, `fill`; `runs` has an entry for
/// each iteration with the figures of fs_mark's line.
///
/// # Errors
/// A value that cannot be used; files that do not fit into what the filesystem reports as free; a
/// system call that failed; an interruption. A filesystem that fills up in the middle is
/// [`Error::Full`], which keeps what was measured, and no error with `until_full`. Files are
/// removed unless they are to be kept.
pub fn run(options: &FillSpec, observer: &dyn Observer) -> Result<Outcome, Error> {
    options.validate()?;
    let how = How {
        phase: PHASE,
        size: options.size.get(),
        write_size: options.write_size.get(),
        method: SyncMethod::from_number(options.sync_method).unwrap_or(SyncMethod::InBand),
        mkdir: options.mkdir,
        sync_target_only: options.sync_target_only,
    };
    let mut bases = Bases::make(options)?;
    if !options.until_full {
        space::refuse_if_too_much(options)?;
    }
    let before = count(&options.dirs)?;
    let mut fill = Fill {
        options,
        how: &how,
        observer,
        bases: &bases,
        before,
        unlinked: 0,
        swapped_in: evidence::pages_swapped_in(),
        total: Total::default(),
        fs_use: 0,
    };
    if !options.until_full {
        let iterations = u64::from(options.iterations);
        observer.foresee(options.files_of_iteration().saturating_mul(iterations));
    }
    observer.begin(Step::new(PHASE));
    observer.phase_started(PHASE);
    let stopped = fill.iterations()?;
    let outcome = fill.outcome(stopped.as_ref())?;
    for phase in &outcome.phases {
        observer.phase_finished(phase);
    }
    let whole = fill.total.files();
    bases.remove()?;
    match stopped {
        Some(path) if !options.until_full => Err(Error::Full {
            phase: PHASE.into(),
            path,
            files: whole,
            partial: Box::new(outcome),
        }),
        _ => Ok(outcome),
    }
}

/// The base directories, and what the run has made there.
struct Bases<'a> {
    options: &'a FillSpec,
    /// Those that were missing.
    new: Vec<&'a Path>,
    made: Vec<Made>,
}

impl<'a> Bases<'a> {
    /// Makes missing ones, as fs_mark does: the last component only.
    fn make(options: &'a FillSpec) -> Result<Bases<'a>, Error> {
        let mut bases = Bases {
            options,
            new: Vec::new(),
            made: Vec::new(),
        };
        for base in &options.dirs {
            match std::fs::create_dir(base) {
                Ok(()) => bases.new.push(base),
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(Error::io("make the base directory", base)(e)),
            }
            bases.made.push(Made::new(options.directories));
        }
        Ok(bases)
    }

    fn directories_made(&self) -> u64 {
        let all = self.made.iter();
        all.map(|made| made.numbers().count() as u64).sum()
    }

    /// Removes the directories that the run has made, unless they are to be kept. The files in
    /// them have been unlinked; what other programs have put there stays, with its directory.
    fn remove(&mut self) -> Result<(), Error> {
        if self.options.keeps() {
            return Ok(());
        }
        let made = std::mem::take(&mut self.made);
        let subdirectories = self.options.dirs.iter().zip(&made).flat_map(|(base, m)| {
            let name = |number| base.join(subdirectory(number));
            m.numbers().map(name).collect::<Vec<PathBuf>>()
        });
        let new = std::mem::take(&mut self.new);
        let bases = new.iter().rev().map(|base| base.to_path_buf());
        for path in subdirectories.chain(bases) {
            match std::fs::remove_dir(&path) {
                Err(e)
                    if ![io::ErrorKind::NotFound, io::ErrorKind::DirectoryNotEmpty]
                        .contains(&e.kind()) =>
                {
                    return Err(Error::io("remove", &path)(e));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

impl Drop for Bases<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.remove() {
            tracing::warn!("{error}");
        }
    }
}

/// A fill at work.
struct Fill<'a> {
    options: &'a FillSpec,
    how: &'a How,
    observer: &'a dyn Observer,
    bases: &'a Bases<'a>,
    before: Counts,
    /// Files that were unlinked again.
    unlinked: u64,
    swapped_in: Option<u64>,
    total: Total,
    fs_use: u32,
}

impl Fill<'_> {
    /// All iterations. The file for which there was no space, if that was the end.
    fn iterations(&mut self) -> Result<Option<PathBuf>, Error> {
        let mut iteration = 0;
        loop {
            if let Some(full) = self.iteration(iteration)? {
                return Ok(Some(full));
            }
            iteration += 1;
            let more = self.options.until_full || iteration < self.options.iterations;
            if !more || iteration == u32::MAX {
                return Ok(None);
            }
            self.refuse_repeated_names(iteration)?;
        }
    }

    /// With -F the number of names is not known in advance.
    fn refuse_repeated_names(&self, iteration: u32) -> Result<(), Error> {
        let files = self.options.files_of_iteration();
        let needed = files.saturating_mul(u64::from(iteration) + 1);
        if needed > distinct_names(self.options.random_length) {
            return Err(crate::error::bad(
                "random_length",
                self.options.random_length,
                format!(
                    "after {} files names would repeat; take {} or more",
                    self.total.files(),
                    random_length_for(needed)
                ),
            ));
        }
        Ok(())
    }

    fn tasks(&self, iteration: u32) -> Vec<Task<'_>> {
        let options = self.options;
        let walk = Walk::new(options, names::seconds(options.seed, iteration));
        (0..options.effective_processes())
            .map(|process| {
                let base = process as usize % options.dirs.len();
                Task {
                    base: &options.dirs[base],
                    walk: walk.clone(),
                    names: Names::new(options, process, iteration),
                    files: options.files,
                    made: &self.bases.made[base],
                }
            })
            .collect()
    }

    /// One iteration: create, syncfs, unlink.
    fn iteration(&mut self, number: u32) -> Result<Option<PathBuf>, Error> {
        let options = self.options;
        let asked = options.files_of_iteration();
        let tasks = self.tasks(number);
        let workers = Workers {
            how: self.how,
            tasks: &tasks,
            observer: self.observer,
        };
        let mut seen = workers.create();
        let done = self.settle(&mut seen);
        let mut unlinks = None;
        if !options.keeps() {
            // Files of a run that ends in an error are removed as well.
            let clean_up = done.is_err() || seen.stopped.is_some();
            let removed = workers.unlink(&seen, clean_up);
            if done.is_ok() {
                unlinks = Some(removed?);
            }
        }
        drop(tasks);
        let sync_ns = done?;
        self.book(number, asked, &seen, sync_ns, unlinks)?;
        Ok(match seen.stopped {
            Some(Stopped::Full(path)) => Some(path),
            _ => None,
        })
    }

    /// Waits for syncfs; its end, when there is a clock (c). An error when the run ends here.
    fn settle(&self, seen: &mut FillResult) -> Result<Option<u64>, Error> {
        seen.take_failure(PHASE)?;
        if !self.options.settle {
            return Ok(None);
        }
        for base in &self.options.dirs {
            syncfs(base)?;
        }
        Ok(Some(now_ns()))
    }

    fn book(
        &mut self,
        number: u32,
        asked: u64,
        seen: &FillResult,
        sync_ns: Option<u64>,
        unlinks: Option<crate::calls::Calls>,
    ) -> Result<(), Error> {
        let mut iteration = Iteration::new(self.how, seen, sync_ns);
        if let Some(unlinks) = unlinks {
            self.unlinked += unlinks.count(Call::Unlink);
            iteration.calls.merge(&unlinks);
        }
        self.fs_use = space::used_percent(&self.options.dirs[0])?;
        let written = self.total.files() + iteration.files;
        let there = self.before.files + written - self.unlinked.min(written);
        let run = iteration.run(
            number + 1,
            &[
                ("count", there as f64),
                ("written", written as f64),
                ("fs_use", f64::from(self.fs_use)),
            ],
        );
        self.total.add(iteration, asked, run);
        Ok(())
    }

    /// Compares what was created with what exists.
    fn outcome(&self, full: Option<&PathBuf>) -> Result<Outcome, Error> {
        let walked = count(&self.options.dirs)?;
        let created = Counts {
            files: (self.before.files + self.total.files()).saturating_sub(self.unlinked),
            directories: self.before.directories + self.bases.directories_made(),
        };
        let mut phase = self.total.phase(
            self.how,
            &[
                ("count", walked.files as f64),
                ("directories", walked.directories as f64),
                ("fs_use", f64::from(self.fs_use)),
            ],
        );
        phase.evidence = vec![
            evidence::counts_agree(created, walked),
            evidence::no_swap_in(self.swapped_in),
        ];
        let fewer = created.files.saturating_sub(walked.files);
        let mut outcome = Outcome {
            workload: PHASE.into(),
            parameters: parameters(self.options),
            phases: vec![phase],
            warnings: self.warnings(),
        };
        if fewer > 0 && self.before.files > 0 {
            outcome.warnings.push(format!(
                "{fewer} files fewer than were made and there before: their names were there \
                 already, and the files were truncated; take another seed to add files"
            ));
        }
        outcome.warnings.extend(full.map(|path| {
            format!(
                "the filesystem is full: no space left for {} after {} whole files",
                path.display(),
                self.total.files()
            )
        }));
        Ok(outcome)
    }

    fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.how.method == SyncMethod::None {
            warnings.push(
                "sync_method 0: Files/sec under (a) ends with the last close, in memory; read (c)"
                    .into(),
            );
        }
        if self.before.files > 0 {
            warnings.push(format!(
                "{} files were there before; figure count has them too",
                self.before.files
            ));
        }
        warnings.extend(self.total.warning(PHASE));
        warnings
    }
}

fn parameters(options: &FillSpec) -> serde_json::Value {
    json!({
        "bases": options.dirs,
        "files": options.files,
        "processes": options.effective_processes(),
        "size": options.size,
        "write_size": options.write_size,
        "directories": options.directories,
        "per_directory": options.per_directory,
        "sync_method": options.sync_method,
        "iterations": options.iterations,
        "until_full": options.until_full,
        "keep": options.keeps(),
        "name_length": options.name_length,
        "random_length": options.random_length,
        "seed": options.seed,
        "mkdir": options.mkdir,
        "sync_target_only": options.sync_target_only,
        "settle": options.settle,
        "content": "zero",
        "file_state": "fresh (new names, O_TRUNC)",
        "began": jiff::Timestamp::now(),
    })
}
