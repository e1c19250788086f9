//! Quota files: usage and limits by user or group.
//!
//! Global files are a radix tree of blocks; the last 8 bytes of a block are its checksum. Each slot has a local file of changes.

use zerocopy::little_endian::{U16, U32, U64};

/// `dqh_magic` of the global user file.
pub const USER_MAGIC: u32 = 0x0cf5_2470;
/// `dqh_magic` of the global group file.
pub const GROUP_MAGIC: u32 = 0x0cf5_2471;
/// `dqh_magic` of a slot's user file.
pub const LOCAL_USER_MAGIC: u32 = 0x0cf5_24c0;
/// `dqh_magic` of a slot's group file.
pub const LOCAL_GROUP_MAGIC: u32 = 0x0cf5_24c1;
/// `dqh_version` of all of them.
pub const VERSION: u32 = 0;
/// Block of the root of the tree.
pub const TREE_ROOT: u64 = 1;
/// Levels of the tree: 32-bit ids with 10 bits of 4 KiB blocks each take 4.
pub const MAX_DEPTH: u32 = 6;
/// Bytes of a block's end that its checksum takes.
pub const TRAILER: usize = 8;

structure! {
    /// The head of a quota file (`struct ocfs2_disk_dqheader`).
    "OCFS2 quota header" QuotaHeader 8 {
        /// Which file it is.
        dqh_magic: U32,
        /// [`VERSION`].
        dqh_version: U32,
    }
}

structure! {
    /// What a global file says of itself, after its head (`struct ocfs2_global_disk_dqinfo`).
    "OCFS2 quota info" QuotaInfo 24 {
        /// Seconds before a soft limit of space becomes hard.
        dqi_bgrace: U32,
        /// Seconds before a soft limit of inodes becomes hard.
        dqi_igrace: U32,
        /// Milliseconds between synchronisations.
        dqi_syncms: U32,
        /// Blocks of the file.
        dqi_blocks: U32,
        /// First free block; 0: none.
        dqi_free_blk: U32,
        /// First block with free entries; 0: none.
        dqi_free_entry: U32,
    }
}

structure! {
    /// The head of a block of entries (`struct qt_disk_dqdbheader`).
    "OCFS2 quota entries" QuotaLeaf 16 {
        /// The next block with free entries.
        dqdh_next_free: U32,
        /// The one before.
        dqdh_prev_free: U32,
        /// Entries in use.
        dqdh_entries: U16,
        /// Zero.
        dqdh_pad1: U16,
        /// Zero.
        dqdh_pad2: U32,
    }
}

structure! {
    /// Usage and limits of an id (`struct ocfs2_global_disk_dqblk`).
    "OCFS2 quota entry" QuotaEntry 88 {
        /// User or group.
        dqb_id: U32,
        /// Slots that use the entry.
        dqb_use_count: U32,
        /// Hard limit of inodes.
        dqb_ihardlimit: U64,
        /// Soft limit of inodes.
        dqb_isoftlimit: U64,
        /// Inodes in use.
        dqb_curinodes: U64,
        /// Hard limit of space, bytes.
        dqb_bhardlimit: U64,
        /// Soft limit of space, bytes.
        dqb_bsoftlimit: U64,
        /// Space in use, bytes.
        dqb_curspace: U64,
        /// When the soft limit of space becomes hard, seconds since 1970.
        dqb_btime: U64,
        /// When the soft limit of inodes becomes hard, seconds since 1970.
        dqb_itime: U64,
        /// Zero.
        dqb_pad1: U64,
        /// Zero.
        dqb_pad2: U64,
    }
}

structure! {
    /// What a slot's file says of itself, after its head (`struct ocfs2_local_disk_dqinfo`).
    "OCFS2 local quota info" LocalQuotaInfo 12 {
        /// 1: the file was closed.
        dqi_flags: U32,
        /// Chunks of the file.
        dqi_chunks: U32,
        /// Blocks of the file.
        dqi_blocks: U32,
    }
}

/// Entries of a block.
pub fn entries_per_block(block_size: usize) -> usize {
    block_size.saturating_sub(QuotaLeaf::SIZE + TRAILER) / QuotaEntry::SIZE
}
