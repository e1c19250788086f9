//! Between the wings: a study's parameters become a workload's options, and what a workload
//! reports becomes the record's samples and evidence. Nothing is computed here but units.

use std::path::Path;
use std::time::Duration;

use record::{Evidence, Sample};
use study::{Clock, EngineName, ThroughputSpec, TreeSpec};
use workload::{Clocks, Outcome, PhaseReport, engine, throughput, tree};

/// Options of `throughput` for files in `dir`.
pub fn throughput_options(spec: &ThroughputSpec, dir: &Path) -> throughput::Options {
    throughput::Options {
        threads: spec.threads,
        size: spec.size.get(),
        record: spec.record.get(),
        direct: spec.direct,
        include_fsync: spec.include_fsync,
        include_close: spec.include_close,
        stonewall: spec.stonewall,
        engine: engine_kind(spec.engine),
        queue_depth: spec.queue_depth,
        settle: Duration::from_secs_f64(spec.settle_seconds),
        cold_reads: spec.cold_reads,
        ..throughput::Options::new(dir)
    }
}

const fn engine_kind(name: EngineName) -> engine::Kind {
    match name {
        EngineName::Sync => engine::Kind::Sync,
        EngineName::Aio | EngineName::IoUring => engine::Kind::IoUring,
        EngineName::Null => engine::Kind::Null,
    }
}

/// Options of `tree` for trees in `dir`.
pub fn tree_options(spec: &TreeSpec, dir: &Path) -> tree::Options {
    tree::Options {
        initial: spec.initial,
        runs: spec.runs,
        buffer: usize::try_from(spec.buffer.get()).unwrap_or(usize::MAX),
        scale: spec.scale,
        sources: spec.sources.as_ref().map(Into::into),
        sync: spec.sync,
        compat: spec.compat,
        dataset_seed: spec.dataset_seed,
        ..tree::Options::new(dir)
    }
}

/// Every sample of a workload's outcome. A phase in which nothing ran gives none.
pub fn samples(outcome: &Outcome) -> Vec<Sample> {
    outcome
        .phases
        .iter()
        .filter(|phase| phase.operations > 0)
        .flat_map(phase_samples)
        .collect()
}

fn phase_samples(phase: &PhaseReport) -> Vec<Sample> {
    let mut samples = clocked(phase, "throughput", "bytes_per_s", phase.bytes_per_s);
    if let Some(files) = phase.files_per_s {
        samples.extend(clocked(phase, "files", "files_per_s", files));
    }
    // compilebench's seconds are means over its runs of a kind; a phase's clock is their sum.
    let seconds = match phase.figures.get("mean_seconds") {
        Some(mean) => Clocks {
            original: Some(*mean),
            ..Clocks::default()
        },
        None => phase.clock_seconds,
    };
    samples.extend(clocked(phase, "seconds", "s", seconds));
    samples.extend(phase.figures.iter().map(|(name, value)| Sample {
        phase: phase.name.clone(),
        metric: name.clone(),
        clock: Clock::Original,
        value: *value,
        unit: figure_unit(name).into(),
    }));
    samples
}

fn clocked(phase: &PhaseReport, metric: &str, unit: &str, clocks: Clocks) -> Vec<Sample> {
    [
        (Clock::Original, clocks.original),
        (Clock::Fsync, clocks.fsync),
        (Clock::Syncfs, clocks.syncfs),
    ]
    .into_iter()
    .filter_map(|(clock, value)| {
        value.filter(|v| v.is_finite()).map(|value| Sample {
            phase: phase.name.clone(),
            metric: metric.into(),
            clock,
            value,
            unit: unit.into(),
        })
    })
    .collect()
}

/// Units of the originals' own figures, by their names (docs/metrics.md).
fn figure_unit(name: &str) -> &'static str {
    match name {
        "children" | "parent" | "min" | "max" | "avg" => "bytes_per_s",
        "min_xfer" => "bytes",
        "total_over_total" => "mib_per_s",
        _ if name.ends_with("_mib_per_s") => "mib_per_s",
        _ if name.ends_with("_seconds") || name.starts_with("latency_") => "s",
        _ => "count",
    }
}

/// A workload's own evidence, with the phase it speaks of.
pub fn phase_evidence(phase: &PhaseReport) -> impl Iterator<Item = Evidence> + '_ {
    phase
        .evidence
        .iter()
        .map(|found| evidence(found, Some(&phase.name)))
}

/// Evidence of the live system, for the record.
pub fn evidence(found: &workload::Evidence, phase: Option<&str>) -> Evidence {
    Evidence {
        phase: phase.map(str::to_owned),
        name: found.name.clone(),
        holds: found.holds,
        detail: found.detail.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phase(name: &str, operations: u64) -> PhaseReport {
        PhaseReport {
            name: name.into(),
            operations,
            clock_seconds: Clocks {
                original: Some(2.0),
                fsync: Some(3.0),
                syncfs: None,
            },
            bytes_per_s: Clocks {
                original: Some(10.0),
                fsync: None,
                syncfs: Some(f64::NAN),
            },
            ..PhaseReport::default()
        }
    }

    fn value(samples: &[Sample], metric: &str, clock: Clock) -> Option<f64> {
        let found = samples
            .iter()
            .find(|s| s.metric == metric && s.clock == clock);
        found.map(|sample| sample.value)
    }

    #[test]
    fn clocks_that_do_not_exist_give_no_samples() {
        let outcome = Outcome {
            phases: vec![phase("rewrite", 1), phase("read", 0)],
            ..Outcome::default()
        };
        let samples = samples(&outcome);
        assert!(samples.iter().all(|sample| sample.phase == "rewrite"));
        assert_eq!(value(&samples, "throughput", Clock::Original), Some(10.0));
        assert_eq!(value(&samples, "throughput", Clock::Fsync), None);
        assert_eq!(
            value(&samples, "throughput", Clock::Syncfs),
            None,
            "not a number"
        );
        assert_eq!(value(&samples, "seconds", Clock::Fsync), Some(3.0));
    }

    #[test]
    fn a_mean_over_runs_is_what_a_phase_in_seconds_gives() {
        let mut deleting = phase("delete_tree", 2);
        deleting.figures.insert("mean_seconds".into(), 0.5);
        deleting.figures.insert("children".into(), 7.0);
        let samples = samples(&Outcome {
            phases: vec![deleting],
            ..Outcome::default()
        });
        assert_eq!(value(&samples, "seconds", Clock::Original), Some(0.5));
        assert_eq!(value(&samples, "seconds", Clock::Fsync), None);
        let unit = |metric: &str| {
            samples
                .iter()
                .find(|s| s.metric == metric)
                .map(|s| s.unit.as_str())
        };
        assert_eq!(unit("children"), Some("bytes_per_s"));
        assert_eq!(unit("mean_seconds"), Some("s"));
    }

    #[test]
    fn every_parameter_of_a_study_reaches_the_workload() {
        let spec = ThroughputSpec {
            threads: 3,
            size: study::Bytes(5 << 20),
            record: study::Bytes(65_536),
            direct: true,
            include_fsync: true,
            include_close: true,
            stonewall: false,
            engine: EngineName::IoUring,
            queue_depth: 8,
            settle_seconds: 0.5,
            cold_reads: true,
        };
        let options = throughput_options(&spec, Path::new("/x"));
        assert_eq!(
            (
                options.threads,
                options.size,
                options.record,
                options.queue_depth
            ),
            (3, 5 << 20, 65_536, 8)
        );
        assert!(options.direct && options.include_fsync && options.include_close);
        assert!(!options.stonewall && options.cold_reads);
        assert_eq!(options.settle, Duration::from_millis(500));
        assert!(matches!(options.engine, engine::Kind::IoUring));
    }
}
