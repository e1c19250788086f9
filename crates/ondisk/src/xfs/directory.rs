//! Directories in blocks: data blocks, the hash entries of each form, and the free index.
//!
//! A directory of one block has its hash entries at the end of that block. Larger ones have data blocks from byte 0 of the file, hash
//! entries from 32 GiB and, with more than one leaf, the free index from 64 GiB.

use zerocopy::big_endian::{U16, U32, U64};

use super::Geometry;
use super::da;
use crate::bytes::{be16, be32, be64};

/// Magic number of a directory of one block.
pub const BLOCK: u32 = 0x5844_3242;
/// The same in version 5.
pub const BLOCK3: u32 = 0x5844_4233;
/// Magic number of a data block.
pub const DATA: u32 = 0x5844_3244;
/// The same in version 5.
pub const DATA3: u32 = 0x5844_4433;
/// Magic number of a block of the free index.
pub const FREE: u32 = 0x5844_3246;
/// The same in version 5.
pub const FREE3: u32 = 0x5844_4633;
/// First byte of the hash entries.
pub const LEAF_OFFSET: u64 = 1 << 35;
/// First byte of the free index.
pub const FREE_OFFSET: u64 = 2 << 35;
/// `freetag` of an unused entry.
pub const FREE_TAG: u16 = 0xffff;
/// Best-free of a data block that is not there.
pub const NULL_BEST: u16 = 0xffff;
/// Address of a stale hash entry.
pub const NULL_ADDRESS: u32 = 0;
/// Bytes of a name at most.
pub const MOST_NAME: usize = 255;
/// File types of entries: 0 is unknown, all below this exist.
pub const TYPES: u8 = 9;

/// File types of entries.
pub mod file_type {
    /// Unknown.
    pub const UNKNOWN: u8 = 0;
    /// Regular file.
    pub const REGULAR: u8 = 1;
    /// Directory.
    pub const DIRECTORY: u8 = 2;
    /// Character device.
    pub const CHAR: u8 = 3;
    /// Block device.
    pub const BLOCK: u8 = 4;
    /// Pipe.
    pub const FIFO: u8 = 5;
    /// Socket.
    pub const SOCKET: u8 = 6;
    /// Symbolic link.
    pub const SYMLINK: u8 = 7;
    /// Whiteout of a union mount.
    pub const WHITEOUT: u8 = 8;

    /// The type for the type bits of a mode.
    #[inline]
    pub fn of_mode(mode: u16) -> u8 {
        use super::super::dinode::mode as m;
        match mode & m::TYPE {
            m::REGULAR => REGULAR,
            m::DIRECTORY => DIRECTORY,
            m::CHAR => CHAR,
            m::BLOCK => BLOCK,
            m::FIFO => FIFO,
            m::SOCKET => SOCKET,
            m::SYMLINK => SYMLINK,
            _ => UNKNOWN,
        }
    }
}

structure! {
    /// The head of data and free blocks in version 5 (`struct xfs_dir3_blk_hdr`). Version 4 has the magic number alone.
    "XFS directory block" BlockHeader 48 {
        /// Magic number.
        magic: U32,
        /// Checksum of the directory block.
        crc: [u8; 4],
        /// This block, in units of 512 bytes.
        blkno: U64,
        /// Log sequence number of the last write.
        lsn: U64,
        /// UUID of the filesystem.
        uuid: [u8; 16],
        /// Inode of the directory.
        owner: U64,
    }
}

structure! {
    /// A best-free entry (`struct xfs_dir2_data_free`).
    "XFS best-free entry" BestFree 4 {
        /// Offset in the block.
        offset: U16,
        /// Bytes.
        length: U16,
    }
}

/// Bytes of the head of a data block.
#[inline]
pub fn data_header(v5: bool) -> usize {
    if v5 { 64 } else { 16 }
}

/// Offset of the three best-free entries in a data block.
pub fn best_free_at(v5: bool) -> usize {
    if v5 { 48 } else { 4 }
}

/// The three best-free entries of a data block, as offset and length.
pub fn best_free(v5: bool, block: &[u8]) -> [(u16, u16); 3] {
    let at = best_free_at(v5);
    [0, 1, 2].map(|index| (be16(block, at + 4 * index), be16(block, at + 4 * index + 2)))
}

/// Writes the best-free entries of a data block.
pub fn set_best_free(v5: bool, block: &mut [u8], best: [(u16, u16); 3]) {
    let at = best_free_at(v5);
    for (index, (offset, length)) in best.into_iter().enumerate() {
        if let Some(field) = block.get_mut(at + 4 * index..at + 4 * index + 4) {
            field[..2].copy_from_slice(&offset.to_be_bytes());
            field[2..].copy_from_slice(&length.to_be_bytes());
        }
    }
}

/// Bytes of an entry with a name of this length.
#[inline]
pub fn entry_size(ftype: bool, name: usize) -> usize {
    (8 + 1 + name + usize::from(ftype) + 2).next_multiple_of(8)
}

/// An entry, or unused bytes, of a data block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item<'a> {
    /// An entry.
    Entry(Entry<'a>),
    /// Unused bytes.
    Free {
        /// Offset in the block.
        offset: usize,
        /// Bytes.
        length: usize,
        /// Its own offset as stored.
        tag: u16,
    },
}

/// An entry of a data block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Offset in the block.
    pub offset: usize,
    /// Bytes.
    pub length: usize,
    /// Inode.
    pub inumber: u64,
    /// Name.
    pub name: &'a [u8],
    /// File type; 0 where the format has none.
    pub ftype: u8,
    /// Its own offset as stored.
    pub tag: u16,
}

/// Reads the item at `at` of a data block whose items end at `end`. None where it does not fit, or has no length.
#[inline]
pub fn item(ftype: bool, block: &[u8], at: usize, end: usize) -> Option<Item<'_>> {
    let rest = block.get(at..end.min(block.len()))?;
    if rest.len() < 8 {
        return None;
    }
    if be16(rest, 0) == FREE_TAG {
        let length = usize::from(be16(rest, 2));
        if length == 0 || length % 8 != 0 || length > rest.len() {
            return None;
        }
        let tag = be16(rest, length - 2);
        return Some(Item::Free {
            offset: at,
            length,
            tag,
        });
    }
    let name_length = usize::from(*rest.get(8)?);
    let length = entry_size(ftype, name_length);
    if length > rest.len() {
        return None;
    }
    Some(Item::Entry(Entry {
        offset: at,
        length,
        inumber: be64(rest, 0),
        name: &rest[9..9 + name_length],
        ftype: if ftype { rest[9 + name_length] } else { 0 },
        tag: be16(rest, length - 2),
    }))
}

/// Writes an entry at `at`; false where it does not fit or the name is too long.
#[must_use]
pub fn put_entry(
    ftype: bool,
    block: &mut [u8],
    at: usize,
    inumber: u64,
    name: &[u8],
    kind: u8,
) -> bool {
    let length = entry_size(ftype, name.len());
    let Some(room) = block.get_mut(at..at + length) else {
        return false;
    };
    let Ok(name_length) = u8::try_from(name.len()) else {
        return false;
    };
    room.fill(0);
    room[..8].copy_from_slice(&inumber.to_be_bytes());
    room[8] = name_length;
    room[9..9 + name.len()].copy_from_slice(name);
    if ftype {
        room[9 + name.len()] = kind;
    }
    room[length - 2..].copy_from_slice(&(at as u16).to_be_bytes());
    true
}

/// Writes unused bytes at `at`; false where they do not fit.
#[must_use]
pub fn put_free(block: &mut [u8], at: usize, length: usize) -> bool {
    let Some(room) = block
        .get_mut(at..at + length)
        .filter(|room| room.len() >= 8)
    else {
        return false;
    };
    room[..2].copy_from_slice(&FREE_TAG.to_be_bytes());
    room[2..4].copy_from_slice(&(length as u16).to_be_bytes());
    room[length - 2..].copy_from_slice(&(at as u16).to_be_bytes());
    true
}

/// Count and stale at the end of a directory of one block.
pub fn block_tail(block: &[u8]) -> (u32, u32) {
    let at = block.len().saturating_sub(8);
    (be32(block, at), be32(block, at + 4))
}

/// Offset of the hash entries of a directory of one block; none where `count` is more than the block has room for.
#[inline]
pub fn block_leaf(block: &[u8], count: u32) -> Option<usize> {
    block
        .len()
        .checked_sub(8)?
        .checked_sub(usize::try_from(count).ok()?.checked_mul(8)?)
}

/// A hash entry of a directory's leaf: the hash, and the address of the entry in units of 8 bytes.
#[inline]
pub fn leaf_entry(v5: bool, block: &[u8], index: usize) -> (u32, u32) {
    da::entry(v5, block, index)
}

/// Number of best-free entries at the end of a directory's only leaf.
pub fn leaf1_bests(block: &[u8]) -> u32 {
    be32(block, block.len().saturating_sub(4))
}

/// Offset of the best-free entries at the end of a directory's only leaf; none where they do not fit.
pub fn leaf1_bests_at(block: &[u8], count: u32) -> Option<usize> {
    block
        .len()
        .checked_sub(4)?
        .checked_sub(usize::try_from(count).ok()?.checked_mul(2)?)
}

/// The head of a block of the free index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FreeHead {
    /// First data block that it describes.
    pub firstdb: u32,
    /// Entries.
    pub nvalid: u32,
    /// Entries of data blocks that are there.
    pub nused: u32,
}

/// Bytes of the head of a block of the free index.
pub fn free_header(v5: bool) -> usize {
    if v5 { 64 } else { 16 }
}

impl FreeHead {
    /// The head of a block.
    pub fn read(v5: bool, block: &[u8]) -> FreeHead {
        let at = if v5 { 48 } else { 4 };
        FreeHead {
            firstdb: be32(block, at),
            nvalid: be32(block, at + 4),
            nused: be32(block, at + 8),
        }
    }

    /// Writes it.
    pub fn write(self, v5: bool, block: &mut [u8]) {
        let at = if v5 { 48 } else { 4 };
        if let Some(fields) = block.get_mut(at..at + 12) {
            fields[..4].copy_from_slice(&self.firstdb.to_be_bytes());
            fields[4..8].copy_from_slice(&self.nvalid.to_be_bytes());
            fields[8..].copy_from_slice(&self.nused.to_be_bytes());
        }
    }
}

/// Entries of a block of the free index.
pub fn free_room(geometry: &Geometry) -> usize {
    (geometry.directory_block() - free_header(geometry.v5)) / 2
}

/// An entry of a block of the free index: the best-free of a data block.
pub fn free_entry(v5: bool, block: &[u8], index: usize) -> u16 {
    be16(block, free_header(v5) + 2 * index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_read_as_written() {
        let mut block = vec![0; 4096];
        assert!(put_entry(true, &mut block, 64, 131, b"name", 1));
        assert!(put_free(&mut block, 80, 4016));
        assert!(!put_entry(true, &mut block, 4090, 131, b"name", 1));
        let Some(Item::Entry(entry)) = item(true, &block, 64, 4096) else {
            panic!("no entry")
        };
        assert_eq!(
            (entry.name, entry.inumber, entry.ftype),
            (&b"name"[..], 131, 1)
        );
        assert_eq!((entry.length, entry.tag), (16, 64));
        let free = Item::Free {
            offset: 80,
            length: 4016,
            tag: 80,
        };
        assert_eq!(item(true, &block, 80, 4096), Some(free));
        assert_eq!(item(true, &block, 80, 4095), None);
        assert_eq!(item(true, &block, 4096, 4096), None);
    }

    #[test]
    fn sizes_are_those_of_the_format() {
        assert_eq!((entry_size(true, 1), entry_size(true, 2)), (16, 16));
        assert_eq!((entry_size(false, 5), entry_size(true, 5)), (16, 24));
    }
}
