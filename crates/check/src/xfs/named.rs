//! Blocks that inodes name and that are judged after all inodes: of directories, attributes, symbolic links and quota files.
//!
//! Sixteen bytes each. They are sorted by block and read in one ascending sweep.

use std::sync::{Mutex, PoisonError};

/// What a named block belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Use {
    /// The data fork of a directory.
    Directory = 0,
    /// An attribute fork.
    Attribute = 1,
    /// A symbolic link.
    Symlink = 2,
    /// A quota file.
    Quota = 3,
}

/// Bits of the offset within the fork.
const OFFSET_BITS: u32 = 29;
/// Bits of a block number.
const BLOCK_BITS: u32 = 60;

/// A named block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NamedBlock {
    /// Block number, then use: sorting is by block.
    at: u64,
    /// Rank and offset.
    of: u64,
}

impl NamedBlock {
    /// Block `fsblock` is block `offset` of a fork of the inode with this rank. None where a number does not fit: offsets of directories and
    /// attributes are below 2^29 blocks.
    pub(crate) fn new(what: Use, fsblock: u64, rank: u64, offset: u64) -> Option<NamedBlock> {
        let fits = fsblock >> BLOCK_BITS == 0
            && offset >> OFFSET_BITS == 0
            && rank >> (u64::BITS - OFFSET_BITS) == 0;
        fits.then_some(NamedBlock {
            at: fsblock << 4 | u64::from(what as u8),
            of: rank << OFFSET_BITS | offset,
        })
    }

    /// What it belongs to.
    pub(crate) fn what(self) -> Use {
        match self.at & 15 {
            0 => Use::Directory,
            1 => Use::Attribute,
            2 => Use::Symlink,
            _ => Use::Quota,
        }
    }

    /// The block number.
    pub(crate) fn fsblock(self) -> u64 {
        self.at >> 4
    }

    /// The rank of the inode.
    pub(crate) fn rank(self) -> u64 {
        self.of >> OFFSET_BITS
    }

    /// The block within the fork.
    pub(crate) fn offset(self) -> u64 {
        self.of & ((1 << OFFSET_BITS) - 1)
    }
}

/// The blocks named so far.
#[derive(Debug, Default)]
pub(crate) struct Named {
    blocks: Mutex<Vec<NamedBlock>>,
}

impl Named {
    /// Takes the blocks that a worker has collected, and empties its list.
    pub(crate) fn add(&self, list: &mut Vec<NamedBlock>) {
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        blocks.append(list);
    }

    /// All of them by block; none are left.
    pub(crate) fn take(&self) -> Vec<NamedBlock> {
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        let mut blocks = std::mem::take(&mut *blocks);
        blocks.sort_unstable();
        blocks
    }
}
