//! Fields of on-disk structures: numbers of fixed width, text, UUIDs, and views of whole structures.
//!
//! For `le16` to `be64`, [`uuid`] and [`text`] a field beyond the buffer reads as zero (text: as
//! empty), so a short or damaged structure cannot cause a panic.

use crate::Error;

#[inline]
fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    at.checked_add(N)
        .and_then(|end| bytes.get(at..end))
        .and_then(|part| part.try_into().ok())
        .unwrap_or([0; N])
}

/// 16 bits, little-endian.
#[inline]
pub fn le16(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(array(bytes, at))
}

/// 32 bits, little-endian.
#[inline]
pub fn le32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(array(bytes, at))
}

/// 64 bits, little-endian.
#[inline]
pub fn le64(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(array(bytes, at))
}

/// 16 bits, big-endian.
#[inline]
pub fn be16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes(array(bytes, at))
}

/// 32 bits, big-endian.
#[inline]
pub fn be32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(array(bytes, at))
}

/// 64 bits, big-endian.
#[inline]
pub fn be64(bytes: &[u8], at: usize) -> u64 {
    u64::from_be_bytes(array(bytes, at))
}

/// A UUID in its usual form (RFC 9562, section 4).
pub fn uuid(bytes: &[u8], at: usize) -> String {
    words::uuid(&array::<16>(bytes, at))
}

/// Text up to the first zero byte.
pub fn text(bytes: &[u8], at: usize, length: usize) -> String {
    let field = at
        .checked_add(length)
        .and_then(|end| bytes.get(at..end))
        .unwrap_or_default();
    let end = field
        .iter()
        .position(|&b| b == 0)
        .unwrap_or(length.min(field.len()));
    String::from_utf8_lossy(&field[..end]).into_owned()
}

/// Reads a fixed structure at the start of `bytes`; the rest is left alone.
pub(crate) fn view<'a, T>(what: &'static str, bytes: &'a [u8]) -> Result<&'a T, Error>
where
    T: zerocopy::FromBytes + zerocopy::KnownLayout + zerocopy::Immutable + zerocopy::Unaligned,
{
    T::ref_from_prefix(bytes)
        .map(|(value, _)| value)
        .map_err(|_| Error::Short {
            what,
            have: bytes.len(),
            need: size_of::<T>(),
        })
}

/// Reads a superblock at the start of `bytes`. `magic` gives its field of the magic number, which must be
/// that of `kind` in `fskind`'s table; `number` reads the first 32 bits of it for the error message.
pub(crate) fn superblock<'a, T>(
    what: &'static str,
    kind: fskind::Kind,
    bytes: &'a [u8],
    magic: impl Fn(&T) -> &[u8],
    number: impl Fn(&[u8], usize) -> u32,
) -> Result<&'a T, Error>
where
    T: zerocopy::FromBytes + zerocopy::KnownLayout + zerocopy::Immutable + zerocopy::Unaligned,
{
    let this: &T = view(what, bytes)?;
    let (found, expected) = (magic(this), kind.properties().signature.magic);
    if found == expected {
        return Ok(this);
    }
    Err(Error::Magic {
        what,
        found: number(found, 0),
        expected: number(expected, 0),
    })
}

/// The same as [`view`] for writing.
pub(crate) fn view_mut<'a, T>(what: &'static str, bytes: &'a mut [u8]) -> Result<&'a mut T, Error>
where
    T: zerocopy::FromBytes
        + zerocopy::IntoBytes
        + zerocopy::KnownLayout
        + zerocopy::Immutable
        + zerocopy::Unaligned,
{
    let have = bytes.len();
    T::mut_from_prefix(bytes)
        .map(|(value, _)| value)
        .map_err(|_| Error::Short {
            what,
            have,
            need: size_of::<T>(),
        })
}

/// Little-endian 16 bits at `at`, if they are within `bytes`.
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let end = at.checked_add(2)?;
    Some(u16::from_le_bytes(bytes.get(at..end)?.try_into().ok()?))
}

/// Little-endian 32 bits at `at`, if they are within `bytes`.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let end = at.checked_add(4)?;
    Some(u32::from_le_bytes(bytes.get(at..end)?.try_into().ok()?))
}

/// Writes `value` at `at`; `false` when it does not fit.
#[must_use]
pub(crate) fn put_u32(bytes: &mut [u8], at: usize, value: u32) -> bool {
    let Some(place) = at.checked_add(4).and_then(|end| bytes.get_mut(at..end)) else {
        return false;
    };
    place.copy_from_slice(&value.to_le_bytes());
    true
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
    fn a_uuid_has_its_dashes() {
        let bytes: Vec<u8> = (0..16).collect();
        assert_eq!(uuid(&bytes, 0), "00010203-0405-0607-0809-0a0b0c0d0e0f");
    }
}
