//! Pass 1: is each inode sound, and which blocks does it use?
//!
//! The inode tables are read once, ascending, in large requests; threads take the pieces as they arrive and check each inode in place. What
//! an inode is (kind, links, whether it is used) goes into flat maps, a block it uses is one bit that is set without a lock;
//! a bit that was set before is a block with two claims (passes 1B to 1D, `shared`). Nothing a thread finds depends on
//! another, so the result is that of a single walker, and the logs put findings into inode order.
//!
//! InodeSet whose map has nodes beyond the inode are deferred and walked in batches: the nodes that their roots name are read
//! first, ascending. Deferring all of them until the tables are done was rejected: on ext3 most files have an indirect
//! block, and the deferred inodes would be as large as the tables.
//!
//! Every question is answered with no, as by `e2fsck -n`: an illegal pointer stays and is not claimed, a damaged inode counts
//! as used. The checks of one inode are in e2fsck's order, because people compare the first finding.

pub(crate) mod attributes;
mod bad_blocks;
mod blocks;
mod extents;
mod fast_path;
mod features;
mod inode;
mod iterate;
pub(crate) mod joined;
mod map;
pub(crate) mod maps;
pub(crate) mod metadata;
mod plain;
pub(crate) mod plan;
mod shared;
pub(crate) mod special;
pub(crate) mod tally;
pub(crate) mod walk;
mod worker;

use std::sync::Mutex;

use ondisk::ext4::feature::Compat;
use ondisk::ext4::inode::number;
use progress::{Step, Unit};

use super::directories::Directories;
use super::e2fsck::log::Log;
use super::e2fsck::misread;
use super::e2fsck::problems::{P1_ORPHAN_LIST_REFUGEES, P1_RESIZE_INODE_CREATE};
use super::inode_set::InodeSet;
use super::state::State;
use super::volume::Volume;
use crate::frame::failure::Failure;
use crate::frame::finding::Finding;
use crate::frame::maps::NameCounts;
use crate::frame::sweep::Crew;
use joined::Joined;
use maps::Maps;
use metadata::Metadata;
use worker::Worker;

/// The result of the walk over all inodes.
struct Walked<'a> {
    maps: Maps<'a>,
    attributes: attributes::Shared,
    joined: Joined,
}

/// Checks all inodes.
///
/// # Errors
/// There is no memory, or no queue, or the check was stopped.
pub(crate) fn run(volume: &Volume<'_>, log: &mut Log) -> Result<State, Failure> {
    let Walked {
        maps,
        attributes,
        mut joined,
    } = walk(volume, log)?;
    judge_resize_inode(volume, &joined.bad_checksum, log);
    misread::judge(&maps, &joined, log);
    if let Some(ino) = joined.refugee {
        log.add_ahead(Finding::new(&P1_ORPHAN_LIST_REFUGEES).inode(ino));
    }
    let mut claim = |block, _| maps.claim(block);
    joined.runs.sort_unstable();
    volume.guard.hold()?;
    let mut attributes = attributes.finish(volume, &joined.runs, &mut claim, log)?;
    joined.bad.append(&mut attributes.bad);
    let on_bad_blocks = InodeSet::new(std::mem::take(&mut joined.on_bad_blocks));
    if maps.any_shared() {
        let step = Step::new("pass 1B: multiply-claimed blocks");
        volume.progress.begin(step.counted_in(Unit::Bytes));
        shared::run(&maps, &on_bad_blocks, &joined.bad_checksum, log)?;
    }
    assemble(maps, joined, on_bad_blocks, attributes)
}

/// Walks over all inodes. Where a bound cuts something off, what is cut would depend on the threads: then one
/// thread repeats the walk.
fn walk<'a>(volume: &'a Volume<'a>, log: &mut Log) -> Result<Walked<'a>, Failure> {
    let mut own = log.fork();
    let mut walked = walk_by(volume, Crew::All, &mut own)?;
    if walked.maps.is_overdrawn() && volume.options.threads > 1 {
        // Their maps are freed before the new ones are allocated.
        drop(walked);
        own = log.fork();
        walked = walk_by(volume, Crew::Alone, &mut own)?;
    }
    log.merge(own);
    Ok(walked)
}

fn walk_by<'a>(volume: &'a Volume<'a>, crew: Crew, log: &mut Log) -> Result<Walked<'a>, Failure> {
    let mut maps = Maps::new(volume)?;
    maps.metadata = Metadata::mark(volume, &maps.blocks, log)?;
    let attributes = attributes::Shared::new(volume)?;
    let mut joined = Joined::default();
    let first = bad_blocks::first_block(&maps);
    let listed = match &first {
        Some((_, bytes)) => bad_blocks::listed(&maps, bytes),
        None => bad_blocks::Listed::default(),
    };
    listed.judge(log);
    let listed = listed.blocks;
    if let Some((block, bytes)) = &first {
        let mut worker = Worker::new(&maps, &attributes, &listed, log.fork());
        worker.check_bad_blocks(*block, bytes);
        joined.take(worker, log);
    }
    sweep(&maps, &attributes, &listed, crew, &mut joined, log)?;
    Ok(Walked {
        maps,
        attributes,
        joined,
    })
}

/// Before pass 1 the reference reads the resize inode, and reports nothing where its checksum is wrong; after pass 1 it would make
/// a new one, and stops because it may not.
fn judge_resize_inode(volume: &Volume<'_>, bad_checksum: &[u32], log: &mut Log) {
    if volume.sb.has_compat(Compat::RESIZE_INODE) && bad_checksum.contains(&number::RESIZE) {
        let finding = Finding::new(&P1_RESIZE_INODE_CREATE).inode(number::RESIZE);
        log.add(finding.order(u64::MAX));
    }
}

/// Reads the tables, and walks the deferred inodes.
fn sweep<'a>(
    maps: &'a Maps<'a>,
    attributes: &'a attributes::Shared,
    listed: &'a [u64],
    crew: Crew,
    joined: &mut Joined,
    log: &mut Log,
) -> Result<(), Failure> {
    let volume = maps.volume;
    let spans = plan::spans(volume, log);
    let make = || Worker::new(maps, attributes, listed, log.fork());
    let mut workers = volume.sweeper().run(crew, spans, make, Worker::take)?;
    blockio::for_each_in_threads(&mut workers, Worker::walk_deep);
    for worker in workers {
        joined.take(worker, log);
    }
    Ok(())
}

fn assemble(
    maps: Maps<'_>,
    joined: Joined,
    on_bad_blocks: InodeSet,
    attributes: attributes::Attributes,
) -> Result<State, Failure> {
    let (mut list, runs) = (joined.directories, joined.runs);
    list.sort_unstable_by_key(|directory| directory.inode);
    Ok(State {
        name_counts: NameCounts::new(maps.volume.geometry.inodes_count().into())?,
        used: maps.used,
        blocks: maps.blocks,
        file_types: maps.file_types,
        link_counts: maps.link_counts,
        directories: Directories { list, runs },
        bad: InodeSet::new(joined.bad),
        on_bad_blocks,
        imagic: InodeSet::new(joined.imagic),
        bad_checksum: InodeSet::new(joined.bad_checksum),
        large_files: joined.statistics.large_files > 0,
        unreached_names: Mutex::default(),
        unjudged_names: 0.into(),
        owners: joined.owners,
        statistics: joined.statistics,
        attributes,
    })
}

#[cfg(test)]
mod tests;
