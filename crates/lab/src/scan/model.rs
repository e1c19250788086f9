//! The model reader of 2011: [`::check::strategy`], with his switches.
//!
//! How large its cache is, is a share of the metadata, which only a reading knows: directories are found in
//! inodes. So there is one before, with no clock running, and the caches below (the image under a loop
//! device has one) are dropped and proven cold after it. Rejected: bytes as the parameter, which every change of the
//! population would put into the other regime.

use std::path::Path;

use ::check::ext4::GroupMap;
use ::check::ocfs2::ChainMap;
use ::check::strategy::{self, Figures, MetadataMap, Moment, Reading, Strategy};
use blockio::{BlockSource, Direct};
use fskind::Family;
use progress::Step;
use study::{FilesystemKind, ScanSpec};
use workload::{Evidence, Observer, PhaseReport};

use super::figures::{self, Costs};
use super::{Job, Passes, Read, Source, Stop, WHOLE, evidence, go_on};
use crate::interrupt::Interrupt;

/// Measures the metadata, makes everything cold, and reads.
pub(super) fn read(
    job: &Job<'_>,
    from: &Source<'_>,
    observer: &dyn Observer,
) -> Result<Read, Stop> {
    match job.kind.family() {
        Family::Ocfs2 => read_map(job, from, observer, ChainMap::of),
        _ => read_map(job, from, observer, GroupMap::of),
    }
}

/// Bytes of all metadata of a volume, by a read of them.
pub(crate) fn metadata(
    kind: FilesystemKind,
    device: &Path,
    interrupt: &Interrupt,
) -> Result<u64, Stop> {
    let source = Direct::open(device)?;
    let bytes = match kind.family() {
        Family::Ocfs2 => measure(&source, ChainMap::of, interrupt),
        _ => measure(&source, GroupMap::of, interrupt),
    };
    Ok(bytes?)
}

/// Opens the map of a volume.
type Open<M> = fn(&dyn BlockSource) -> Result<M, strategy::Error>;

fn read_map<M: MetadataMap>(
    job: &Job<'_>,
    from: &Source<'_>,
    observer: &dyn Observer,
    open: Open<M>,
) -> Result<Read, Stop> {
    let metadata = match job.metadata {
        Some(known) => known,
        None => measure(from.direct, open, job.interrupt)?,
    };
    let strategy = strategy_of(job.spec, metadata);
    let mut passes = Passes::cold(job, from, observer)?;
    let source = from.measured();
    let begin_ns = workload::clock::now_ns();
    let map = open(source)?;
    let reading = strategy::read_watched(source, map, &strategy, &mut |moment| {
        record(&mut passes, moment);
        go_on(job.interrupt)
    })?;
    let end_ns = workload::clock::now_ns();
    Ok(Read {
        whole: whole(&passes.phases, &reading, passes.cold),
        phases: passes.phases,
        begin_ns,
        end_ns,
    })
}

/// Bytes of all metadata: what a reading meets, at the lowest cost.
fn measure<M: MetadataMap>(
    source: &Direct,
    open: Open<M>,
    interrupt: &Interrupt,
) -> Result<u64, strategy::Error> {
    const CACHE: u64 = 64 << 20;
    let strategy = Strategy::improved(CACHE);
    let map = open(source)?;
    let reading = strategy::read_watched(source, map, &strategy, &mut |_| go_on(interrupt))?;
    Ok(reading.metadata_bytes)
}

/// The study's parameters as the reader's.
fn strategy_of(spec: &ScanSpec, metadata: u64) -> Strategy {
    Strategy {
        precache: spec.precache,
        prefill: spec.prefill,
        scan_buffer: u32::try_from(spec.scan_buffer.get()).unwrap_or(u32::MAX),
        batch: spec.batch,
        cache: (metadata as f64 * spec.cache) as u64,
        chains: spec.chains,
    }
}

fn record(passes: &mut Passes<'_>, moment: Moment<'_>) {
    match moment {
        Moment::Begins(step) => {
            passes
                .observer
                .begin(Step::new(super::phase_of(step.name())));
            passes.begins(step.name());
        }
        Moment::Goes(_) => {}
        Moment::Ended(figures) => passes.ended(figures.step.name(), &costs(figures)),
    }
}

fn costs(figures: &Figures) -> Costs {
    Costs {
        real_s: figures.real_s,
        user_s: figures.user_s,
        system_s: figures.system_s,
        disk_bytes: figures.disk_bytes,
        cache_bytes: figures.cache_bytes,
        objects: figures.objects,
        counts: vec![
            ("requests", figures.requests),
            ("seeks", figures.seeks),
            ("seek_bytes", figures.seek_bytes),
            ("batched", figures.batched),
            ("verified", figures.verified),
            ("faults", figures.faults),
        ],
    }
}

/// All passes as one phase, with what the reading was bounded by.
fn whole(phases: &[PhaseReport], reading: &Reading, cold: Evidence) -> PhaseReport {
    let faults = reading.steps.iter().map(|step| step.faults).sum();
    let are = "descriptors, inodes or directory blocks are damaged or unreadable";
    let evidence = vec![cold, evidence::sound(faults, are)];
    let mut report = figures::whole(WHOLE, phases, evidence);
    let bounds = [
        ("cache_size", reading.strategy.cache),
        ("metadata_bytes", reading.metadata_bytes),
        ("chain_links", reading.links),
    ];
    for (name, value) in bounds {
        report.figures.insert(name.into(), value as f64);
    }
    report
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_says_what_bounded_the_reading() {
        let reading = Reading {
            strategy: Strategy::vanilla(1 << 20),
            steps: Vec::new(),
            links: 6,
            metadata_bytes: 4 << 20,
        };
        let cold = Evidence {
            name: "cold_cache".into(),
            holds: Some(true),
            detail: String::new(),
        };
        let whole = whole(&[], &reading, cold);
        assert_eq!(whole.figures["cache_size"], 1_048_576.0);
        assert_eq!(whole.figures["metadata_bytes"], 4_194_304.0);
        assert_eq!(whole.figures["chain_links"], 6.0);
        assert_eq!(whole.evidence[1].holds, Some(true));
    }

    #[test]
    fn a_share_of_the_metadata_is_the_cache() {
        let spec = ScanSpec {
            cache: 0.25,
            ..ScanSpec::default()
        };
        assert_eq!(strategy_of(&spec, 4000).cache, 1000);
        assert_eq!(strategy_of(&spec, 4000).scan_buffer, 32 << 10);
    }
}
