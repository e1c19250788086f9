//! The type of each inode: as the inode says and as entries say, in a byte.
//!
//! Entries in blocks are judged when all inodes are. Those in an inode are met while other threads are still at work, so the first
//! entry's type is kept, and the one that comes second compares.

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use super::chunks::Chunks;
use crate::frame::maps::{OutOfMemory, zeroed};

/// What an inode turned out to be. Types are those of directory entries ([`ondisk::xfs::directory::ftype`]).
pub(crate) mod kind {
    /// Not judged: its cluster cannot be read, or there is none.
    pub(crate) const UNKNOWN: u8 = 0;
    /// Free, on disk and in the btree.
    pub(crate) const FREE: u8 = 9;
    /// In use and so damaged that `xfs_repair` would clear it: it counts as free from there on.
    pub(crate) const CLEARED: u8 = 10;
}

/// Types by rank.
pub(crate) struct Types {
    /// Low four bits: what the inode is. High four: the type in the first entry that was noted.
    bytes: Vec<AtomicU8>,
}

impl Types {
    /// For the inodes of these chunks.
    ///
    /// # Errors
    /// There is no memory.
    pub(crate) fn new(chunks: &Chunks) -> Result<Types, OutOfMemory> {
        Ok(Types {
            bytes: zeroed(chunks.ranks())?,
        })
    }

    /// Sets what an inode is; gives the type that entries noted before, 0: none.
    pub(crate) fn set(&self, rank: u64, kind: u8) -> u8 {
        let Some(byte) = self.at(rank) else { return 0 };
        byte.fetch_or(kind & 15, Relaxed) >> 4
    }

    /// What an inode is, one of [`kind`] or a type.
    pub(crate) fn get(&self, rank: u64) -> u8 {
        self.at(rank).map_or(0, |byte| byte.load(Relaxed) & 15)
    }

    /// Notes the type in an entry, 1 to 8, unless one is noted; gives what the inode is, and the type that was noted before (0: none).
    pub(crate) fn note(&self, rank: u64, ftype: u8) -> (u8, u8) {
        let Some(byte) = self.at(rank) else {
            return (0, 0);
        };
        let update = |old: u8| (old >> 4 == 0).then_some(old | ftype << 4);
        let old = byte
            .fetch_update(Relaxed, Relaxed, update)
            .unwrap_or_else(|old| old);
        (old & 15, old >> 4)
    }

    fn at(&self, rank: u64) -> Option<&AtomicU8> {
        self.bytes.get(usize::try_from(rank).ok()?)
    }
}
