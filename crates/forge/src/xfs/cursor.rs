//! Where the next inode and the next block of an allocation group are.
//!
//! As the kernel does it: a new chunk follows the newest one at the alignment, a directory's blocks are near its inode, and data comes after
//! both. What a chunk skips for its alignment is taken by the next blocks of the same directory.

use ondisk::xfs::Geometry;
use ondisk::xfs::geometry::CHUNK;

/// What is allocated at once.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    /// Inodes that are allocated at once: a chunk, or all of a block that holds several.
    pub(super) unit_inodes: u32,
    /// Their blocks.
    pub(super) unit_blocks: u32,
    /// The alignment of their first block.
    pub(super) align: u32,
    /// Blocks of a directory block.
    pub(super) directory: u32,
}

impl Sizes {
    pub(super) fn new(geometry: &Geometry) -> Self {
        let per_block = 1 << geometry.inopb_log;
        let unit_inodes = CHUNK.max(per_block);
        Self {
            unit_inodes,
            unit_blocks: unit_inodes / per_block,
            align: geometry.inode_align.max(1),
            directory: 1 << geometry.dirblk_log,
        }
    }
}

/// How far an allocation group is given out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Cursor {
    /// Inodes given out, freed ones included.
    pub(super) index: u32,
    /// The first block after all that were given out.
    pub(super) block: u32,
    /// Blocks that an alignment skipped: first, and the one after the last.
    hole: (u32, u32),
}

impl Cursor {
    pub(super) fn new(index: u32, block: u32) -> Self {
        Self {
            index,
            block,
            hole: (0, 0),
        }
    }

    /// Gives out the inodes and blocks of a directory and its files: `slots` inodes, and `blocks` directory blocks one after the other
    /// as the inodes come. `unit` gets the first block of each unit of inodes, `block` the number and first block of each directory block.
    pub(super) fn directory(
        &mut self,
        sizes: &Sizes,
        slots: u32,
        blocks: u32,
        unit: &mut dyn FnMut(u32),
        block: &mut dyn FnMut(u32, u32),
    ) {
        self.hole = (0, 0);
        let due = |nth: u32| (u64::from(nth) * u64::from(slots) / u64::from(blocks.max(1))) as u32;
        let (mut slot, mut nth) = (0, 0);
        while slot < slots || nth < blocks {
            if slot < slots && self.index.is_multiple_of(sizes.unit_inodes) {
                unit(self.unit(sizes));
            }
            while nth < blocks && (due(nth) <= slot || slot >= slots) {
                block(nth, self.small(sizes.directory));
                nth += 1;
            }
            if slot >= slots {
                continue;
            }
            // To the next unit or directory block, whichever comes first.
            let mut step = (sizes.unit_inodes - self.index % sizes.unit_inodes).min(slots - slot);
            if nth < blocks {
                step = step.min(due(nth) - slot);
            }
            slot += step;
            self.index += step;
        }
    }

    fn unit(&mut self, sizes: &Sizes) -> u32 {
        let at = self.block.next_multiple_of(sizes.align);
        if at - self.block > self.hole.1 - self.hole.0 {
            self.hole = (self.block, at);
        }
        self.block = at + sizes.unit_blocks;
        at
    }

    /// Gives out a few blocks near the inodes.
    pub(super) fn small(&mut self, blocks: u32) -> u32 {
        if self.hole.1 - self.hole.0 >= blocks {
            self.hole.0 += blocks;
            return self.hole.0 - blocks;
        }
        self.block += blocks;
        self.block - blocks
    }

    /// The most blocks that [`Cursor::directory`] can take.
    pub(super) fn most(sizes: &Sizes, slots: u32, blocks: u32) -> u64 {
        let units = u64::from(slots / sizes.unit_inodes + 2);
        units * u64::from(sizes.unit_blocks + sizes.align)
            + u64::from(blocks) * u64::from(sizes.directory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn nothing_is_given_out_twice(
            directories in proptest::collection::vec((0_u32..400, 0_u32..30), 1..12),
            align in 1_u32..9,
            directory in prop_oneof![Just(1_u32), Just(4)],
        ) {
            let sizes = Sizes { unit_inodes: 64, unit_blocks: 8, align, directory };
            let mut cursor = Cursor::new(3, 24);
            let mut used = vec![(16, 8)];
            let mut units = 1;
            for (slots, blocks) in directories {
                let before = (cursor, used.len());
                let mut seen = Vec::new();
                let mut found = Vec::new();
                cursor.directory(&sizes, slots, blocks, &mut |at| {
                    assert!(at.is_multiple_of(align));
                    found.push((at, 8));
                }, &mut |nth, at| seen.push((nth, at)));
                units += found.len() as u32;
                used.extend(found);
                prop_assert_eq!(cursor.index, before.0.index + slots);
                prop_assert!(units * 64 >= cursor.index && (units - 1) * 64 < cursor.index.max(1));
                let numbers: Vec<u32> = seen.iter().map(|one| one.0).collect();
                prop_assert_eq!(numbers, (0..blocks).collect::<Vec<_>>());
                used.extend(seen.into_iter().map(|one| (one.1, directory)));
                let taken = u64::from(cursor.block - before.0.block);
                prop_assert!(taken <= Cursor::most(&sizes, slots, blocks));
            }
            used.sort_unstable();
            prop_assert!(used.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0));
            let last = used[used.len() - 1];
            prop_assert!(last.0 + last.1 <= cursor.block);
        }
    }
}
