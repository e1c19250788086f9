//! A small number for each inode block.
//!
//! Inode numbers are block numbers, so a map by inode would be as large as the volume. The blocks of the groups of the inode allocators are
//! numbered one after the other instead; a number outside all groups, which damage alone leads to, goes into a tree.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

/// The numbering of the blocks of all inode groups.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    /// First block and number of blocks of each run, ascending and disjoint, and the number of its first block.
    runs: Vec<(u64, u64, usize)>,
    total: usize,
    /// The run that was found last: neighbours are asked for one after the other.
    last: Cell<usize>,
}

impl Slots {
    /// Numbers the blocks of these runs (first block, number of blocks), which may overlap where groups are damaged.
    pub(crate) fn new(mut runs: Vec<(u64, u64)>) -> Slots {
        runs.sort_unstable();
        let mut slots = Slots::default();
        let mut end = 0;
        for (first, count) in runs {
            let from = first.max(end);
            let to = first.saturating_add(count);
            if to > from {
                match slots.runs.last_mut() {
                    Some(last) if last.0 + last.1 == from => last.1 += to - from,
                    _ => slots.runs.push((from, to - from, slots.total)),
                }
                slots.total += (to - from) as usize;
                end = to;
            }
        }
        slots
    }

    /// Bytes of the numbering itself.
    pub(crate) fn memory(&self) -> u64 {
        (self.runs.len() * size_of::<(u64, u64, usize)>()) as u64
    }

    /// Number of blocks.
    pub(crate) fn len(&self) -> usize {
        self.total
    }

    /// Whether it is one of them.
    pub(crate) fn has(&self, block: u64) -> bool {
        self.at(block).is_some()
    }

    fn at(&self, block: u64) -> Option<usize> {
        if let Some(found) = self.within(self.last.get(), block) {
            return Some(found);
        }
        let after = self.runs.partition_point(|run| run.0 <= block);
        self.last.set(after.checked_sub(1)?);
        self.within(after - 1, block)
    }

    /// The number of a block in a run.
    fn within(&self, run: usize, block: u64) -> Option<usize> {
        let (first, count, number) = *self.runs.get(run)?;
        let offset = block.checked_sub(first)?;
        (offset < count).then(|| number + offset as usize)
    }

    fn blocks(&self) -> impl Iterator<Item = (u64, usize)> {
        self.runs.iter().flat_map(|&(first, count, number)| {
            (0..count).map(move |at| (first + at, number + at as usize))
        })
    }
}

/// A value for each inode, by block number.
#[derive(Debug)]
pub(crate) struct InodeMap<T> {
    dense: Vec<T>,
    sparse: BTreeMap<u64, T>,
}

impl<T: Copy + Default + PartialEq> InodeMap<T> {
    /// The default for all.
    pub(crate) fn new(slots: &Slots) -> InodeMap<T> {
        InodeMap {
            dense: vec![T::default(); slots.len()],
            sparse: BTreeMap::new(),
        }
    }

    /// The value of an inode.
    pub(crate) fn get(&self, slots: &Slots, inode: u64) -> T {
        match slots.at(inode) {
            Some(at) => self.dense[at],
            None => self.sparse.get(&inode).copied().unwrap_or_default(),
        }
    }

    /// Sets the value of an inode.
    pub(crate) fn set(&mut self, slots: &Slots, inode: u64, value: T) {
        match slots.at(inode) {
            Some(at) => self.dense[at] = value,
            None if value == T::default() => {
                self.sparse.remove(&inode);
            }
            None => {
                self.sparse.insert(inode, value);
            }
        }
    }

    /// Whether each pair of values of this map and another one passes a test. The values of inodes outside the groups must be the default.
    pub(crate) fn agrees(&self, other: &InodeMap<T>, test: impl Fn(T, T) -> bool) -> bool {
        let mut pairs = self.dense.iter().zip(&other.dense);
        self.sparse.is_empty() && pairs.all(|(&one, &other)| test(one, other))
    }

    /// Inodes with a value in this map or in another one, ascending within the groups, then those outside of them.
    pub(crate) fn with_value<'a>(
        &'a self,
        other: &'a InodeMap<T>,
        slots: &'a Slots,
    ) -> impl Iterator<Item = u64> + 'a {
        let none = T::default();
        let dense = slots
            .blocks()
            .filter(move |&(_, at)| self.dense[at] != none || other.dense[at] != none)
            .map(|(block, _)| block);
        let sparse: BTreeSet<u64> = self
            .sparse
            .keys()
            .chain(other.sparse.keys())
            .copied()
            .collect();
        dense.chain(sparse)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_overlapping_groups_have_one_place() {
        let slots = Slots::new(vec![(100, 10), (20, 5), (105, 10)]);
        assert_eq!(slots.len(), 20);
        let mut map = InodeMap::<u16>::new(&slots);
        for block in [24, 25, 107, 114, 115, u64::MAX] {
            map.set(&slots, block, 7);
            assert_eq!(map.get(&slots, block), 7);
        }
        map.set(&slots, 25, 0);
        let mut other = InodeMap::<u16>::new(&slots);
        for block in [21, 24, 3] {
            other.set(&slots, block, 1);
        }
        let found: Vec<u64> = map.with_value(&other, &slots).collect();
        assert_eq!(found, [21, 24, 107, 114, 3, 115, u64::MAX]);
        assert_eq!(map.get(&slots, 26), 0);
    }
}
