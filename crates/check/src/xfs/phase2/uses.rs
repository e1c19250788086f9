//! What the blocks of an allocation group are used for, other than by files: kept to say whose a block is that is claimed twice.

use std::sync::{Mutex, PoisonError};

use ondisk::xfs::btree::Tree;
use ondisk::xfs::record::owner;

/// What blocks are used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Use {
    /// Headers of the group.
    Headers,
    /// The log.
    Log,
    /// The free list.
    FreeList,
    /// A btree of free space or of mappings.
    Space,
    /// An inode btree.
    Inodes,
    /// A btree of reference counts.
    Counts,
    /// A staging extent.
    Staging,
}

impl Use {
    /// In words.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Use::Headers => "headers of the allocation group",
            Use::Log => "the log",
            Use::FreeList => "the free list",
            Use::Space => "a btree of free space or mappings",
            Use::Inodes => "an inode btree",
            Use::Counts => "a btree of reference counts",
            Use::Staging => "a staging extent",
        }
    }
}

/// First block, blocks, use.
type Run = (u32, u32, Use);

/// The uses of all groups.
#[derive(Debug, Default)]
pub(crate) struct Uses {
    groups: Vec<Mutex<Vec<Run>>>,
}

impl Uses {
    /// For this many groups.
    pub(crate) fn new(groups: u32) -> Uses {
        Uses {
            groups: (0..groups).map(|_| Mutex::default()).collect(),
        }
    }

    /// Who owns blocks of a tree by the reverse mappings.
    pub(crate) fn owner(tree: Tree) -> u64 {
        match tree {
            Tree::Bno | Tree::Cnt | Tree::Rmap => owner::AG,
            Tree::Ino | Tree::Fino => owner::INOBT,
            Tree::Refcount => owner::REFC,
        }
    }

    /// Adds a block of a tree.
    pub(crate) fn tree_block(&self, ag: u32, agbno: u32, tree: Tree) {
        let what = match tree {
            Tree::Bno | Tree::Cnt | Tree::Rmap => Use::Space,
            Tree::Ino | Tree::Fino => Use::Inodes,
            Tree::Refcount => Use::Counts,
        };
        self.add(ag, agbno, 1, what);
    }

    /// Adds blocks.
    pub(crate) fn add(&self, ag: u32, start: u32, length: u32, what: Use) {
        let Some(group) = self.groups.get(ag as usize) else {
            return;
        };
        let mut runs = group.lock().unwrap_or_else(PoisonError::into_inner);
        match runs.last_mut() {
            Some(last) if last.2 == what && last.0 + last.1 == start => last.1 += length,
            _ => runs.push((start, length, what)),
        }
    }

    /// The uses that blocks overlap, and how many of the blocks. Slow: for faults alone.
    pub(crate) fn of(&self, ag: u32, start: u32, length: u32) -> Vec<(u32, u32, Use)> {
        let Some(group) = self.groups.get(ag as usize) else {
            return Vec::new();
        };
        let runs = group.lock().unwrap_or_else(PoisonError::into_inner);
        let end = u64::from(start) + u64::from(length);
        let overlap = |run: &Run| {
            let (from, to) = (
                run.0.max(start),
                (u64::from(run.0) + u64::from(run.1)).min(end),
            );
            (u64::from(from) < to).then(|| (from, (to - u64::from(from)) as u32, run.2))
        };
        runs.iter().filter_map(overlap).collect()
    }
}
