//! What the passes know of a filesystem: flat maps, one entry for each inode or cluster.
//!
//! Trees of extents are smaller on a filesystem that is empty or in good order, and slower and larger on one that is not. A
//! bit for each cluster is 2.4 GB for 72 TiB in 4 KiB blocks when all of it is used; pages of the map that nobody touches
//! take no memory, because they are asked for as zeros.
//!
//! All maps are filled by several threads at once, by atomic operations without order: nothing is read before the
//! threads are joined.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use zerocopy::FromZeros;

pub use super::kinds::Kinds;
pub use super::links::Links;
use super::named::Named;
use super::pass1::attributes::Attributes;
use super::pass1::{Metadata, Owners, Statistics};

/// Flat bits.
pub struct Bits {
    words: Vec<AtomicU64>,
    len: u64,
}

/// The kernel grants no memory for a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no memory for a map of {entries} entries; use a machine with more, or check that the superblock's counts are right"
)]
pub struct OutOfMemory {
    /// How many it should have had.
    pub entries: u64,
}

/// Zeros, asked for as such: the kernel gives pages as they are touched.
pub(super) fn zeroed<T: FromZeros>(entries: u64) -> Result<Vec<T>, OutOfMemory> {
    let len = usize::try_from(entries).map_err(|_| OutOfMemory { entries })?;
    T::new_vec_zeroed(len).map_err(|_| OutOfMemory { entries })
}

impl Bits {
    /// So many, all clear.
    ///
    /// # Errors
    /// There is no memory for them.
    pub fn new(len: u64) -> Result<Bits, OutOfMemory> {
        let words = zeroed(len.div_ceil(64))?;
        Ok(Bits { words, len })
    }

    /// How many there are.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether that one is set; one behind the end is not.
    pub fn get(&self, bit: u64) -> bool {
        let word = self.words.get((bit / 64) as usize);
        word.is_some_and(|word| word.load(Relaxed) >> (bit % 64) & 1 == 1)
    }

    /// Sets one; whether it was set before. One behind the end is left alone and counts as clear.
    pub fn set(&self, bit: u64) -> bool {
        let mask = 1 << (bit % 64);
        match self.words.get((bit / 64) as usize) {
            Some(word) if bit < self.len => word.fetch_or(mask, Relaxed) & mask != 0,
            _ => false,
        }
    }

    /// Sets those of the 64 bits from bit `at` on that `word` has; those behind the end are left alone.
    pub fn set_from(&self, at: u64, word: u64) {
        let left = self.len.saturating_sub(at).min(64) as u32;
        let word = word & u64::MAX.checked_shr(64 - left).unwrap_or(0);
        let (index, shift) = ((at / 64) as usize, (at % 64) as u32);
        let high = word.checked_shr(64 - shift).unwrap_or(0);
        for (index, bits) in [(index, word << shift), (index + 1, high)] {
            if let Some(place) = self.words.get(index).filter(|_| bits != 0) {
                place.fetch_or(bits, Relaxed);
            }
        }
    }

    /// Clears one.
    pub fn clear(&self, bit: u64) {
        if let Some(word) = self.words.get((bit / 64) as usize) {
            word.fetch_and(!(1 << (bit % 64)), Relaxed);
        }
    }

    /// Sets a range, cut at the end; calls `again` with each bit that was set before.
    pub fn set_range(&self, range: Range<u64>, mut again: impl FnMut(u64)) {
        let (mut at, end) = (range.start, range.end.min(self.len));
        while at < end {
            let index = (at / 64) as usize;
            let first = at % 64;
            let last = (end - index as u64 * 64).min(64);
            let mask = (u64::MAX << first) & (u64::MAX >> (64 - last));
            let mut before = self.words[index].fetch_or(mask, Relaxed) & mask;
            while before != 0 {
                again(index as u64 * 64 + u64::from(before.trailing_zeros()));
                before &= before - 1;
            }
            at = (index as u64 + 1) * 64;
        }
    }

    /// 64 bits from bit `64 * index` on, those behind the end clear.
    pub fn word(&self, index: u64) -> u64 {
        self.words
            .get(index as usize)
            .map_or(0, |word| word.load(Relaxed))
    }

    /// Sets, among the 64 bits from bit `64 * index` on, those that are set in `bits`; gives which of them were set before. Those
    /// behind the end are left alone.
    pub fn set_word(&self, index: u64, bits: u64) -> u64 {
        let inside = self.len.saturating_sub(index.saturating_mul(64));
        let bits = match inside {
            0 => 0,
            1..64 => bits & !(u64::MAX << inside),
            _ => bits,
        };
        match self.words.get(index as usize) {
            Some(word) if bits != 0 => word.fetch_or(bits, Relaxed) & bits,
            _ => 0,
        }
    }

    /// How many of a range are set.
    pub fn count(&self, range: Range<u64>) -> u64 {
        let (mut at, end) = (range.start, range.end.min(self.len));
        let mut count = 0;
        while at < end {
            let index = at / 64;
            let last = (end - index * 64).min(64);
            let mask = (u64::MAX << (at % 64)) & (u64::MAX >> (64 - last));
            count += u64::from((self.word(index) & mask).count_ones());
            at = (index + 1) * 64;
        }
        count
    }

    /// Those that are set, ascending.
    pub fn ones(&self) -> impl Iterator<Item = u64> + '_ {
        self.words.iter().enumerate().flat_map(|(index, word)| {
            let mut rest = word.load(Relaxed);
            std::iter::from_fn(move || {
                if rest == 0 {
                    return None;
                }
                let bit = index as u64 * 64 + u64::from(rest.trailing_zeros());
                rest &= rest - 1;
                Some(bit)
            })
        })
    }
}

/// A few inodes among many: ascending, once each.
#[derive(Debug, Default)]
pub struct Inodes(Vec<u32>);

impl Inodes {
    /// These, in whatever order they were found.
    pub fn new(mut inodes: Vec<u32>) -> Inodes {
        inodes.sort_unstable();
        inodes.dedup();
        Inodes(inodes)
    }

    /// Whether this one is among them.
    pub fn contains(&self, inode: u32) -> bool {
        // Mostly there are none at all, and this is asked for each name.
        !self.0.is_empty() && self.0.binary_search(&inode).is_ok()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().copied()
    }
}

/// Neighbouring blocks of a directory that also lie side by side on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Run {
    /// First block of the device; 0 for a hole.
    pub physical: u64,
    /// First block of the directory.
    pub logical: u32,
    /// Blocks.
    pub len: u32,
    /// The directory.
    pub inode: u32,
}

/// A directory, as pass 1 found it and passes 2 and 3 go on.
#[derive(Debug)]
pub struct Directory {
    /// Its inode.
    pub inode: u32,
    /// `i_flags`.
    pub flags: u32,
    /// `i_generation`, which seeds the checksums of its blocks.
    pub generation: u32,
    /// `i_size`.
    pub size: u64,
    /// What its entry `..` names; 0: not seen.
    pub dotdot: AtomicU32,
    /// The directory that has an entry for it; 0: not seen.
    pub parent: AtomicU32,
}

/// All directories by inode number, and their blocks by place on the device.
#[derive(Debug, Default)]
pub struct Directories {
    /// Ascending by inode.
    pub list: Vec<Directory>,
    /// Ascending by place. Inline directories have none.
    pub runs: Vec<Run>,
}

impl Directories {
    /// The directory of that inode.
    pub fn get(&self, inode: u32) -> Option<&Directory> {
        self.position(inode).map(|at| &self.list[at])
    }

    /// Where it is in the list.
    pub fn position(&self, inode: u32) -> Option<usize> {
        self.list.binary_search_by_key(&inode, |dir| dir.inode).ok()
    }
}

/// What passes hand on.
pub struct State {
    /// Inodes in use, bit `ino - 1`.
    pub used: Bits,
    /// Clusters in use by metadata and files, counted from `first_data_block`'s cluster as in the bitmaps.
    pub blocks: Bits,
    /// Clusters that more than one claims, where that is not allowed.
    pub shared: Bits,
    /// Kind of each inode in use.
    pub kinds: Kinds,
    /// `i_links_count` of each inode in use.
    pub links: Links,
    /// Entries that name each inode, `.` and `..` included.
    pub named: Named,
    /// Directories.
    pub directories: Directories,
    /// Inodes in use that are not what their mode says, or have a field that must be 0 (e2fsck's `inode_bad_map`): pass 2
    /// says what is wrong where a name leads to them.
    pub bad: Inodes,
    /// Inodes that lie on a bad block of their table (e2fsck's `inode_bb_map`); they count as used.
    pub on_bad_blocks: Inodes,
    /// Inodes that nothing needs to name: AFS servers' (e2fsck's `inode_imagic_map`).
    pub imagic: Inodes,
    /// Inodes whose checksum is wrong. e2fsck takes them as they are in pass 1, and ends where it has to read one of them again.
    pub unsealed: Inodes,
    /// Whether a regular file is so long that the superblock must say so (`large_file`).
    pub large_files: bool,
    /// The filesystem's own blocks.
    pub metadata: Metadata,
    /// What each owner takes; empty without the feature `quota`.
    pub owners: Owners,
    /// Kinds of files, and how they lie.
    pub statistics: Statistics,
    /// Value inodes and encryption policies.
    pub(crate) attributes: Attributes,
    /// Names that e2fsck does not come to see, of inodes in `unsealed`: how many of each. Pass 2 counts.
    pub unseen_names: Mutex<BTreeMap<u32, u32>>,
    /// Names whose order could not be judged: case is folded, and they are not ASCII. Pass 2 counts.
    pub unjudged_names: AtomicU64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_bits_tell_what_was_set() {
        let bits = Bits::new(200).unwrap();
        bits.set_range(60..130, |_| panic!("nothing was set"));
        assert!(!bits.get(59) && bits.get(60) && bits.get(129) && !bits.get(130));
        let mut again = Vec::new();
        bits.set_range(128..300, |bit| again.push(bit));
        assert_eq!(again, [128, 129]);
        assert_eq!(bits.count(0..1000), 140);
        assert_eq!(bits.count(61..64), 3);
        assert_eq!(bits.ones().next(), Some(60));
        assert!(bits.set(60) && !bits.set(3) && !bits.set(200));
        bits.clear(60);
        assert!(!bits.get(60));
        let bits = Bits::new(200).unwrap();
        bits.set_from(0, 0b101);
        bits.set_from(190, u64::MAX);
        bits.set_from(12, 1 << 63 | 1);
        bits.set_from(300, 1);
        let ones: Vec<u64> = bits.ones().collect();
        assert_eq!(ones[..4], [0, 2, 12, 75]);
        assert_eq!((ones[4], ones.len()), (190, 14));
    }

    #[test]
    fn words_of_bits_tell_what_was_set() {
        let bits = Bits::new(130).unwrap();
        bits.set(65);
        assert_eq!(bits.set_word(1, 0b110), 0b010);
        assert_eq!(bits.word(1), 0b110);
        assert_eq!(bits.set_word(2, u64::MAX), 0);
        assert_eq!((bits.word(2), bits.set_word(2, 5)), (0b11, 0b01));
        assert_eq!((bits.set_word(3, 1), bits.set_word(u64::MAX, 1)), (0, 0));
    }

    #[test]
    fn few_among_many() {
        let few = Inodes::new(vec![9, 3, 9]);
        assert!(few.contains(3) && few.contains(9) && !few.contains(4));
        assert_eq!(few.iter().collect::<Vec<_>>(), [3, 9]);
        assert!(!Inodes::default().contains(0));
    }
}
