//! The checksums that formats share: CRC-32C, the big-endian CRC-32 of jbd2 and CRC-16.
//!
//! The kernel's `crc32c(seed, bytes)` neither inverts its start nor its end, so that calls can be
//! chained: the seed of one is the result of the one before. The well-known CRC-32C is the same function
//! with start and end inverted. [`crc32c`] is the kernel's form, on a hardware implementation.

mod field;

use crc_fast::{CrcAlgorithm, Digest};

pub use field::Field;

/// A checksum as stored and as computed from the bytes it covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checksum {
    /// The value in the structure.
    pub stored: u32,
    /// The value the bytes give.
    pub computed: u32,
}

impl Checksum {
    /// Whether the structure is what was last written.
    pub fn matches(self) -> bool {
        self.stored == self.computed
    }
}

/// CRC-32C in the kernel's chaining form: `seed` and result are not inverted.
pub fn crc32c(seed: u32, bytes: &[u8]) -> u32 {
    if seed == !0 {
        // The form that is called most, and the one without a table of parameters.
        return !crc_fast::crc32_iscsi(bytes);
    }
    let mut digest = Digest::new_with_init_state(CrcAlgorithm::Crc32Iscsi, u64::from(seed));
    digest.update(bytes);
    digest.get_state() as u32
}

/// The big-endian CRC-32 (polynomial 0x04c11db7, most significant bit first) of jbd2's first checksum
/// version, in chaining form.
pub fn crc32_be(seed: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(seed, |crc, byte| {
        let index = (crc >> 24) as u8 ^ byte;
        (crc << 8) ^ CRC32_BE[usize::from(index)]
    })
}

/// CRC-16 (polynomial 0x8005, least significant bit first), the checksum of group descriptors under
/// `uninit_bg` (`gdt_csum`). The kernel starts it from all ones.
pub fn crc16(seed: u16, bytes: &[u8]) -> u16 {
    bytes.iter().fold(seed, |crc, byte| {
        let index = (crc as u8) ^ byte;
        (crc >> 8) ^ CRC16[usize::from(index)]
    })
}

const CRC16: [u16; 256] = crc16_table();
const CRC32_BE: [u32; 256] = crc32_be_table();

const fn crc16_table() -> [u16; 256] {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let mut value = index as u16;
        let mut bit = 0;
        while bit < 8 {
            // 0xa001 is 0x8005 with its bits in the other order.
            value = if value & 1 == 1 {
                (value >> 1) ^ 0xa001
            } else {
                value >> 1
            };
            bit += 1;
        }
        table[index] = value;
        index += 1;
    }
    table
}

const fn crc32_be_table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let mut value = (index as u32) << 24;
        let mut bit = 0;
        while bit < 8 {
            value = if value >> 31 == 1 {
                (value << 1) ^ 0x04c1_1db7
            } else {
                value << 1
            };
            bit += 1;
        }
        table[index] = value;
        index += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The check values of the published catalogue of CRCs, over the nine digits.
    #[test]
    fn check_values() {
        let digits = b"123456789";
        assert_eq!(!crc32c(!0, digits), 0xe306_9283, "CRC-32/ISCSI");
        assert_eq!(crc16(0, digits), 0xbb3d, "CRC-16/ARC");
        assert_eq!(crc16(!0, digits), 0x4b37, "CRC-16/MODBUS");
        assert_eq!(crc32_be(!0, digits), 0x0376_e6e7, "CRC-32/MPEG-2");
    }

    proptest! {
        #[test]
        fn chaining_is_concatenation(
            left in proptest::collection::vec(any::<u8>(), 0..600),
            right in proptest::collection::vec(any::<u8>(), 0..600),
            seed: u32,
        ) {
            let both = [left.clone(), right.clone()].concat();
            prop_assert_eq!(crc32c(crc32c(seed, &left), &right), crc32c(seed, &both));
            prop_assert_eq!(crc32_be(crc32_be(seed, &left), &right), crc32_be(seed, &both));
            prop_assert_eq!(crc16(crc16(seed as u16, &left), &right), crc16(seed as u16, &both));
        }
    }
}
