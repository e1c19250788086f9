//! Hashes of names in directory indexes and in extended attributes.
//!
//! Both add the type `char`, whose sign differs: it is signed in x86 kernels before 6.2 and in programs on x86, unsigned in later kernels and on ARM. The
//! volume does not record which. Names without bytes above 127 hash alike.

use crate::ext4::hash::tea;

/// How a byte of a name counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sign {
    /// Bytes above 127 are negative.
    Signed,
    /// Bytes above 127 are positive.
    Unsigned,
}

/// A name's place in a directory index: the major hash leads to a cluster of leaves, the minor hash to the block in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NameHash {
    /// `dx_major_hash`.
    pub major: u32,
    /// `dx_minor_hash`.
    pub minor: u32,
}

/// The hash of a name in a directory index; `seed` is `s_dx_seed`. `.` and `..` hash to zeros.
pub fn name_hash(seed: [u32; 3], name: &[u8], sign: Sign) -> NameHash {
    if name == b"." || name == b".." {
        return NameHash { major: 0, minor: 0 };
    }
    let start = [seed[0], seed[1], seed[2], 0];
    let [[major], [minor]] = tea::hash(start, &[name], sign == Sign::Unsigned);
    NameHash { major, minor }
}

/// The hash of an attribute's name without its prefix; `start` is `s_uuid_hash`.
pub fn xattr_hash(start: u32, name: &[u8], sign: Sign) -> u32 {
    name.iter().fold(start, |hash, &byte| {
        let character = match sign {
            Sign::Signed => i32::from(byte.cast_signed()).cast_unsigned(),
            Sign::Unsigned => byte.into(),
        };
        hash.rotate_left(5) ^ character
    })
}

/// `s_uuid_hash` of a UUID.
pub fn uuid_hash(uuid: &[u8; 16]) -> u32 {
    xattr_hash(0, uuid, Sign::Unsigned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sign_matters_above_127_alone() {
        let seed = [0x1234_5678, 0x9abc_def0, 7];
        let hash = |name: &[u8], sign| (name_hash(seed, name, sign), xattr_hash(9, name, sign));
        assert_eq!(hash(b"plain", Sign::Signed), hash(b"plain", Sign::Unsigned));
        let umlaut = "\u{e4}".as_bytes();
        assert_ne!(hash(umlaut, Sign::Signed), hash(umlaut, Sign::Unsigned));
        let dots = NameHash { major: 0, minor: 0 };
        assert_eq!(name_hash(seed, b"..", Sign::Signed), dots);
        assert_eq!(name_hash(seed, b".", Sign::Unsigned), dots);
    }
}
