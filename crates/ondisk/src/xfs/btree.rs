//! Btree blocks. The btrees of an allocation group have short pointers (32 bits within the group), those of forks long ones.

use zerocopy::big_endian::{U16, U32, U64};

use super::Geometry;
use super::record::{AllocRecord, InobtRecord, RefcountRecord, RmapKey, RmapRecord};
use crate::bytes::{be32, be64};

structure! {
    /// The head of a block with short pointers (`struct xfs_btree_block`) in version 5. In version 4 it ends before `bb_blkno`.
    "XFS btree block" ShortBlock 56 {
        /// Magic number of the btree.
        bb_magic: U32,
        /// Level; 0: a leaf.
        bb_level: U16,
        /// Records, or keys and pointers.
        bb_numrecs: U16,
        /// The block to the left; all ones: none.
        bb_leftsib: U32,
        /// The block to the right; all ones: none.
        bb_rightsib: U32,
        /// This block, in units of 512 bytes.
        bb_blkno: U64,
        /// Log sequence number of the last write.
        bb_lsn: U64,
        /// UUID of the filesystem.
        bb_uuid: [u8; 16],
        /// Number of the allocation group.
        bb_owner: U32,
        /// Checksum of the block.
        bb_crc: [u8; 4],
    }
}

structure! {
    /// The head of a block with long pointers in version 5. In version 4 it ends before `bb_blkno`.
    "XFS fork btree block" LongBlock 72 {
        /// Magic number of the btree.
        bb_magic: U32,
        /// Level; 0: a leaf.
        bb_level: U16,
        /// Records, or keys and pointers.
        bb_numrecs: U16,
        /// The block to the left; all ones: none.
        bb_leftsib: U64,
        /// The block to the right; all ones: none.
        bb_rightsib: U64,
        /// This block, in units of 512 bytes.
        bb_blkno: U64,
        /// Log sequence number of the last write.
        bb_lsn: U64,
        /// UUID of the filesystem.
        bb_uuid: [u8; 16],
        /// Inode whose fork it maps.
        bb_owner: U64,
        /// Checksum of the block.
        bb_crc: [u8; 4],
        /// Zero.
        bb_pad: U32,
    }
}

/// Bytes of the head of a block with short pointers.
pub fn short_header(v5: bool) -> usize {
    if v5 { ShortBlock::SIZE } else { 16 }
}

/// Bytes of the head of a block with long pointers.
pub fn long_header(v5: bool) -> usize {
    if v5 { LongBlock::SIZE } else { 24 }
}

/// A btree of an allocation group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tree {
    /// Free extents by block.
    Bno,
    /// Free extents by size.
    Cnt,
    /// Reverse mappings.
    Rmap,
    /// Reference counts.
    Refcount,
    /// Inode chunks.
    Ino,
    /// Inode chunks with free inodes.
    Fino,
}

impl Tree {
    /// All of them.
    pub const ALL: [Tree; 6] = [
        Tree::Bno,
        Tree::Cnt,
        Tree::Rmap,
        Tree::Refcount,
        Tree::Ino,
        Tree::Fino,
    ];

    /// Magic number of its blocks.
    pub fn magic(self, v5: bool) -> u32 {
        u32::from_be_bytes(*match (self, v5) {
            (Tree::Bno, true) => b"AB3B",
            (Tree::Bno, false) => b"ABTB",
            (Tree::Cnt, true) => b"AB3C",
            (Tree::Cnt, false) => b"ABTC",
            (Tree::Rmap, _) => b"RMB3",
            (Tree::Refcount, _) => b"R3FC",
            (Tree::Ino, true) => b"IAB3",
            (Tree::Ino, false) => b"IABT",
            (Tree::Fino, true) => b"FIB3",
            (Tree::Fino, false) => b"FIBT",
        })
    }

    /// Its name as `xfs_repair` has it.
    pub fn name(self) -> &'static str {
        match self {
            Tree::Bno => "bno",
            Tree::Cnt => "cnt",
            Tree::Rmap => "rmap",
            Tree::Refcount => "refcnt",
            Tree::Ino => "inobt",
            Tree::Fino => "finobt",
        }
    }

    /// Bytes of a record.
    pub fn record_size(self) -> usize {
        match self {
            Tree::Bno | Tree::Cnt => AllocRecord::SIZE,
            Tree::Rmap => RmapRecord::SIZE,
            Tree::Refcount => RefcountRecord::SIZE,
            Tree::Ino | Tree::Fino => InobtRecord::SIZE,
        }
    }

    /// Bytes of a key; of reverse mappings two halves.
    pub fn key_size(self) -> usize {
        match self {
            Tree::Bno | Tree::Cnt => AllocRecord::SIZE,
            Tree::Rmap => 2 * RmapKey::SIZE,
            Tree::Refcount | Tree::Ino | Tree::Fino => 4,
        }
    }

    /// Records that a leaf has room for, or keys and pointers that a node has.
    pub fn room(self, geometry: &Geometry, leaf: bool) -> usize {
        let bytes = geometry.block_size as usize - short_header(geometry.v5);
        bytes
            / if leaf {
                self.record_size()
            } else {
                self.key_size() + 4
            }
    }

    /// Offset of a record in a leaf.
    pub fn record_at(self, geometry: &Geometry, index: usize) -> usize {
        short_header(geometry.v5) + index * self.record_size()
    }

    /// Offset of a key in a node.
    pub fn key_at(self, geometry: &Geometry, index: usize) -> usize {
        short_header(geometry.v5) + index * self.key_size()
    }

    /// Offset of a pointer in a node: after the room for all keys.
    pub fn pointer_at(self, geometry: &Geometry, index: usize) -> usize {
        self.key_at(geometry, self.room(geometry, false)) + 4 * index
    }

    /// A pointer of a node.
    pub fn pointer(self, geometry: &Geometry, block: &[u8], index: usize) -> u32 {
        be32(block, self.pointer_at(geometry, index))
    }

    /// The most levels that a tree of this many records can have when its blocks are half full.
    pub fn most_levels(self, geometry: &Geometry, records: u64) -> u32 {
        let half = |leaf| (self.room(geometry, leaf) as u64 / 2).max(2);
        let (mut blocks, mut levels) = (records.div_ceil(half(true)), 1);
        while blocks > 1 {
            blocks = blocks.div_ceil(half(false));
            levels += 1;
        }
        levels
    }
}

/// `BMAP` or `BMA3`: a block of a fork's btree.
pub fn fork_magic(v5: bool) -> u32 {
    u32::from_be_bytes(*if v5 { b"BMA3" } else { b"BMAP" })
}

/// Records of a leaf of a fork's btree, or keys and pointers of a node: both are 16 bytes.
pub fn fork_room(geometry: &Geometry) -> usize {
    (geometry.block_size as usize - long_header(geometry.v5)) / 16
}

/// A key of a node of a fork's btree: the first block within the file.
pub fn fork_key(geometry: &Geometry, block: &[u8], index: usize) -> u64 {
    be64(block, long_header(geometry.v5) + 8 * index)
}

/// A pointer of a node of a fork's btree.
pub fn fork_pointer(geometry: &Geometry, block: &[u8], index: usize) -> u64 {
    let at = long_header(geometry.v5) + 8 * (fork_room(geometry) + index);
    be64(block, at)
}

/// The root of a fork's btree in the inode: level, number of keys, keys, and pointers after the room for all keys.
#[derive(Debug, Clone, Copy)]
pub struct ForkRoot<'a> {
    /// The fork.
    fork: &'a [u8],
}

impl<'a> ForkRoot<'a> {
    /// The root in the bytes of a fork.
    pub fn new(fork: &'a [u8]) -> ForkRoot<'a> {
        ForkRoot { fork }
    }

    /// Keys that the fork has room for.
    pub fn room(&self) -> usize {
        self.fork.len().saturating_sub(4) / 16
    }

    /// Level.
    pub fn level(&self) -> u16 {
        crate::bytes::be16(self.fork, 0)
    }

    /// Keys in use.
    pub fn count(&self) -> u16 {
        crate::bytes::be16(self.fork, 2)
    }

    /// A key: the first block within the file.
    pub fn key(&self, index: usize) -> u64 {
        be64(self.fork, 4 + 8 * index)
    }

    /// A pointer.
    pub fn pointer(&self, index: usize) -> u64 {
        be64(self.fork, 4 + 8 * (self.room() + index))
    }

    /// Writes a root into the bytes of a fork; entries that do not fit are left out.
    pub fn write(fork: &mut [u8], level: u16, entries: &[(u64, u64)]) {
        let room = fork.len().saturating_sub(4) / 16;
        let used = entries.len().min(room);
        if fork.len() < 4 {
            return;
        }
        fork[..2].copy_from_slice(&level.to_be_bytes());
        fork[2..4].copy_from_slice(&(used as u16).to_be_bytes());
        for (index, (key, pointer)) in entries[..used].iter().enumerate() {
            fork[4 + 8 * index..][..8].copy_from_slice(&key.to_be_bytes());
            fork[4 + 8 * (room + index)..][..8].copy_from_slice(&pointer.to_be_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_of_a_fork_is_read_as_written() {
        let mut fork = [0; 336];
        ForkRoot::write(&mut fork, 2, &[(0, 77), (500, 88)]);
        let root = ForkRoot::new(&fork);
        assert_eq!((root.level(), root.count(), root.room()), (2, 2, 20));
        assert_eq!((root.key(1), root.pointer(1)), (500, 88));
        assert_eq!(be64(&fork, 4 + 20 * 8), 77);
        let short = ForkRoot::new(&fork[..3]);
        assert_eq!((short.room(), short.key(9), short.pointer(9)), (0, 0, 0));
    }
}
