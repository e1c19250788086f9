//! Names in directories that ignore case.
//!
//! The index of such a directory is ordered by the hash of the *folded* name: normalised (NFD without
//! ignorable code points) and case-folded by the tables of Unicode 12.1, as in the kernel's fs/unicode.
//! Here only names of ASCII are folded, which need no table; for a name with other valid UTF-8 the
//! answer is [`Folded::NotCovered`], and a checker must count such names as not judged instead of guessing. A name
//! that is no UTF-8 at all is hashed as it is, unless the filesystem is strict and does not allow it.
//!
//! A full table was rejected for now: a folding by another Unicode version than the kernel's differs for some
//! hundred code points, and would raise findings that are not there.

use std::borrow::Cow;

/// `s_encoding` of the only encoding that exists.
pub const UTF8_12_1: u16 = 1;
/// `s_encoding_flags`: names that are not valid are refused.
pub const STRICT: u16 = 1;

/// A name for the hash of a folding directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Folded<'a> {
    /// Hash and compare these bytes.
    Name(Cow<'a, [u8]>),
    /// Not UTF-8: hashed and compared as it is; a fault in a strict filesystem.
    Invalid(&'a [u8]),
    /// Valid, but outside of what is folded here.
    NotCovered,
}

/// Folds a name.
pub fn fold(name: &[u8]) -> Folded<'_> {
    if name.is_ascii() {
        if name.iter().any(u8::is_ascii_uppercase) {
            return Folded::Name(Cow::Owned(name.to_ascii_lowercase()));
        }
        return Folded::Name(Cow::Borrowed(name));
    }
    if str::from_utf8(name).is_ok() {
        Folded::NotCovered
    } else {
        Folded::Invalid(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_answers() {
        assert_eq!(
            fold(b"ReadMe.TXT"),
            Folded::Name(Cow::Borrowed(b"readme.txt"))
        );
        assert_eq!(fold("Größe".as_bytes()), Folded::NotCovered);
        assert_eq!(fold(b"\xff\xfe"), Folded::Invalid(b"\xff\xfe"));
    }
}
