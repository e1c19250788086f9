//! The phases, one after the other.

use std::sync::atomic::Ordering::Relaxed;

use blockio::BlockSource;
use blockio::layer::Counting;
use ondisk::flags::names;
use ondisk::xfs::superblock::{FEATURES2, INCOMPAT, RO_COMPAT};

use super::state::State;
use super::volume::Volume;
use super::xfs_repair::log::Log;
use super::xfs_repair::problems::PHASE67_SKIPPED;
use super::xfs_repair::{self, PASSES, REFERENCE};
use super::{metadump, paths, phase1, phase2, phase3, phase4, phase5, phase6, phase7};
use crate::frame::failure::Failure;
use crate::frame::finding::Finding;
use crate::frame::memory::{allowed, fit};
use crate::frame::meter::Meter;
use crate::frame::observer::Observer;
use crate::frame::options::Options;
use crate::frame::outcome::Outcome;
use crate::frame::report::{Facts, Filesystem, Inventory, Report};

/// Checks an XFS filesystem and never writes.
///
/// # Errors
/// There is no verdict: the check was cancelled, or its maps do not fit into memory. Damage, unreadable blocks and an unusable superblock
/// are findings.
pub fn check(
    source: &dyn BlockSource,
    options: &Options,
    observer: &dyn Observer,
) -> Result<Report, Failure> {
    if metadump::version(source).is_none() {
        return check_device(source, options, observer);
    }
    match metadump::open(source) {
        Ok(device) => {
            observer.message(
                "a file of xfs_metadump: contents of files are not in it, and names may be changed",
            );
            check_device(&device, options, observer)
        }
        Err(why) => {
            observer.message(&why);
            check_device(source, options, observer)
        }
    }
}

fn check_device(
    source: &dyn BlockSource,
    options: &Options,
    observer: &dyn Observer,
) -> Result<Report, Failure> {
    let counting = Counting::new(source);
    let mut meter = Meter::new(&counting, observer);
    let outcome = phases(&counting, options, observer, &mut meter)?;
    let opened = outcome.filesystem.is_some();
    let run = outcome.run.clone().unwrap_or_default();
    let verdicts = xfs_repair::verdicts(&outcome.findings, &run, opened);
    Ok(outcome.report(source, meter.finish(), REFERENCE, verdicts))
}

fn phases<'a, S: BlockSource>(
    source: &'a Counting<S>,
    options: &Options,
    observer: &'a dyn Observer,
    meter: &mut Meter<'a, S>,
) -> Result<Outcome, Failure> {
    let mut log = Log::new(options.keep);
    let mut opened = meter.run(
        &PASSES[0],
        || Ok(phase1::open(source, options, observer, &mut log)),
        |opened| {
            opened
                .as_ref()
                .map_or(0, |volume| volume.geo.ag_count.into())
        },
    )?;
    let Some(volume) = &mut opened else {
        let (findings, run) = log.finish();
        return Ok(Outcome {
            findings,
            run: Some(run),
            ..Outcome::default()
        });
    };
    volume.lengthen_requests();
    let forecast = fit(volume)?;
    fits(volume, forecast.total())?;
    observer.message(&format!(
        "memory: at most {} MiB",
        forecast.total().div_ceil(1 << 20)
    ));
    let volume = &*volume;
    let log = &mut log;
    let mut state = meter.run(
        &PASSES[1],
        || phase2::run(volume, log),
        |_| volume.geo.ag_count.into(),
    )?;
    // Chunks that the superblock does not count are memory all the same.
    let estimate = volume.forecast(state.chunks.ranks());
    fits(volume, estimate.total())?;
    step(meter, 2, || phase3::run(volume, &state, log))?;
    step(meter, 3, || phase4::run(volume, &mut state, log))?;
    if volume.sb.sb_rblocks.get() > 0 {
        step(meter, 4, || phase5::run(volume, &state, log))?;
    }
    step(meter, 5, || phase6::run(volume, &state, log))?;
    step(meter, 6, || phase7::run(volume, &state, log))?;
    if volume.geo.v5 {
        step(meter, 7, || {
            phase2::log::compare(state.position, state.lsn.get(), log);
            Ok(1)
        })?;
    }
    if state.suspect.inodes.load(Relaxed) {
        log.add(Finding::new(&PHASE67_SKIPPED));
        log.skip_names();
    }
    let (mut findings, run) = std::mem::replace(log, Log::new(0)).finish();
    paths::fill(volume, &state, &mut findings);
    Ok(Outcome {
        findings,
        run: Some(run),
        filesystem: Some(filesystem(volume)),
        estimate: Some(estimate),
        inventory: Some(inventory(volume, &state)),
        unstable: state.position.is_some_and(|position| position.dirty),
        ..Outcome::default()
    })
}

/// Runs the phase with that number. It gives the number of objects that it judged.
fn step<S: BlockSource>(
    meter: &mut Meter<'_, S>,
    number: usize,
    run: impl FnOnce() -> Result<u64, Failure>,
) -> Result<(), Failure> {
    meter
        .run(&PASSES[number], run, |objects| *objects)
        .map(|_| ())
}

fn fits(volume: &Volume<'_>, needs: u64) -> Result<(), Failure> {
    let limit = allowed(&volume.options);
    if needs > limit {
        return Err(Failure::Memory { needs, limit });
    }
    Ok(())
}

fn inventory(volume: &Volume<'_>, state: &State) -> Inventory {
    let sb = &volume.sb;
    Inventory {
        blocks: sb.sb_dblocks.get().saturating_sub(sb.sb_fdblocks.get()),
        files: state.files.get(),
        facts: Facts::default(),
    }
}

fn filesystem(volume: &Volume<'_>) -> Filesystem {
    let sb = &volume.sb;
    Filesystem {
        format: "xfs",
        label: sb.label(),
        uuid: sb.uuid(),
        features: features(volume),
        block_size: volume.geo.block_size,
        blocks: sb.sb_dblocks.get(),
        facts: Facts(vec![
            ("version", sb.version().into()),
            ("groups", volume.geo.ag_count.into()),
            ("group_blocks", volume.geo.ag_blocks.into()),
            ("inode_size", volume.geo.inode_size.into()),
            ("sector_size", volume.geo.sector_size.into()),
            ("log_blocks", sb.sb_logblocks.get().into()),
            ("realtime_blocks", sb.sb_rblocks.get().into()),
        ]),
        inodes: sb.sb_icount.get(),
        free_blocks: sb.sb_fdblocks.get(),
        free_inodes: sb.sb_ifree.get(),
    }
}

fn features(volume: &Volume<'_>) -> Vec<String> {
    let sb = &volume.sb;
    let fields = [
        (sb.sb_features2.get(), FEATURES2),
        (sb.sb_features_ro_compat.get(), RO_COMPAT),
        (sb.sb_features_incompat.get(), INCOMPAT),
    ];
    let valid = if volume.geo.v5 { 3 } else { 1 };
    fields[..valid]
        .iter()
        .flat_map(|(bits, table)| names((*bits).into(), table))
        .collect()
}
