//! What the passes know of a filesystem: flat maps, one entry for each inode or cluster.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;

use ondisk::ext4::FileType;

use super::directories::Directories;
use super::inode_set::{InodeSet, slot_of};
use super::pass1::attributes::Attributes;
use super::pass1::tally::{Owners, Statistics};
use crate::frame::maps::{Bits, FileTypes, LinkCounts, NameCounts};

/// Results of a pass that later passes need.
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
