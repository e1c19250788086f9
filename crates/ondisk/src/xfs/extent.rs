//! Extents of a fork, packed into 128 bits (`struct xfs_bmbt_rec`).

use crate::bytes::be64;

/// Bytes of a record.
pub const SIZE: usize = 16;
/// The longest extent, blocks.
pub const MOST_BLOCKS: u64 = (1 << 21) - 1;

/// An extent: blocks of a file that are adjacent on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Extent {
    /// First block within the file, 54 bits.
    pub offset: u64,
    /// First block on disk, 52 bits.
    pub block: u64,
    /// Blocks, 21 bits.
    pub count: u64,
    /// Allocated and not written.
    pub unwritten: bool,
}

impl Extent {
    /// The record at the start of `bytes`; zeros where they end.
    #[inline]
    pub fn read(bytes: &[u8]) -> Extent {
        let (high, low) = (be64(bytes, 0), be64(bytes, 8));
        Extent {
            offset: high >> 9 & ((1 << 54) - 1),
            block: (high & 0x1ff) << 43 | low >> 21,
            count: low & MOST_BLOCKS,
            unwritten: high >> 63 == 1,
        }
    }

    /// The record as stored. Bits that do not fit are lost.
    pub fn to_bytes(self) -> [u8; SIZE] {
        let high = u64::from(self.unwritten) << 63
            | (self.offset & ((1 << 54) - 1)) << 9
            | self.block >> 43 & 0x1ff;
        let low = self.block << 21 | self.count & MOST_BLOCKS;
        let mut bytes = [0; SIZE];
        bytes[..8].copy_from_slice(&high.to_be_bytes());
        bytes[8..].copy_from_slice(&low.to_be_bytes());
        bytes
    }

    /// The block of the file after it.
    #[inline]
    pub fn end(&self) -> u64 {
        self.offset + self.count
    }
}

/// The records of a leaf or of an inode: the first `count`, or as many as there are bytes for.
#[inline]
pub fn list(bytes: &[u8], count: usize) -> impl Iterator<Item = Extent> + '_ {
    bytes.chunks_exact(SIZE).take(count).map(Extent::read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(offset in 0..1_u64 << 54, block in 0..1_u64 << 52, count in 0..=MOST_BLOCKS, unwritten: bool) {
            let extent = Extent { offset, block, count, unwritten };
            prop_assert_eq!(Extent::read(&extent.to_bytes()), extent);
        }

        #[test]
        fn every_bit_is_in_a_field(bytes: [u8; 16]) {
            prop_assert_eq!(Extent::read(&bytes).to_bytes(), bytes);
        }
    }
}
