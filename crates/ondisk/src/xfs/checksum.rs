//! Checksums: CRC-32C over the object with the field taken as zero, stored little-endian.

use crate::Checksum;
use crate::checksum::crc32c;

/// Offset of the checksum in the superblock.
pub const SUPERBLOCK: usize = 224;
/// Offset of the checksum in the AGF.
pub const AGF: usize = 216;
/// Offset of the checksum in the AGI.
pub const AGI: usize = 312;
/// Offset of the checksum in the AGFL.
pub const AGFL: usize = 32;
/// Offset of the checksum in a btree block with short pointers.
pub const SHORT_BTREE: usize = 52;
/// Offset of the checksum in a btree block with long pointers.
pub const LONG_BTREE: usize = 64;
/// Offset of the checksum in an inode.
pub const INODE: usize = 100;
/// Offset of the checksum in nodes and leaves of directories and attributes.
pub const DA: usize = 12;
/// Offset of the checksum in data and free blocks of a directory.
pub const DIRECTORY: usize = 4;
/// Offset of the checksum in a block of a remote attribute value or of a symbolic link.
pub const REMOTE: usize = 12;
/// Offset of the checksum in a quota record.
pub const DQUOT: usize = 108;

/// Bytes that are copied to the stack rather than hashed in three parts.
const COPIED: usize = 4096;

/// The checksum that `bytes` should have at `at`.
pub fn compute(bytes: &[u8], at: usize) -> u32 {
    let (before, rest) = bytes.split_at(at.min(bytes.len()));
    let after = rest.get(4..).unwrap_or_default();
    if bytes.len() <= COPIED {
        let mut copy = [0; COPIED];
        let copy = &mut copy[..bytes.len()];
        copy.copy_from_slice(bytes);
        let end = bytes.len().min(at.saturating_add(4));
        copy[at.min(end)..end].fill(0);
        return !crc32c(!0, copy);
    }
    !crc32c(crc32c(crc32c(!0, before), &[0; 4]), after)
}

/// The checksum at `at` as stored and as computed.
pub fn verify(bytes: &[u8], at: usize) -> Checksum {
    Checksum {
        stored: crate::bytes::le32(bytes, at),
        computed: compute(bytes, at),
    }
}

/// Whether the checksum at `at` is right.
pub fn is_right(bytes: &[u8], at: usize) -> bool {
    verify(bytes, at).matches()
}

/// Writes the checksum at `at`; nothing where the bytes end before it.
pub fn seal(bytes: &mut [u8], at: usize) {
    let sum = compute(bytes, at);
    if let Some(field) = at.checked_add(4).and_then(|end| bytes.get_mut(at..end)) {
        field.copy_from_slice(&sum.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_object_is_right_until_a_byte_changes() {
        for size in [512, 4096, 8192] {
            let mut bytes: Vec<u8> = (0..size).map(|at| (at % 251) as u8).collect();
            seal(&mut bytes, INODE);
            assert!(is_right(&bytes, INODE));
            let whole = !crc32c(crc32c(crc32c(!0, &bytes[..100]), &[0; 4]), &bytes[104..]);
            assert_eq!(compute(&bytes, INODE), whole);
            bytes[size - 1] ^= 1;
            assert!(!is_right(&bytes, INODE));
        }
        seal(&mut [0; 3], INODE);
        assert!(!is_right(&[1, 0, 0, 0], 0));
    }
}
