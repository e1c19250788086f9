//! A count for each slot.
//!
//! Nearly all are 1, and those of directories 2. So there are two bits for each; then a byte each, of whose pages only those take
//! memory that a larger count has touched; then a list. A list straight after the two bits was rejected: where all files
//! have many names, as in a store of backups, it would be larger than all other maps together.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use super::{OutOfMemory, zeroed};

/// Counts of a word.
const EACH: u64 = 32;
/// What the two bits hold; the rest is in the byte.
const FEW: u32 = 3;
/// What the byte holds; the rest is in the list.
const MANY: u32 = u8::MAX as u32;

/// A count is the sum of its three parts, each of which is full before the next one is used.
pub struct LinkCounts {
    /// Bits `2 * (slot % 32)` and the one above of word `slot / 32`.
    few: Vec<AtomicU64>,
    many: Vec<AtomicU8>,
    large: Mutex<BTreeMap<u64, u32>>,
    /// Whether [`LinkCounts::add`] was ever called: a map of millions of zeros need not be read to know that it is one.
    added: AtomicBool,
}

impl LinkCounts {
    /// For this many slots, all 0.
    ///
    /// # Errors
    /// There is no memory for them.
    pub fn new(slots: u64) -> Result<LinkCounts, OutOfMemory> {
        Ok(LinkCounts {
            // One more, so that a word of 64 slots never ends past the last.
            few: zeroed(slots.div_ceil(EACH) + 1)?,
            many: zeroed(slots)?,
            large: Mutex::default(),
            added: AtomicBool::new(false),
        })
    }

    /// Whether nothing was ever added; counts that were set do not matter.
    pub fn is_untouched(&self) -> bool {
        !self.added.load(Relaxed)
    }

    /// Where the count of a slot is: the word, by how much its bits are shifted, and the byte.
    fn place(&self, slot: u64) -> Option<(&AtomicU64, u64, &AtomicU8)> {
        let byte = self.many.get(usize::try_from(slot).ok()?)?;
        Some((self.few.get((slot / EACH) as usize)?, slot % EACH * 2, byte))
    }

    /// Whether, of the 64 slots from `64 * index`, those whose bit is set have the count 1 and the others 0; false where not all of
    /// them exist.
    pub fn are(&self, index: u64, bits: u64) -> bool {
        let end = index.saturating_add(1).saturating_mul(64);
        let at = (index as usize).saturating_mul(2);
        let Some([low, high]) = self.few.get(at..at.saturating_add(2)) else {
            return false;
        };
        end <= self.many.len() as u64
            && low.load(Relaxed) == spread(bits as u32)
            && high.load(Relaxed) == spread((bits >> 32) as u32)
    }

    /// Sets a count that nothing was added to yet; slots past the end are ignored.
    pub fn set(&self, slot: u64, count: u32) {
        let Some((word, shift, byte)) = self.place(slot) else {
            return;
        };
        let few = u64::from(count.min(FEW)) << shift;
        // The update always gives a value.
        let _ = word.fetch_update(Relaxed, Relaxed, |old| Some(old & !(3 << shift) | few));
        let many = count.saturating_sub(FEW);
        let rest = many.min(MANY) as u8;
        // A page that is read is not taken, one that is written to is.
        if rest != byte.load(Relaxed) {
            byte.store(rest, Relaxed);
        }
        if let Some(rest) = many.checked_sub(MANY).filter(|rest| *rest > 0) {
            let mut large = self.large.lock().unwrap_or_else(PoisonError::into_inner);
            large.insert(slot, rest);
        }
    }

    /// Sets the count 1 for those of the 64 slots from `first` whose bit is set; they had none.
    pub(crate) fn set_ones(&self, first: u64, bits: u64) {
        for nth in 0..2 {
            let first = first.wrapping_add(nth * EACH);
            let Some((_, shift, _)) = self.place(first) else {
                continue;
            };
            let at = (first / EACH) as usize;
            let wide = u128::from(spread((bits >> (nth * 32)) as u32)) << shift;
            for (at, bits) in [(at, wide as u64), (at + 1, (wide >> 64) as u64)] {
                if let Some(word) = self.few.get(at).filter(|_| bits != 0) {
                    word.fetch_or(bits, Relaxed);
                }
            }
        }
    }

    /// Adds to a count; slots past the end are ignored. Sums stay below 2^32.
    pub fn add(&self, slot: u64, count: u32) {
        let Some((word, shift, byte)) = self.place(slot) else {
            return;
        };
        if count > 0 && self.is_untouched() {
            self.added.store(true, Relaxed);
        }
        let mut rest = 0;
        // The closures may run again: `rest` is that of the run that took.
        let _ = word.fetch_update(Relaxed, Relaxed, |old| {
            let sum = (old >> shift & 3) as u32;
            let taken = count.min(FEW - sum);
            rest = count - taken;
            Some(old + (u64::from(taken) << shift))
        });
        if rest == 0 {
            return;
        }
        let mut beyond = 0;
        let _ = byte.fetch_update(Relaxed, Relaxed, |old| {
            let taken = rest.min(MANY - u32::from(old));
            beyond = rest - taken;
            Some(old + taken as u8)
        });
        if beyond > 0 {
            let mut large = self.large.lock().unwrap_or_else(PoisonError::into_inner);
            let more = large.entry(slot).or_default();
            *more = more.saturating_add(beyond);
        }
    }

    /// The count of a slot; 0 past the end.
    pub fn get(&self, slot: u64) -> u32 {
        let Some((word, shift, byte)) = self.place(slot) else {
            return 0;
        };
        let few = (word.load(Relaxed) >> shift & 3) as u32;
        if few < FEW {
            return few;
        }
        let many = u32::from(byte.load(Relaxed));
        if many < MANY {
            return few + many;
        }
        let large = self.large.lock().unwrap_or_else(PoisonError::into_inner);
        let rest = large.get(&slot).copied().unwrap_or_default();
        (few + many).saturating_add(rest)
    }
}

/// Each bit two bits from the next.
fn spread(bits: u32) -> u64 {
    let mut wide = u64::from(bits);
    wide = (wide | wide << 16) & 0x0000_ffff_0000_ffff;
    wide = (wide | wide << 8) & 0x00ff_00ff_00ff_00ff;
    wide = (wide | wide << 4) & 0x0f0f_0f0f_0f0f_0f0f;
    wide = (wide | wide << 2) & 0x3333_3333_3333_3333;
    (wide | wide << 1) & 0x5555_5555_5555_5555
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SLOTS: u64 = 300;

    #[test]
    fn counts_of_a_word_of_slots() {
        let counts = LinkCounts::new(130).unwrap();
        counts.set(64, 1);
        counts.set(127, 1);
        assert!(counts.are(0, 0) && counts.are(1, 1 << 63 | 1));
        assert!(!counts.are(1, 1) && !counts.are(1, 1 << 63 | 3));
        counts.set(64, 2);
        assert!(!counts.are(1, 1 << 63 | 1));
        // Not all of these exist.
        assert!(!counts.are(2, 0) && !counts.are(u64::MAX, 0));
        assert!(counts.is_untouched());
        counts.add(64, 1);
        assert!(!counts.is_untouched());
    }

    #[test]
    fn counts_of_any_size_add_up() {
        let counts = LinkCounts::new(10).unwrap();
        for _ in 0..300 {
            counts.add(6, 1);
        }
        counts.add(2, 70_000);
        counts.set(4, 65_000);
        counts.set(5, 255);
        assert_eq!((counts.get(4), counts.get(5)), (65_000, 255));
        counts.set(4, 3);
        counts.add(10, 1);
        counts.add(u64::MAX, 1);
        assert_eq!(
            (counts.get(6), counts.get(2), counts.get(0), counts.get(10)),
            (300, 70_000, 0, 0)
        );
        assert_eq!((counts.get(u64::MAX), counts.get(4)), (0, 3));
        // At each bound of a part.
        for count in [2, 3, 4, 257, 258, 259, 65_535] {
            counts.set(9, count);
            assert_eq!(counts.get(9), count);
            let sums = LinkCounts::new(2).unwrap();
            sums.add(1, count);
            sums.add(1, 1);
            assert_eq!((sums.get(1), sums.get(0)), (count + 1, 0));
        }
    }

    proptest! {
        #[test]
        fn ones_set_together_are_ones(first in 0..SLOTS + 70, bits: u64) {
            let counts = LinkCounts::new(SLOTS).unwrap();
            let end = first + 64;
            let others = (0..SLOTS).filter(|slot| !(first..end).contains(slot));
            others.clone().for_each(|slot| counts.set(slot, slot as u32));
            counts.set_ones(first, bits);
            for slot in others {
                prop_assert_eq!(counts.get(slot), slot as u32);
            }
            for slot in (first..end).filter(|slot| *slot < SLOTS) {
                prop_assert_eq!(counts.get(slot), (bits >> (slot - first) & 1) as u32);
            }
            for index in 0..SLOTS / 64 {
                let slots = (0..64).rev().map(|bit| counts.get(index * 64 + bit));
                let found: Vec<u32> = slots.collect();
                let word = found.iter().fold(0, |word, count| word << 1 | u64::from(*count & 1));
                prop_assert_eq!(counts.are(index, word), found.iter().all(|count| *count < 2));
            }
        }
    }
}
