//! The directories of a filesystem and their blocks.

use std::sync::atomic::AtomicU32;

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
