//! Hash entries: leaf blocks, and the nodes above them.

use super::{Place, Rules, STALE, Shape};

/// A leaf block, or the hash entries of a directory of one block.
#[derive(Debug, Clone, Default)]
pub(in crate::xfs) struct Leaf {
    /// Its number among the leaf and node blocks.
    pub(in crate::xfs) number: u32,
    /// Hash and name of each entry, ascending by hash.
    pub(in crate::xfs) entries: Vec<(u32, u32)>,
    /// Entries whose names were removed.
    pub(in crate::xfs) stale: u32,
}

impl Leaf {
    /// Inserts an entry after those of the same hash; the nearest stale one makes room.
    pub(super) fn insert(&mut self, hash: u32, id: u32) {
        let mut at = self.entries.partition_point(|entry| entry.0 <= hash);
        if self.stale > 0 {
            let before = self.entries[..at].iter().rposition(|one| one.1 == STALE);
            let after = self.entries[at..].iter().position(|one| one.1 == STALE);
            let stale = match (before, after) {
                (Some(before), Some(after)) if after < at - before => at + after,
                (Some(before), _) => before,
                (None, Some(after)) => at + after,
                (None, None) => self.entries.len(),
            };
            if stale < self.entries.len() {
                self.entries.remove(stale);
                self.stale -= 1;
                at -= usize::from(stale < at);
            }
        }
        self.entries.insert(at, (hash, id));
    }

    /// Removes the stale entries.
    pub(super) fn compact(&mut self) {
        self.entries.retain(|entry| entry.1 != STALE);
        self.stale = 0;
    }

    /// The hash by which the nodes above know it.
    pub(in crate::xfs) fn last_hash(&self) -> u32 {
        self.entries.last().map_or(0, |entry| entry.0)
    }

    pub(super) fn live(&self) -> usize {
        self.entries.len() - self.stale as usize
    }
}

impl Shape {
    /// Inserts a hash entry into a tree.
    pub(super) fn insert_hash(&mut self, rules: &Rules, hash: u32, id: u32) {
        let last = self.leaves.len() - 1;
        let at = self.leaves.partition_point(|leaf| leaf.last_hash() < hash);
        let at = at.min(last);
        let leaf = &mut self.leaves[at];
        if leaf.stale > 0 || leaf.entries.len() < rules.leaf_room() {
            leaf.insert(hash, id);
            return;
        }
        let middle = leaf.entries.len().div_ceil(2);
        let mut right = Leaf {
            number: 0,
            entries: leaf.entries.split_off(middle),
            stale: 0,
        };
        if leaf.last_hash() >= hash {
            leaf.insert(hash, id);
        } else {
            right.insert(hash, id);
        }
        right.number = self.new_leaf();
        if self.leaves.len() == 1 {
            // The root keeps block 0: the first leaf moves.
            self.leaves[0].number = self.new_leaf();
        }
        self.leaves.insert(at + 1, right);
    }

    fn new_leaf(&mut self) -> u32 {
        self.next_leaf += 1;
        self.births.push(Place::Leaf(self.next_leaf));
        self.next_leaf
    }

    /// Builds the nodes above the leaf blocks, as full as splits leave them.
    pub(super) fn build_nodes(&mut self, rules: &Rules) {
        self.levels.clear();
        let mut below = self.leaves.len();
        if below < 2 {
            return;
        }
        let room = rules.leaf_room();
        while below > room {
            let count = below.div_ceil(room * 3 / 4).max(2);
            let level = (0..count)
                .map(|nth| (self.new_leaf(), nth * below / count))
                .collect();
            self.levels.push(level);
            below = count;
        }
        self.levels.push(vec![(0, 0)]);
    }
}
