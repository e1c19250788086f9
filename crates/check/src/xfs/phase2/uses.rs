//! What the blocks of an allocation group are used for, other than by files: kept to say whose a block is that is claimed twice.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

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

/// Runs of blocks of a group that have a use, none of which overlap: by first block, with the block after the last.
#[derive(Debug, Default)]
struct Runs(BTreeMap<u64, (u64, Use)>);

impl Runs {
    /// The run that has a block, or ends with the block before.
    fn up_to(&self, block: u64) -> Option<(u64, u64, Use)> {
        let (start, (end, what)) = self.0.range(..=block).next_back()?;
        (*end >= block).then_some((*start, *end, *what))
    }

    /// Adds a run; blocks that have a use keep it.
    fn add(&mut self, start: u64, end: u64, what: Use) {
        let mut at = start;
        while at < end {
            let before = self.up_to(at);
            if let Some((_, end, _)) = before.filter(|run| run.1 > at) {
                at = end;
                continue;
            }
            let next = self.0.range(at..).next();
            let stop = next.map_or(end, |(next, _)| end.min(*next));
            let joined = before.filter(|run| run.2 == what);
            let first = joined.map_or(at, |run| run.0);
            self.0.insert(first, (stop, what));
            at = stop;
        }
    }

    /// The parts of the runs that are in a range, ascending: first block, blocks, use.
    fn within(&self, start: u64, end: u64) -> impl Iterator<Item = (u32, u32, Use)> {
        let before = self.up_to(start).map_or(start, |run| run.0);
        let runs = self.0.range(before..end.max(before));
        runs.filter_map(move |(from, (to, what))| {
            let (from, to) = ((*from).max(start), (*to).min(end));
            (from < to).then(|| (from as u32, (to - from) as u32, *what))
        })
    }
}

/// The uses of all groups.
#[derive(Debug, Default)]
pub(crate) struct Uses {
    groups: Vec<Mutex<Runs>>,
}

impl Uses {
    /// For this many groups.
    pub(crate) fn new(groups: u32) -> Uses {
        Uses {
            groups: (0..groups).map(|_| Mutex::default()).collect(),
        }
    }

    /// Bytes of what is listed, with the room that a tree leaves in its nodes.
    pub(crate) fn memory(&self) -> u64 {
        let groups = self.groups.iter();
        let runs = groups.map(|runs| {
            let runs = runs.lock().unwrap_or_else(PoisonError::into_inner);
            runs.0.len() as u64
        });
        runs.sum::<u64>() * 2 * size_of::<(u64, (u64, Use))>() as u64
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
        if let Some(mut runs) = self.group(ag) {
            let start = u64::from(start);
            runs.add(start, start + u64::from(length), what);
        }
    }

    /// The uses that blocks have, and how many of the blocks, ascending.
    pub(crate) fn of(&self, ag: u32, start: u32, length: u32) -> Vec<(u32, u32, Use)> {
        let start = u64::from(start);
        self.group(ag).map_or_else(Vec::new, |runs| {
            runs.within(start, start + u64::from(length)).collect()
        })
    }

    /// The use of the first of these blocks that has one.
    pub(crate) fn first(&self, ag: u32, start: u32, length: u32) -> Option<Use> {
        let start = u64::from(start);
        let runs = self.group(ag)?;
        let mut within = runs.within(start, start + u64::from(length));
        within.next().map(|part| part.2)
    }

    /// Whether some of these blocks have a use, and each of these has this one.
    pub(crate) fn are_only(&self, ag: u32, start: u32, length: u32, what: Use) -> bool {
        let start = u64::from(start);
        self.group(ag).is_some_and(|runs| {
            let mut within = runs.within(start, start + u64::from(length)).peekable();
            within.peek().is_some() && within.all(|part| part.2 == what)
        })
    }

    fn group(&self, ag: u32) -> Option<MutexGuard<'_, Runs>> {
        let group = self.groups.get(ag as usize)?;
        Some(group.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_keeps_its_first_use() {
        let uses = Uses::new(1);
        uses.add(0, 10, 5, Use::Log);
        uses.add(0, 8, 12, Use::Space);
        uses.add(0, 20, 2, Use::Space);
        uses.add(0, u32::MAX, u32::MAX, Use::Staging);
        let all = [(8, 2, Use::Space), (10, 5, Use::Log), (15, 7, Use::Space)];
        assert_eq!(uses.of(0, 0, u32::MAX), all);
        assert_eq!(uses.of(0, 14, 2), [(14, 1, Use::Log), (15, 1, Use::Space)]);
        assert_eq!(uses.first(0, 9, 100), Some(Use::Space));
        assert_eq!(uses.first(0, 22, 100), None);
        assert_eq!(uses.first(0, u32::MAX, 1), Some(Use::Staging));
        assert!(uses.of(1, 0, 9).is_empty());
    }
}
