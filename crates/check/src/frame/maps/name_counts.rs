//! How many names each slot has.
//!
//! A check asks this once per directory entry, and nearly every inode has one name. So the first name is a bit, and only further ones
//! are counts. A thread collects bits for a while before it shares them ([`Batch`]): the inodes of a directory are close together, and
//! one atomic operation per word of the map is much less than one per name.

use super::{Bits, LinkCounts, OutOfMemory};

/// Names of each slot, `.` and `..` included.
pub struct NameCounts {
    /// One bit per slot: it has at least one name.
    once: Bits,
    /// Names after the first.
    more: LinkCounts,
    /// One bit per word of `once`: one of its slots has more than one name.
    crowded: Bits,
}

impl NameCounts {
    /// For this many slots, without names.
    ///
    /// # Errors
    /// There is no memory for them.
    pub fn new(slots: u64) -> Result<NameCounts, OutOfMemory> {
        let words = slots.div_ceil(64);
        Ok(NameCounts {
            once: Bits::new(slots)?,
            more: LinkCounts::new(slots)?,
            crowded: Bits::new(words)?,
        })
    }

    /// Number of names of a slot.
    pub fn get(&self, slot: u64) -> u32 {
        if self.once.get(slot) {
            1 + self.more.get(slot)
        } else {
            0
        }
    }

    /// Which of the 64 slots from `64 * index` have exactly one name; 0 if any of them has more.
    pub fn exactly_once(&self, index: u64) -> u64 {
        if self.crowded.get(index) {
            0
        } else {
            self.once.word(index)
        }
    }

    /// One more name for each slot whose bit is set.
    fn add(&self, index: u64, bits: u64) {
        let mut again = self.once.set_word(index, bits);
        while again != 0 {
            self.add_other(index, again.trailing_zeros());
            again &= again - 1;
        }
    }

    /// One more name for a slot that has one, or will have.
    fn add_other(&self, index: u64, bit: u32) {
        self.crowded.set(index);
        self.more.add(index.saturating_mul(64) + u64::from(bit), 1);
    }
}

/// Words that a thread keeps: 8,192 slots, so that a directory of thousands of neighbours never evicts itself.
const KEPT: usize = 128;

/// Names that a thread has counted and not yet shared.
pub(crate) struct Batch {
    /// Index of a word, and its bits; without bits the entry is free.
    words: [(u64, u64); KEPT],
}

impl Batch {
    pub(crate) fn new() -> Batch {
        Batch {
            words: [(0, 0); KEPT],
        }
    }

    /// One more name for a slot; slots past the end are ignored.
    pub(crate) fn add(&mut self, counts: &NameCounts, slot: u64) {
        let (index, bit) = (slot / 64, (slot % 64) as u32);
        let place = &mut self.words[index as usize % KEPT];
        if place.0 != index {
            let (other, bits) = std::mem::replace(place, (index, 0));
            counts.add(other, bits);
        }
        if place.1 >> bit & 1 == 0 {
            place.1 |= 1 << bit;
        } else {
            counts.add_other(index, bit);
        }
    }

    /// Shares what is left.
    pub(crate) fn finish(self, counts: &NameCounts) {
        for (index, bits) in self.words {
            counts.add(index, bits);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SLOTS: u64 = 70_000;

    proptest! {
        #[test]
        fn every_name_counts_in_whatever_thread(
            names in prop::collection::vec(
                prop_oneof![0..200_u64, 0..SLOTS + 100, 8190..8200_u64, Just(SLOTS - 1)], 0..500,
            ),
            threads in 1..4_usize,
        ) {
            let counts = NameCounts::new(SLOTS).unwrap();
            let mut batches: Vec<Batch> = (0..threads).map(|_| Batch::new()).collect();
            for (nth, slot) in names.iter().enumerate() {
                batches[nth % threads].add(&counts, *slot);
            }
            for batch in batches {
                batch.finish(&counts);
            }
            let count = |slot: u64| names.iter().filter(|name| **name == slot).count() as u32;
            for slot in names.iter().copied().filter(|slot| *slot < SLOTS) {
                prop_assert_eq!(counts.get(slot), count(slot));
            }
            for index in 0..SLOTS.div_ceil(64) {
                let found: Vec<u32> = (0..64).map(|bit| count(index * 64 + bit)).collect();
                let bits = found.iter().rev().fold(0, |bits, count| bits << 1 | u64::from(*count == 1));
                let is_crowded = found.iter().any(|count| *count > 1);
                let last = (index + 1) * 64 > SLOTS;
                if !last {
                    prop_assert_eq!(counts.exactly_once(index), if is_crowded { 0 } else { bits });
                }
            }
        }
    }

    #[test]
    fn slots_past_the_end_are_ignored() {
        let counts = NameCounts::new(10).unwrap();
        let mut batch = Batch::new();
        for slot in [10, 11, u64::MAX, u64::MAX, u64::MAX - 64] {
            batch.add(&counts, slot);
        }
        batch.finish(&counts);
        assert_eq!(
            (counts.get(u64::MAX), counts.get(9), counts.get(10)),
            (0, 0, 0)
        );
    }

    #[test]
    fn sums_are_as_large_as_there_are_names() {
        let counts = NameCounts::new(10).unwrap();
        let mut batch = Batch::new();
        for _ in 0..70_000 {
            batch.add(&counts, 6);
        }
        batch.finish(&counts);
        assert_eq!(counts.get(6), 70_000);
        assert_eq!(counts.exactly_once(0), 0);
    }
}
