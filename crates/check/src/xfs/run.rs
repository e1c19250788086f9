//! The phases, one after the other.

use std::sync::atomic::Ordering::Relaxed;

use blockio::BlockSource;
use blockio::layer::Counting;
use ondisk::flags::names;
use ondisk::xfs::Superblock;
use ondisk::xfs::superblock::{FEATURES2, INCOMPAT, RO_COMPAT};

use super::phase1::Opened;
use super::recovery::{self, Journal, Recovered};
use super::state::State;
use super::volume::Volume;
use super::xfs_repair::log::Log;
use super::xfs_repair::problems::{LOG_REPLAY, PHASE67_SKIPPED};
use super::xfs_repair::{self, PASSES};
use super::{metadump, paths, phase1, phase2, phase3, phase4, phase5, phase6, phase7, stand_in};
use crate::frame::failure::Failure;
use crate::frame::finding::Finding;
use crate::frame::memory::{Guard, allowed, fit};
use crate::frame::meter::Meter;
use crate::frame::observer::Observer;
use crate::frame::options::Options;
use crate::frame::outcome::Outcome;
use crate::frame::report::{Facts, Filesystem, Inventory, Report};

/// Checks an XFS filesystem as it lies on the disk, and never writes.
///
/// # Errors
/// There is no verdict: the check was cancelled, or its maps do not fit into memory. Damage, unreadable blocks and an unusable superblock
/// are findings.
pub fn check(
    source: &dyn BlockSource,
    options: &Options,
    observer: &dyn Observer,
) -> Result<Report, Failure> {
    check_with(source, options, &recovery::Options::default(), observer)
}

/// The same, with a choice of what is done about the log.
///
/// # Errors
/// As [`check`].
pub fn check_with(
    source: &dyn BlockSource,
    options: &Options,
    log: &recovery::Options,
    observer: &dyn Observer,
) -> Result<Report, Failure> {
    // The list of a dump's parts and what a replay lays over the source are part of the check's memory.
    let guard = Guard::new(options.memory);
    if metadump::version(source).is_none() {
        return match stand_in::over(source) {
            Some((over, ag)) => recovered(&over, Some(ag), options, log, observer, guard),
            None => recovered(source, None, options, log, observer, guard),
        };
    }
    match metadump::open(source) {
        Ok(device) => {
            observer.message(&metadump::description(source));
            let mut report = recovered(&device, None, options, log, observer, guard)?;
            metadump::mark(&device, &mut report);
            Ok(report)
        }
        Err(why) => {
            observer.message(&why);
            recovered(source, None, options, log, observer, guard)
        }
    }
}

/// Checks what lies on the disk, or what replaying the log leaves of it. `stand_in`: the group whose superblock is in place of the first.
fn recovered(
    source: &dyn BlockSource,
    stand_in: Option<u32>,
    options: &Options,
    log: &recovery::Options,
    observer: &dyn Observer,
    guard: Guard,
) -> Result<Report, Failure> {
    let mut journal = Journal {
        device: log.device.as_deref(),
        realtime: log.realtime.as_deref(),
        release: log.release,
        stand_in,
        ..Journal::default()
    };
    if !log.replay {
        return check_device(source, journal, options, observer, guard);
    }
    let is_over = || observer.cancelled() || guard.is_full();
    let replayed = recovery::replay(source, journal.device, observer, &is_over);
    guard.hold()?;
    if observer.cancelled() {
        return Err(Failure::Stopped);
    }
    match replayed {
        Ok(None) => check_device(source, journal, options, observer, guard),
        Ok(Some((over, recovered))) => {
            observer.message(&format!(
                "log: {} transactions replayed in memory ({} KiB); {} intents without an end, {} inodes unlinked while open",
                recovered.transactions,
                over.held() >> 10,
                recovered.intents,
                recovered.unlinked.len()
            ));
            journal.recovered = Some(&recovered);
            check_device(&over, journal, options, observer, guard)
        }
        Err(why) => {
            journal.refused = Some(&why);
            check_device(source, journal, options, observer, guard)
        }
    }
}

fn check_device(
    source: &dyn BlockSource,
    journal: Journal<'_>,
    options: &Options,
    observer: &dyn Observer,
    guard: Guard,
) -> Result<Report, Failure> {
    let counting = Counting::new(source);
    let mut meter = Meter::new(&counting, observer);
    let release = journal.release;
    let outcome = phases(&counting, journal, options, observer, guard, &mut meter)?;
    let opened = outcome.inventory.is_some();
    let run = outcome.run.clone().unwrap_or_default();
    let verdicts = xfs_repair::verdicts(&outcome.findings, &run, opened, release);
    Ok(outcome.report(source, meter.finish(), release.reference(), verdicts))
}

fn phases<'a, S: BlockSource>(
    source: &'a Counting<S>,
    journal: Journal<'a>,
    options: &Options,
    observer: &'a dyn Observer,
    guard: Guard,
    meter: &mut Meter<'a, S>,
) -> Result<Outcome, Failure> {
    let mut log = Log::new(options.keep);
    if let Some(recovered) = journal.recovered {
        log.excuse(&recovered.unlinked);
    }
    if let Some(why) = journal.refused {
        log.add(Finding::new(&LOG_REPLAY).note(why));
    }
    let mut opened = meter.run(
        &PASSES[0],
        || {
            let mut opened = phase1::open(source, journal, options, observer, &mut log);
            if let Opened::Volume(volume) = &mut opened {
                volume.guard = guard;
            }
            Ok(opened)
        },
        |opened| match opened {
            Opened::Volume(volume) => volume.geo.ag_count.into(),
            Opened::Unread(_) => 0,
        },
    )?;
    let volume = match &mut opened {
        Opened::Volume(volume) => &mut **volume,
        Opened::Unread(sb) => {
            let (findings, run) = log.finish();
            return Ok(Outcome {
                findings,
                run: Some(run),
                filesystem: sb.as_ref().map(|sb| filesystem(sb, None)),
                ..Outcome::default()
            });
        }
    };
    volume.lengthen_requests();
    let forecast = fit(volume)?;
    fits(volume, forecast.own())?;
    observer.message(&forecast.about());
    let volume = &*volume;
    let log = &mut log;
    let mut state = meter.run(
        &PASSES[1],
        || phase2::run(volume, log),
        |_| volume.geo.ag_count.into(),
    )?;
    // Chunks that the superblock does not count are memory all the same.
    fits(volume, volume.forecast(state.chunks.ranks()).own())?;
    step(meter, 2, || phase3::run(volume, &state, log))?;
    let estimate = volume.forecast_with(&state);
    fits(volume, estimate.own())?;
    observer.message(&estimate.at_most());
    step(meter, 3, || phase4::run(volume, &mut state, log))?;
    if volume.sb.sb_rblocks.get() > 0 {
        step(meter, 4, || phase5::run(volume, &state, log))?;
    }
    step(meter, 5, || phase6::run(volume, &state, log))?;
    step(meter, 6, || phase7::run(volume, &state, log))?;
    let has_log = !volume.sb.log_is_external() || journal.device.is_some();
    if volume.geo.v5 && has_log {
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
    let unreachable = paths::unreachable(volume, &state, &findings);
    volume.go_on()?;
    Ok(Outcome {
        findings,
        harms: xfs_repair::HARMS,
        unreachable,
        run: Some(run),
        filesystem: Some(filesystem(&volume.sb, journal.recovered)),
        estimate: Some(estimate),
        inventory: Some(inventory(volume, &state)),
        unstable: state.position.is_some_and(|position| position.dirty)
            || journal
                .recovered
                .is_some_and(|recovered| recovered.intents > 0),
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

fn filesystem(sb: &Superblock, recovered: Option<&Recovered>) -> Filesystem {
    let mut facts = vec![
        ("version", sb.version().into()),
        ("groups", sb.sb_agcount.get().into()),
        ("group_blocks", sb.sb_agblocks.get().into()),
        ("inode_size", sb.sb_inodesize.get().into()),
        ("sector_size", sb.sb_sectsize.get().into()),
        ("log_blocks", sb.sb_logblocks.get().into()),
        ("realtime_blocks", sb.sb_rblocks.get().into()),
    ];
    if let Some(recovered) = recovered {
        facts.push(("replayed_transactions", recovered.transactions.into()));
        facts.push(("pending_intents", recovered.intents.into()));
        let unlinked = recovered.unlinked.len() as u64;
        facts.push(("unlinked_inodes", unlinked.into()));
    }
    Filesystem {
        format: "xfs",
        label: sb.label(),
        uuid: sb.uuid(),
        features: features(sb),
        block_size: sb.sb_blocksize.get(),
        blocks: sb.sb_dblocks.get(),
        facts: Facts(facts),
        inodes: sb.sb_icount.get(),
        free_blocks: sb.sb_fdblocks.get(),
        free_inodes: sb.sb_ifree.get(),
    }
}

fn features(sb: &Superblock) -> Vec<String> {
    let fields = [
        (sb.sb_features2.get(), FEATURES2),
        (sb.sb_features_ro_compat.get(), RO_COMPAT),
        (sb.sb_features_incompat.get(), INCOMPAT),
    ];
    let valid = if sb.is_v5() { 3 } else { 1 };
    fields[..valid]
        .iter()
        .flat_map(|(bits, table)| names((*bits).into(), table))
        .collect()
}
