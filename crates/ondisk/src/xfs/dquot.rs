//! Quota records.

use zerocopy::big_endian::{U16, U32, U64};

use super::Geometry;

/// `DQ`.
pub const MAGIC: u16 = 0x4451;
/// Version of a record.
pub const VERSION: u8 = 1;
/// `d_type`: a user's.
pub const USER: u8 = 0x01;
/// `d_type`: a project's.
pub const PROJECT: u8 = 0x02;
/// `d_type`: a group's.
pub const GROUP: u8 = 0x04;
/// `d_type`: timers of 64 bits.
pub const BIGTIME: u8 = 0x80;

structure! {
    /// A quota record (`struct xfs_dqblk`). In version 4 the fields from `dd_crc` on are zero.
    "XFS quota record" Dquot 136 {
        /// [`MAGIC`].
        d_magic: U16,
        /// [`VERSION`].
        d_version: u8,
        /// Whose, and [`BIGTIME`].
        d_type: u8,
        /// User, group or project.
        d_id: U32,
        /// Blocks, hard limit.
        d_blk_hardlimit: U64,
        /// Blocks, soft limit.
        d_blk_softlimit: U64,
        /// Inodes, hard limit.
        d_ino_hardlimit: U64,
        /// Inodes, soft limit.
        d_ino_softlimit: U64,
        /// Blocks in use.
        d_bcount: U64,
        /// Inodes in use.
        d_icount: U64,
        /// When the hard limit of inodes takes effect.
        d_itimer: U32,
        /// When the hard limit of blocks takes effect.
        d_btimer: U32,
        /// Warnings about inodes.
        d_iwarns: U16,
        /// Warnings about blocks.
        d_bwarns: U16,
        /// Zero.
        d_pad0: U32,
        /// Realtime blocks, hard limit.
        d_rtb_hardlimit: U64,
        /// Realtime blocks, soft limit.
        d_rtb_softlimit: U64,
        /// Realtime blocks in use.
        d_rtbcount: U64,
        /// When the hard limit of realtime blocks takes effect.
        d_rtbtimer: U32,
        /// Warnings about realtime blocks.
        d_rtbwarns: U16,
        /// Zero.
        d_pad: U16,
        /// Zero.
        dd_fill: U32,
        /// Checksum of the record.
        dd_crc: [u8; 4],
        /// Log sequence number of the last write.
        dd_lsn: U64,
        /// UUID of the filesystem.
        dd_uuid: [u8; 16],
    }
}

/// Records of a block.
pub fn room(geometry: &Geometry) -> usize {
    geometry.block_size as usize / Dquot::SIZE
}
