//! Pass 1: is each inode sound, and which blocks does it use?
//!
//! The inode tables are read once, ascending, in large requests; threads take what comes and check each inode where it lies. What
//! an inode is (kind, links, whether it is used) goes into flat maps, a block it uses is one bit that is set without a lock;
//! a bit that was set before is one that two want (passes 1B to 1D, `shared`). Nothing a thread finds depends on
//! another, so the result is that of a single walker, and findings are put into inode order by their logs.
//!
//! Inodes whose map has nodes beyond the inode are put aside and walked in batches: the nodes that their roots name are read
//! ascending first. Putting all of them aside until the tables are done was rejected: on ext3 most files have an indirect
//! block, and the aside would be as large as the tables.
//!
//! Every question is answered with no, as by `e2fsck -n`: an illegal pointer stays and is not claimed, a wrong inode counts
//! as used. The order of the checks of one inode is that of e2fsck, because the first finding is what people compare.

mod aside;
pub(crate) mod attributes;
mod bad_blocks;
mod blocks;
mod extents;
mod inode;
mod iterate;
mod map;
mod maps;
mod metadata;
mod misread;
mod nodes;
mod plain;
pub(crate) mod plan;
mod shared;
pub(crate) mod special;
mod tally;
mod walk;

use std::ops::ControlFlow;
use std::sync::Mutex;

use blockio::{Content, Piece, Span, Sweep};
use ondisk::ext4::feature::Compat;
use ondisk::ext4::inode::number;

use super::Failure;
use super::named::Named;
use super::state::{Directories, Directory, Inodes, Run, State};
use super::volume::Volume;
use crate::finding::Finding;
use crate::log::Log;
use crate::problem::{P1_ISCAN_ERROR, P1_ORPHAN_LIST_REFUGEES, P1_RESIZE_INODE_CREATE};
use attributes::Charge;
use maps::Maps;
pub use metadata::Metadata;
use nodes::Nodes;
pub use tally::{Owners, Statistics, Taken};
use walk::Item;

/// An inode that waits for its nodes to be read.
struct Deep {
    ino: u32,
    charge: Charge,
    /// Its checksum is.
    wrong: bool,
}

/// One thread, and what it has found.
pub(crate) struct Worker<'a> {
    maps: &'a Maps<'a>,
    attributes: attributes::Worker<'a>,
    /// Blocks on the list of bad ones.
    listed: &'a [u64],
    log: Log,
    nodes: Nodes<'a>,
    deep: Vec<Deep>,
    /// Their slots, in the same order.
    deep_bytes: Vec<u8>,
    /// Nodes that their roots name.
    deep_nodes: usize,
    directories: Vec<Directory>,
    runs: Vec<Run>,
    bad: Vec<u32>,
    on_bad_blocks: Vec<u32>,
    imagic: Vec<u32>,
    unsealed: Vec<u32>,
    owners: Owners,
    statistics: Statistics,
    /// First inode whose deletion time looks like the link of a list.
    refugee: u32,
}

impl<'a> Worker<'a> {
    fn new(
        maps: &'a Maps<'a>,
        attributes: &'a attributes::Shared,
        listed: &'a [u64],
        log: Log,
    ) -> Worker<'a> {
        Worker {
            maps,
            attributes: attributes::Worker::new(maps.volume, attributes),
            listed,
            log,
            nodes: Nodes::new(maps.volume),
            deep: Vec::new(),
            deep_bytes: Vec::new(),
            deep_nodes: 0,
            directories: Vec::new(),
            runs: Vec::new(),
            bad: Vec::new(),
            on_bad_blocks: Vec::new(),
            imagic: Vec::new(),
            unsealed: Vec::new(),
            owners: Owners::default(),
            statistics: Statistics::default(),
            refugee: u32::MAX,
        }
    }

    /// Notes a finding of an inode.
    fn add(&mut self, item: &Item<'_>, finding: Finding) {
        self.log.add(finding.inode(item.ino));
    }

    /// Takes a piece of a table.
    fn take(&mut self, piece: &Piece<'_>) {
        let geometry = &self.maps.volume.geometry;
        let group = piece.tag as u32;
        let Some(table) = plan::table(self.maps.volume, group) else {
            return;
        };
        let size = u64::from(geometry.inode_size);
        let block = u64::from(geometry.block_size);
        let of_block = (block / size) as u32;
        let start = piece.offset.saturating_sub(table.first_block * block);
        let before = (start / size) as u32;
        let first = group * geometry.inodes_per_group + before + 1;
        let left = table.inodes.saturating_sub(before);
        match piece.content {
            Content::Data(bytes) => {
                let blocks = bytes.chunks(block as usize);
                for (nth, bytes) in (0..).zip(blocks) {
                    let done = nth * of_block;
                    let count = left.saturating_sub(done).min(of_block);
                    let at = piece.offset / block + u64::from(nth);
                    self.take_table_block(at, first + done, count, bytes);
                }
            }
            Content::Hole(len) => {
                let count = left.min((len / size) as u32);
                self.take_hole(first, count);
            }
            Content::Failed(error) => {
                let count = left.min((error.len / size) as u32);
                let finding = Finding::new(&P1_ISCAN_ERROR)
                    .order(first.into())
                    .group(group);
                let finding = finding.block(piece.offset / block).stops_reference();
                let note = format!("{error}; {count} inodes from {first} on cannot be judged");
                self.log.add(finding.note(note));
                for ino in first..first.saturating_add(count) {
                    self.set_aside(ino);
                }
            }
        }
    }

    fn take_table_block(&mut self, at: u64, first: u32, count: u32, bytes: &[u8]) {
        if !self.listed.is_empty() && self.listed.binary_search(&at).is_ok() {
            for ino in (first..first.saturating_add(count)).filter(|ino| *ino != 1) {
                self.set_aside(ino);
            }
            return;
        }
        self.check_table_block(first, count as usize, bytes);
    }

    /// Zeros are free inodes, but for those with a purpose.
    fn take_hole(&mut self, first: u32, count: u32) {
        let size = usize::from(self.maps.volume.geometry.inode_size);
        let zeros = vec![0; size];
        let sb = &self.maps.volume.sb;
        let behind = first.saturating_add(count);
        let project = Some(sb.s_prj_quota_inum.get());
        let special = (first..behind.min(sb.first_ino()))
            .chain(project.filter(|ino| *ino >= sb.first_ino() && (first..behind).contains(ino)));
        for ino in special {
            self.check_table_block(ino, 1, &zeros);
        }
    }

    /// An inode that lies where nothing can be read: it counts as used, and nothing is asked of it.
    fn set_aside(&mut self, ino: u32) {
        self.mark_used(ino);
        self.on_bad_blocks.push(ino);
    }
}

/// What the workers leave, joined.
#[derive(Default)]
struct Joined {
    directories: Vec<Directory>,
    runs: Vec<Run>,
    bad: Vec<u32>,
    on_bad_blocks: Vec<u32>,
    imagic: Vec<u32>,
    unsealed: Vec<u32>,
    owners: Owners,
    statistics: Statistics,
    refugee: Option<u32>,
}

impl Joined {
    fn take(&mut self, mut worker: Worker<'_>, log: &mut Log) {
        log.merge(std::mem::replace(&mut worker.log, Log::new(1)));
        self.directories.append(&mut worker.directories);
        self.runs.append(&mut worker.runs);
        self.bad.append(&mut worker.bad);
        self.on_bad_blocks.append(&mut worker.on_bad_blocks);
        self.imagic.append(&mut worker.imagic);
        self.unsealed.append(&mut worker.unsealed);
        self.owners.join(std::mem::take(&mut worker.owners));
        self.statistics.add(&worker.statistics);
        let refugee = Some(worker.refugee).filter(|ino| *ino != u32::MAX);
        self.refugee = self.refugee.into_iter().chain(refugee).min();
        worker.attributes.hand_in();
    }
}

/// Who walks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Crew {
    /// As many threads as the caller allows.
    All,
    /// One, from the first inode to the last.
    Alone,
}

/// What the walk over all inodes leaves.
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
    judge_resize_inode(volume, &joined.unsealed, log);
    misread::judge(&maps, &joined, log);
    if let Some(ino) = joined.refugee {
        log.add_ahead(Finding::new(&P1_ORPHAN_LIST_REFUGEES).inode(ino));
    }
    let mut claim = |block, _| maps.claim(block);
    joined.runs.sort_unstable();
    volume.guard.hold()?;
    let mut attributes = attributes.finish(volume, &joined.runs, &mut claim, log)?;
    joined.bad.append(&mut attributes.bad);
    aside::order(volume, log);
    let on_bad_blocks = Inodes::new(std::mem::take(&mut joined.on_bad_blocks));
    if maps.any_shared() {
        volume.watch.begin("1B");
        shared::run(&maps, &on_bad_blocks, &joined.unsealed, log)?;
    }
    assemble(maps, joined, on_bad_blocks, attributes)
}

/// Walks over all inodes. Where something is cut off because it has no end, who comes too late would depend on the threads: then one
/// does it all over again.
fn walk<'a>(volume: &'a Volume<'a>, log: &mut Log) -> Result<Walked<'a>, Failure> {
    let mut own = log.fork();
    let mut walked = walk_by(volume, Crew::All, &mut own)?;
    if walked.maps.is_overdrawn() && volume.options.threads > 1 {
        // Their maps are not to be held beside the new ones.
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

/// Before pass 1 the reference reads the resize inode, and says nothing where its checksum is wrong; behind pass 1 it would make
/// a new one, and ends because it may not.
fn judge_resize_inode(volume: &Volume<'_>, unsealed: &[u32], log: &mut Log) {
    if volume.sb.has_compat(Compat::RESIZE_INODE) && unsealed.contains(&number::RESIZE) {
        let finding = Finding::new(&P1_RESIZE_INODE_CREATE).inode(number::RESIZE);
        log.add(finding.order(u64::MAX).stops_reference());
    }
}

/// Reads the tables, and walks what was put aside.
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
    let mut workers = sweep_by(volume, crew, spans, make, Worker::take)?;
    blockio::for_each_in_threads(&mut workers, Worker::walk_deep);
    for worker in workers {
        joined.take(worker, log);
    }
    Ok(())
}

/// [`Volume::sweep_watched`] by a crew.
fn sweep_by<T: Send>(
    volume: &Volume<'_>,
    crew: Crew,
    spans: Vec<Span>,
    make: impl Fn() -> T,
    each: impl Fn(&mut T, &Piece<'_>) + Sync,
) -> Result<Vec<T>, Failure> {
    if crew == Crew::All {
        return volume.sweep_watched(spans, make, each);
    }
    let mut state = make();
    let mut stopped = false;
    // One request at a time: pieces come in the order of the device.
    let sweep = Sweep {
        threads: 1,
        depth: 1,
        ..volume.sweep()
    };
    sweep.each(volume.source, spans, |piece| {
        each(&mut state, &piece);
        stopped = volume.watch.cancelled();
        if stopped || volume.guard.is_full() {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    })?;
    volume.guard.hold()?;
    if stopped {
        return Err(Failure::Stopped);
    }
    Ok(vec![state])
}

fn assemble(
    maps: Maps<'_>,
    joined: Joined,
    on_bad_blocks: Inodes,
    attributes: attributes::Attributes,
) -> Result<State, Failure> {
    let (mut list, runs) = (joined.directories, joined.runs);
    list.sort_unstable_by_key(|directory| directory.inode);
    Ok(State {
        named: Named::new(maps.volume.geometry.inodes_count())?,
        used: maps.used,
        blocks: maps.blocks,
        shared: maps.shared,
        kinds: maps.kinds,
        links: maps.links,
        directories: Directories { list, runs },
        bad: Inodes::new(joined.bad),
        on_bad_blocks,
        imagic: Inodes::new(joined.imagic),
        unsealed: Inodes::new(joined.unsealed),
        large_files: joined.statistics.large_files > 0,
        unseen_names: Mutex::default(),
        unjudged_names: 0.into(),
        metadata: maps.metadata,
        owners: joined.owners,
        statistics: joined.statistics,
        attributes,
    })
}

#[cfg(test)]
mod tests;
