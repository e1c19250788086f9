//! Which bit of which group belongs to an inode's block.
//!
//! Every inode and every name asks this, so the groups of all allocators are one sorted list. Where damage makes groups overlap, the first
//! allocator with the block is right, as for fsck.ocfs2; then each allocator has a list of its own.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use ondisk::ocfs2::GroupDescriptor;
use ondisk::ocfs2::chain::{self, BITMAP};

use super::blocks::Block;
use super::state::Allocator;
use super::volume::{from, value};

/// Blocks in a row with their bits.
#[derive(Clone, Debug)]
struct Run {
    bits: u64,
    /// Position of the first block in the bitmap of its group.
    offset: usize,
    /// Number of the allocator: 0 for the global one, then the slots.
    allocator: u16,
    group: Block,
    /// Block of the group, by its own account.
    block: u64,
}

/// Runs that do not overlap, ascending.
#[derive(Clone, Debug, Default)]
struct Sorted {
    starts: Vec<u64>,
    runs: Vec<Run>,
    last: Last,
}

/// The run that was found last: neighbours are asked for one after the other. Each thread has a copy of its own.
#[derive(Debug, Default)]
struct Last(AtomicUsize);

impl Clone for Last {
    fn clone(&self) -> Last {
        Last::default()
    }
}

/// Where an inode is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Number of the allocator: 0 for the global one, then the slots.
    pub(crate) allocator: u16,
    /// Block of the group, by its own account.
    pub(crate) group: u64,
    /// Bit in the bitmap of the group.
    pub(crate) at: usize,
    /// Whether the bit is set.
    pub(crate) in_use: bool,
}

/// The bits of all inode groups.
#[derive(Clone, Debug, Default)]
pub(crate) struct Coverage {
    lists: Vec<Sorted>,
}

impl Coverage {
    /// Bytes of memory.
    pub(crate) fn memory(&self) -> u64 {
        let runs = self.lists.iter().map(|list| list.runs.len());
        (runs.sum::<usize>() * (size_of::<Run>() + size_of::<u64>())) as u64
    }

    /// Of these allocators: the global one, then one for each slot.
    pub(crate) fn new(allocators: &[Allocator]) -> Coverage {
        let lists: Vec<Sorted> = (0..)
            .zip(allocators)
            .map(|(number, one)| Sorted::of(number, one))
            .collect();
        let merged = Sorted::merged(&lists);
        Coverage {
            lists: if merged.overlaps() {
                lists
            } else {
                vec![merged]
            },
        }
    }

    /// The place of a block; none where no group covers it.
    pub(crate) fn place(&self, block: u64) -> Option<Place> {
        let (run, at) = self.lists.iter().find_map(|list| list.find(block))?;
        Some(Place {
            allocator: run.allocator,
            group: run.block,
            at,
            in_use: chain::bit(from(&run.group, BITMAP), at),
        })
    }

    /// Whether a block is in use; none where no group covers it.
    pub(crate) fn in_use(&self, block: u64) -> Option<bool> {
        let (run, at) = self.lists.iter().find_map(|list| list.find(block))?;
        Some(chain::bit(from(&run.group, BITMAP), at))
    }
}

impl Sorted {
    fn of(allocator: u16, from: &Allocator) -> Sorted {
        let mut sorted = Sorted::default();
        for region in from.regions.values() {
            let group: GroupDescriptor = value(GroupDescriptor::read(&region.group));
            sorted.starts.push(region.start);
            sorted.runs.push(Run {
                bits: region.bits,
                offset: region.offset,
                allocator,
                group: Block::clone(&region.group),
                block: group.bg_blkno.get(),
            });
        }
        sorted
    }

    fn merged(lists: &[Sorted]) -> Sorted {
        let all = lists
            .iter()
            .flat_map(|list| list.starts.iter().zip(&list.runs));
        let mut all: Vec<_> = all.collect();
        all.sort_by_key(|(start, _)| **start);
        Sorted {
            starts: all.iter().map(|(start, _)| **start).collect(),
            runs: all.iter().map(|(_, run)| (*run).clone()).collect(),
            last: Last::default(),
        }
    }

    fn overlaps(&self) -> bool {
        let ends = self
            .starts
            .iter()
            .zip(&self.runs)
            .map(|(start, run)| start.saturating_add(run.bits));
        ends.zip(self.starts.iter().skip(1))
            .any(|(end, next)| end > *next)
    }

    fn find(&self, block: u64) -> Option<(&Run, usize)> {
        let last = self.last.0.load(Relaxed);
        if let Some(found) = self.within(last, block) {
            return Some(found);
        }
        let after = self.starts.partition_point(|&start| start <= block);
        let at = after.checked_sub(1)?;
        self.last.0.store(at, Relaxed);
        self.within(at, block)
    }

    /// The block in a run.
    fn within(&self, at: usize, block: u64) -> Option<(&Run, usize)> {
        let run = self.runs.get(at)?;
        let within = block.checked_sub(self.starts[at])?;
        (within < run.bits).then(|| (run, run.offset + within as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ocfs2::state::Region;

    fn allocator(regions: &[(u64, u64, u8)]) -> Allocator {
        let mut allocator = Allocator::default();
        for &(start, bits, bitmap) in regions {
            let mut group = vec![0; 512];
            group[BITMAP] = bitmap;
            group[0x28..0x30].copy_from_slice(&start.to_le_bytes());
            let region = Region {
                start,
                bits,
                offset: 0,
                group: group.into(),
            };
            allocator.regions.insert(start, region);
        }
        allocator
    }

    #[test]
    fn a_block_is_in_the_run_that_covers_it() {
        let coverage = Coverage::new(&[allocator(&[(100, 8, 0b101)]), allocator(&[(50, 8, 0b10)])]);
        assert_eq!(coverage.lists.len(), 1);
        let found = |block| coverage.in_use(block);
        assert_eq!(
            [100, 101, 102, 50, 51].map(found),
            [true, false, true, false, true].map(Some)
        );
        assert_eq!([49, 58, 99, 108, u64::MAX].map(found), [None; 5]);
        let place = coverage.place(51).unwrap();
        assert_eq!((place.allocator, place.group, place.at), (1, 50, 1));
    }

    #[test]
    fn the_first_allocator_is_right_where_groups_overlap() {
        let coverage = Coverage::new(&[allocator(&[(100, 8, 1)]), allocator(&[(96, 8, 0xff)])]);
        assert_eq!(coverage.place(100).unwrap().allocator, 0);
        assert!(!coverage.place(103).unwrap().in_use);
        assert_eq!(coverage.place(97).unwrap().allocator, 1);
    }
}
