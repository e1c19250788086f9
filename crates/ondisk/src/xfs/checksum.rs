//! Checksums: CRC-32C over the object with the field taken as zero, stored little-endian.

use std::sync::OnceLock;

use crate::Checksum;
use crate::bytes::le32;
use crate::checksum::{Field, crc32c};

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

/// Where the checksums of the objects are of which a filesystem has many.
const OFTEN: [usize; 5] = [DIRECTORY, DA, SHORT_BTREE, LONG_BTREE, INODE];
/// Sizes of these objects are powers of two: those of inodes from 2^8 bytes on, directory blocks up to 2^16.
const SIZES: usize = 9;
const SMALLEST: u32 = 8;

/// What the checksum field adds, by its place in [`OFTEN`] and the size.
static FIELDS: [[OnceLock<Field>; SIZES]; OFTEN.len()] =
    [const { [const { OnceLock::new() }; SIZES] }; OFTEN.len()];

/// What the checksum field at `at` of an object of this size adds; none for objects of which there are few.
fn field(size: usize, at: usize) -> Option<&'static Field> {
    let log = size.trailing_zeros().checked_sub(SMALLEST)?;
    let place = OFTEN.iter().position(|often| *often == at)?;
    let field = FIELDS[place].get(log as usize)?;
    let known = size.is_power_of_two();
    known.then(|| field.get_or_init(|| Field::followed_by(size - at - 4)))
}

/// The checksum that `bytes` should have at `at`.
pub fn compute(bytes: &[u8], at: usize) -> u32 {
    if let Some(field) = field(bytes.len(), at) {
        return !(crc32c(!0, bytes) ^ field.adds(le32(bytes, at)));
    }
    let (before, rest) = bytes.split_at(at.min(bytes.len()));
    let after = rest.get(4..).unwrap_or_default();
    let zeros = [0; 4];
    let middle = &zeros[..rest.len().min(4)];
    !crc32c(crc32c(crc32c(!0, before), middle), after)
}

/// The checksum at `at` as stored and as computed.
pub fn verify(bytes: &[u8], at: usize) -> Checksum {
    Checksum {
        stored: le32(bytes, at),
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
        for (size, at) in [
            (256, INODE),
            (512, DIRECTORY),
            (4096, DA),
            (65_536, LONG_BTREE),
            (1000, 996),
            (300, INODE),
        ] {
            let bytes: Vec<u8> = (0..size).map(|at| (at % 253) as u8).collect();
            let parts = crc32c(crc32c(crc32c(!0, &bytes[..at]), &[0; 4]), &bytes[at + 4..]);
            assert_eq!(compute(&bytes, at), !parts, "{size} bytes, field at {at}");
        }
        seal(&mut [0; 3], INODE);
        assert!(!is_right(&[1, 0, 0, 0], 0));
    }
}
