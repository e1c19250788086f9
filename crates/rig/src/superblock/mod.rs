//! Superblocks read as bytes: the facts of a filesystem as it lies on the device, not as a tool of
//! some version chooses to print them.
//!
//! Only what a report needs is read here; checking a superblock is another crate's work. Each
//! reader answers with names and values in words (`Facts`), so that a record need not know formats.

pub mod btrfs;
pub mod ext;
pub mod xfs;

use std::collections::BTreeMap;

/// Names and values in words: `block_size` = `4096`.
pub type Facts = BTreeMap<String, String>;

/// A field beyond the buffer reads as zero, so a short or damaged superblock cannot cause a panic.
fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes
        .get(at..at + N)
        .and_then(|part| part.try_into().ok())
        .unwrap_or([0; N])
}

pub(crate) fn le16(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(array(bytes, at))
}

pub(crate) fn le32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(array(bytes, at))
}

pub(crate) fn le64(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(array(bytes, at))
}

fn be16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes(array(bytes, at))
}

fn be32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(array(bytes, at))
}

fn be64(bytes: &[u8], at: usize) -> u64 {
    u64::from_be_bytes(array(bytes, at))
}

/// A UUID in its usual form (RFC 9562, section 4).
fn uuid(bytes: &[u8], at: usize) -> String {
    let hex: Vec<String> = array::<16>(bytes, at)
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect();
    [&hex[..4], &hex[4..6], &hex[6..8], &hex[8..10], &hex[10..]]
        .map(<[std::string::String]>::concat)
        .join("-")
}

/// Text up to the first zero byte.
fn text(bytes: &[u8], at: usize, length: usize) -> String {
    let field = bytes.get(at..at + length).unwrap_or_default();
    let end = field
        .iter()
        .position(|&b| b == 0)
        .unwrap_or(length.min(field.len()));
    String::from_utf8_lossy(&field[..end]).into_owned()
}

/// Names of the set bits, by their values; a bit without a name is shown as `0x..`.
fn names(mut bits: u64, table: &[(u64, &str)]) -> Vec<String> {
    let mut found = Vec::new();
    for &(bit, name) in table {
        if bits & bit != 0 {
            found.push(name.to_string());
            bits &= !bit;
        }
    }
    if bits != 0 {
        found.push(format!("0x{bits:x}"));
    }
    found
}

/// Puts a value under a name.
#[allow(clippy::needless_pass_by_value)] // callers pass numbers and fresh strings
fn put(facts: &mut Facts, name: &str, value: impl ToString) {
    facts.insert(name.into(), value.to_string());
}

/// Seconds since 1970 as RFC 3339.
fn time(seconds: u64) -> Option<String> {
    let seconds = i64::try_from(seconds).ok()?;
    (seconds != 0)
        .then(|| jiff::Timestamp::from_second(seconds).ok())
        .flatten()
        .map(|time| time.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_beyond_the_end_read_as_zero() {
        assert_eq!(le32(&[1, 2, 3], 0), 0);
        assert_eq!(le16(&[1, 2, 3], 1), 0x0302);
        assert_eq!(be64(&[], 8), 0);
        assert_eq!(text(b"ab\0c", 0, 4), "ab");
        assert_eq!(text(b"ab", 0, 16), "");
    }

    #[test]
    fn an_unnamed_bit_is_shown() {
        assert_eq!(names(0b101, &[(1, "one")]), vec!["one", "0x4"]);
    }

    #[test]
    fn a_uuid_has_its_dashes() {
        let bytes: Vec<u8> = (0..16).collect();
        assert_eq!(uuid(&bytes, 0), "00010203-0405-0607-0809-0a0b0c0d0e0f");
    }
}
