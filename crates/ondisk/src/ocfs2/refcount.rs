//! Reference counts of shared clusters: a tree that several files name.

use zerocopy::little_endian::{U16, U32, U64};

use super::check::BlockCheck;

/// `rf_signature`.
pub const SIGNATURE: [u8; 8] = *b"REFCNT1\0";
/// The block is a leaf below a root (`rf_flags`).
pub const LEAF: u32 = 0x1;
/// The root has an extent list and no records (`rf_flags`).
pub const TREE: u32 = 0x2;
/// Offset of the records or of the extent list.
pub const LIST: usize = 0x80;

structure! {
    /// The head of a block of reference counts (`struct ocfs2_refcount_block`).
    "OCFS2 refcount block" RefcountBlock 0x80 {
        /// [`SIGNATURE`].
        rf_signature: [u8; 8],
        /// Slot of the allocator that the block is from.
        rf_suballoc_slot: U16,
        /// Its bit in the group.
        rf_suballoc_bit: U16,
        /// Generation of the filesystem.
        rf_fs_generation: U32,
        /// Block of this block.
        rf_blkno: U64,
        /// The root, in a leaf.
        rf_parent: U64,
        /// Checksum of the block.
        rf_check: BlockCheck,
        /// The extent block of the last leaf of the extent tree.
        rf_last_eb_blk: U64,
        /// Files that name the tree, in the root.
        rf_count: U32,
        /// [`LEAF`], [`TREE`].
        rf_flags: U32,
        /// Clusters of leaves, in the root.
        rf_clusters: U32,
        /// First cluster that the leaf counts.
        rf_cpos: U32,
        /// Generation of the tree.
        rf_generation: U32,
        /// Zero.
        rf_reserved0: U32,
        /// Block of the group that the block is from; 0: not recorded.
        rf_suballoc_loc: U64,
        /// Zero.
        rf_reserved1: [u8; 48],
    }
}

structure! {
    /// The head of a list of reference counts (`struct ocfs2_refcount_list`).
    "OCFS2 refcount list" RefcountHead 16 {
        /// Records that there is room for.
        rl_count: U16,
        /// Records in use.
        rl_used: U16,
        /// Zero.
        rl_reserved2: U32,
        /// Zero.
        rl_reserved1: U64,
    }
}

structure! {
    /// Clusters that are shared alike (`struct ocfs2_refcount_rec`).
    "OCFS2 refcount record" RefcountRecord 16 {
        /// First cluster of the volume.
        r_cpos: U64,
        /// Clusters.
        r_clusters: U32,
        /// Files that map them.
        r_refcount: U32,
    }
}

list! {
    /// Reference counts: the rest of a block from [`LIST`].
    RefcountList, RefcountHead, RefcountRecord
}

/// Records in a block.
pub fn room(block_size: usize) -> usize {
    block_size.saturating_sub(LIST + RefcountHead::SIZE) / RefcountRecord::SIZE
}
