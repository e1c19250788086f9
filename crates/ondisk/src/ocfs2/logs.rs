//! The truncate log and the window of the local allocator: bodies of one inode per slot.

use zerocopy::little_endian::{U16, U32, U64};

use super::dinode::BODY;

structure! {
    /// The head of a truncate log (`struct ocfs2_truncate_log`).
    "OCFS2 truncate log" TruncateHead 8 {
        /// Records that there is room for.
        tl_count: U16,
        /// Records in use.
        tl_used: U16,
        /// Zero.
        tl_reserved1: U32,
    }
}

structure! {
    /// Clusters that are to be freed (`struct ocfs2_truncate_rec`).
    "OCFS2 truncate record" TruncateRecord 8 {
        /// First cluster; 0: the record is empty.
        t_start: U32,
        /// Clusters.
        t_clusters: U32,
    }
}

list! {
    /// A truncate log: the body of its inode.
    TruncateLog, TruncateHead, TruncateRecord
}

structure! {
    /// The head of a window of the local allocator (`struct ocfs2_local_alloc`); the bitmap follows.
    "OCFS2 local alloc" LocalAlloc 16 {
        /// First cluster of the window.
        la_bm_off: U32,
        /// Bytes of the bitmap.
        la_size: U16,
        /// Zero.
        la_reserved1: U16,
        /// Zero.
        la_reserved2: U64,
    }
}

/// Records of a truncate log.
pub fn truncate_room(block_size: usize) -> usize {
    block_size.saturating_sub(BODY + TruncateHead::SIZE) / TruncateRecord::SIZE
}

/// Bytes of a local allocator's bitmap.
pub fn local_alloc_room(block_size: usize) -> usize {
    block_size.saturating_sub(BODY + LocalAlloc::SIZE)
}
