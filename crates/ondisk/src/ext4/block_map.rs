//! Block maps: 12 direct pointers and three trees of indirect blocks, one, two and three levels deep.
//!
//! A pointer is a 32-bit block number, 0 for a hole. Indirect blocks carry neither magic nor checksum, so
//! that it consists only of its pointers. Source: Documentation/filesystems/ext4/blockmap.rst.

/// Direct pointers in `i_block`.
pub const DIRECT: u32 = 12;

/// The arithmetic of block maps for one block size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockMap {
    addresses: u64,
}

/// How a logical block is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Path {
    /// Word of `i_block`: 0 to 11 direct, 12 to 14 the trees.
    pub slot: u32,
    /// Indirect blocks on the way, 0 to 3.
    pub levels: u32,
    /// The pointer to take in each of them; the first `levels` count.
    pub offsets: [u32; 3],
}

impl BlockMap {
    /// The arithmetic for a block size.
    pub fn new(block_size: u32) -> Self {
        Self {
            addresses: u64::from(block_size / 4),
        }
    }

    /// Pointers in an indirect block.
    pub fn addresses(self) -> u32 {
        self.addresses as u32
    }

    /// Logical blocks below one pointer with `levels` indirect blocks under it.
    pub fn span(self, levels: u32) -> u64 {
        self.addresses.saturating_pow(levels)
    }

    /// Logical blocks that can be mapped: the limit of the format, and of the 32-bit numbers that the kernel uses.
    pub fn limit(self) -> u64 {
        let all = (1..=3).map(|levels| self.span(levels)).sum::<u64>() + u64::from(DIRECT);
        all.min(1 << 32)
    }

    /// The first logical block below a word of `i_block`, and the levels under it; `None` from 15 on.
    pub fn slot(self, slot: u32) -> Option<(u64, u32)> {
        match slot {
            0..=11 => Some((slot.into(), 0)),
            12..=14 => {
                let levels = slot - 11;
                let before: u64 = (1..levels).map(|level| self.span(level)).sum();
                Some((before + u64::from(DIRECT), levels))
            }
            _ => None,
        }
    }

    /// The way to a logical block, `None` beyond the limit.
    pub fn path(self, block: u64) -> Option<Path> {
        if block < u64::from(DIRECT) {
            return Some(Path {
                slot: block as u32,
                levels: 0,
                offsets: [0; 3],
            });
        }
        for slot in 12..=14 {
            let (first, levels) = self.slot(slot)?;
            let within = block - first;
            if within < self.span(levels) {
                let mut offsets = [0; 3];
                for (nth, offset) in offsets.iter_mut().enumerate().take(levels as usize) {
                    let below = self.span(levels - 1 - nth as u32);
                    *offset = (within / below % self.addresses) as u32;
                }
                return Some(Path {
                    slot,
                    levels,
                    offsets,
                });
            }
        }
        None
    }

    /// Indirect blocks that a file without holes of `blocks` blocks needs; `None` beyond the limit.
    pub fn indirect_blocks(self, blocks: u64) -> Option<u64> {
        if blocks > self.limit() {
            return None;
        }
        let mut rest = blocks.saturating_sub(DIRECT.into());
        let mut needed = 0;
        for levels in 1..=3 {
            let here = rest.min(self.span(levels));
            needed += (1..=levels)
                .map(|level| here.div_ceil(self.span(level)))
                .sum::<u64>();
            rest -= here;
        }
        Some(needed)
    }
}

/// The pointers of an indirect block, holes as 0.
pub fn pointers(block: &[u8]) -> impl ExactSizeIterator<Item = u32> {
    let (words, _) = block.as_chunks::<4>();
    words.iter().map(|word| u32::from_le_bytes(*word))
}

/// Writes pointers to the start of an indirect block and zeros after them; what does not fit is left out,
/// and `false` says so.
pub fn write_pointers(block: &mut [u8], pointers: &[u32]) -> bool {
    block.fill(0);
    let (words, _) = block.as_chunks_mut::<4>();
    for (word, pointer) in words.iter_mut().zip(pointers) {
        *word = pointer.to_le_bytes();
    }
    pointers.len() <= words.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_borders_of_1_kib_blocks() {
        let map = BlockMap::new(1024);
        let at = |block| map.path(block).unwrap();
        assert_eq!(
            at(11),
            Path {
                slot: 11,
                levels: 0,
                offsets: [0; 3]
            }
        );
        assert_eq!(
            at(12),
            Path {
                slot: 12,
                levels: 1,
                offsets: [0; 3]
            }
        );
        assert_eq!(
            at(267),
            Path {
                slot: 12,
                levels: 1,
                offsets: [255, 0, 0]
            }
        );
        assert_eq!(
            at(268),
            Path {
                slot: 13,
                levels: 2,
                offsets: [0; 3]
            }
        );
        assert_eq!(
            at(12 + 256 + 65536),
            Path {
                slot: 14,
                levels: 3,
                offsets: [0; 3]
            }
        );
        assert_eq!(map.limit(), 12 + 256 + 65536 + 16_777_216);
        assert_eq!(map.path(map.limit()), None);
        assert_eq!(BlockMap::new(65536).limit(), 1 << 32);
    }

    proptest! {
        #[test]
        fn a_path_leads_back(log in 0_u32..=6, block in 0_u64..1 << 32) {
            let map = BlockMap::new(1024 << log);
            let Some(path) = map.path(block) else {
                prop_assert!(block >= map.limit());
                return Ok(());
            };
            let (mut at, levels) = map.slot(path.slot).unwrap();
            prop_assert_eq!(levels, path.levels);
            for nth in 0..levels {
                at += u64::from(path.offsets[nth as usize]) * map.span(levels - 1 - nth);
            }
            prop_assert_eq!(at, block);
        }

        /// Counted one by one: an indirect block is new when all offsets below it are 0.
        #[test]
        fn indirect_blocks_are_counted(blocks in 0_u64..70_000) {
            let map = BlockMap::new(1024);
            let mut counted = 0;
            for block in 12..blocks {
                let path = map.path(block).unwrap();
                for level in 0..path.levels as usize {
                    counted += u64::from(path.offsets[level..path.levels as usize].iter().all(|at| *at == 0));
                }
            }
            prop_assert_eq!(map.indirect_blocks(blocks), Some(counted));
        }

        #[test]
        fn pointers_are_read_as_written(list in proptest::collection::vec(any::<u32>(), 256)) {
            let mut block = vec![0; 1024];
            prop_assert!(write_pointers(&mut block, &list));
            prop_assert_eq!(pointers(&block).collect::<Vec<_>>(), list);
            prop_assert!(!write_pointers(&mut block, &[1; 257]));
        }
    }
}
