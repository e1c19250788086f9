//! Indexed directories: the root, its leaves, and their entries.
//!
//! The index is beside the directory's blocks: a root block, and for large directories clusters of leaves, found by the major hash through an
//! extent list. A leaf's block within its cluster is the minor hash modulo blocks per cluster. Entries of a leaf are unsorted.

use zerocopy::little_endian::{U16, U32, U64};

use super::check::BlockCheck;

/// `dr_signature`.
pub const ROOT_SIGNATURE: [u8; 8] = *b"DXDIR01\0";
/// `dl_signature`.
pub const LEAF_SIGNATURE: [u8; 8] = *b"DXLEAF1\0";
/// The root holds the entries itself (`dr_flags`).
pub const INLINE: u8 = 0x1;
/// Offset of the extent list or of the entries in a root.
pub const ROOT_LIST: usize = 0xc0;
/// Offset of the entries in a leaf.
pub const LEAF_LIST: usize = 0x28;

structure! {
    /// The head of an index root (`struct ocfs2_dx_root_block`).
    "OCFS2 index root" DxRoot 0xc0 {
        /// [`ROOT_SIGNATURE`].
        dr_signature: [u8; 8],
        /// Checksum of the block.
        dr_check: BlockCheck,
        /// Slot of the allocator that the block is from.
        dr_suballoc_slot: U16,
        /// Its bit in the group.
        dr_suballoc_bit: U16,
        /// Generation of the filesystem.
        dr_fs_generation: U32,
        /// Block of this root.
        dr_blkno: U64,
        /// The extent block of the last leaf of the extent tree.
        dr_last_eb_blk: U64,
        /// Clusters of leaves.
        dr_clusters: U32,
        /// [`INLINE`] or 0.
        dr_flags: u8,
        /// Zero.
        dr_reserved0: u8,
        /// Zero.
        dr_reserved1: U16,
        /// Inode of the directory.
        dr_dir_blkno: U64,
        /// Entries of the index, `.` and `..` included.
        dr_num_entries: U32,
        /// Zero.
        dr_reserved2: U32,
        /// The first directory block with room; 0: none.
        dr_free_blk: U64,
        /// Block of the group that the block is from; 0: not recorded.
        dr_suballoc_loc: U64,
        /// Zero.
        dr_reserved3: [u8; 112],
    }
}

structure! {
    /// The head of a list of index entries (`struct ocfs2_dx_entry_list`).
    "OCFS2 index entries" DxHead 8 {
        /// Zero.
        de_reserved: U32,
        /// Entries that there is room for.
        de_count: U16,
        /// Entries in use.
        de_num_used: U16,
    }
}

structure! {
    /// An entry of an index (`struct ocfs2_dx_entry`).
    "OCFS2 index entry" DxEntry 16 {
        /// Leads to the cluster of the leaf.
        dx_major_hash: U32,
        /// Leads to the block in the cluster.
        dx_minor_hash: U32,
        /// The directory block that has the name.
        dx_dirent_blk: U64,
    }
}

list! {
    /// Entries of a root with inline entries, or of a leaf.
    DxList, DxHead, DxEntry
}

structure! {
    /// The head of an index leaf (`struct ocfs2_dx_leaf`).
    "OCFS2 index leaf" DxLeaf 0x28 {
        /// [`LEAF_SIGNATURE`].
        dl_signature: [u8; 8],
        /// Checksum of the block.
        dl_check: BlockCheck,
        /// Block of this leaf.
        dl_blkno: U64,
        /// Generation of the filesystem.
        dl_fs_generation: U32,
        /// Zero.
        dl_reserved0: U32,
        /// Zero.
        dl_reserved1: U64,
    }
}

/// Entries in a root.
pub fn root_room(block_size: usize) -> usize {
    block_size.saturating_sub(ROOT_LIST + DxHead::SIZE) / DxEntry::SIZE
}

/// Entries in a leaf.
pub fn leaf_room(block_size: usize) -> usize {
    block_size.saturating_sub(LEAF_LIST + DxHead::SIZE) / DxEntry::SIZE
}
