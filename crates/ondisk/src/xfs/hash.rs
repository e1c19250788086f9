//! The hash of names in directories and attribute forks (`xfs_da_hashname`).

/// The hash of a name.
pub fn name(name: &[u8]) -> u32 {
    name.iter()
        .fold(0_u32, |hash, byte| hash.rotate_left(7) ^ u32::from(*byte))
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
