//! The passes, one after the other.

use std::sync::atomic::Ordering::Relaxed;

use blockio::BlockSource;
use blockio::layer::Counting;
use ondisk::ext4::Superblock;
use ondisk::ext4::feature::{Compat, Incompat, RoCompat};

use super::e2fsck::deferred;
use super::e2fsck::log::Log;
use super::e2fsck::{self, PASSES};
use super::options::Options as Own;
use super::state::State;
use super::volume::Volume;
use super::{memory, pass0, pass1, pass2, pass3, pass4, pass5, paths, post};
use crate::frame::affected::Unreachable;
use crate::frame::failure::Failure;
use crate::frame::memory::{Guard, fit};
use crate::frame::meter::Meter;
use crate::frame::observer::Observer;
use crate::frame::options::Options;
use crate::frame::outcome::Outcome;
use crate::frame::report::{Facts, Filesystem, Inventory, Report, Unjudged};

/// Checks an ext2, ext3 or ext4 filesystem, from the superblock to the quota files, and never writes.
///
/// # Errors
/// There is no verdict: the check was cancelled, or its maps do not fit into memory. Damage, unreadable blocks and an unusable superblock
/// are findings.
pub fn check(
    source: &dyn BlockSource,
    options: &Options,
    own: &Own,
    observer: &dyn Observer,
) -> Result<Report, Failure> {
    let counting = Counting::new(source);
    let mut meter = Meter::new(&counting, observer);
    let outcome = passes(&counting, options, own, observer, &mut meter)?;
    let verdicts = e2fsck::verdicts(&outcome.findings, own.reference);
    Ok(outcome.report(source, meter.finish(), own.reference.program(), verdicts))
}

fn passes<'a, S: BlockSource>(
    source: &'a Counting<S>,
    options: &Options,
    own: &Own,
    observer: &'a dyn Observer,
    meter: &mut Meter<'a, S>,
) -> Result<Outcome, Failure> {
    let mut log = Log::new(options.keep);
    let opened = meter.run(
        &PASSES[0],
        || open(source, options, own, observer, &mut log),
        |opened| {
            let volume = opened.as_ref();
            volume.map_or(0, |volume| volume.geometry.groups.into())
        },
    )?;
    let Some(mut volume) = opened else {
        return Ok(Outcome {
            findings: log.finish(),
            ..Outcome::default()
        });
    };
    let estimate = fit(&mut volume)?;
    observer.message(&estimate.at_most());
    observer.foresee(memory::bytes_to_read(&volume));
    let volume = &volume;
    let log = &mut log;
    let state = &meter.run(
        &PASSES[1],
        || {
            let state = pass1::run(volume, log)?;
            deferred::order(volume, log);
            Ok(state)
        },
        |state| state.used.count(0..state.used.len()),
    )?;
    let directories = state.directories.list.len() as u64;
    let runs = state.directories.runs.iter();
    let blocks = runs.map(|run| u64::from(run.len)).sum();
    observer.foresee(memory::bytes_after_pass1(volume, blocks));
    meter.run(&PASSES[2], || pass2::run(volume, state, log), |()| blocks)?;
    meter.run(
        &PASSES[3],
        || pass3::run(volume, state, log),
        |()| directories,
    )?;
    let inventory = inventory(volume, state);
    let inodes = inventory.files.inodes;
    meter.run(&PASSES[4], || pass4::run(volume, state, log), |()| inodes)?;
    let groups = volume.geometry.groups.into();
    meter.run(&PASSES[5], || pass5::run(volume, state, log), |()| groups)?;
    meter.run(&PASSES[6], || post::run(volume, state, log), |()| 0)?;
    let mut findings = std::mem::replace(log, Log::new(0)).finish();
    let mut unreachable = Unreachable::default();
    if options.paths {
        meter.run(
            &PASSES[7],
            || {
                unreachable = paths::unreachable(volume, state, &findings)?;
                paths::fill(volume, state, &mut findings)
            },
            |found| *found,
        )?;
    }
    Ok(Outcome {
        findings,
        harms: e2fsck::HARMS,
        unreachable,
        filesystem: Some(filesystem(volume)),
        estimate: Some(estimate),
        unjudged: Unjudged {
            names: state.unjudged_names.load(Relaxed),
        },
        inventory: Some(inventory),
        ..Outcome::default()
    })
}

/// Opens the filesystem and runs the checks before pass 1; none when nothing can be opened, which is a finding.
fn open<'a>(
    source: &'a dyn BlockSource,
    options: &Options,
    own: &Own,
    observer: &'a dyn Observer,
    log: &mut Log,
) -> Result<Option<Volume<'a>>, Failure> {
    let guard = Guard::new(options.memory);
    let mut volume = match pass0::open(source, options, own, log) {
        Ok(volume) => volume,
        Err(unusable) => {
            return match unusable.memory {
                Some((needs, limit)) => Err(Failure::Memory { needs, limit }),
                None => Ok(None),
            };
        }
    };
    volume.progress = observer;
    volume.guard = guard;
    pass0::check(&volume, log);
    Ok(Some(volume))
}

/// What is in use, by pass 1's maps.
fn inventory(volume: &Volume<'_>, state: &State) -> Inventory {
    let cluster = u64::from(volume.geometry.cluster_blocks);
    let clusters = state.blocks.count(0..state.blocks.len());
    Inventory {
        blocks: (clusters * cluster).min(volume.geometry.blocks_count),
        files: state.statistics.files,
        facts: state.statistics.facts(),
    }
}

fn filesystem(volume: &Volume<'_>) -> Filesystem {
    let (sb, geometry) = (&volume.sb, &volume.geometry);
    Filesystem {
        format: format(sb),
        label: String::from_utf8_lossy(sb.volume_name()).into_owned(),
        uuid: words::uuid(&sb.s_uuid),
        features: features(sb),
        block_size: geometry.block_size,
        blocks: geometry.blocks_count,
        facts: Facts(vec![
            ("inode_size", geometry.inode_size.into()),
            ("groups", geometry.groups.into()),
        ]),
        inodes: geometry.inodes_count().into(),
        free_blocks: sb.free_blocks_count(),
        free_inodes: sb.s_free_inodes_count.get().into(),
    }
}

/// As blkid decides: ext4 has features that the ext3 driver does not know, ext3 a journal.
fn format(sb: &Superblock) -> &'static str {
    let incompat = Incompat::FILETYPE
        .with(Incompat::RECOVER)
        .with(Incompat::META_BG);
    let ro_compat = RoCompat::SPARSE_SUPER
        .with(RoCompat::LARGE_FILE)
        .with(RoCompat::BTREE_DIR);
    if sb.incompat().without(incompat).0 != 0 || sb.ro_compat().without(ro_compat).0 != 0 {
        "ext4"
    } else if sb.has_compat(Compat::HAS_JOURNAL) {
        "ext3"
    } else {
        "ext2"
    }
}

fn features(sb: &Superblock) -> Vec<String> {
    let (compat, incompat, ro_compat) = (sb.compat(), sb.incompat(), sb.ro_compat());
    let unknown = [
        ("compat", compat.unknown()),
        ("incompat", incompat.unknown()),
        ("ro_compat", ro_compat.unknown()),
    ];
    let named = compat
        .names()
        .chain(incompat.names())
        .chain(ro_compat.names());
    let unknown = unknown
        .iter()
        .filter(|(_, bits)| *bits != 0)
        .map(|(set, bits)| format!("{set}:0x{bits:x}"));
    named.map(str::to_owned).chain(unknown).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::Progress;
    use crate::frame::cost::Cost;
    use crate::frame::pass::Pass;
    use blockio::Ram;

    #[derive(Default)]
    struct Recorded(Mutex<Vec<(String, u64)>>);

    impl Progress for Recorded {}

    impl Observer for Recorded {
        fn pass_started(&self, pass: &'static Pass) {
            let event = (format!("begin {}", pass.name), 0);
            self.0.lock().unwrap().push(event);
        }

        fn pass_finished(&self, cost: &Cost) {
            let event = (format!("end {}", cost.pass), cost.bytes);
            self.0.lock().unwrap().push(event);
        }
    }

    #[test]
    fn an_observer_gets_the_cost_of_a_pass() {
        let recorded = Recorded::default();
        let source = Ram::sparse(1 << 20);
        let report = check(&source, &Options::default(), &Own::default(), &recorded).unwrap();
        assert_eq!(report.verdicts.reference.unwrap().exit_code, 8);
        let events = recorded.0.into_inner().unwrap();
        let read = report.passes[0].bytes;
        assert!(read >= 1024);
        assert_eq!(
            events,
            [("begin 0".to_owned(), 0), ("end 0".to_owned(), read)]
        );
    }
}
