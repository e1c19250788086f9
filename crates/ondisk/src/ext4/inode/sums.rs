//! The checksums of many inodes of one filesystem, without a copy of any.
//!
//! The checksum is a CRC of the inode's number, its generation and its slot with both checksum fields as zeros. Putting these
//! together in memory costs as much as the CRC itself. But a CRC is linear: what a byte adds to it depends on the byte and
//! on how many follow, and on nothing else. So the slot is taken as stored, and twelve small tables say what number,
//! generation and the stored checksum itself add or take away.

use std::fmt;

use super::{CHECKSUM_HI_AT, CHECKSUM_LO_AT, Inode};
use crate::ext4::checksum::{Seed, crc32c};

/// What each value of one byte adds.
type Table = [u32; 256];

/// Bytes of number and generation, which come before the slot.
const BEFORE: usize = 8;
/// Offset of the generation in a slot.
const GENERATION_AT: usize = 0x64;

/// Judges the checksums of inodes of one size under one seed.
pub struct InodeSums {
    seed: Seed,
    size: usize,
    /// What start values and zeros come to.
    constant: u32,
    /// Of four bytes of the number, four of the generation, two and two of the checksum.
    tables: Box<[Table; 12]>,
}

impl fmt::Debug for InodeSums {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InodeSums")
            .field("seed", &self.seed)
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}

/// The CRC, from zero on, of each value of a byte followed by `zeros` zero bytes.
fn table(zeros: usize) -> Table {
    let mut bytes = vec![0; zeros + 1];
    let of_bit: [u32; 8] = std::array::from_fn(|bit| {
        bytes[0] = 1 << bit;
        crc32c(0, &bytes)
    });
    std::array::from_fn(|value| {
        let set = (0..8).filter(|bit| value >> bit & 1 == 1);
        set.fold(0, |sum, bit| sum ^ of_bit[bit])
    })
}

impl InodeSums {
    /// For inodes of `size` bytes, as the superblock names them.
    pub fn new(seed: Seed, size: u16) -> InodeSums {
        let size = usize::from(size);
        let zeros = vec![0; BEFORE + size];
        let ahead = (0..BEFORE).map(|at| BEFORE + size - at);
        let sums = [CHECKSUM_LO_AT, CHECKSUM_HI_AT];
        let inside = sums.into_iter().flat_map(|at| [at, at + 1]);
        // A slot without room for the field never asks for its tables.
        let inside = inside.map(|at| size.saturating_sub(at).max(1));
        let mut tables = Box::new([[0; 256]; 12]);
        for (place, left) in tables.iter_mut().zip(ahead.chain(inside)) {
            *place = table(left - 1);
        }
        InodeSums {
            seed,
            size,
            constant: crc32c(seed.0, &zeros) ^ crc32c(!0, &zeros[BEFORE..]),
            tables,
        }
    }

    /// Whether the checksum of inode number `ino` is right, of all 32 bits or of the half that it has room for.
    pub fn matches(&self, ino: u32, inode: &Inode<'_>) -> bool {
        if inode.bytes.len() != self.size || !inode.has_checksum_hi() {
            return inode.checksum(self.seed, ino).matches();
        }
        self.of_slot(ino, inode.bytes) == Some(stored(inode.bytes))
    }

    /// The checksum that a slot with room for all of it should have.
    fn of_slot(&self, ino: u32, slot: &[u8]) -> Option<u32> {
        let generation = slot.get(GENERATION_AT..GENERATION_AT + 4)?;
        let lo = slot.get(CHECKSUM_LO_AT..CHECKSUM_LO_AT + 2)?;
        let hi = slot.get(CHECKSUM_HI_AT..CHECKSUM_HI_AT + 2)?;
        let number = ino.to_le_bytes();
        let bytes = number.iter().chain(generation).chain(lo).chain(hi);
        let added = self.tables.iter().zip(bytes);
        let added = added.fold(self.constant, |sum, (table, byte)| {
            sum ^ table[usize::from(*byte)]
        });
        Some(added ^ crc32c(!0, slot))
    }
}

/// Both halves of the stored checksum.
fn stored(slot: &[u8]) -> u32 {
    let half = |at: usize| crate::ext4::u16_at(slot, at).map_or(0, u32::from);
    half(CHECKSUM_LO_AT) | half(CHECKSUM_HI_AT) << 16
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn they_are_those_of_single_inodes(
            mut bytes in proptest::collection::vec(any::<u8>(), 1024),
            size in prop_oneof![Just(128_u16), Just(160), Just(256), Just(1024)],
            extra in prop_oneof![Just(0_u16), Just(4), Just(32)],
            ino: u32,
            seed: u32,
            seal: bool,
        ) {
            let (seed, len) = (Seed(seed), usize::from(size));
            bytes[super::super::OLD_SIZE..][..2].copy_from_slice(&extra.to_le_bytes());
            if seal {
                let computed = Inode::read(&bytes[..len], size).unwrap().checksum(seed, ino).computed;
                bytes[CHECKSUM_LO_AT..][..2].copy_from_slice(&computed.to_le_bytes()[..2]);
                if extra >= 4 && len > super::super::OLD_SIZE {
                    bytes[CHECKSUM_HI_AT..][..2].copy_from_slice(&computed.to_le_bytes()[2..]);
                }
            }
            let inode = Inode::read(&bytes[..len], size).unwrap();
            let sum = inode.checksum(seed, ino);
            let sums = InodeSums::new(seed, size);
            prop_assert!(sum.matches() || !seal);
            prop_assert_eq!(sums.matches(ino, &inode), sum.matches());
            if inode.has_checksum_hi() {
                prop_assert_eq!(sums.of_slot(ino, inode.bytes), Some(sum.computed));
            }
        }
    }
}
