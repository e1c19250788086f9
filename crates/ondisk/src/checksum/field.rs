//! What a field adds to a CRC-32C, so that an object's checksum with its own field as zero needs neither a copy nor three parts.
//!
//! A CRC is linear over GF(2): the sum of bytes with and without a field differ by a value that depends on the bits of the field and on how
//! many bytes follow it, and on nothing else. That value is looked up four bits at a time.

use super::crc32c;

/// What the bits of a field of four bytes add to the CRC-32C of the bytes around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// For each four bits of the field, the lowest of its first byte first, what each of their values adds.
    parts: [[u32; 16]; 8],
}

impl Field {
    /// A field that this many bytes follow.
    pub fn followed_by(bytes: usize) -> Field {
        let mut text = vec![0; 4 + bytes];
        let mut parts = [[0; 16]; 8];
        for bit in 0..32 {
            text[..4].copy_from_slice(&(1_u32 << bit).to_le_bytes());
            // From zero the function has no constant part: this is what the bit alone adds.
            let adds = crc32c(0, &text);
            let (part, bit) = (&mut parts[bit / 4], bit % 4);
            for (value, sum) in part.iter_mut().enumerate() {
                *sum ^= if value >> bit & 1 == 1 { adds } else { 0 };
            }
        }
        Field { parts }
    }

    /// What the field adds when it has this value, read as little-endian: to be taken out of the sum with `^`.
    pub fn adds(&self, value: u32) -> u32 {
        let part = |nth: usize| self.parts[nth][(value >> (4 * nth) & 15) as usize];
        (0..8).fold(0, |sum, nth| sum ^ part(nth))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_field_that_is_taken_out_counts_as_zero(
            before in proptest::collection::vec(any::<u8>(), 0..200),
            value: u32,
            after in proptest::collection::vec(any::<u8>(), 0..600),
            seed: u32,
        ) {
            let field = Field::followed_by(after.len());
            let text = |value: u32| [&before[..], &value.to_le_bytes(), &after].concat();
            prop_assert_eq!(crc32c(seed, &text(value)) ^ field.adds(value), crc32c(seed, &text(0)));
        }
    }
}
