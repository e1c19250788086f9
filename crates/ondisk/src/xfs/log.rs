//! The log: heads of its records and of the operations in them.

use zerocopy::big_endian::{U16, U32, U64};

use crate::checksum::crc32c;

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
/// `oh_flags`: the first operation of a transaction.
pub const START: u8 = 0x01;
/// `oh_flags`: the transaction is whole.
pub const COMMIT: u8 = 0x02;
/// `oh_flags`: the data goes on in another operation.
pub const CONTINUED: u8 = 0x04;
/// `oh_flags`: the data continues that of the operation before.
pub const CONTINUES: u8 = 0x08;
/// `oh_flags`: the last operation that continues one.
pub const END: u8 = 0x10;
/// `oh_clientid`: a transaction.
pub const TRANSACTION: u8 = 0x69;
/// `oh_clientid`: the log itself.
pub const LOG: u8 = 0xaa;
/// Bytes of a record's data at most.
pub const MOST_DATA: u32 = 256 << 10;
/// Bytes of a head's further blocks that are summed: cycle and cycle words.
const FURTHER: usize = 4 + 4 * CYCLES;

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

/// The checksum of a record: of its head, which may have several blocks, and of its data as they are on disk.
pub fn record_checksum(head: &[u8], data: &[u8]) -> u32 {
    const CRC: usize = 32;
    let first = &head[..head.len().min(RecordHead::SIZE)];
    let mut sum = crc32c(!0, &first[..first.len().min(CRC)]);
    sum = crc32c(sum, &[0; 4]);
    sum = crc32c(sum, first.get(CRC + 4..).unwrap_or_default());
    for block in head.chunks(BLOCK).skip(1) {
        sum = crc32c(sum, &block[..block.len().min(FURTHER)]);
    }
    !crc32c(sum, data)
}

/// Puts the first words of the data's blocks back, in whose places the cycle is written. `head` has all blocks of the record's head.
pub fn unpack(head: &[u8], data: &mut [u8]) {
    const WORDS: usize = 44;
    for (nth, block) in data.chunks_mut(BLOCK).enumerate() {
        let (further, word) = (nth / CYCLES, nth % CYCLES);
        let at = if further == 0 {
            WORDS + 4 * word
        } else {
            further * BLOCK + 4 + 4 * word
        };
        if let (Some(to), Some(from)) = (block.get_mut(..4), head.get(at..at + 4)) {
            to.copy_from_slice(from);
        }
    }
}

/// Cycle and block of a log sequence number.
pub fn lsn(cycle: u32, block: u32) -> u64 {
    u64::from(cycle) << 32 | u64::from(block)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_get_their_first_words_back() {
        let mut head = vec![0; 2 * BLOCK];
        head[44..48].copy_from_slice(&[1, 2, 3, 4]);
        head[44 + 63 * 4..48 + 63 * 4].copy_from_slice(&[5; 4]);
        head[BLOCK + 4..BLOCK + 8].copy_from_slice(&[6; 4]);
        let mut data = vec![9; 65 * BLOCK];
        unpack(&head, &mut data);
        assert_eq!(data[..5], [1, 2, 3, 4, 9]);
        assert_eq!(data[63 * BLOCK..][..4], [5; 4]);
        assert_eq!(data[64 * BLOCK..][..4], [6; 4]);
        assert_eq!(data[BLOCK..][..5], [0, 0, 0, 0, 9]);
        unpack(&[], &mut data);
    }

    #[test]
    fn the_checksum_takes_its_own_field_as_zero() {
        let mut head = vec![7; 2 * BLOCK];
        let sum = record_checksum(&head, b"data");
        head[32..36].fill(1);
        head[BLOCK - 1] = 1;
        assert_eq!(record_checksum(&head, b"data"), sum);
        head[BLOCK + 259] = 1;
        assert_ne!(record_checksum(&head, b"data"), sum);
    }
}
