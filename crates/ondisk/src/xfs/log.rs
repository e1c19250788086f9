//! The log: heads of its records and of the operations in them.

use zerocopy::big_endian::{U16, U32, U64};

/// Magic number of a record.
pub const MAGIC: u32 = 0xfeed_babe;
/// Bytes that the log counts in.
pub const BLOCK: usize = 512;
/// Blocks of data whose cycle words a head has.
pub const CYCLES: usize = 64;
/// Bytes of records for which a head has one block.
pub const CYCLE_BYTES: u32 = 32 << 10;
/// `oh_flags`: the log was closed by an unmount.
pub const UNMOUNT: u8 = 0x20;
/// `h_fmt` of Linux on little-endian machines.
pub const FORMAT_LE: u32 = 1;

structure! {
    /// The head of a record (`struct xlog_rec_header`).
    "XFS log record" RecordHead 328 {
        /// [`MAGIC`].
        h_magicno: U32,
        /// Cycle of the log in which it was written.
        h_cycle: U32,
        /// 1 or 2.
        h_version: U32,
        /// Bytes of the record's data.
        h_len: U32,
        /// Cycle and block of the record.
        h_lsn: U64,
        /// Cycle and block of the oldest record that is needed.
        h_tail_lsn: U64,
        /// Checksum of head and data.
        h_crc: [u8; 4],
        /// Block of the previous record.
        h_prev_block: U32,
        /// Operations.
        h_num_logops: U32,
        /// First words of the data's blocks, which have the cycle in their place.
        h_cycle_data: [U32; CYCLES],
        /// [`FORMAT_LE`].
        h_fmt: U32,
        /// UUID of the filesystem.
        h_fs_uuid: [u8; 16],
        /// Bytes of a record at most.
        h_size: U32,
        /// Zero.
        h_pad: U32,
    }
}

structure! {
    /// The head of an operation (`struct xlog_op_header`).
    "XFS log operation" OpHead 12 {
        /// Transaction.
        oh_tid: U32,
        /// Bytes of the operation's data.
        oh_len: U32,
        /// Client.
        oh_clientid: u8,
        /// [`UNMOUNT`] and others.
        oh_flags: u8,
        /// Zero.
        oh_res2: U16,
    }
}

/// Blocks of the head of a record whose `h_size` is this.
pub fn head_blocks(version: u32, size: u32) -> u32 {
    if version & 2 == 0 || size <= CYCLE_BYTES {
        1
    } else {
        size.div_ceil(CYCLE_BYTES)
    }
}

/// The cycle of a block of the log: its first word, or of a record's head the second.
pub fn block_cycle(block: &[u8]) -> u32 {
    match crate::bytes::be32(block, 0) {
        MAGIC => crate::bytes::be32(block, 4),
        cycle => cycle,
    }
}

/// Cycle and block of a log sequence number.
pub fn lsn(cycle: u32, block: u32) -> u64 {
    u64::from(cycle) << 32 | u64::from(block)
}
