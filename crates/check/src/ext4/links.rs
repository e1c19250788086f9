//! A count for each inode.
//!
//! Nearly all are 1, and those of directories 2. So there are two bits for each, behind them a byte of whose pages only those take memory
//! that a larger count has touched, and behind that a list. A list alone behind the two bits was rejected: where all files
//! have many names, as in a store of backups, it would be larger than all else together.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use super::state::{OutOfMemory, zeroed};

/// Counts of a word.
const EACH: usize = 32;
/// Behind this the rest is a byte.
const FEW: u32 = 3;
/// Behind this the rest is in the list.
const MANY: u32 = u8::MAX as u32;

/// By inode number; 0 is nobody. A count is the sum of its three parts, each of which is full before the next one is used.
pub struct Links {
    /// Bits `2 * (at % 32)` and one above of word `at / 32`, for inode `at + 1`.
    few: Vec<AtomicU64>,
    many: Vec<AtomicU8>,
    large: Mutex<BTreeMap<u32, u32>>,
    /// Whether [`Links::add`] was ever called: a map of millions of zeros need not be read to know that it is one.
    added: AtomicBool,
}

impl Links {
    /// For inodes 1 to `inodes`, all 0.
    ///
    /// # Errors
    /// There is no memory for them.
    pub fn new(inodes: u32) -> Result<Links, OutOfMemory> {
        let inodes = u64::from(inodes);
        Ok(Links {
            // One more, so that a word of 64 inodes never ends behind the last.
            few: zeroed(inodes.div_ceil(EACH as u64) + 1)?,
            many: zeroed(inodes)?,
            large: Mutex::default(),
            added: AtomicBool::new(false),
        })
    }

    /// Whether nobody has added anything; counts that were set do not matter.
    pub fn is_untouched(&self) -> bool {
        !self.added.load(Relaxed)
    }

    /// Where an inode's count is: the word, by how much its bits are shifted, and the byte.
    fn place(&self, inode: u32) -> Option<(&AtomicU64, usize, &AtomicU8)> {
        let at = inode.checked_sub(1)? as usize;
        let byte = self.many.get(at)?;
        Some((self.few.get(at / EACH)?, at % EACH * 2, byte))
    }

    /// Whether of the inodes `64 * index + 1` and the 63 behind it those whose bit is set have the count 1, and the others 0; no where
    /// not all of them exist.
    pub fn are(&self, index: u64, bits: u64) -> bool {
        let behind = index.saturating_add(1).saturating_mul(64);
        let at = (index as usize).saturating_mul(2);
        let Some([low, high]) = self.few.get(at..at.saturating_add(2)) else {
            return false;
        };
        behind <= self.many.len() as u64
            && low.load(Relaxed) == spread(bits as u32)
            && high.load(Relaxed) == spread((bits >> 32) as u32)
    }

    /// Sets a count that nobody has added to yet; inodes that do not exist are left alone.
    pub fn set(&self, inode: u32, count: u32) {
        let Some((word, shift, byte)) = self.place(inode) else {
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
            large.insert(inode, rest);
        }
    }

    /// Those of the 64 inodes from `first` on whose bit is set have the count 1; they had none.
    pub(super) fn set_ones(&self, first: u32, bits: u64) {
        for nth in 0..2 {
            let first = first.wrapping_add(nth * EACH as u32);
            let Some((_, shift, _)) = self.place(first) else {
                continue;
            };
            let at = (first as usize - 1) / EACH;
            let wide = u128::from(spread((bits >> (nth * 32)) as u32)) << shift;
            for (at, bits) in [(at, wide as u64), (at + 1, (wide >> 64) as u64)] {
                if let Some(word) = self.few.get(at).filter(|_| bits != 0) {
                    word.fetch_or(bits, Relaxed);
                }
            }
        }
    }

    /// Adds; inodes that do not exist are left alone. Sums stay below 2^32.
    pub fn add(&self, inode: u32, count: u32) {
        let Some((word, shift, byte)) = self.place(inode) else {
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
            let more = large.entry(inode).or_default();
            *more = more.saturating_add(beyond);
        }
    }

    /// The count.
    pub fn get(&self, inode: u32) -> u32 {
        let Some((word, shift, byte)) = self.place(inode) else {
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
        let rest = large.get(&inode).copied().unwrap_or_default();
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

    const INODES: u32 = 300;

    #[test]
    fn counts_of_a_word_of_inodes() {
        let links = Links::new(130).unwrap();
        links.set(65, 1);
        links.set(128, 1);
        assert!(links.are(0, 0) && links.are(1, 1 << 63 | 1));
        assert!(!links.are(1, 1) && !links.are(1, 1 << 63 | 3));
        links.set(65, 2);
        assert!(!links.are(1, 1 << 63 | 1));
        // Not all of these exist.
        assert!(!links.are(2, 0) && !links.are(u64::MAX, 0));
        assert!(links.is_untouched());
        links.add(65, 1);
        assert!(!links.is_untouched());
    }

    #[test]
    fn counts_of_any_size_add_up() {
        let links = Links::new(10).unwrap();
        for _ in 0..300 {
            links.add(7, 1);
        }
        links.add(3, 70_000);
        links.set(5, 65_000);
        links.set(6, 255);
        assert_eq!((links.get(5), links.get(6)), (65_000, 255));
        links.set(5, 3);
        links.add(11, 1);
        links.add(0, 1);
        assert_eq!(
            (links.get(7), links.get(3), links.get(1), links.get(11)),
            (300, 70_000, 0, 0)
        );
        assert_eq!((links.get(0), links.get(5)), (0, 3));
        // At each bound of a part.
        for count in [2, 3, 4, 257, 258, 259, 65_535] {
            links.set(10, count);
            assert_eq!(links.get(10), count);
            let sums = Links::new(2).unwrap();
            sums.add(2, count);
            sums.add(2, 1);
            assert_eq!((sums.get(2), sums.get(1)), (count + 1, 0));
        }
    }

    proptest! {
        #[test]
        fn ones_set_together_are_ones(first in 1..INODES + 70, bits: u64) {
            let links = Links::new(INODES).unwrap();
            let behind = first + 64;
            let others = (1..=INODES).filter(|inode| !(first..behind).contains(inode));
            others.clone().for_each(|inode| links.set(inode, inode));
            links.set_ones(first, bits);
            for inode in others {
                prop_assert_eq!(links.get(inode), inode);
            }
            for inode in (first..behind).filter(|inode| *inode <= INODES) {
                prop_assert_eq!(links.get(inode), (bits >> (inode - first) & 1) as u32);
            }
            for index in 0..u64::from(INODES / 64) {
                let inodes = (0..64).rev().map(|bit| links.get((index * 64) as u32 + bit + 1));
                let counts: Vec<u32> = inodes.collect();
                let word = counts.iter().fold(0, |word, count| word << 1 | u64::from(*count & 1));
                prop_assert_eq!(links.are(index, word), counts.iter().all(|count| *count < 2));
            }
        }
    }
}
