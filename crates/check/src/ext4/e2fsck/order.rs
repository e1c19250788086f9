//! Where a fault comes in the order in which e2fsck meets it.
//!
//! The words of a finding's key, after its pass: the position within the pass (an inode number, or a key of a directory block as below);
//! the position among deferred inodes (see [`super::deferred`]; 0: not deferred); the part of the inode ([`stage`]); the directory and the
//! logical block that lists a block, where several directories list it.
//!
//! # Keys of directory blocks
//!
//! The sweep meets directory blocks in the order of the device, in several threads. A reader who compares with e2fsck's output,
//! and the rule that everything after the point where `e2fsck -n` stops does not count, need e2fsck's order: its list of
//! directory blocks sorted by block, inode and logical block. With `dir_index` the first blocks of all directories
//! come before all others, because a root names the hash of its leaves. Blocks that a directory does
//! not have (holes, content within the inode) are number 0, so they come first.
//!
//! All of that fits 64 bits, so it is also the key that distinguishes the first of two names of a directory from the second.
//!
//! | bits | block of the device | no block | index |
//! |---|---|---|---|
//! | 62-63 | 0 or 1 | 0 or 1 | 2 |
//! | 61 | 1 | 0 | 0 |
//! | 29-60 | block (14-60) | inode | inode |
//! | 14-28 | | logical block | logical block (0-28) |
//! | 0-13 | offset / 4 | offset / 4 | |

use crate::frame::finding::Finding;
use crate::frame::problem::Problem;

/// The parts of an inode, in the order in which e2fsck judges them ([`super::log::Log::stage`]). Those that need a block of their own
/// are judged later here.
pub(crate) mod stage {
    /// Its fields and the attributes in it.
    pub(crate) const FIELDS: u8 = 0;
    /// Its attribute block.
    pub(crate) const ATTRIBUTES: u8 = 1;
    /// The walk over its blocks.
    pub(crate) const BLOCKS: u8 = 2;
    /// The root of its index.
    pub(crate) const INDEX: u8 = 3;
    /// What the walk has counted, and the checksum.
    pub(crate) const SUMS: u8 = 4;
}

/// Words of the key of a finding.
const RANK: usize = 0;
const POSITION: usize = 1;
const DEFERRED: usize = 2;
const STAGE: usize = 3;
const LISTING: usize = 4;

impl Finding {
    /// Raised in the pass of another problem.
    #[must_use]
    pub(crate) fn raised_with(mut self, other: &Problem) -> Finding {
        self.key.0[RANK] = other.rank.into();
        self
    }

    /// In a block that this directory lists at this logical block.
    #[must_use]
    pub(crate) fn listed(mut self, directory: u32, logical: u32) -> Finding {
        self.key.0[LISTING] = u64::from(directory) << 32 | u64::from(logical);
        self
    }

    /// The pass or part of a pass that raises it.
    pub(crate) fn rank(&self) -> u64 {
        self.key.0[RANK]
    }

    /// Its position within the pass, and among deferred inodes.
    pub(crate) fn position_in_pass(&self) -> (u64, u64) {
        (self.key.0[POSITION], self.key.0[DEFERRED])
    }

    pub(super) fn set_position_in_pass(&mut self, position: u64, deferred: u64) {
        (self.key.0[POSITION], self.key.0[DEFERRED]) = (position, deferred);
    }

    /// The part of the inode ([`stage`]).
    pub(crate) fn stage(&self) -> u8 {
        self.key.0[STAGE] as u8
    }

    pub(super) fn set_stage(&mut self, stage: u8) {
        self.key.0[STAGE] = stage.into();
    }
}

const PHASE: u32 = 62;
const REAL: u64 = 1 << 61;
const INODE: u32 = 29;
const BLOCK: u32 = 14;
const BLOCKS: u64 = (1 << 47) - 1;
const OFFSETS: u64 = (1 << BLOCK) - 1;

/// After everything that is found in a block or an index.
pub(crate) const LAST: u64 = 3 << PHASE;

/// How the list is sorted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Order {
    /// First blocks before all others.
    pub(crate) roots_first: bool,
}

impl Order {
    /// The key of a byte in a block of a directory; `physical` is 0 where it has none.
    pub(crate) fn of(self, inode: u32, physical: u64, logical: u32, offset: usize) -> u64 {
        let phase = u64::from(self.roots_first && logical > 0) << PHASE;
        let offset = (offset as u64 / 4).min(OFFSETS);
        if physical == 0 {
            let logical = u64::from(logical).min((1 << (INODE - BLOCK)) - 1);
            phase | u64::from(inode) << INODE | logical << BLOCK | offset
        } else {
            phase | REAL | physical.min(BLOCKS) << BLOCK | offset
        }
    }
}

/// The key of a finding about a block that is made when the whole index is known.
pub(crate) fn of_index(inode: u32, logical: u32) -> u64 {
    let logical = u64::from(logical).min((1 << INODE) - 1);
    2 << PHASE | u64::from(inode) << INODE | logical
}

/// The block and the byte that a key of [`Order::of`] stands for, where it is a block of the device.
pub(crate) fn place(key: u64) -> Option<(u64, usize)> {
    let offset = (key & OFFSETS) as usize * 4;
    (key & REAL != 0).then_some((key >> BLOCK & BLOCKS, offset))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_ascend_as_the_list_does() {
        let order = Order { roots_first: true };
        let keys = [
            order.of(12, 0, 0, 8),
            order.of(13, 0, 0, 0),
            order.of(11, 900, 0, 4),
            order.of(11, 900, 0, 65532),
            order.of(2, 901, 0, 0),
            order.of(12, 0, 1, 0),
            order.of(12, 0, 2, 0),
            order.of(u32::MAX, 0, u32::MAX, 65532),
            order.of(2, 7, 1, 0),
            order.of(2, 1 << 46, 5, 12),
            of_index(2, 0),
            of_index(2, u32::MAX),
            of_index(3, 0),
            LAST,
        ];
        assert!(keys.windows(2).all(|pair| pair[0] < pair[1]), "{keys:x?}");
        let plain = Order { roots_first: false };
        assert!(plain.of(2, 8, 0, 0) > plain.of(2, 7, 1, 0));
        assert_eq!(place(order.of(2, 1 << 46, 5, 12)), Some((1 << 46, 12)));
        assert_eq!(place(order.of(2, 0, 5, 12)), None);
    }
}
