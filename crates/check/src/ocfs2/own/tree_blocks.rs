//! The blocks of the extent allocators, and the trees that use them: extent blocks, roots of indexes, blocks of attributes and of reference
//! counts.

use std::collections::BTreeSet;

use ondisk::ocfs2::chain::{self, BITMAP};

use crate::frame::finding::Finding;
use crate::ocfs2::coverage::Coverage;
use crate::ocfs2::fsck_ocfs2::log::Log;
use crate::ocfs2::fsck_ocfs2::problems::{EXTENT_ALLOC_BIT, EXTENT_ALLOC_BIT_DATA};
use crate::ocfs2::inode_map::{InodeMap, Slots};
use crate::ocfs2::state::{Allocator, State};
use crate::ocfs2::volume::from;

/// Blocks outside all groups that are remembered: no sound volume has one, and a damaged one may claim all.
const MOST_OUTSIDE: usize = 1 << 16;

/// The uses of the blocks of all extent allocators.
#[derive(Default)]
pub(crate) struct TreeBlocks {
    allocators: Vec<Allocator>,
    slots: Slots,
    uses: Option<InodeMap<u8>>,
    outside: BTreeSet<u64>,
}

impl TreeBlocks {
    /// No use yet of the blocks of these allocators.
    pub(crate) fn new(allocators: Vec<Allocator>) -> TreeBlocks {
        let runs = allocators.iter().flat_map(|one| one.regions.values());
        let slots = Slots::new(runs.map(|region| (region.start, region.bits)).collect());
        TreeBlocks {
            uses: Some(InodeMap::new(&slots)),
            slots,
            allocators,
            outside: BTreeSet::new(),
        }
    }

    /// Takes a block as used by one more tree.
    pub(crate) fn take(&mut self, block: u64) {
        let Some(uses) = &mut self.uses else { return };
        if self.slots.has(block) {
            let before = uses.get(&self.slots, block);
            uses.set(&self.slots, block, before.saturating_add(1));
        } else if self.outside.len() < MOST_OUTSIDE {
            self.outside.insert(block);
        }
    }

    /// Bytes of memory that this takes for blocks of `size` bytes.
    pub(crate) fn memory(&self, size: usize) -> u64 {
        let groups: u64 = self.allocators.iter().map(|one| one.memory(size)).sum();
        self.slots.len() as u64 + self.slots.memory() + groups
    }
}

/// Compares the uses with the bitmaps of the groups. Where fsck.ocfs2 has ended, trees may have been missed: then a block without a use is no
/// finding.
pub(super) fn compare(state: &State, log: &mut Log) {
    let all_seen = !log.has_ended();
    let blocks = &state.tree_blocks;
    let Some(uses) = &blocks.uses else { return };
    let coverage = Coverage::new(&blocks.allocators);
    let at = |problem, block| Finding::new(problem).block(block);
    for region in blocks
        .allocators
        .iter()
        .flat_map(|one| one.regions.values())
    {
        let bitmap = from(&region.group, BITMAP);
        for nth in 0..region.bits {
            let block = region.start + nth;
            let bit = region.offset + nth as usize;
            // The first bit is the descriptor.
            if bit == 0 {
                continue;
            }
            let used = uses.get(&blocks.slots, block);
            let set = chain::bit(bitmap, bit);
            if used > 1 {
                log.own(at(&EXTENT_ALLOC_BIT_DATA, block).note("several trees use it"));
            } else if used == 1 && coverage.in_use(block) == Some(false) {
                log.own(at(&EXTENT_ALLOC_BIT_DATA, block).note("a tree uses it, and it is free"));
            } else if used == 0 && set && all_seen {
                log.own(at(&EXTENT_ALLOC_BIT, block).note("it is not free, and no tree uses it"));
            }
        }
    }
    for &block in &blocks.outside {
        let finding = at(&EXTENT_ALLOC_BIT_DATA, block);
        log.own(finding.note("a tree uses it, and it is in no group of extent blocks"));
    }
}
