//! Blocks by number, the least recently used of them replaced: the table inside the cache.
//!
//! A list through arrays instead of pointers: links are 32-bit numbers of slots, and the bytes are in
//! slabs that are allocated as the cache fills and never moved. A vector that doubles would hold
//! the whole cache twice while it grows.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// No slot.
const NONE: u32 = u32::MAX;

/// Bytes of a slab, about.
const SLAB: usize = 1 << 20;

/// Block numbers are their own best hash but for their regular strides; one multiplication
/// (Fibonacci hashing, Knuth, The Art of Computer Programming 3, 6.4) spreads them. There is no one
/// to defend against: an image that makes all its blocks collide only slows down its own check, by
/// a bound that the cache's size sets.
#[derive(Default)]
pub(super) struct BlockHasher(u64);

impl Hasher for BlockHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, value: u64) {
        let spread = (self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = spread ^ (spread >> 32);
    }
}

type Index = HashMap<u64, u32, BuildHasherDefault<BlockHasher>>;

struct Slot {
    block: u64,
    /// Towards the more recently used.
    newer: u32,
    /// Towards the less recently used.
    older: u32,
}

/// At most `capacity` blocks of `block_size` bytes.
pub(super) struct Lru {
    block_size: usize,
    capacity: usize,
    /// Blocks of a slab.
    per_slab: usize,
    index: Index,
    slots: Vec<Slot>,
    slabs: Vec<Box<[u8]>>,
    newest: u32,
    oldest: u32,
    evicted: u64,
}

impl Lru {
    /// `block_size` at least 1.
    pub(super) fn new(block_size: usize, capacity: usize) -> Lru {
        let capacity = capacity.min(NONE as usize - 1);
        Lru {
            block_size,
            capacity,
            per_slab: (SLAB / block_size).max(1),
            index: Index::default(),
            slots: Vec::new(),
            slabs: Vec::new(),
            newest: NONE,
            oldest: NONE,
            evicted: 0,
        }
    }

    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Blocks it holds.
    pub(super) fn blocks(&self) -> usize {
        self.slots.len()
    }

    /// Bytes of blocks that it has allocated.
    pub(super) fn allocated(&self) -> usize {
        self.slabs.iter().map(|slab| slab.len()).sum()
    }

    /// Blocks that had to go.
    pub(super) fn evicted(&self) -> u64 {
        self.evicted
    }

    /// Whether it holds a block; its place in the order stays.
    pub(super) fn holds(&self, block: u64) -> bool {
        self.index.contains_key(&block)
    }

    /// A block's bytes; it becomes the most recently used.
    pub(super) fn get(&mut self, block: u64) -> Option<&[u8]> {
        let slot = *self.index.get(&block)?;
        self.unlink(slot);
        self.link(slot);
        Some(self.bytes(slot))
    }

    /// Takes a block in as the most recently used; `bytes` may be shorter than a block (the last
    /// one of a source), never longer.
    pub(super) fn insert(&mut self, block: u64, bytes: &[u8]) {
        if self.capacity == 0 {
            return;
        }
        let slot = if let Some(slot) = self.index.get(&block) {
            let slot = *slot;
            self.unlink(slot);
            slot
        } else {
            let slot = self.vacate();
            self.slots[slot as usize].block = block;
            self.index.insert(block, slot);
            slot
        };
        self.link(slot);
        self.bytes(slot)[..bytes.len()].copy_from_slice(bytes);
    }

    /// An unlinked slot: a new one while there are, else the oldest.
    fn vacate(&mut self) -> u32 {
        if self.slots.len() < self.capacity {
            let slot = self.slots.len();
            if slot.is_multiple_of(self.per_slab) {
                // The last slab is as short as the capacity demands.
                let blocks = self.per_slab.min(self.capacity - slot);
                self.slabs.push(vec![0; blocks * self.block_size].into());
            }
            self.slots.push(Slot {
                block: 0,
                newer: NONE,
                older: NONE,
            });
            return slot as u32;
        }
        let slot = self.oldest;
        self.unlink(slot);
        self.index.remove(&self.slots[slot as usize].block);
        self.evicted += 1;
        slot
    }

    fn bytes(&mut self, slot: u32) -> &mut [u8] {
        let (slab, place) = (
            slot as usize / self.per_slab,
            slot as usize % self.per_slab * self.block_size,
        );
        &mut self.slabs[slab][place..place + self.block_size]
    }

    fn unlink(&mut self, slot: u32) {
        let Slot { newer, older, .. } = self.slots[slot as usize];
        match newer {
            NONE => self.newest = older,
            n => self.slots[n as usize].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            o => self.slots[o as usize].newer = newer,
        }
    }

    fn link(&mut self, slot: u32) {
        let before = self.newest;
        self.slots[slot as usize].older = before;
        self.slots[slot as usize].newer = NONE;
        match before {
            NONE => self.oldest = slot,
            n => self.slots[n as usize].newer = slot,
        }
        self.newest = slot;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The textbook: a list, newest last.
    #[derive(Default)]
    struct Model(Vec<(u64, Vec<u8>)>);

    impl Model {
        fn get(&mut self, block: u64) -> Option<Vec<u8>> {
            let at = self.0.iter().position(|(b, _)| *b == block)?;
            let entry = self.0.remove(at);
            self.0.push(entry.clone());
            Some(entry.1)
        }

        fn insert(&mut self, block: u64, bytes: &[u8], capacity: usize) {
            self.0.retain(|(b, _)| *b != block);
            self.0.push((block, bytes.to_vec()));
            if self.0.len() > capacity {
                self.0.remove(0);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        #[test]
        fn the_same_blocks_as_the_textbook_and_never_more(
            capacity in 0_usize..9,
            size in prop::sample::select(vec![1_usize, 512, 300_000, (1 << 20) + 1]),
            steps in prop::collection::vec((any::<bool>(), 0_u64..16, any::<u8>()), 0..50)
        ) {
            let mut lru = Lru::new(size, capacity);
            let mut model = Model::default();
            for (insert, block, byte) in steps {
                // Far apart, as blocks of a large disk are.
                let block = block << 40 | block;
                if insert {
                    let bytes = vec![byte; size];
                    lru.insert(block, &bytes);
                    model.insert(block, &bytes, capacity);
                } else {
                    prop_assert_eq!(lru.holds(block), model.0.iter().any(|(b, _)| *b == block));
                    prop_assert_eq!(lru.get(block).map(<[u8]>::to_vec), model.get(block));
                }
                prop_assert_eq!(lru.blocks(), model.0.len());
                prop_assert!(lru.allocated() <= capacity * size);
            }
        }
    }
}
