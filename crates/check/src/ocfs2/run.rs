//! The passes, one after the other.

use blockio::BlockSource;
use blockio::layer::Counting;
use ondisk::flags::names;
use ondisk::ocfs2::Superblock;
use ondisk::ocfs2::superblock::{COMPAT, INCOMPAT, RO_COMPAT};

use super::fsck_ocfs2::log::Log;
use super::fsck_ocfs2::{self, PASSES, REFERENCE};
use super::state::State;
use super::volume::{Volume, head};
use super::{memory, open, own, pass0, pass1, pass1b, pass2, pass3, pass4, pass5, paths};
use crate::frame::failure::Failure;
use crate::frame::memory::{allowed, fit};
use crate::frame::meter::Meter;
use crate::frame::observer::Observer;
use crate::frame::options::Options;
use crate::frame::outcome::Outcome;
use crate::frame::report::{Facts, Filesystem, Inventory, Report};

/// Checks an OCFS2 volume and never writes.
///
/// # Errors
/// There is no verdict: the check was cancelled, or its maps do not fit into memory. Damage, unreadable blocks and an unusable superblock
/// are findings.
pub fn check(
    source: &dyn BlockSource,
    options: &Options,
    observer: &dyn Observer,
) -> Result<Report, Failure> {
    let counting = Counting::new(source);
    let mut meter = Meter::new(&counting, observer);
    let (outcome, packed) = passes(&counting, options, observer, &mut meter)?;
    let run = outcome.run.clone().unwrap_or_default();
    let mut verdicts = fsck_ocfs2::verdicts(&outcome.findings, &run);
    if packed {
        // fsck.ocfs2 cannot open the file.
        verdicts.reference = None;
    }
    Ok(outcome.report(source, meter.finish(), REFERENCE, verdicts))
}

/// What the passes leave, and whether the volume is a packed file of o2image.
fn passes<'a, S: BlockSource>(
    source: &'a Counting<S>,
    options: &Options,
    observer: &'a dyn Observer,
    meter: &mut Meter<'a, S>,
) -> Result<(Outcome, bool), Failure> {
    let mut log = Log::new(options.keep);
    let opened = meter.run(
        &PASSES[0],
        || {
            let opened = open::open(source, options, observer, &mut log);
            if let Some(volume) = &opened {
                open::check(volume, &mut log);
            }
            Ok(opened)
        },
        |opened| opened.as_ref().map_or(0, |volume| volume.slots().into()),
    )?;
    let Some(mut volume) = opened else {
        let (findings, run) = log.finish();
        let outcome = Outcome {
            findings,
            run: Some(run),
            ..Outcome::default()
        };
        return Ok((outcome, false));
    };
    fits(&volume, u64::from(volume.clusters()).div_ceil(4))?;
    let mut state = State::new(&volume);
    let (log, state) = (&mut log, &mut state);
    allocators(&volume, state, meter, log)?;
    let estimate = fit(&mut memory::Before::new(&mut volume, state))?;
    let volume = &volume;
    fits(volume, estimate.own())?;
    observer.message(&estimate.about());
    let meter = &mut (meter, volume);
    step(meter, 4, log, |log| {
        pass1::run(volume, state, log)?;
        Ok(state.counts.files.inodes)
    })?;
    let estimate = memory::after(volume, state);
    fits(volume, estimate.own())?;
    observer.message(&estimate.at_most());
    if !state.shared.is_empty() {
        step(meter, 5, log, |log| {
            pass1b::run(volume, state, log)?;
            Ok(state.shared.len())
        })?;
    }
    step(meter, 6, log, |log| {
        pass2::run(volume, state, log)?;
        Ok(state.directory_blocks.len() as u64)
    })?;
    step(meter, 7, log, |log| {
        pass3::run(volume, state, log)?;
        Ok(state.directories.len() as u64)
    })?;
    step(meter, 8, log, |log| {
        pass4::orphans(volume, log);
        Ok(volume.slots().into())
    })?;
    step(meter, 9, log, |log| {
        pass4::links(volume, state, log)?;
        Ok(state.counts.files.inodes)
    })?;
    if pass5::applies(volume) {
        step(meter, 10, log, |log| {
            pass5::run(volume, &state.usage, log);
            Ok(0)
        })?;
    }
    step(meter, 11, log, |log| own::run(volume, state, log))?;
    if state.unjudged > 0 {
        observer.message(&format!(
            "{} directory blocks are not in the o2image file and were not judged",
            state.unjudged
        ));
    }
    let (mut findings, run) = std::mem::replace(log, Log::new(0)).finish();
    if volume.options.paths {
        paths::fill(volume, state, &mut findings)?;
    }
    let outcome = Outcome {
        findings,
        harms: fsck_ocfs2::HARMS,
        run: Some(run),
        filesystem: Some(filesystem(volume, state)),
        estimate: Some(estimate),
        inventory: Some(inventory(volume, state)),
        ..Outcome::default()
    };
    Ok((outcome, volume.blocks.is_packed()))
}

/// Passes 0a to 0c.
fn allocators<S: BlockSource>(
    volume: &Volume<'_>,
    state: &mut State,
    meter: &mut Meter<'_, S>,
    log: &mut Log,
) -> Result<(), Failure> {
    let meter = &mut (meter, volume);
    step(meter, 1, log, |log| Ok(pass0::clusters(volume, state, log)))?;
    step(meter, 2, log, |log| Ok(pass0::inodes(volume, state, log)))?;
    step(meter, 3, log, |log| Ok(pass0::extents(volume, state, log)))
}

/// Runs the pass with that number. It gives the number of objects that it judged. Nothing is read after the check was to end, so what a
/// pass has found then is given up.
fn step<S: BlockSource>(
    (meter, volume): &mut (&mut Meter<'_, S>, &Volume<'_>),
    number: usize,
    log: &mut Log,
    run: impl FnOnce(&mut Log) -> Result<u64, Failure>,
) -> Result<(), Failure> {
    let pass = &PASSES[number];
    log.enter(pass);
    meter.run(pass, || run(log), |objects| *objects)?;
    volume.go_on()
}

fn fits(volume: &Volume<'_>, needs: u64) -> Result<(), Failure> {
    let limit = allowed(&volume.options);
    if needs > limit {
        return Err(Failure::Memory { needs, limit });
    }
    Ok(())
}

fn inventory(volume: &Volume<'_>, state: &State) -> Inventory {
    let counts = &state.counts;
    let clusters = state.used.len();
    Inventory {
        blocks: clusters * volume.layout.blocks_per_cluster(),
        files: counts.files,
        facts: Facts(vec![
            ("inline_files", counts.inline_files.into()),
            ("inline_directories", counts.inline_directories.into()),
            ("fast_symlinks", counts.fast_symlinks.into()),
            ("reflinks", counts.reflinks.into()),
            ("links", counts.links.into()),
            ("depths", counts.depths.to_vec().into()),
        ]),
    }
}

fn filesystem(volume: &Volume<'_>, state: &State) -> Filesystem {
    let sb = &volume.sb;
    let bitmap = state.bitmap.bytes.as_deref().map(head);
    let free = bitmap.map_or(0, |inode| inode.total().saturating_sub(inode.used()));
    let inodes = |count: fn(&ondisk::ocfs2::Dinode) -> u32| -> u64 {
        let heads = state.inodes.iter().filter_map(|one| one.bytes.as_deref());
        heads.map(|bytes| u64::from(count(&head(bytes)))).sum()
    };
    Filesystem {
        format: "ocfs2",
        label: sb.label(),
        uuid: sb.uuid(),
        features: features(sb),
        block_size: volume.block_size() as u32,
        blocks: volume.layout.blocks(),
        facts: Facts(vec![
            ("cluster_size", volume.layout.cluster_size().into()),
            ("clusters", volume.clusters().into()),
            ("slots", volume.slots().into()),
        ]),
        inodes: inodes(ondisk::ocfs2::Dinode::total),
        free_blocks: u64::from(free) * volume.layout.blocks_per_cluster(),
        free_inodes: inodes(|inode| inode.total().saturating_sub(inode.used())),
    }
}

fn features(sb: &Superblock) -> Vec<String> {
    [
        (sb.s_feature_compat.get(), COMPAT),
        (sb.s_feature_incompat.get(), INCOMPAT),
        (sb.s_feature_ro_compat.get(), RO_COMPAT),
    ]
    .into_iter()
    .flat_map(|(bits, table)| names(bits.into(), table))
    .collect()
}
