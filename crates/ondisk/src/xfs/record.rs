//! Records of the btrees of an allocation group.

use zerocopy::big_endian::{U32, U64};

structure! {
    /// A free extent (`struct xfs_alloc_rec`), also the key of both btrees.
    "XFS free extent" AllocRecord 8 {
        /// First block.
        ar_startblock: U32,
        /// Blocks.
        ar_blockcount: U32,
    }
}

structure! {
    /// An inode chunk (`struct xfs_inobt_rec`). The key is `ir_startino`.
    "XFS inode chunk" InobtRecord 16 {
        /// First inode.
        ir_startino: U32,
        /// The number of free inodes; with sparse chunks 16 bits of holes, a count and a free count.
        ir_u: [u8; 4],
        /// A bit for each free inode, the first lowest.
        ir_free: U64,
    }
}

impl InobtRecord {
    /// Holes, a bit for each four inodes; 0 without sparse chunks.
    pub fn hole_mask(&self, sparse: bool) -> u16 {
        if sparse {
            u16::from_be_bytes([self.ir_u[0], self.ir_u[1]])
        } else {
            0
        }
    }

    /// Inodes of the chunk as stored; 64 without sparse chunks.
    pub fn count(&self, sparse: bool) -> u32 {
        if sparse { self.ir_u[2].into() } else { 64 }
    }

    /// Free inodes as stored.
    pub fn free_count(&self, sparse: bool) -> u32 {
        if sparse {
            self.ir_u[3].into()
        } else {
            u32::from_be_bytes(self.ir_u)
        }
    }

    /// A record without holes as both forms store it.
    pub fn whole(start: u32, free: u64, sparse: bool) -> InobtRecord {
        let count = free.count_ones();
        InobtRecord {
            ir_startino: start.into(),
            ir_u: if sparse {
                [0, 0, 64, count as u8]
            } else {
                count.to_be_bytes()
            },
            ir_free: free.into(),
        }
    }

    /// A bit for each inode that is in a hole.
    pub fn holes(&self, sparse: bool) -> u64 {
        let mask = self.hole_mask(sparse);
        (0..16).fold(0, |bits, at| {
            bits | u64::from(mask >> at & 1) * (0xf << (4 * at))
        })
    }
}

/// Owners of reverse mappings that are no inodes.
pub mod owner {
    /// The headers of the allocation group.
    pub const FS: u64 = -3_i64 as u64;
    /// The log.
    pub const LOG: u64 = -4_i64 as u64;
    /// Btrees of free space and of reverse mappings, and the free list.
    pub const AG: u64 = -5_i64 as u64;
    /// Inode btrees.
    pub const INOBT: u64 = -6_i64 as u64;
    /// Inode chunks.
    pub const INODES: u64 = -7_i64 as u64;
    /// The btree of reference counts.
    pub const REFC: u64 = -8_i64 as u64;
    /// Staging extents of copies on write.
    pub const COW: u64 = -9_i64 as u64;

    /// Whether an owner is none of an inode.
    pub const fn is_special(owner: u64) -> bool {
        owner >> 63 == 1
    }
}

/// `rm_offset`: the block is one of an attribute fork.
pub const RMAP_ATTR: u64 = 1 << 63;
/// `rm_offset`: the block is one of a fork's btree.
pub const RMAP_BMBT: u64 = 1 << 62;
/// `rm_offset`: the extent is not written.
pub const RMAP_UNWRITTEN: u64 = 1 << 61;
/// `rm_offset`: bits of the offset.
pub const RMAP_OFFSET: u64 = (1 << 54) - 1;

structure! {
    /// A reverse mapping (`struct xfs_rmap_rec`).
    "XFS reverse mapping" RmapRecord 24 {
        /// First block.
        rm_startblock: U32,
        /// Blocks.
        rm_blockcount: U32,
        /// An inode, or one of [`owner`].
        rm_owner: U64,
        /// First block within the file, and flags.
        rm_offset: U64,
    }
}

structure! {
    /// Half of a key of reverse mappings (`struct xfs_rmap_key`): a key is the lowest, then the highest of its subtree.
    "XFS reverse mapping key" RmapKey 20 {
        /// Block.
        rm_startblock: U32,
        /// An inode, or one of [`owner`].
        rm_owner: U64,
        /// Block within the file, and flags.
        rm_offset: U64,
    }
}

/// `rc_startblock`: a staging extent.
pub const REFC_COW: u32 = 1 << 31;

structure! {
    /// A reference count (`struct xfs_refcount_rec`). The key is `rc_startblock`.
    "XFS reference count" RefcountRecord 12 {
        /// First block, and [`REFC_COW`].
        rc_startblock: U32,
        /// Blocks.
        rc_blockcount: U32,
        /// Owners.
        rc_refcount: U32,
    }
}
