//! Nodes and leaves of the hash trees of directories and attribute forks: their common head, and nodes.

use zerocopy::big_endian::{U16, U32, U64};

use crate::bytes::{be16, be32};

/// Magic number of a node.
pub const NODE: u16 = 0xfebe;
/// Magic number of a node in version 5.
pub const NODE3: u16 = 0x3ebe;
/// Magic number of the only leaf of a directory.
pub const LEAF1: u16 = 0xd2f1;
/// The same in version 5.
pub const LEAF1_3: u16 = 0x3df1;
/// Magic number of a leaf below nodes of a directory.
pub const LEAFN: u16 = 0xd2ff;
/// The same in version 5.
pub const LEAFN_3: u16 = 0x3dff;
/// Magic number of an attribute leaf.
pub const ATTR_LEAF: u16 = 0xfbee;
/// The same in version 5.
pub const ATTR_LEAF_3: u16 = 0x3bee;
/// The most levels of a tree.
pub const MOST_LEVELS: u16 = 5;

structure! {
    /// The head that nodes and leaves share (`struct xfs_da3_blkinfo`) in version 5. In version 4 it ends before `crc`.
    "XFS da block" BlockInfo 56 {
        /// The next block of the level; 0: none.
        forw: U32,
        /// The previous block of the level; 0: none.
        back: U32,
        /// Magic number.
        magic: U16,
        /// Zero.
        pad: U16,
        /// Checksum of the directory block, or of the block of an attribute fork.
        crc: [u8; 4],
        /// This block, in units of 512 bytes.
        blkno: U64,
        /// Log sequence number of the last write.
        lsn: U64,
        /// UUID of the filesystem.
        uuid: [u8; 16],
        /// Inode whose fork it is in.
        owner: U64,
    }
}

/// Bytes of the head of a node, and of a directory's leaf: with count and level, or count and stale.
pub fn header(v5: bool) -> usize {
    if v5 { 64 } else { 16 }
}

/// `forw`.
pub fn forw(block: &[u8]) -> u32 {
    be32(block, 0)
}

/// `back`.
pub fn back(block: &[u8]) -> u32 {
    be32(block, 4)
}

/// `magic`.
pub fn magic(block: &[u8]) -> u16 {
    be16(block, 8)
}

/// Entries of a node or leaf (`count`).
pub fn count(v5: bool, block: &[u8]) -> u16 {
    be16(block, header(v5) - if v5 { 8 } else { 4 })
}

/// Level of a node, 1 above the leaves; in a directory's leaf the number of stale entries.
pub fn level(v5: bool, block: &[u8]) -> u16 {
    be16(block, header(v5) - if v5 { 6 } else { 2 })
}

/// Sets count and level of a node, or count and stale of a leaf.
pub fn set_count(v5: bool, block: &mut [u8], count: u16, level: u16) {
    let at = header(v5) - if v5 { 8 } else { 4 };
    if let Some(fields) = block.get_mut(at..at + 4) {
        fields[..2].copy_from_slice(&count.to_be_bytes());
        fields[2..].copy_from_slice(&level.to_be_bytes());
    }
}

/// Entries that a node of this many bytes has room for.
pub fn room(v5: bool, bytes: usize) -> usize {
    bytes.saturating_sub(header(v5)) / 8
}

/// An entry of a node: the last hash of a child and its block in the fork. Zeros outside the block.
pub fn entry(v5: bool, block: &[u8], index: usize) -> (u32, u32) {
    let at = header(v5) + 8 * index;
    (be32(block, at), be32(block, at + 4))
}

/// Writes an entry of a node or of a directory's leaf; nothing outside the block.
pub fn set_entry(v5: bool, block: &mut [u8], index: usize, hash: u32, value: u32) {
    let at = header(v5) + 8 * index;
    if let Some(entry) = block.get_mut(at..at + 8) {
        entry[..4].copy_from_slice(&hash.to_be_bytes());
        entry[4..].copy_from_slice(&value.to_be_bytes());
    }
}
