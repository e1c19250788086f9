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
        EngineName::IoUring => engine::Kind::IoUring,
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
        _ if name.ends_with("_seconds") => "s",
        _ => "count",
    }
}

/// A workload's own evidence, with the phase it speaks of.
pub fn evidence(phase: &PhaseReport) -> impl Iterator<Item = Evidence> + '_ {
    phase.evidence.iter().map(|found| Evidence {
        phase: Some(phase.name.clone()),
        name: found.name.clone(),
        holds: found.holds,
        detail: found.detail.clone(),
    })
}
