//! Records of the leaves, and what is added up from them.

mod chunks;
mod counts;
mod free;
mod mappings;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use ondisk::xfs::btree::Tree;

use super::block::Node;
use super::overlaps;
use super::walk::{Trees, Visit};
use crate::xfs::chunks::Chunk;
use crate::xfs::xfs_repair::log::Log;

pub(super) use chunks::free_chunks;
pub(crate) use mappings::{Mapping, words as mapping_words};

/// A record of reference counts: first block, blocks, owners.
pub(crate) type Count = (u32, u32, u32);

/// What the trees of an allocation group add up to.
#[derive(Debug, Default)]
pub(super) struct Totals {
    /// Blocks of each tree.
    blocks: [AtomicU64; 6],
    /// Free blocks, by block and by size.
    free: [AtomicU64; 2],
    /// Sums over hashes of all free extents: by block less by size.
    free_sum: AtomicU64,
    longest: AtomicU64,
    inodes: AtomicU64,
    free_inodes: AtomicU64,
    /// Free inodes by the btree of free inodes.
    free_inodes_by_fino: AtomicU64,
    /// Chunks, by leaf.
    chunks: Mutex<Vec<Vec<Chunk>>>,
    /// Chunks of the btree of free inodes.
    free_chunks: Mutex<Vec<Chunk>>,
    /// Extents that more than one file has.
    shared: Mutex<Vec<Count>>,
    /// Blocks that two reverse mappings have: the first, and the one after the last.
    overlaps: Mutex<Vec<(u32, u64)>>,
}

/// Bytes of the totals of a group.
pub(super) fn totals_size() -> usize {
    size_of::<Totals>()
}

/// The totals of all groups.
#[derive(Debug)]
pub(super) struct Results {
    groups: Vec<Totals>,
}

impl Results {
    pub(super) fn new(groups: u32) -> Results {
        Results {
            groups: (0..groups).map(|_| Totals::default()).collect(),
        }
    }

    pub(super) fn of(&self, ag: u32) -> &Totals {
        // Visits are of groups that exist.
        &self.groups[ag as usize]
    }

    /// Counts a block of a tree.
    pub(super) fn count_block(&self, ag: u32, tree: Tree) {
        self.of(ag).blocks[tree as usize].fetch_add(1, Relaxed);
    }
}

impl Totals {
    /// Blocks of a tree.
    pub(super) fn blocks(&self, tree: Tree) -> u64 {
        self.blocks[tree as usize].load(Relaxed)
    }

    /// Free blocks by block.
    pub(super) fn free_by_block(&self) -> u64 {
        self.free[0].load(Relaxed)
    }

    /// Free blocks by size.
    pub(super) fn free_by_size(&self) -> u64 {
        self.free[1].load(Relaxed)
    }

    /// Whether both trees have the same free extents.
    pub(super) fn free_agree(&self) -> bool {
        self.free_sum.load(Relaxed) == 0
    }

    /// The longest free extent.
    pub(super) fn longest(&self) -> u64 {
        self.longest.load(Relaxed)
    }

    /// Inodes, free inodes by the inode btree and by the btree of free inodes.
    pub(super) fn inodes(&self) -> (u64, u64, u64) {
        (
            self.inodes.load(Relaxed),
            self.free_inodes.load(Relaxed),
            self.free_inodes_by_fino.load(Relaxed),
        )
    }

    /// The chunks of the inode btree, ascending; overlapping ones are in it.
    pub(super) fn take_chunks(&self) -> Vec<Chunk> {
        let mut chunks = self.chunks.lock().unwrap_or_else(PoisonError::into_inner);
        let mut leaves = std::mem::take(&mut *chunks);
        leaves.sort_unstable_by_key(|leaf| leaf.first().map(|chunk| chunk.start));
        let mut all = leaves.concat();
        all.sort_by_key(|chunk| chunk.start);
        all
    }

    /// The chunks of the btree of free inodes.
    pub(super) fn take_free_chunks(&self) -> Vec<Chunk> {
        let mut chunks = self
            .free_chunks
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *chunks)
    }

    /// Adds blocks that two reverse mappings have.
    pub(super) fn overlap(&self, blocks: (u32, u64)) {
        let mut overlaps = self.overlaps.lock().unwrap_or_else(PoisonError::into_inner);
        if overlaps.len() < overlaps::MOST {
            overlaps.push(blocks);
        }
    }

    /// The blocks that two reverse mappings have.
    pub(super) fn take_overlaps(&self) -> Vec<(u32, u64)> {
        let mut overlaps = self.overlaps.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *overlaps)
    }

    /// The shared extents, ascending.
    pub(super) fn take_shared(&self) -> Vec<Count> {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let mut shared = std::mem::take(&mut *shared);
        shared.sort_unstable();
        shared
    }
}

/// Judges the records of a leaf.
pub(super) fn judge(
    trees: &Trees<'_>,
    tree: Tree,
    visit: &Visit,
    bytes: &[u8],
    used: usize,
    log: &mut Log,
) -> Node {
    match tree {
        Tree::Bno | Tree::Cnt => free::judge(trees, tree, visit, bytes, used, log),
        Tree::Rmap => mappings::judge(trees, visit, bytes, used, log),
        Tree::Refcount => counts::judge(trees, visit, bytes, used, log),
        Tree::Ino | Tree::Fino => chunks::judge(trees, tree, visit, bytes, used, log),
    }
}

/// Adds a value to the first and sets the last of a node's keys.
fn extend(node: &mut Node, key: [u64; 3], end: u64) {
    if !node.is_filled {
        node.first = key;
        node.is_filled = true;
    }
    node.last = key;
    node.end = end;
}
