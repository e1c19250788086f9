//! Extended attributes: at the end of an inode, in a block, or in buckets of 4 KiB.
//!
//! Entries grow from the header up, names and short values from the end of the area down; offsets count from the header. Values longer than
//! [`LOCAL_VALUE`] have an extent list of their own.

use zerocopy::little_endian::{U16, U32, U64};

use super::check::BlockCheck;
use super::extent::{ExtentHead, ExtentRecord};

/// `xb_signature`.
pub const SIGNATURE: [u8; 8] = *b"XATTR01\0";
/// The block has an index of buckets (`xb_flags`).
pub const INDEXED: u16 = 0x1;
/// The value is beside the name (`xe_type`).
pub const LOCAL: u8 = 0x80;
/// The longest such value, bytes.
pub const LOCAL_VALUE: u64 = 80;
/// Bytes of a bucket.
pub const BUCKET: usize = 4096;
/// Offset of the header in a block without an index.
pub const BLOCK_HEADER: usize = 0x30;
/// Offset of the tree's root in a block with an index, and of its extent list.
pub const BLOCK_TREE: usize = 0x30;
/// Offset of the extent list in a block with an index.
pub const TREE_LIST: usize = BLOCK_TREE + 0x10;

structure! {
    /// The head of an attribute block (`struct ocfs2_xattr_block`).
    "OCFS2 attribute block" XattrBlock 0x30 {
        /// [`SIGNATURE`].
        xb_signature: [u8; 8],
        /// Slot of the allocator that the block is from.
        xb_suballoc_slot: U16,
        /// Its bit in the group.
        xb_suballoc_bit: U16,
        /// Generation of the filesystem.
        xb_fs_generation: U32,
        /// Block of this block.
        xb_blkno: U64,
        /// Checksum of the block.
        xb_check: BlockCheck,
        /// [`INDEXED`] or 0.
        xb_flags: U16,
        /// Zero.
        xb_reserved0: U16,
        /// Zero.
        xb_reserved1: U32,
        /// Block of the group that the block is from; 0: not recorded.
        xb_suballoc_loc: U64,
    }
}

structure! {
    /// The root of a tree of buckets (`struct ocfs2_xattr_tree_root`); the extent list follows. Its `e_cpos` are hashes.
    "OCFS2 attribute tree" XattrTree 16 {
        /// Clusters of buckets.
        xt_clusters: U32,
        /// Zero.
        xt_reserved0: U32,
        /// The extent block of the last leaf of the extent tree.
        xt_last_eb_blk: U64,
    }
}

structure! {
    /// The header of attributes (`struct ocfs2_xattr_header`).
    "OCFS2 attribute header" XattrHead 16 {
        /// Entries.
        xh_count: U16,
        /// Lowest offset that a name has, in a bucket.
        xh_free_start: U16,
        /// Bytes of names and short values, in a bucket.
        xh_name_value_len: U16,
        /// Buckets of the extent, in its first bucket.
        xh_num_buckets: U16,
        /// Checksum, in a bucket.
        xh_check: BlockCheck,
    }
}

structure! {
    /// An attribute (`struct ocfs2_xattr_entry`).
    "OCFS2 attribute entry" XattrEntry 16 {
        /// Hash of the name.
        xe_name_hash: U32,
        /// Offset of the name from the header, bytes.
        xe_name_offset: U16,
        /// Bytes of the name, without its prefix.
        xe_name_len: u8,
        /// Prefix of the name (1 user, 2 and 3 access and default ACL, 4 trusted, 5 security), with [`LOCAL`].
        xe_type: u8,
        /// Bytes of the value.
        xe_value_size: U64,
    }
}

list! {
    /// Attributes: the area from their header on.
    XattrHeader, XattrHead, XattrEntry
}

impl XattrEntry {
    /// Whether the value is beside the name.
    pub fn is_local(&self) -> bool {
        self.xe_type & LOCAL != 0
    }

    /// Bytes that name and value take at `xe_name_offset`.
    pub fn storage(&self) -> u64 {
        let name = u64::from(self.xe_name_len).next_multiple_of(4);
        if self.is_local() {
            name.saturating_add(self.xe_value_size.get().saturating_add(3) & !3)
        } else {
            name + ValueRoot::SIZE as u64
        }
    }
}

structure! {
    /// The root of a long value (`struct ocfs2_xattr_value_root` with its extent list of one record).
    "OCFS2 attribute value" ValueRoot 48 {
        /// Clusters of the value.
        xr_clusters: U32,
        /// Zero.
        xr_reserved0: U32,
        /// The extent block of the last leaf of the extent tree.
        xr_last_eb_blk: U64,
        /// The extent list.
        xr_list: ExtentHead,
        /// Its record.
        xr_record: ExtentRecord,
    }
}

/// Offset of the extent list in a [`ValueRoot`].
pub const VALUE_LIST: usize = 0x10;

/// Records in the extent list of a block with an index.
pub fn tree_room(block_size: usize) -> usize {
    block_size.saturating_sub(TREE_LIST + ExtentHead::SIZE) / ExtentRecord::SIZE
}
