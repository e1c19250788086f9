//! Reads and writes mixed, timed and at a limited rate: fio's jobs, native.
//!
//! A job has threads, each with a file of its own (or one for all), and each sends requests of one
//! size: reads, writes or both, in sequence or at random, with up to `queue_depth` in flight. What makes
//! the figures comparable with fio's is kept: files that are read exist as data before the clock starts, and
//! those that are only written are preallocated; a random order visits each block once in each pass; of a
//! mixed job each request is a read with the probability `rwmixread`; an fsync follows every N writes; a
//! rate is a bound of each thread and direction from its start, so that a delay is caught up; requests in
//! flight at the end of the runtime count; the kernel is advised of the order (`posix_fadvise`).
//!
//! Where we leave fio, and why:
//! * One latency is measured, from the hand-over of a request to its completion. Requests are handed
//!   over in batches, so fio's two parts of it (`slat`, `clat`) do not exist; as [`fio_json`] prints it, `clat`
//!   is the whole and `slat` was not measured (`N` is 0), as with fio's synchronous engines.
//! * While a request waits for its turn under a rate, others stay in flight; fio lets all complete first.
//! * The random order is a permutation by a keyed function, not a bitmap: it takes no memory, and the
//!   last blocks of a pass cost no more than the first.
//! * Buffers are on huge pages ([`crate::buffer`]).
//! * A run by time goes over the file in a new order in each pass.
//! * Files that exist are not overwritten unless that was asked for.

mod data;
mod evidence;
mod files;
mod fio_json;
mod group;
mod permutation;
mod plan;
mod preflight;
mod report;
mod stats;
mod thread;

use std::path::Path;

pub use fio_json::fio_json;
pub use params::MixSpec;
pub use params::mix::{Preallocation, Rw};
pub use stats::JobStats;

use params::Parameters;
use params::engine::Kind;
use serde_json::json;

use crate::direct::Alignment;
use crate::{Error, Observer, Outcome, Workload};
use files::Files;
use group::Group;

impl Workload for MixSpec {
    fn kind(&self) -> &'static str {
        Self::KIND
    }

    fn dirs(&self) -> Vec<&Path> {
        vec![&self.dir]
    }

    fn run(&self, observer: &dyn Observer) -> Result<Outcome, Error> {
        let job = Job {
            name: Self::KIND.into(),
            options: options(self),
            group_reporting: true,
            spec: self.clone(),
        };
        Jobs {
            groups: vec![vec![job]],
            ..Jobs::default()
        }
        .run(observer)
    }
}

/// One job of several.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Its name, which is the name of its phase.
    pub name: String,
    /// Its options, as a report of fio repeats them.
    pub options: Vec<(String, String)>,
    /// Whether a report of fio adds it to the job before it in its group.
    pub group_reporting: bool,
    /// What it does.
    pub spec: MixSpec,
}

/// Jobs in groups: those of a group run at the same time, groups one after another.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Jobs {
    /// None is empty.
    pub groups: Vec<Vec<Job>>,
    /// Options that all jobs have, as a report of fio repeats them.
    pub global: Vec<(String, String)>,
    /// What to warn of.
    pub notes: Vec<String>,
}

impl Jobs {
    fn all(&self) -> impl Iterator<Item = &Job> {
        self.groups.iter().flatten()
    }
}

impl Workload for Jobs {
    fn kind(&self) -> &'static str {
        MixSpec::KIND
    }

    fn dirs(&self) -> Vec<&Path> {
        let mut dirs: Vec<&Path> = self.all().map(|job| job.spec.dir.as_path()).collect();
        dirs.sort_unstable();
        dirs.dedup();
        dirs
    }

    fn writes(&self) -> bool {
        let lays_out = |spec: &MixSpec| spec.rw.writes() || files::missing(spec);
        self.all().any(|job| lays_out(&job.spec))
    }

    /// Runs the groups in order. Each job is a phase. Files that the run made are removed at the end,
    /// also after an error, unless their job keeps them.
    fn run(&self, observer: &dyn Observer) -> Result<Outcome, Error> {
        let mut alignments = Vec::new();
        for job in self.all() {
            job.spec.validate()?;
            alignments.push(preflight::target(&job.spec)?);
        }
        for group in &self.groups {
            preflight::memory(group)?;
        }
        let mut outcome = Outcome {
            workload: MixSpec::KIND.into(),
            parameters: self.parameters(&alignments),
            warnings: self.notes.clone(),
            ..Outcome::default()
        };
        for job in self.all() {
            outcome.warnings.extend(evidence::warnings(&job.spec));
        }
        let mut files = Files::default();
        observer.foresee(self.groups.iter().map(|group| group::parts(group)).sum());
        let mut aligned = alignments.into_iter();
        for (number, jobs) in self.groups.iter().enumerate() {
            let alignments: Vec<_> = aligned.by_ref().take(jobs.len()).collect();
            let group = Group {
                number: number as u32,
                jobs,
                global: &self.global,
                names: self.phase_names(number),
                alignments: &alignments,
                observer,
            };
            group.run(&mut files, &mut outcome)?;
        }
        files.remove()?;
        Ok(outcome)
    }
}

impl Jobs {
    /// Names of a group's phases: of jobs with the same name the second is `NAME-2`.
    fn phase_names(&self, group: usize) -> Vec<String> {
        let before = self.groups[..group].iter().map(Vec::len).sum::<usize>();
        let names: Vec<&str> = self.all().map(|job| job.name.as_str()).collect();
        let named = |at: usize| match names[..at]
            .iter()
            .filter(|name| **name == names[at])
            .count()
        {
            0 => names[at].to_owned(),
            earlier => format!("{}-{}", names[at], earlier + 1),
        };
        (before..before + self.groups[group].len())
            .map(named)
            .collect()
    }

    fn parameters(&self, alignments: &[Option<Alignment>]) -> serde_json::Value {
        let all: Vec<_> = (self.all().zip(alignments))
            .map(|(job, alignment)| (job.name.clone(), parameters(&job.spec, alignment.as_ref())))
            .collect();
        match all.as_slice() {
            [(_, only)] => only.clone(),
            _ => json!({
                "jobs": all.iter().map(|(name, _)| name).collect::<Vec<_>>(),
                "memory_total_bytes": crate::memory::total_ram(),
                "began": jiff::Timestamp::now(),
                "parameters": all.into_iter().collect::<serde_json::Map<_, _>>(),
            }),
        }
    }
}

/// The options of fio that say the same.
fn options(spec: &MixSpec) -> Vec<(String, String)> {
    let number = |key: &str, value: u64| (key.to_owned(), value.to_string());
    let mut options = vec![("rw".to_owned(), spec.rw.name().to_owned())];
    if spec.rw.reads() && spec.rw.writes() {
        options.push(number("rwmixread", spec.rwmixread.into()));
    }
    options.extend([
        number("bs", spec.block.get()),
        number("size", spec.size.get()),
        number("numjobs", spec.threads.into()),
        number("direct", spec.direct.into()),
        number("iodepth", spec.queue_depth.into()),
    ]);
    let engine = match spec.engine {
        Kind::Sync => "psync",
        Kind::Aio => "libaio",
        Kind::IoUring => "io_uring",
        Kind::Null => "null",
    };
    options.push(("ioengine".into(), engine.into()));
    if spec.fsync > 0 {
        options.push(number("fsync", spec.fsync.into()));
    }
    if spec.runtime > 0.0 {
        options.push(("runtime".into(), spec.runtime.to_string()));
        options.push(number("time_based", spec.time_based.into()));
    }
    if spec.rate_read.get() + spec.rate_write.get() > 0 {
        let rates = format!("{},{}", spec.rate_read.get(), spec.rate_write.get());
        options.push(("rate".into(), rates));
    }
    options
}

fn parameters(spec: &MixSpec, alignment: Option<&Alignment>) -> serde_json::Value {
    let files: u64 = spec.file_bytes() * u64::from(spec.files());
    let memory = crate::memory::total_ram();
    json!({
        "dir": spec.dir,
        "rw": spec.rw,
        "rwmixread": spec.rwmixread,
        "block": spec.block,
        "size": spec.size,
        "threads": spec.threads,
        "direct": spec.direct,
        "direct_alignment": alignment,
        "engine": spec.engine,
        "queue_depth": spec.queue_depth,
        "fsync": spec.fsync,
        "runtime": spec.runtime,
        "time_based": spec.time_based,
        "ramp_time": spec.ramp_time,
        "rate_read": spec.rate_read,
        "rate_write": spec.rate_write,
        "overwrite": spec.overwrite,
        "fallocate": spec.fallocate,
        "invalidate": spec.invalidate,
        "seed": spec.seed,
        "file": spec.file,
        "keep": spec.keep,
        "reuse": spec.reuse,
        "working_set_bytes": files,
        "memory_total_bytes": memory,
        "working_set_to_memory": files as f64 / memory as f64,
        "began": jiff::Timestamp::now(),
    })
}

#[cfg(test)]
mod tests;
