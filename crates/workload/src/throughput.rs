//! iozone's throughput mode (`iozone -t N -s SIZE -r RECORD [-I] -i 0 -i 1 -i 2`), native.
//!
//! Six tests in a fixed order, each with fresh children: initial write, rewrite, read, re-read,
//! random read, random write. What makes the numbers comparable with thirty years of iozone is
//! kept exactly: children wait READY at a barrier with file open and buffer touched;
//! the first to finish raises the stop flag; in initial and random write the others freeze their
//! result but complete their files, in the other tests they stop at once; a record in flight when
//! the flag rises does not count; fsync and close are outside the children's clock unless
//! requested, and inside the parent's; random tests visit each record once, in the order of a generator
//! with a fixed seed.
//!
//! Where we leave the original, and why:
//! * Children are threads (-T), but each has the order that iozone's processes have: iozone's
//!   threads share one generator, so their order is never the same twice.
//! * After a test we call `syncfs` on the target, not `sync`, which flushes the whole machine.
//! * Leftover files are unlinked before the initial write unless `reuse` is asked for; iozone
//!   reuses them, which silently turns an initial write into an overwrite.
//! * A clock with nanoseconds: no 1e-6 s floor. Rates in bytes; [`iozone_text`] prints iozone's.
//! * A short transfer is continued and counted in `short_operations`; iozone gives up.
//! * Random records use `pread`/`pwrite` instead of `lseek` and `read`/`write`, records are neither
//!   written to nor looked at between two calls, and buffers are on huge pages, unless
//!   `as_original` is asked for ([`mod@original`]).
//! * O_DIRECT alignment is asked before the run, and whether it was honoured is looked at after
//!   each phase, since a filesystem may silently fall back to buffered I/O.

mod child;
mod evidence;
mod files;
mod numbers;
mod original;
mod parent;
mod permutation;
mod preflight;
mod text;

pub use params::ThroughputSpec;
pub use params::throughput::{FileState, Test};
pub use permutation::permutation;
pub use text::iozone_text;

use std::path::Path;
use std::time::Duration;

use params::Parameters;
use progress::Step;
use serde_json::json;

use crate::cache::First;
use crate::clock::now_ns;
use crate::direct::Alignment;
use crate::engine;
use crate::syncfs::syncfs;
use crate::{Error, Observer, Outcome, PhaseReport, Workload};
use child::Maker;
use files::Files;
use original::Kept;
use parent::Phase;

impl Workload for ThroughputSpec {
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

/// Runs the tests that `options` names, reporting to `observer`.
///
/// Files the run has written are removed at the end, also after an error or an interrupt, unless
/// `keep`. A full target is [`Error::NoSpace`] with the file and the bytes it had got.
pub fn run(options: &ThroughputSpec, observer: &dyn Observer) -> Result<Outcome, Error> {
    let (kind, depth, record) = (
        options.engine,
        options.queue_depth,
        options.record.get() as usize,
    );
    run_with(options, observer, &|_, buffer| {
        if options.as_original {
            return Ok(Box::new(engine::Sync::seeking(buffer)));
        }
        engine::make(kind, depth, record, buffer)
    })
}

/// [`run`] with engines of one's own.
fn run_with(
    options: &ThroughputSpec,
    observer: &dyn Observer,
    maker: Maker<'_>,
) -> Result<Outcome, Error> {
    options.validate()?;
    preflight::memory(options)?;
    let alignment = preflight::target(options)?;
    let mut files = Files::new(options);
    files.refuse_if_too_large(options)?;
    let mut outcome = Outcome {
        workload: "throughput".into(),
        parameters: parameters(options, alignment.as_ref()),
        warnings: evidence::warnings(options),
        ..Outcome::default()
    };
    let mut session = Session {
        options,
        observer,
        maker,
        files: &files,
        alignment: alignment.map_or(4096, |a| a.memory.max(4096)) as usize,
        order: Vec::new(),
        kept: Kept::new(options),
        outcome: &mut outcome,
    };
    session.run()?;
    files.remove()?;
    Ok(outcome)
}

fn parameters(options: &ThroughputSpec, alignment: Option<&Alignment>) -> serde_json::Value {
    let working_set = options.file_bytes() * u64::from(options.threads);
    let memory = crate::memory::total_ram();
    let tests: Vec<&str> = options.tests_in_order().iter().map(|t| t.name()).collect();
    json!({
        "dir": options.dir,
        "threads": options.threads,
        "size": options.size,
        "record": options.record,
        "records": options.records(),
        "direct": options.direct,
        "direct_alignment": alignment,
        "include_fsync": options.include_fsync,
        "include_close": options.include_close,
        "stonewall": options.stonewall,
        "engine": options.engine,
        "queue_depth": options.queue_depth,
        "settle_seconds": options.settle_seconds,
        "cold_reads": options.cold_reads,
        "keep": options.keep,
        "file_state": options.file_state,
        "as_original": options.as_original,
        "latency": options.latency,
        "tests": tests,
        "content": original::content(options),
        "working_set_bytes": working_set,
        "memory_total_bytes": memory,
        "working_set_to_memory": working_set as f64 / memory as f64,
        "began": jiff::Timestamp::now(),
    })
}

struct Session<'a> {
    options: &'a ThroughputSpec,
    observer: &'a dyn Observer,
    maker: Maker<'a>,
    files: &'a Files,
    alignment: usize,
    order: Vec<u32>,
    kept: Kept,
    outcome: &'a mut Outcome,
}

impl Session<'_> {
    fn run(&mut self) -> Result<(), Error> {
        let tests = self.options.tests_in_order();
        let rest = Duration::from_secs_f64(self.options.settle_seconds);
        let records = self.options.records();
        if tests.iter().any(|t| t.is_random()) {
            self.order = permutation(records as u32);
        }
        let each = records * u64::from(self.options.threads);
        self.observer.foresee(each * tests.len() as u64);
        for test in tests {
            if test.is_random() {
                // iozone syncs and rests once more before each of its random tests.
                self.sync()?;
                parent::rest(rest, self.observer, test)?;
            }
            let phase = self.phase(test)?;
            self.observer.phase_finished(&phase);
            self.outcome.phases.push(phase);
            parent::rest(rest, self.observer, test)?;
        }
        Ok(())
    }

    /// One test with all that belongs to it but the rest after it.
    fn phase(&mut self, test: Test) -> Result<PhaseReport, Error> {
        let mut gathered = Vec::new();
        if test == Test::InitialWrite && !self.files.paths().is_empty() {
            gathered.push(self.files.prepare()?);
        }
        let reads = test.direction() == engine::Direction::Read;
        if reads && self.options.cold_reads {
            let paths = self.files.paths();
            let cold = self.observer.drop_caches(&paths);
            gathered.push(evidence::cold(cold, test, &mut self.outcome.warnings));
        }
        let before = self.files.residency();
        // Missing, or reported by `before` as well.
        let first = crate::residency::of_path(self.files.path(0)).unwrap_or_default();
        if reads {
            gathered.extend(evidence::cache_state(self.options, &before));
        }
        self.observer.begin(Step::new(test.name()));
        self.observer.phase_started(test.name());
        let seen = Phase {
            options: self.options,
            test,
            files: self.files,
            order: &self.order,
            alignment: self.alignment,
            maker: self.maker,
            kept: &self.kept,
            observer: self.observer,
        }
        .run()?;
        self.sync()?;
        let mut report = parent::report(self.options, test, &seen, now_ns());
        let after = self.files.residency();
        gathered.extend(evidence::direct(
            self.options,
            &before,
            First {
                before: first.resident,
                most: seen.most_resident,
            },
            &after,
        ));
        report.evidence = gathered;
        Ok(report)
    }

    fn sync(&self) -> Result<(), Error> {
        if self.options.engine.capabilities().transfers {
            syncfs(&self.options.dir)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
