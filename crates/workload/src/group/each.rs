//! Any workload, run by each rank in a folder of its own, all beginning each phase together.
//!
//! Whatever is measured by one process alone (iozone, dd, fs_mark, fio) is so measured on many clients at once. A workload knows nothing of
//! it: between it and the observer stands [`Relay`], which lets all ranks meet where a phase begins and where it ends, and makes one
//! report of theirs.
//!
//! Of rank r, o is the moment at which it was let go, and its other moments are o plus its own clocks (a), (b) and (c), which begin there:
//! see [`Observer::phase_started`]. So the formulas of [`super::merge`] hold, and k over max c - min o is one of them. A rate under a clock
//! is the work of all ranks under it over the time from the first begin to the last end. Latencies are merged as histograms. What a program
//! computes of its own threads alone (iozone's `parent`, fs_mark's overhead) has no meaning over ranks and is left out; rates of
//! requests and of children are summed.
//!
//! All ranks draw with the same seed: they do the same, each with its own files. That is also what lets them meet: all have the same phases.

mod report;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

use params::WorkloadSpec;
pub use params::ranks::OTHERS;
use progress::{Progress, Step};
use report::{Report, SUMS, of_all, together, worst};

use super::merge::Merged;
use super::{Comparison, Gathered, Group, Offsets, Setting, Stage, clocks, size};
use super::{broadcast_value, gather_values};
use crate::phase::{Clocks, Evidence, PhaseReport};
use crate::{Error, Observer, Outcome, Workload};

/// The folder of a rank.
fn folder(dir: &Path, rank: u32) -> PathBuf {
    dir.join(format!("rank.{rank:08}"))
}

/// Runs the part of one rank: at rank 0 the outcome of all, elsewhere none.
///
/// # Errors
/// Parameters that cannot be used, a workload that does not run on ranks, and everything that stops this rank.
pub fn run_rank(
    spec: &WorkloadSpec,
    (dir, seed): (&Path, u64),
    group: &dyn Group,
    observer: &dyn Observer,
) -> Result<Option<Outcome>, Error> {
    let asked = spec
        .ranks()
        .ok_or_else(|| crate::error::bad("kind", spec.kind(), OTHERS))?;
    if size(group) != asked {
        let reason = format!("{} ranks were started", size(group));
        return Err(crate::error::bad("ranks", asked, reason));
    }
    let own = Own::make(folder(dir, group.rank()))?;
    let relay = Relay {
        setting: Setting::new(group, observer)?,
        state: Mutex::default(),
    };
    let ran = spec.placed(&own.0, seed).run(&relay);
    let (failed, phases) = relay.into_parts();
    // What stopped the meetings is the cause of what the workload makes of it.
    let outcome = failed.map_or(ran, Err)?;
    let warnings = gather_values(group, &outcome.warnings)?;
    own.remove()?;
    group.barrier()?;
    Ok((group.rank() == 0).then(|| Outcome {
        parameters: parameters(&outcome, group),
        phases,
        warnings: of_all(warnings),
        workload: outcome.workload,
    }))
}

/// Removes what a run that failed has left. To be called when no rank is at work any more.
pub fn remove_leftovers(dir: &Path, ranks: u32) {
    for rank in 0..ranks {
        let folder = folder(dir, rank);
        if let Err(error) = std::fs::remove_dir_all(&folder)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!("{}: cannot be removed: {error}", folder.display());
        }
    }
}

/// A folder that this rank made.
struct Own(PathBuf);

impl Own {
    fn make(path: PathBuf) -> Result<Own, Error> {
        std::fs::create_dir(&path).map_err(Error::io("create", &path))?;
        Ok(Own(path))
    }

    fn remove(mut self) -> Result<(), Error> {
        let path = std::mem::take(&mut self.0);
        std::fs::remove_dir_all(&path).map_err(Error::io("remove", &path))
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        if !self.0.as_os_str().is_empty() {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}

fn parameters(outcome: &Outcome, group: &dyn Group) -> serde_json::Value {
    let mut parameters = outcome.parameters.clone();
    if let Some(fields) = parameters.as_object_mut() {
        fields.insert("ranks".into(), size(group).into());
        fields.insert("nodes".into(), super::nodes(group.places()).into());
        fields.insert("processes".into(), group.is_of_processes().into());
    }
    parameters
}

/// The phases as ranks meet in them.
#[derive(Default)]
struct State {
    /// What stopped the meetings.
    failed: Option<Error>,
    /// Phases that have begun: the clocks as compared then, and when this rank was let go.
    begun: BTreeMap<String, (BTreeMap<String, Comparison>, u64)>,
    /// At rank 0, those that have ended.
    done: Vec<PhaseReport>,
}

/// Stands between a workload and the observer of all ranks.
struct Relay<'a> {
    setting: Setting<'a>,
    state: Mutex<State>,
}

impl Relay<'_> {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn into_parts(self) -> (Option<Error>, Vec<PhaseReport>) {
        let state = self
            .state
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        (state.failed, state.done)
    }

    /// Keeps the first error: [`Progress::cancelled`] then ends the workload.
    fn keep<T: Default>(&self, met: Result<T, Error>) -> T {
        met.unwrap_or_else(|error| {
            self.state().failed.get_or_insert(error);
            T::default()
        })
    }

    fn is_first(&self) -> bool {
        self.setting.group.rank() == 0
    }

    fn begins(&self, name: &str) -> Result<(), Error> {
        let group = self.setting.group;
        let before = clocks::compare(group)?;
        if self.is_first() {
            self.setting.observer.phase_started(name);
        }
        group.at(name, Stage::Works);
        group.barrier()?;
        let began = (before, group.now_ns());
        self.state().begun.insert(name.to_owned(), began);
        Ok(())
    }

    fn ends(&self, phase: &PhaseReport) -> Result<(), Error> {
        let group = self.setting.group;
        group.at(&phase.name, Stage::Waits);
        group.barrier()?;
        let began = self.state().begun.remove(&phase.name);
        let (before, begin) = began.ok_or_else(|| Error::Defect {
            phase: phase.name.clone(),
            what: "a rank".into(),
            reason: "its phase ended before it began".into(),
        })?;
        let after = clocks::compare(group)?;
        let all = gather_values(group, &Report::of(phase, begin))?;
        if self.is_first() {
            let report = self.report(&phase.name, all, Offsets::new(before, after));
            self.setting.finished(&report);
            self.state().done.push(report);
        }
        Ok(())
    }

    /// One report of all ranks'.
    fn report(&self, name: &str, all: Vec<Report>, offsets: Offsets) -> PhaseReport {
        let bytes: Vec<Clocks> = all.iter().map(|report| report.bytes).collect();
        let files: Option<Vec<Clocks>> = all.iter().map(|report| report.files).collect();
        let asked = all.iter().map(|report| report.asked).sum();
        let transferred = all.iter().map(|report| report.transferred).sum();
        let mut amounts: BTreeMap<String, f64> = BTreeMap::new();
        for (name, amount) in all.iter().flat_map(|report| &report.amounts) {
            *amounts.entry(name.clone()).or_default() += amount;
        }
        let (parts, evidence) = all.into_iter().map(|r| (r.part, r.evidence)).unzip();
        let gathered = Gathered {
            parts,
            offsets,
            at_first: Vec::new(),
        };
        let merged = Merged::new(
            &gathered.parts,
            self.setting.group.places(),
            &gathered.offsets,
        );
        let mut report = self.setting.report(name, &gathered, &merged);
        let seconds = report.clock_seconds;
        report.bytes_asked = asked;
        report.bytes_transferred = transferred;
        report.bytes_per_s = together(&bytes, seconds);
        report.files_per_s = files.map(|files| together(&files, seconds));
        report.figures.extend(merged.common());
        report.figures.extend(merged.speeds());
        let figures = amounts.into_iter().filter_map(|(name, amount)| {
            let rate = (report.seconds > 0.0).then(|| amount / report.seconds);
            let is_sum = SUMS.contains(&name.as_str());
            Some((name, if is_sum { amount } else { rate? }))
        });
        let figures: Vec<_> = figures.collect();
        report.figures.extend(figures);
        report.evidence.extend(worst(evidence));
        report
    }
}

impl Progress for Relay<'_> {
    fn begin(&self, step: Step) {
        if self.is_first() {
            self.setting.observer.begin(step);
        }
    }

    fn foresee(&self, amount: u64) {
        if self.is_first() {
            let ranks = u64::from(size(self.setting.group));
            self.setting.observer.foresee(amount.saturating_mul(ranks));
        }
    }

    fn expect(&self, amount: u64) {
        if self.is_first() {
            let ranks = u64::from(size(self.setting.group));
            self.setting.observer.expect(amount.saturating_mul(ranks));
        }
    }

    /// Several threads of a workload may report, so this adds as one.
    fn advance(&self, amount: u64) {
        let done = self.setting.group.done();
        done.fetch_add(amount, Ordering::Relaxed);
    }

    fn cancelled(&self) -> bool {
        self.setting.observer.cancelled() || self.state().failed.is_some()
    }
}

impl Observer for Relay<'_> {
    fn phase_started(&self, name: &str) {
        if self.state().failed.is_none() {
            self.keep(self.begins(name));
        }
    }

    fn phase_finished(&self, phase: &PhaseReport) {
        if self.state().failed.is_none() {
            self.keep(self.ends(phase));
        }
    }

    fn drop_caches(&self, files: &[&Path]) -> io::Result<Evidence> {
        let group = self.setting.group;
        // What one rank found, all report.
        let met = self
            .setting
            .drop_caches(files)
            .and_then(|worst| broadcast_value(group, worst.as_ref()));
        met.map_err(io::Error::other)
    }
}

#[cfg(test)]
mod tests {
    use params::stream::Between;
    use params::{AgeSpec, Bytes, FillSpec, MixSpec, StreamSpec, ThroughputSpec};

    use super::*;
    use crate::Silent;
    use crate::group::run_as_threads;

    fn run(spec: &WorkloadSpec) -> Result<Outcome, Error> {
        let dir = tempfile::tempdir().unwrap();
        let ranks = spec.ranks().unwrap_or(2);
        let ran = run_as_threads(ranks, &Silent, &|group, observer| {
            run_rank(spec, (dir.path(), 7), group, observer)
        });
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        ran
    }

    fn names(outcome: &Outcome) -> Vec<&str> {
        let phases = outcome.phases.iter();
        phases.map(|phase| phase.name.as_str()).collect()
    }

    #[test]
    fn files_of_three_ranks_are_three_times_those_of_one() {
        let spec = WorkloadSpec::Fill(FillSpec {
            files: 40,
            size: Bytes(5000),
            ranks: 3,
            ..FillSpec::default()
        });
        let outcome = run(&spec).unwrap();
        assert_eq!(names(&outcome), ["fill"]);
        let fill = &outcome.phases[0];
        assert_eq!((fill.operations, fill.bytes), (120, 600_000));
        assert_eq!(fill.threads.len(), 3);
        let creat = fill.latency.iter().find(|seen| seen.operation == "creat");
        assert_eq!(creat.unwrap().count, 120);
        assert!(fill.figures["creat_max"] >= fill.figures["creat_p50"]);
        // The whole over the whole time: at most three times the fastest rank, at least the slowest.
        let rate = fill.files_per_s.unwrap().original.unwrap();
        assert!((rate * fill.seconds / 120.0 - 1.0).abs() < 1e-6, "{rate}");
        assert!(fill.figures["fastest"] >= fill.figures["slowest"]);
        assert!(!fill.figures.contains_key("app_overhead"));
        assert_eq!(outcome.parameters["ranks"], 3);
        let agree = fill.evidence.iter().any(|seen| seen.name == "clocks_agree");
        assert!(agree, "{:?}", fill.evidence);
    }

    #[test]
    fn streams_iozone_and_fio_run_by_ranks() {
        let stream = WorkloadSpec::Stream(StreamSpec {
            block: Bytes(4096),
            count: 50,
            between: Between::Warm,
            ranks: 2,
            ..StreamSpec::default()
        });
        let outcome = run(&stream).unwrap();
        assert_eq!(names(&outcome), ["write", "read"]);
        for phase in &outcome.phases {
            assert_eq!((phase.bytes, phase.operations), (409_600, 100));
            let rate = phase.bytes_per_s.original.unwrap();
            assert!((rate * phase.seconds - 409_600.0).abs() < 1.0, "{phase:?}");
        }
        let iozone = WorkloadSpec::Throughput(ThroughputSpec {
            threads: 2,
            size: Bytes(1 << 16),
            record: Bytes(4096),
            settle_seconds: 0.0,
            ranks: 2,
            ..ThroughputSpec::default()
        });
        let outcome = run(&iozone).unwrap();
        assert_eq!(outcome.phases.len(), 6);
        assert!(
            outcome
                .phases
                .iter()
                .all(|phase| phase.figures["children"] > 0.0)
        );
        let fio = WorkloadSpec::Mix(MixSpec {
            size: Bytes(1 << 16),
            ranks: 2,
            ..MixSpec::default()
        });
        let outcome = run(&fio).unwrap();
        let mix = &outcome.phases[0];
        let iops = mix.figures["iops"];
        assert!((iops - mix.figures["read_iops"] - mix.figures["write_iops"]).abs() < 1e-6 * iops);
    }

    #[test]
    fn what_goes_back_and_forth_is_refused_and_a_failure_lets_all_go() {
        let age = run(&WorkloadSpec::Age(AgeSpec::default())).unwrap_err();
        assert!(age.to_string().contains("does not run on ranks"), "{age}");
        let spec = WorkloadSpec::Stream(StreamSpec {
            test: params::stream::Test::Read,
            ranks: 2,
            ..StreamSpec::default()
        });
        let none = run(&spec).unwrap_err().to_string();
        assert!(none.contains("rank.0000000"), "{none}");
    }
}
