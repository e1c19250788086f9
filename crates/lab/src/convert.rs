//! Between the wings: a study's parameters become a workload's options, and what a workload
//! reports becomes the record's samples and evidence. Nothing is computed here but units.

use std::path::Path;
use std::time::Duration;

use record::{Evidence, Sample};
use study::{
    AgeSpec, Between, Bytes, Clock, Content, EngineName, FillSpec, Flush, Limit, StreamSpec,
    StreamTest, ThroughputSpec, TreeSpec, WorkloadSpec, WriteThrough,
};
use workload::{Clocks, PhaseReport, age, engine, fill, stream, throughput, tree};

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
        EngineName::Aio => engine::Kind::Aio,
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

/// Options of `stream` for a file in `dir`, which stays: it goes with the filesystem, and the check
/// after it should find it.
pub fn stream_options(spec: &StreamSpec, dir: &Path) -> stream::Options {
    stream::Options {
        block: spec.block.get(),
        count: spec.count,
        direct: spec.direct,
        engine: engine_kind(spec.engine),
        queue_depth: spec.queue_depth,
        content: match spec.content {
            Content::Zero => stream::Content::Zero,
            Content::Pattern => stream::Content::Pattern,
            Content::Random => stream::Content::Random,
        },
        verify: spec.verify,
        test: match spec.test {
            StreamTest::WriteRead => stream::Test::WriteRead,
            StreamTest::Write => stream::Test::Write,
            StreamTest::Read => stream::Test::Read,
        },
        flush: match spec.flush {
            Flush::None => stream::Flush::None,
            Flush::Fsync => stream::Flush::Fsync,
            Flush::Fdatasync => stream::Flush::Fdatasync,
        },
        write_through: match spec.write_through {
            WriteThrough::None => stream::WriteThrough::None,
            WriteThrough::Dsync => stream::WriteThrough::Dsync,
            WriteThrough::Sync => stream::WriteThrough::Sync,
        },
        reuse: spec.reuse,
        between: match spec.between {
            Between::Remount => stream::Between::Remount,
            Between::Drop => stream::Between::Drop,
            Between::Warm => stream::Between::Warm,
        },
        // The name in the messages that are repeated, and in the listings that answer them.
        file: "bigfile".into(),
        keep: true,
        ..stream::Options::new(dir)
    }
}

/// Options of `fill`. Its bases are folders of `dir`, which is made for the trial, so that nothing
/// else (lost+found) is among them.
pub fn fill_options(spec: &FillSpec, dir: &Path, seed: u64) -> fill::Options {
    fill::Options {
        bases: (0..spec.bases)
            .map(|number| dir.join(format!("base-{number}")))
            .collect(),
        files: spec.files,
        processes: spec.processes,
        size: spec.size.get(),
        write_size: spec.write_size.get(),
        directories: spec.directories,
        per_directory: spec.per_directory,
        sync_method: spec.sync_method,
        iterations: spec.iterations,
        until_full: spec.until_full,
        keep: spec.keep,
        name_length: spec.name_length,
        random_length: spec.random_length,
        seed,
        ..fill::Options::new(dir)
    }
}

/// Options of `age`. What it leaves stays, for the check; it goes with the filesystem or folder.
pub fn age_options(spec: &AgeSpec, dir: &Path, seed: u64) -> age::Options {
    age::Options {
        rounds: spec.rounds,
        files: spec.files,
        processes: spec.processes,
        directories: spec.directories,
        per_directory: spec.per_directory,
        step: spec.step,
        shared: spec.shared,
        size: spec.size.get(),
        write_size: spec.write_size.get(),
        seed,
        keep: true,
        ..age::Options::new(dir.join("aged"))
    }
}

/// Whether what a workload's phases write is still there when they end.
pub fn keeps_files(workload: &WorkloadSpec) -> bool {
    match workload {
        WorkloadSpec::Fill(spec) => spec.keep || spec.until_full,
        _ => true,
    }
}

/// What the rig holds a device to.
pub fn limits(limit: Limit) -> rig::limits::Limits {
    rig::limits::Limits {
        read_bytes: limit.read.map(Bytes::get),
        write_bytes: limit.write.map(Bytes::get),
        read_ops: limit.read_iops,
        write_ops: limit.write_iops,
    }
}

/// Every sample of these phases. A phase in which nothing ran gives none.
pub fn samples(phases: &[PhaseReport]) -> Vec<Sample> {
    phases
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
        "children" | "parent" | "min" | "max" | "avg" | "rate_with_cache" | "rate_without_user" => {
            "bytes_per_s"
        }
        "min_xfer" | "peak_rss" | "device_read" | "device_written" | "disk_bytes"
        | "cache_bytes" | "reported_read" | "reported_cache" | "request_mean" | "cache_size"
        | "metadata_bytes" => "bytes",
        "total_over_total" => "mib_per_s",
        "total_over_elapsed" => "files_per_s",
        "app_overhead" => "s",
        "fs_use" => "percent",
        "cpu_share" => "ratio",
        _ if name.ends_with("_mib_per_s") => "mib_per_s",
        _ if name.ends_with("_seconds") || name.starts_with("latency_") => "s",
        _ if is_call(name) => "s",
        _ => "count",
    }
}

/// `fsync_p99`: a figure of one of the system calls that `fill` times.
fn is_call(name: &str) -> bool {
    const CALLS: [&str; 6] = ["creat", "write", "fsync", "sync", "close", "unlink"];
    const FIGURES: [&str; 5] = ["min", "avg", "max", "p50", "p99"];
    name.split_once('_')
        .is_some_and(|(call, figure)| CALLS.contains(&call) && FIGURES.contains(&figure))
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
        let samples = samples(&[phase("rewrite", 1), phase("read", 0)]);
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
        let samples = samples(&[deleting]);
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
