//! How often each inode is named.
//!
//! A check asks this once for each name, and nearly every inode has one. So the first name is a bit, and only further ones
//! are counts. A thread collects bits for a while before it shares them ([`Batch`]): the inodes of a directory lie side by side, and
//! an atomic operation for each word of the map is much less than one for each name.

use super::state::{Bits, Links, OutOfMemory};

/// Names of each inode, `.` and `..` included.
pub struct Named {
    /// Bit `ino - 1`: there is at least one.
    once: Bits,
    /// The others.
    more: Links,
    /// A bit for each word of `once` whose inodes have others.
    crowded: Bits,
}

impl Named {
    /// For inodes 1 to `inodes`, all without.
    ///
    /// # Errors
    /// There is no memory for them.
    pub fn new(inodes: u32) -> Result<Named, OutOfMemory> {
        let words = u64::from(inodes).div_ceil(64);
        Ok(Named {
            once: Bits::new(inodes.into())?,
            more: Links::new(inodes)?,
            crowded: Bits::new(words)?,
        })
    }

    /// How many names it has.
    pub fn get(&self, inode: u32) -> u32 {
        let Some(bit) = inode.checked_sub(1) else {
            return 0;
        };
        if self.once.get(bit.into()) {
            1 + self.more.get(inode)
        } else {
            0
        }
    }

    /// Which of the inodes `64 * index + 1` and the 63 behind it have exactly one name; none if any of these has more.
    pub fn exactly_once(&self, index: u64) -> u64 {
        if self.crowded.get(index) {
            0
        } else {
            self.once.word(index)
        }
    }

    /// One more name for each inode whose bit is set.
    fn add(&self, index: u64, bits: u64) {
        let mut again = self.once.set_word(index, bits);
        while again != 0 {
            self.add_other(index, again.trailing_zeros());
            again &= again - 1;
        }
    }

    /// One more for an inode that has one, or will have.
    fn add_other(&self, index: u64, bit: u32) {
        self.crowded.set(index);
        if let Ok(inode) = u32::try_from(index * 64 + u64::from(bit) + 1) {
            self.more.add(inode, 1);
        }
    }
}

/// Words that a thread keeps: two pages of inodes, so that a directory of thousands of neighbours never meets itself.
const KEPT: usize = 128;

/// Names that a thread has seen and not yet shared.
pub(crate) struct Batch {
    /// Index of a word, and its bits; none: nobody is here.
    words: [(u32, u64); KEPT],
}

impl Batch {
    pub(crate) fn new() -> Batch {
        Batch {
            words: [(0, 0); KEPT],
        }
    }

    /// One more name for an inode.
    pub(crate) fn add(&mut self, named: &Named, inode: u32) {
        let Some(at) = inode.checked_sub(1) else {
            return;
        };
        let (index, bit) = (at / 64, at % 64);
        let place = &mut self.words[index as usize % KEPT];
        if place.0 != index {
            let (other, bits) = std::mem::replace(place, (index, 0));
            named.add(other.into(), bits);
        }
        if place.1 >> bit & 1 == 0 {
            place.1 |= 1 << bit;
        } else {
            named.add_other(index.into(), bit);
        }
    }

    /// Shares what is left.
    pub(crate) fn finish(self, named: &Named) {
        for (index, bits) in self.words {
            named.add(index.into(), bits);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const INODES: u32 = 70_000;

    proptest! {
        #[test]
        fn every_name_counts_whoever_saw_it(
            names in prop::collection::vec(
                prop_oneof![1..200_u32, 1..INODES + 100, 8190..8200_u32, Just(70_000)], 0..500,
            ),
            threads in 1..4_usize,
        ) {
            let named = Named::new(INODES).unwrap();
            let mut batches: Vec<Batch> = (0..threads).map(|_| Batch::new()).collect();
            for (nth, inode) in names.iter().enumerate() {
                batches[nth % threads].add(&named, *inode);
            }
            for batch in batches {
                batch.finish(&named);
            }
            let count = |inode: u32| names.iter().filter(|name| **name == inode).count() as u32;
            for inode in names.iter().copied().filter(|inode| *inode <= INODES) {
                prop_assert_eq!(named.get(inode), count(inode));
            }
            for index in 0..u64::from(INODES).div_ceil(64) {
                let inodes = (0..64).map(|bit| count((index * 64) as u32 + bit + 1));
                let counts: Vec<u32> = inodes.collect();
                let bits = counts.iter().rev().fold(0, |bits, count| bits << 1 | u64::from(*count == 1));
                let is_crowded = counts.iter().any(|count| *count > 1);
                let last = (index + 1) * 64 > u64::from(INODES);
                if !last {
                    prop_assert_eq!(named.exactly_once(index), if is_crowded { 0 } else { bits });
                }
            }
        }
    }

    #[test]
    fn nobody_is_no_inode() {
        let named = Named::new(10).unwrap();
        let mut batch = Batch::new();
        for inode in [0, 0, 11, 12, u32::MAX, u32::MAX] {
            batch.add(&named, inode);
        }
        batch.finish(&named);
        assert_eq!((named.get(0), named.get(10)), (0, 0));
    }

    #[test]
    fn sums_are_as_large_as_there_are_names() {
        let named = Named::new(10).unwrap();
        let mut batch = Batch::new();
        for _ in 0..70_000 {
            batch.add(&named, 7);
        }
        batch.finish(&named);
        assert_eq!(named.get(7), 70_000);
        assert_eq!(named.exactly_once(0), 0);
    }
}
