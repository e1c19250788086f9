//! What the passes know of a filesystem: flat maps, one entry for each inode or cluster.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64};

use ondisk::ext4::FileType;

use super::pass1::attributes::Attributes;
use super::pass1::tally::{Owners, Statistics};
use crate::frame::maps::{Bits, FileTypes, LinkCounts, NameCounts};

/// The slot of an inode in the maps; inode 0 has none, and gets one past the end of any map.
pub(crate) fn slot_of(ino: u32) -> u64 {
    u64::from(ino).wrapping_sub(1)
}

/// A small set of inodes: ascending, without duplicates.
#[derive(Debug, Default)]
pub(crate) struct InodeSet(Vec<u32>);

impl InodeSet {
    /// From a list in any order.
    pub(crate) fn new(mut inodes: Vec<u32>) -> InodeSet {
        inodes.sort_unstable();
        inodes.dedup();
        InodeSet(inodes)
    }

    /// Whether this inode is in the set.
    pub(crate) fn contains(&self, inode: u32) -> bool {
        // The set is mostly empty, and this is asked for each name.
        !self.0.is_empty() && self.0.binary_search(&inode).is_ok()
    }

    /// Whether the set is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
impl InodeSet {
    /// The inodes, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().copied()
    }
}

/// Consecutive blocks of a directory that are also consecutive on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Run {
    /// First block of the device; 0 for a hole.
    pub(crate) physical: u64,
    /// First block of the directory.
    pub(crate) logical: u32,
    /// Blocks.
    pub(crate) len: u32,
    /// Inode number of the directory.
    pub(crate) inode: u32,
}

/// A directory, as pass 1 found it and passes 2 and 3 complete it.
#[derive(Debug)]
pub(crate) struct Directory {
    /// Inode number.
    pub(crate) inode: u32,
    /// `i_flags`.
    pub(crate) flags: u32,
    /// `i_generation`, which seeds the checksums of its blocks.
    pub(crate) generation: u32,
    /// `i_size`.
    pub(crate) size: u64,
    /// Inode number in its entry `..`; 0: none found.
    pub(crate) dotdot: AtomicU32,
    /// Inode number of the directory that has an entry for it; 0: none found.
    pub(crate) parent: AtomicU32,
}

/// All directories by inode number, and their blocks by position on the device.
#[derive(Debug, Default)]
pub(crate) struct Directories {
    /// Ascending by inode.
    pub(crate) list: Vec<Directory>,
    /// Ascending by position. Inline directories have none.
    pub(crate) runs: Vec<Run>,
}

impl Directories {
    /// The directory of that inode.
    pub(crate) fn get(&self, inode: u32) -> Option<&Directory> {
        self.position(inode).map(|at| &self.list[at])
    }

    /// Its index in the list.
    pub(crate) fn position(&self, inode: u32) -> Option<usize> {
        self.list.binary_search_by_key(&inode, |dir| dir.inode).ok()
    }
}

/// What the passes pass on.
pub(crate) struct State {
    /// Inodes in use, by [`slot_of`].
    pub(crate) used: Bits,
    /// Clusters in use by metadata and files, numbered from `first_data_block`'s cluster as in the bitmaps.
    pub(crate) blocks: Bits,
    /// Type of each inode in use, by [`slot_of`], as directory entries have it.
    pub(crate) file_types: FileTypes,
    /// `i_links_count` of each inode in use, by [`slot_of`].
    pub(crate) link_counts: LinkCounts,
    /// Entries that name each inode, `.` and `..` included, by [`slot_of`].
    pub(crate) name_counts: NameCounts,
    /// Directories.
    pub(crate) directories: Directories,
    /// Inodes in use whose contents do not match their mode, or with a field that must be 0 (e2fsck's `inode_bad_map`): pass 2
    /// reports what is wrong where a name leads to them.
    pub(crate) bad: InodeSet,
    /// Inodes in a bad block of their table (e2fsck's `inode_bb_map`); they count as used.
    pub(crate) on_bad_blocks: InodeSet,
    /// Inodes that need no name: AFS servers' (e2fsck's `inode_imagic_map`).
    pub(crate) imagic: InodeSet,
    /// Inodes whose checksum is wrong. e2fsck uses them as they are in pass 1, and stops where it has to read one of them again.
    pub(crate) bad_checksum: InodeSet,
    /// Whether a regular file is so long that the superblock must have the feature `large_file`.
    pub(crate) large_files: bool,
    /// What each owner uses; empty without the feature `quota`.
    pub(crate) owners: Owners,
    /// Files by type, and how they are mapped.
    pub(crate) statistics: Statistics,
    /// Value inodes and encryption policies.
    pub(crate) attributes: Attributes,
    /// Names that e2fsck does not reach, of inodes in `bad_checksum`: how many of each. Filled by pass 2.
    pub(crate) unreached_names: Mutex<BTreeMap<u32, u32>>,
    /// Names whose order could not be judged: case is folded, and they are not ASCII. Filled by pass 2.
    pub(crate) unjudged_names: AtomicU64,
}

impl State {
    /// The type of an inode, as a directory entry has it; 0 if it is not in use or has none.
    pub(crate) fn entry_type(&self, ino: u32) -> u8 {
        self.file_types.get(slot_of(ino))
    }

    /// The type of an inode, if it is in use and has one.
    pub(crate) fn file_type(&self, ino: u32) -> Option<FileType> {
        FileType::of_entry(self.entry_type(ino))
    }

    /// `i_links_count` of an inode in use.
    pub(crate) fn links(&self, ino: u32) -> u32 {
        self.link_counts.get(slot_of(ino))
    }

    /// Number of entries that name an inode.
    pub(crate) fn names(&self, ino: u32) -> u32 {
        self.name_counts.get(slot_of(ino))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_sorted_and_has_no_duplicates() {
        let few = InodeSet::new(vec![9, 3, 9]);
        assert!(few.contains(3) && few.contains(9) && !few.contains(4));
        assert_eq!(few.0, [3, 9]);
        assert!(!InodeSet::default().contains(0));
    }
}
