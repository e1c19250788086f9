//! The headers of an allocation group: free space (AGF), inodes (AGI) and the free list (AGFL), each in a sector of its own.

use zerocopy::big_endian::{U32, U64};

use super::Geometry;
use crate::bytes::be32;

/// `XAGF`.
pub const AGF_MAGIC: u32 = 0x5841_4746;
/// `XAGI`.
pub const AGI_MAGIC: u32 = 0x5841_4749;
/// `XAFL`, in version 5.
pub const AGFL_MAGIC: u32 = 0x5841_464c;
/// Version of the AGF and of the AGI.
pub const VERSION: u32 = 1;
/// Lists of unlinked inodes.
pub const UNLINKED_BUCKETS: usize = 64;

structure! {
    /// Free space of an allocation group (`struct xfs_agf`). Fields from `agf_uuid` on are of version 5.
    "XFS AGF" Agf 224 {
        /// [`AGF_MAGIC`].
        agf_magicnum: U32,
        /// [`VERSION`].
        agf_versionnum: U32,
        /// Number of the allocation group.
        agf_seqno: U32,
        /// Blocks of the allocation group.
        agf_length: U32,
        /// Root of the btree of free extents by block.
        agf_bno_root: U32,
        /// Root of the btree of free extents by size.
        agf_cnt_root: U32,
        /// Root of the btree of reverse mappings.
        agf_rmap_root: U32,
        /// Levels of the btree by block.
        agf_bno_level: U32,
        /// Levels of the btree by size.
        agf_cnt_level: U32,
        /// Levels of the btree of reverse mappings.
        agf_rmap_level: U32,
        /// First entry of the free list in use.
        agf_flfirst: U32,
        /// Last entry of the free list in use.
        agf_fllast: U32,
        /// Entries of the free list in use.
        agf_flcount: U32,
        /// Free blocks, the free list not counted.
        agf_freeblks: U32,
        /// Longest free extent, blocks.
        agf_longest: U32,
        /// Blocks of the btrees by block, by size and of reverse mappings, roots not counted.
        agf_btreeblks: U32,
        /// UUID of the filesystem.
        agf_uuid: [u8; 16],
        /// Blocks of the btree of reverse mappings.
        agf_rmap_blocks: U32,
        /// Blocks of the btree of reference counts.
        agf_refcount_blocks: U32,
        /// Root of the btree of reference counts.
        agf_refcount_root: U32,
        /// Levels of the btree of reference counts.
        agf_refcount_level: U32,
        /// Zero.
        agf_spare64: [u8; 112],
        /// Log sequence number of the last write.
        agf_lsn: U64,
        /// Checksum of the sector.
        agf_crc: [u8; 4],
        /// Zero.
        agf_spare2: U32,
    }
}

structure! {
    /// Inodes of an allocation group (`struct xfs_agi`). `agi_uuid` to `agi_lsn` are of version 5.
    "XFS AGI" Agi 344 {
        /// [`AGI_MAGIC`].
        agi_magicnum: U32,
        /// [`VERSION`].
        agi_versionnum: U32,
        /// Number of the allocation group.
        agi_seqno: U32,
        /// Blocks of the allocation group.
        agi_length: U32,
        /// Allocated inodes.
        agi_count: U32,
        /// Root of the inode btree.
        agi_root: U32,
        /// Levels of the inode btree.
        agi_level: U32,
        /// Free inodes.
        agi_freecount: U32,
        /// First inode of the last chunk allocated.
        agi_newino: U32,
        /// Null: no longer used.
        agi_dirino: U32,
        /// First inode of each list of unlinked inodes.
        agi_unlinked: [U32; UNLINKED_BUCKETS],
        /// UUID of the filesystem.
        agi_uuid: [u8; 16],
        /// Checksum of the sector.
        agi_crc: [u8; 4],
        /// Zero.
        agi_pad32: U32,
        /// Log sequence number of the last write.
        agi_lsn: U64,
        /// Root of the btree of free inodes.
        agi_free_root: U32,
        /// Levels of the btree of free inodes.
        agi_free_level: U32,
        /// Blocks of the inode btree.
        agi_iblocks: U32,
        /// Blocks of the btree of free inodes.
        agi_fblocks: U32,
    }
}

structure! {
    /// The head of the free list (`struct xfs_agfl`) in version 5; version 4 has none.
    "XFS AGFL" Agfl 36 {
        /// [`AGFL_MAGIC`].
        agfl_magicnum: U32,
        /// Number of the allocation group.
        agfl_seqno: U32,
        /// UUID of the filesystem.
        agfl_uuid: [u8; 16],
        /// Log sequence number of the last write.
        agfl_lsn: U64,
        /// Checksum of the sector.
        agfl_crc: [u8; 4],
    }
}

/// Offset of the entries in the free list's sector.
pub fn free_list_start(geometry: &Geometry) -> usize {
    if geometry.v5 { Agfl::SIZE } else { 0 }
}

/// An entry of the free list; [`super::geometry::NULL_AGBLOCK`] outside the sector.
pub fn free_list_entry(geometry: &Geometry, sector: &[u8], index: u32) -> u32 {
    if index >= geometry.free_list_room() {
        return super::geometry::NULL_AGBLOCK;
    }
    be32(sector, free_list_start(geometry) + 4 * index as usize)
}
