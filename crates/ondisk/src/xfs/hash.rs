//! The hash of names in directories and attribute forks (`xfs_da_hashname`).

/// The hash of a name.
#[inline]
pub fn name(name: &[u8]) -> u32 {
    // Four bytes at once: each moves those before it by seven bits, so that the four together are independent of what came before.
    let mut fours = name.chunks_exact(4);
    let hash = fours.by_ref().fold(0_u32, |hash, four| {
        let byte = |nth: usize| u32::from(four[nth]);
        hash.rotate_left(28) ^ byte(0) << 21 ^ byte(1) << 14 ^ byte(2) << 7 ^ byte(3)
    });
    bytewise(hash, fours.remainder())
}

/// The hash of a name whose first bytes have that hash.
fn bytewise(hash: u32, rest: &[u8]) -> u32 {
    rest.iter()
        .fold(hash, |hash, byte| hash.rotate_left(7) ^ u32::from(*byte))
}

/// The hash of a name on a filesystem that compares names without case (`ascii-ci`), as kernels from 6.4 on fold them: ASCII and the
/// Latin-1 letters c0-de but d7.
pub fn folded(name: &[u8]) -> u32 {
    name.iter().fold(0_u32, |hash, byte| {
        hash.rotate_left(7) ^ u32::from(lower(*byte))
    })
}

/// The byte in lower case, as [`folded`] has it.
pub fn lower(byte: u8) -> u8 {
    match byte {
        b'A'..=b'Z' | 0xc0..=0xd6 | 0xd8..=0xde => byte + 0x20,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn four_bytes_at_once_are_four_bytes(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..256)) {
            proptest::prop_assert_eq!(name(&bytes), bytewise(0, &bytes));
        }
    }

    #[test]
    fn the_hashes_are_those_of_the_kernel() {
        let cases: [(&[u8], u32); 7] = [
            (b".", 0x2e),
            (b"..", 0x172e),
            (b"d1", 0x3231),
            (b"blk", 0x18_b66b),
            (b"leaf", 0x0d99_70e6),
            (b"reflinked", 0xef11_6982),
            (b"", 0),
        ];
        for (bytes, expected) in cases {
            assert_eq!(name(bytes), expected, "{}", String::from_utf8_lossy(bytes));
        }
        assert_eq!(folded(b"LeaF"), name(b"leaf"));
    }
}
