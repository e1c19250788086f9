//! The checksum of metadata blocks (feature `metaecc`): a CRC-32 and a Hamming code that corrects one bit.
//!
//! Both cover the whole block, or the whole bucket of attributes, with the 8 bytes of the check zeroed. The CRC is zlib's without the last
//! inversion. The code is the exclusive or of the positions of the set bits, where positions count from 1 and leave out the powers
//! of two.

use zerocopy::IntoBytes as _;
use zerocopy::little_endian::{U16, U32};

use crate::Error;
use crate::bytes::{le16, le32};

structure! {
    /// The checksum as stored (`struct ocfs2_block_check`).
    #[derive(Default)]
    "OCFS2 block check" BlockCheck 8 {
        /// CRC-32.
        bc_crc32e: U32,
        /// Hamming code.
        bc_ecc: U16,
        /// Zero.
        bc_reserved1: U16,
    }
}

/// A block compared with its checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judged {
    /// The CRC matches.
    Sound,
    /// The CRC matches after one bit was corrected: the block has been changed.
    Corrected,
    /// Neither; the block is as it was, and the checksum that it would have is given.
    Bad(BlockCheck),
}

/// The checksum of a block whose check is at `offset`: what to store there.
///
/// # Errors
///
/// [`Error::Short`] where the check is outside the block.
pub fn compute(block: &mut [u8], offset: usize) -> Result<BlockCheck, Error> {
    without_check(block, offset, |zeroed| BlockCheck {
        bc_crc32e: crc(zeroed).into(),
        bc_ecc: ecc(zeroed).into(),
        bc_reserved1: 0.into(),
    })
}

/// Computes and stores the checksum of a block.
///
/// # Errors
///
/// As [`compute`].
pub fn store(block: &mut [u8], offset: usize) -> Result<(), Error> {
    let check = compute(block, offset)?;
    block[offset..offset + BlockCheck::SIZE].copy_from_slice(check.as_bytes());
    Ok(())
}

/// Compares a block with its checksum and corrects one wrong bit, as the kernel and libocfs2 do.
///
/// # Errors
///
/// As [`compute`].
pub fn validate(block: &mut [u8], offset: usize) -> Result<Judged, Error> {
    let (stored_crc, stored_ecc) = (le32(block, offset), le16(block, offset.saturating_add(4)));
    without_check(block, offset, |zeroed| {
        if crc(zeroed) == stored_crc {
            return Judged::Sound;
        }
        let code = ecc(zeroed);
        if let Some(bit) = data_bit(code ^ stored_ecc).filter(|&bit| bit < zeroed.len() * 8) {
            zeroed[bit / 8] ^= 1 << (bit % 8);
            if crc(zeroed) == stored_crc {
                return Judged::Corrected;
            }
            zeroed[bit / 8] ^= 1 << (bit % 8);
        }
        Judged::Bad(BlockCheck {
            bc_crc32e: crc(zeroed).into(),
            bc_ecc: code.into(),
            bc_reserved1: 0.into(),
        })
    })
}

fn without_check<T>(
    block: &mut [u8],
    offset: usize,
    with: impl FnOnce(&mut [u8]) -> T,
) -> Result<T, Error> {
    let have = block.len();
    let end = offset.saturating_add(BlockCheck::SIZE);
    let place = block.get_mut(offset..end).ok_or(Error::Short {
        what: "OCFS2 block check",
        have,
        need: end,
    })?;
    let mut kept = [0; BlockCheck::SIZE];
    kept.copy_from_slice(place);
    place.fill(0);
    let result = with(block);
    block[offset..end].copy_from_slice(&kept);
    Ok(result)
}

fn crc(bytes: &[u8]) -> u32 {
    !(crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32IsoHdlc, bytes) as u32)
}

/// The Hamming code of a block.
///
/// Between two powers of two the positions are contiguous, and so are their bits: the bit at position `p` with `2^k < p < 2^(k+1)` is
/// bit `p - k - 2` of the block. So words are taken at positions that are multiples of 64: their high parts differ by word, and the low six
/// bits of all positions together are the parities of the exclusive or of the words.
pub fn ecc(bytes: &[u8]) -> u16 {
    let bits = bytes.len() * 8;
    let mut code = 0;
    let mut position = 3;
    while position < 64 {
        if let Some(bit) = data_bit(position).filter(|&bit| bit < bits)
            && bytes[bit / 8] >> (bit % 8) & 1 == 1
        {
            code ^= position;
        }
        position += 1;
    }
    let (mut folded, mut power, mut base) = (0_u64, 6, 64);
    while base - power - 2 < bits {
        if base == 2 << power {
            power += 1;
            continue;
        }
        // Position 2^k itself holds no data: the bit before it in the block belongs to 2^k - 1.
        let mut word = word_at(bytes, base - power - 2);
        if base == 1 << power {
            word &= !1;
        }
        folded ^= word;
        if word.count_ones() & 1 == 1 {
            code ^= base as u16;
        }
        base += 64;
    }
    code ^ low_bits(folded)
}

/// 64 bits from bit `from` on; bits beyond the block are zero.
fn word_at(bytes: &[u8], from: usize) -> u64 {
    let (byte, shift) = (from / 8, from % 8);
    let mut wide = [0; 16];
    let rest = &bytes[byte.min(bytes.len())..];
    let have = rest.len().min(9);
    wide[..have].copy_from_slice(&rest[..have]);
    (u128::from_le_bytes(wide) >> shift) as u64
}

/// The exclusive or of the numbers (0 to 63) of the set bits.
fn low_bits(word: u64) -> u16 {
    const MASKS: [u64; 6] = [
        0xaaaa_aaaa_aaaa_aaaa,
        0xcccc_cccc_cccc_cccc,
        0xf0f0_f0f0_f0f0_f0f0,
        0xff00_ff00_ff00_ff00,
        0xffff_0000_ffff_0000,
        0xffff_ffff_0000_0000,
    ];
    let parities = MASKS.map(|mask| (word & mask).count_ones() as u16 & 1);
    (0..6).fold(0, |bits, at| bits | parities[at] << at)
}

/// The bit of the block at a position; none for a power of two, and for 0.
fn data_bit(position: u16) -> Option<usize> {
    if position == 0 || position.is_power_of_two() {
        return None;
    }
    let power = position.ilog2() as usize;
    Some(usize::from(position) - power - 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// By the definition, bit by bit.
    fn slow(bytes: &[u8]) -> u16 {
        let mut position = 0_u16;
        let mut code = 0;
        for bit in 0..bytes.len() * 8 {
            position += 1;
            while position.is_power_of_two() {
                position += 1;
            }
            if bytes[bit / 8] >> (bit % 8) & 1 == 1 {
                code ^= position;
            }
        }
        code
    }

    #[test]
    fn the_first_positions_are_those_between_powers_of_two() {
        let bits: Vec<u16> = (1..12).filter(|&p| data_bit(p).is_some()).collect();
        assert_eq!(bits, [3, 5, 6, 7, 9, 10, 11]);
        assert_eq!(ecc(&[1]), 3);
        assert_eq!(ecc(&[0b10]), 5);
        assert_eq!(ecc(&[0b11]), 6);
    }

    proptest! {
        #[test]
        fn words_give_what_bits_give(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
            prop_assert_eq!(ecc(&bytes), slow(&bytes));
        }

        #[test]
        fn one_bit_is_corrected_and_two_are_bad(seed: u64, first in 64_usize..4096 * 8, apart in 1_usize..999) {
            let mut block: Vec<u8> = (0..4096_u64).map(|at| (at.wrapping_mul(seed | 1) >> 5) as u8).collect();
            store(&mut block, 0).unwrap();
            prop_assert_eq!(validate(&mut block, 0).unwrap(), Judged::Sound);
            let sound = block.clone();
            block[first / 8] ^= 1 << (first % 8);
            prop_assert_eq!(validate(&mut block, 0).unwrap(), Judged::Corrected);
            prop_assert_eq!(&block, &sound);
            let second = 64 + (first - 64 + apart) % (4096 * 8 - 64);
            for bit in [first, second] {
                block[bit / 8] ^= 1 << (bit % 8);
            }
            prop_assert!(matches!(validate(&mut block, 0).unwrap(), Judged::Bad(_)));
        }
    }

    #[test]
    fn a_check_outside_the_block_is_an_error() {
        assert!(compute(&mut [0; 64], 60).is_err());
        assert!(validate(&mut [0; 64], usize::MAX).is_err());
    }
}
