//! What a reader of the filesystem must find.

use super::attributes::LONGEST_VALUE;
use crate::population::{Blocks, FileKind, ObjectId, Population, clear_holes};

/// The bytes of a regular file in a filesystem with blocks of this size; none for anything else.
pub fn read(population: &Population, id: ObjectId, block_size: u32) -> Option<Vec<u8>> {
    let FileKind::Regular(size) = population.file_kind(id) else {
        return None;
    };
    let mut bytes = vec![0; size as usize];
    if !population.profile().contents {
        return Some(bytes);
    }
    population.fill(id, 0, &mut bytes);
    if size > u64::from(block_size) && population.is_fragmented(id) {
        let of = Blocks {
            size: block_size,
            cluster: 1,
        };
        let mut pieces = Vec::new();
        population.cut(id, size, of, &mut pieces);
        clear_holes(&pieces, block_size, 0, &mut bytes);
    }
    Some(bytes)
}

/// The target of a symbolic link; none for anything else.
pub fn link_target(population: &Population, id: ObjectId) -> Option<Vec<u8>> {
    match population.file_kind(id) {
        FileKind::Symlink(length) => Some(population.target(id, length)),
        _ => None,
    }
}

/// The extended attributes of a file, by their full names.
pub fn attributes(population: &Population, id: ObjectId) -> Vec<(String, Vec<u8>)> {
    population.attributes(id, LONGEST_VALUE)
}

/// Major and minor number of a device. XFS has 18 bits for the minor one, and Linux reads 9 of the major one.
pub fn device_number(population: &Population, id: ObjectId) -> (u32, u32) {
    let (major, minor) = population.device_number(id);
    (major & 0x1ff, minor & ((1 << 18) - 1))
}
