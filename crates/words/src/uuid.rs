//! UUIDs as text.

use std::fmt::Write as _;

/// A UUID in its usual form (RFC 9562, section 4): `67e55044-10b1-426f-9247-bb680e5fe0c8`.
pub fn uuid(bytes: &[u8; 16]) -> String {
    let mut text = String::with_capacity(36);
    for (at, byte) in bytes.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_groups_have_eight_four_four_four_and_twelve_digits() {
        let bytes = std::array::from_fn(|at| at as u8 * 0x11);
        assert_eq!(uuid(&bytes), "00112233-4455-6677-8899-aabbccddeeff");
    }
}
