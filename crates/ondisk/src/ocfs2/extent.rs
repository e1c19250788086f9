//! Extent lists and the blocks of extent trees.
//!
//! A list of depth 0 maps clusters; a deeper one leads to extent blocks whose lists are one level less deep. The first record of a list may
//! be empty (no clusters).

use zerocopy::little_endian::{U16, U32, U64};

use super::check::BlockCheck;
use super::dinode::BODY;

/// `h_signature` of an extent block.
pub const SIGNATURE: [u8; 8] = *b"EXBLK01\0";
/// Offset of the list in an extent block.
pub const BLOCK_LIST: usize = 0x30;
/// The deepest tree that can be needed: 2^32 clusters in blocks of 512 bytes take fewer levels.
pub const MAX_DEPTH: u16 = 5;
/// Allocated, never written: reads as zeros (`e_flags`).
pub const UNWRITTEN: u8 = 0x1;
/// Shared with other files (`e_flags`).
pub const REFCOUNTED: u8 = 0x2;

structure! {
    /// The head of an extent list (`struct ocfs2_extent_list`).
    "OCFS2 extent list" ExtentHead 16 {
        /// Levels below; 0: the records map clusters.
        l_tree_depth: U16,
        /// Records that there is room for.
        l_count: U16,
        /// Records in use.
        l_next_free_rec: U16,
        /// Zero.
        l_reserved1: U16,
        /// Zero.
        l_reserved2: U64,
    }
}

structure! {
    /// A record of an extent list (`struct ocfs2_extent_rec`).
    "OCFS2 extent record" ExtentRecord 16 {
        /// First cluster of the file.
        e_cpos: U32,
        /// In a leaf: clusters (16 bits), a reserved byte, flags. Above: clusters of the subtree (32 bits).
        clusters: [u8; 4],
        /// First block of the clusters, or the extent block.
        e_blkno: U64,
    }
}

impl ExtentRecord {
    /// A record of a leaf.
    pub fn leaf(cpos: u32, clusters: u16, flags: u8, block: u64) -> Self {
        let [low, high] = clusters.to_le_bytes();
        Self {
            e_cpos: cpos.into(),
            clusters: [low, high, 0, flags],
            e_blkno: block.into(),
        }
    }

    /// A record above the leaves.
    pub fn index(cpos: u32, clusters: u32, block: u64) -> Self {
        Self {
            e_cpos: cpos.into(),
            clusters: clusters.to_le_bytes(),
            e_blkno: block.into(),
        }
    }

    /// Clusters of a leaf's record (`e_leaf_clusters`).
    pub fn leaf_clusters(&self) -> u16 {
        u16::from_le_bytes([self.clusters[0], self.clusters[1]])
    }

    /// Flags of a leaf's record: [`UNWRITTEN`], [`REFCOUNTED`].
    pub fn flags(&self) -> u8 {
        self.clusters[3]
    }

    /// Clusters of the subtree (`e_int_clusters`).
    pub fn int_clusters(&self) -> u32 {
        u32::from_le_bytes(self.clusters)
    }

    /// Clusters by the depth of the list that holds the record.
    pub fn clusters_at(&self, depth: u16) -> u32 {
        if depth == 0 {
            self.leaf_clusters().into()
        } else {
            self.int_clusters()
        }
    }
}

list! {
    /// An extent list: the rest of a slice.
    ExtentList, ExtentHead, ExtentRecord
}

impl<'a> ExtentList<'a> {
    /// Records in use, bounded by the slice.
    pub fn used(&self) -> impl Iterator<Item = &'a ExtentRecord> + use<'a> {
        self.first(self.head().l_next_free_rec.get().into())
    }
}

structure! {
    /// The head of an extent block (`struct ocfs2_extent_block`).
    "OCFS2 extent block" ExtentBlock 0x30 {
        /// [`SIGNATURE`].
        h_signature: [u8; 8],
        /// Checksum of the block.
        h_check: BlockCheck,
        /// Slot of the allocator that the block is from.
        h_suballoc_slot: U16,
        /// Its bit in the group.
        h_suballoc_bit: U16,
        /// Generation of the filesystem.
        h_fs_generation: U32,
        /// Block of this extent block.
        h_blkno: U64,
        /// Block of the group that it is from; 0: not recorded.
        h_suballoc_loc: U64,
        /// The next leaf to the right; 0: the last.
        h_next_leaf_blk: U64,
    }
}

/// Records in an inode's list beside `xattr` bytes of inline attributes.
pub fn inode_room(block_size: usize, xattr: usize) -> usize {
    block_size.saturating_sub(BODY + ExtentHead::SIZE + xattr) / ExtentRecord::SIZE
}

/// Records in an extent block's list.
pub fn block_room(block_size: usize) -> usize {
    block_size.saturating_sub(BLOCK_LIST + ExtentHead::SIZE) / ExtentRecord::SIZE
}
