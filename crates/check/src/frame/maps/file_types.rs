//! The type of each file, four bits.
//!
//! A byte each is simpler, and was half of the memory that a check of a sound filesystem takes: on a large one these maps are what
//! misses the processor's caches, and each page of them is a fault. Neighbours share a word, so a type is set by an atomic
//! operation; the regular files of a block of a table are set together.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::{OutOfMemory, zeroed};

/// Types in a word.
const EACH: u64 = 16;

/// The type of the file in each slot, four bits; 0: not in use, or no known type.
pub struct FileTypes {
    /// Bits `4 * (slot % 16)` and the three above of word `slot / 16`.
    words: Vec<AtomicU64>,
    slots: u64,
}

impl FileTypes {
    /// For this many slots, all 0.
    ///
    /// # Errors
    /// There is no memory for them.
    pub fn new(slots: u64) -> Result<FileTypes, OutOfMemory> {
        // One more, so that a word of 64 slots never ends past the last.
        let words = zeroed(slots.div_ceil(EACH) + 1)?;
        Ok(FileTypes { words, slots })
    }

    /// The word of a slot, and by how much its bits are shifted.
    fn place(&self, slot: u64) -> Option<(&AtomicU64, u64)> {
        if slot >= self.slots {
            return None;
        }
        Some((self.words.get((slot / EACH) as usize)?, slot % EACH * 4))
    }

    /// Sets the type of a slot; slots past the end are ignored.
    pub fn set(&self, slot: u64, code: u8) {
        if let Some((word, shift)) = self.place(slot) {
            let bits = u64::from(code & 0xf) << shift;
            // The update always gives a value.
            let _ = word.fetch_update(Relaxed, Relaxed, |old| Some(old & !(0xf << shift) | bits));
        }
    }

    /// Sets this type for those of the 64 slots from `first` whose bit is set; they had none.
    pub(crate) fn set_word(&self, first: u64, bits: u64, code: u8) {
        for nth in 0..4 {
            let first = first.wrapping_add(nth * EACH);
            let Some((_, shift)) = self.place(first) else {
                continue;
            };
            let at = (first / EACH) as usize;
            let codes = spread((bits >> (nth * 16)) as u16) * u64::from(code & 0xf);
            let wide = u128::from(codes) << shift;
            for (at, bits) in [(at, wide as u64), (at + 1, (wide >> 64) as u64)] {
                if let Some(word) = self.words.get(at).filter(|_| bits != 0) {
                    word.fetch_or(bits, Relaxed);
                }
            }
        }
    }

    /// The type of a slot.
    pub fn get(&self, slot: u64) -> u8 {
        self.place(slot)
            .map_or(0, |(word, shift)| (word.load(Relaxed) >> shift) as u8 & 0xf)
    }
}

/// Each bit four bits from the next.
fn spread(bits: u16) -> u64 {
    let mut wide = u64::from(bits);
    wide = (wide | wide << 24) & 0x0000_00ff_0000_00ff;
    wide = (wide | wide << 12) & 0x000f_000f_000f_000f;
    wide = (wide | wide << 6) & 0x0303_0303_0303_0303;
    (wide | wide << 3) & 0x1111_1111_1111_1111
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SLOTS: u64 = 300;

    #[test]
    fn types_are_kept_apart() {
        let types = FileTypes::new(SLOTS).unwrap();
        for slot in 0..SLOTS + 3 {
            types.set(slot, 15);
            types.set(slot, (slot % 7 + 1) as u8);
        }
        for slot in 0..SLOTS {
            assert_eq!(u64::from(types.get(slot)), slot % 7 + 1);
        }
        assert_eq!((types.get(SLOTS), types.get(u64::MAX)), (0, 0));
    }

    proptest! {
        #[test]
        fn types_set_together_are_set(first in 0..SLOTS + 70, bits: u64, code in 1..16_u8) {
            let types = FileTypes::new(SLOTS).unwrap();
            let end = first + 64;
            let others = (0..SLOTS).filter(|slot| !(first..end).contains(slot));
            others.clone().for_each(|slot| types.set(slot, 5));
            types.set_word(first, bits, code);
            for slot in others {
                prop_assert_eq!(types.get(slot), 5);
            }
            for slot in (first..end).filter(|slot| *slot < SLOTS) {
                let is_set = bits >> (slot - first) & 1 == 1;
                prop_assert_eq!(types.get(slot), if is_set { code } else { 0 });
            }
        }
    }
}
