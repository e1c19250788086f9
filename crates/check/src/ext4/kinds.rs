//! What kind of file each inode is, four bits each.
//!
//! A byte each was simpler, and was half of what a check of a filesystem in good order takes: on a large one these maps are what
//! misses the processor's caches, and each page of them is a fault. Neighbours share a word, so a kind is set by an atomic
//! operation; the files of a block of a table are set together.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use ondisk::ext4::FileType;

use super::state::{OutOfMemory, zeroed};

/// Kinds of a word.
const EACH: usize = 16;

/// By inode number; 0 is nobody.
pub struct Kinds {
    /// Bits `4 * (at % 16)` and three above of word `at / 16`, for inode `at + 1`.
    words: Vec<AtomicU64>,
    inodes: u32,
}

impl Kinds {
    /// For inodes 1 to `inodes`, all unknown.
    ///
    /// # Errors
    /// There is no memory for them.
    pub fn new(inodes: u32) -> Result<Kinds, OutOfMemory> {
        // One more, so that a word of 64 inodes never ends behind the last.
        let words = zeroed(u64::from(inodes).div_ceil(EACH as u64) + 1)?;
        Ok(Kinds { words, inodes })
    }

    /// The word of an inode, and by how much its bits are shifted.
    fn place(&self, inode: u32) -> Option<(&AtomicU64, usize)> {
        let at = inode.checked_sub(1).filter(|at| *at < self.inodes)? as usize;
        Some((self.words.get(at / EACH)?, at % EACH * 4))
    }

    /// Remembers it.
    pub fn set(&self, inode: u32, kind: FileType) {
        if let Some((word, shift)) = self.place(inode) {
            let bits = u64::from(kind.entry()) << shift;
            // The update always gives a value.
            let _ = word.fetch_update(Relaxed, Relaxed, |old| Some(old & !(0xf << shift) | bits));
        }
    }

    /// Those of the 64 inodes from `first` on whose bit is set are regular files; nothing was known of them.
    pub(super) fn set_files(&self, first: u32, bits: u64) {
        for nth in 0..4 {
            let first = first.wrapping_add(nth * EACH as u32);
            let Some((_, shift)) = self.place(first) else {
                continue;
            };
            let at = (first as usize - 1) / EACH;
            let wide = u128::from(spread((bits >> (nth * 16)) as u16)) << shift;
            for (at, bits) in [(at, wide as u64), (at + 1, (wide >> 64) as u64)] {
                if let Some(word) = self.words.get(at).filter(|_| bits != 0) {
                    word.fetch_or(bits, Relaxed);
                }
            }
        }
    }

    /// The kind as an entry of a directory has it; 0 if the inode is not in use or has none.
    pub fn entry(&self, inode: u32) -> u8 {
        self.place(inode)
            .map_or(0, |(word, shift)| (word.load(Relaxed) >> shift) as u8 & 0xf)
    }

    /// The kind, if the inode is in use and has one.
    pub fn get(&self, inode: u32) -> Option<FileType> {
        FileType::of_entry(self.entry(inode))
    }
}

/// Each bit four bits from the next: an entry of a regular file, [`FileType::entry`], is 1.
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

    const INODES: u32 = 300;

    #[test]
    fn kinds_are_those_of_entries() {
        assert_eq!(FileType::Regular.entry(), 1);
        let kinds = Kinds::new(INODES).unwrap();
        for inode in 0..INODES + 3 {
            let kind = FileType::of_entry((inode % 7 + 1) as u8).unwrap();
            kinds.set(inode, FileType::Symlink);
            kinds.set(inode, kind);
        }
        for inode in 1..=INODES {
            assert_eq!(u32::from(kinds.entry(inode)), inode % 7 + 1);
        }
        assert_eq!((kinds.get(0), kinds.get(INODES + 1)), (None, None));
    }

    proptest! {
        #[test]
        fn files_set_together_are_files(first in 1..INODES + 70, bits: u64) {
            let kinds = Kinds::new(INODES).unwrap();
            let behind = first + 64;
            let others = (1..=INODES).filter(|inode| !(first..behind).contains(inode));
            others.clone().for_each(|inode| kinds.set(inode, FileType::Fifo));
            kinds.set_files(first, bits);
            for inode in others {
                prop_assert_eq!(kinds.get(inode), Some(FileType::Fifo));
            }
            for inode in (first..behind).filter(|inode| *inode <= INODES) {
                let is_file = bits >> (inode - first) & 1 == 1;
                prop_assert_eq!(kinds.get(inode), is_file.then_some(FileType::Regular));
            }
        }
    }
}
