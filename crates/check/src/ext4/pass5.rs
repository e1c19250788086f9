//! Pass 5: do the bitmaps and the counts agree with passes 1 to 4?
//!
//! All bitmaps that were ever written are read in one ascending sweep, and each is compared with its part of the
//! maps in memory, 64 bits at a time, by whichever thread it comes to. Groups that were never written stand for what their
//! descriptors imply and cost no reading. Under `-n` nothing is corrected on the way, so counts are compared with the bitmaps
//! as they lie there and not with what is in use; a wrong bitmap alone makes no wrong count.
//!
//! Differences are reported as ranges, across the borders of groups, in e2fsck's order: blocks, their counts, inodes, theirs, padding,
//! checksums.

mod compare;
mod marks;
mod worker;

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use blockio::{Piece, Span};
use ondisk::ext4::group_descriptor::{BLOCK_UNINIT, DescriptorChecksum, INODE_UNINIT};

use self::marks::Marks;
use self::worker::Worker;
use super::pass3::{Found, repair_place};
use crate::ext4::e2fsck::log::Log;
use crate::ext4::e2fsck::problems::{
    P5_BLOCK_BITMAP_END, P5_BLOCK_BITMAP_HEADER, P5_BLOCK_BMAP_PADDING, P5_FREE_BLOCK_COUNT,
    P5_FREE_INODE_COUNT, P5_INODE_BITMAP_END, P5_INODE_BITMAP_HEADER, P5_INODE_BMAP_PADDING,
};
use crate::ext4::e2fsck::stops;
use crate::ext4::state::State;
use crate::ext4::volume::Volume;
use crate::frame::failure::Failure;
use crate::frame::finding::Finding;
use crate::frame::problem::Problem;

/// Which of a group's two bitmaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Blocks,
    Inodes,
}

/// Where a finding comes within the pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Reading,
    Blocks,
    BlocksEnd,
    BlockCounts,
    BlockTotal,
    Inodes,
    InodesEnd,
    InodeCounts,
    InodeTotal,
    InodePadding,
    BlockPadding,
    InodeChecksums,
    BlockChecksums,
}

impl Stage {
    /// The order of a finding at `at`, a number below 2^56.
    fn order(self, at: u64) -> u64 {
        (self as u64) << 56 | at & ((1 << 56) - 1)
    }
}

/// What every thread sees.
struct Context<'a> {
    volume: &'a Volume<'a>,
    state: &'a State,
    marks: Marks,
    /// Whether groups may be marked as never written.
    uninit: bool,
    /// The group whose block bitmap the reference takes for written, although its descriptor marks it as unwritten.
    forgotten: Option<u32>,
}

impl Context<'_> {
    /// `bg_flags` as on disk, but for what the reference forgets.
    fn flags(&self, group: u32) -> u16 {
        let flags = flags_on_disk(self.volume, group);
        if self.forgotten == Some(group) {
            flags & !BLOCK_UNINIT
        } else {
            flags
        }
    }

    /// A finding of a bitmap's checksum. Where the reference has forgotten a flag, its library takes the block bitmaps for changed, and
    /// their checksums are not looked at.
    fn as_seen(&self, kind: Kind, finding: Finding) -> Finding {
        if kind == Kind::Blocks && self.forgotten.is_some() {
            finding.beyond_reference()
        } else {
            finding
        }
    }

    /// Whether the reference takes the descriptor at its word that the bitmap was never written: not if its checksum is wrong.
    fn unwritten(&self, kind: Kind, group: u32) -> bool {
        let flag = match kind {
            Kind::Blocks => BLOCK_UNINIT,
            Kind::Inodes => INODE_UNINIT,
        };
        let checksums = &self.volume.claims.checksums;
        self.uninit
            && self.flags(group) & flag != 0
            && checksums
                .binary_search_by_key(&group, |(at, _)| *at)
                .is_err()
    }

    /// The block of a bitmap that is to be read.
    fn place(&self, kind: Kind, group: u32) -> Option<u64> {
        let descriptor = self.volume.descriptors.get(group as usize)?;
        let block = match kind {
            Kind::Blocks => descriptor.block_bitmap(),
            Kind::Inodes => descriptor.inode_bitmap(),
        };
        let exists = (1..self.volume.geometry.blocks_count).contains(&block);
        (exists && !self.unwritten(kind, group)).then_some(block)
    }
}

/// Compares bitmaps and counts.
///
/// # Errors
/// The sweep cannot begin, or the check was stopped.
pub(crate) fn run(volume: &Volume<'_>, state: &State, log: &mut Log) -> Result<(), Failure> {
    if let Some(end) = stops::at_short_bitmaps(&volume.geometry) {
        log.add(end);
        return Ok(());
    }
    let uninit = DescriptorChecksum::of(&volume.sb).allows_uninit();
    let forgotten = if uninit {
        forgotten(volume, state)
    } else {
        None
    };
    let context = Context {
        volume,
        state,
        marks: Marks::of(volume, forgotten),
        uninit,
        forgotten,
    };
    let (spans, rest) = plan(&context);
    let make = || Worker::new(&context, log.fork());
    let mut workers = volume.sweep_watched(spans, make, take)?;
    unread(&mut workers, &rest);
    finish(&context, workers, log);
    Ok(())
}

fn flags_on_disk(volume: &Volume<'_>, group: u32) -> u16 {
    let flags = volume.claims.flags.get(group as usize);
    flags.copied().unwrap_or_default()
}

/// The group of which e2fsck forgets that its block bitmap was never written. Where the root names no `lost+found`, it sets the first
/// free block aside for a new one at the end of pass 1, although it may not write; its library then takes the flag from
/// the block's group, in memory. Without a root it does the same for that, and ends in pass 3.
fn forgotten(volume: &Volume<'_>, state: &State) -> Option<u32> {
    let words = state.blocks.len().div_ceil(64);
    let free = (0..words).find(|index| state.blocks.word(*index) != u64::MAX)?;
    let cluster = free * 64 + u64::from(state.blocks.word(free).trailing_ones());
    let per_group = u64::from(volume.geometry.clusters_per_group.max(1));
    let group = (cluster < state.blocks.len()).then_some((cluster / per_group) as u32)?;
    let unwritten = flags_on_disk(volume, group) & BLOCK_UNINIT != 0;
    (unwritten && repair_place(volume, state) == Found::Nothing).then_some(group)
}

/// The bitmaps to read, ascending, and those that were never written or are outside the filesystem.
fn plan(context: &Context<'_>) -> (Vec<Span>, Vec<u64>) {
    let block_size = u64::from(context.volume.geometry.block_size);
    let (mut spans, mut rest) = (Vec::new(), Vec::new());
    for group in 0..context.volume.geometry.groups {
        for kind in [Kind::Blocks, Kind::Inodes] {
            match context.place(kind, group) {
                Some(block) => spans.push(Span {
                    tag: tag(kind, group),
                    range: block * block_size..(block + 1) * block_size,
                }),
                None => rest.push(tag(kind, group)),
            }
        }
    }
    spans.sort_unstable_by_key(|span| (span.range.start, span.tag));
    (spans, rest)
}

fn tag(kind: Kind, group: u32) -> u64 {
    u64::from(group) << 1 | u64::from(kind == Kind::Inodes)
}

fn untag(tag: u64) -> (Kind, u32) {
    let kind = if tag & 1 == 1 {
        Kind::Inodes
    } else {
        Kind::Blocks
    };
    (kind, (tag >> 1) as u32)
}

fn take(worker: &mut Worker<'_>, piece: &Piece<'_>) {
    let (kind, group) = untag(piece.tag);
    match piece.content {
        blockio::Content::Data(bytes) => worker.bitmap(kind, group, Some(bytes)),
        blockio::Content::Hole(_) => {
            let zeros = vec![0; worker.block_size()];
            worker.bitmap(kind, group, Some(&zeros));
        }
        blockio::Content::Failed(error) => worker.unreadable(kind, group, error),
    }
}

/// Gives the groups that are not read to all workers, in portions.
fn unread(workers: &mut [Worker<'_>], rest: &[u64]) {
    const PORTION: usize = 64;
    let next = AtomicUsize::new(0);
    let work = |worker: &mut Worker<'_>| {
        loop {
            let at = next.fetch_add(PORTION, Relaxed);
            let Some(tags) = rest.get(at..rest.len().min(at + PORTION)) else {
                return;
            };
            if tags.is_empty() {
                return;
            }
            for tag in tags {
                let (kind, group) = untag(*tag);
                worker.bitmap(kind, group, None);
            }
        }
    };
    blockio::for_each_in_threads(workers, work);
}

/// Joins what the workers have found, and judges what only all of them together know.
fn finish(context: &Context<'_>, workers: Vec<Worker<'_>>, log: &mut Log) {
    let mut all = Worker::new(context, log.fork());
    for worker in workers {
        all.join(worker);
    }
    all.borders();
    let sb = &context.volume.sb;
    let ratio = u64::from(context.volume.geometry.cluster_blocks);
    let sides: [(&_, Stage, &'static Problem, &'static Problem); 2] = [
        (
            &all.blocks,
            Stage::Blocks,
            &P5_BLOCK_BITMAP_HEADER,
            &P5_BLOCK_BITMAP_END,
        ),
        (
            &all.inodes,
            Stage::Inodes,
            &P5_INODE_BITMAP_HEADER,
            &P5_INODE_BITMAP_END,
        ),
    ];
    for (side, stage, header, end) in sides {
        let Some(first) = side.first_difference else {
            continue;
        };
        let ending = if stage == Stage::Blocks {
            Stage::BlocksEnd
        } else {
            Stage::InodesEnd
        };
        all.log
            .add_ahead(Finding::new(header).order(stage.order(first)));
        all.log.add(
            Finding::new(end)
                .order(ending.order(0))
                .found(side.differences)
                .expected(0_u64)
                .note("bits that differ"),
        );
    }
    if all.blocks.unjudged == 0 && all.blocks.free * ratio != sb.free_blocks_count() {
        all.log.add(
            Finding::new(&P5_FREE_BLOCK_COUNT)
                .order(Stage::BlockTotal.order(0))
                .found(sb.free_blocks_count())
                .expected(all.blocks.free * ratio),
        );
    }
    let free_inodes = u64::from(sb.s_free_inodes_count.get());
    if all.inodes.unjudged == 0 && all.inodes.free != free_inodes {
        all.log.add(
            Finding::new(&P5_FREE_INODE_COUNT)
                .order(Stage::InodeTotal.order(0))
                .found(free_inodes)
                .expected(all.inodes.free),
        );
    }
    padding_and_checksums(&mut all);
    log.merge(all.log);
}

/// One finding for the padding of all groups, as e2fsck asks once; and the head of each list of checksums.
fn padding_and_checksums(all: &mut Worker<'_>) {
    let sides: [(&_, Kind, Stage, &'static Problem, Stage, &'static Problem); 2] = [
        (
            &all.inodes,
            Kind::Inodes,
            Stage::InodePadding,
            &P5_INODE_BMAP_PADDING,
            Stage::InodeChecksums,
            &P5_INODE_BITMAP_HEADER,
        ),
        (
            &all.blocks,
            Kind::Blocks,
            Stage::BlockPadding,
            &P5_BLOCK_BMAP_PADDING,
            Stage::BlockChecksums,
            &P5_BLOCK_BITMAP_HEADER,
        ),
    ];
    for (side, kind, padding, problem, checksums, header) in sides {
        if let Some(first) = side.first_unpadded {
            all.log.add(
                Finding::new(problem)
                    .group(first)
                    .order(padding.order(0))
                    .note(format!("in {} groups, this is the first", side.unpadded)),
            );
        }
        if side.wrong_checksums > 0 {
            let finding = Finding::new(header).order(checksums.order(0));
            all.log.add(all.context.as_seen(kind, finding));
        }
    }
}

#[cfg(test)]
mod tests;
