//! What a reader of the volume must find.

use super::attributes::LONGEST_VALUE;
use crate::population::{Blocks, FileKind, ObjectId, Population, clear_holes};

/// The bytes of a regular file in a volume with these sizes of blocks and clusters; none for anything else.
pub fn read(
    population: &Population,
    id: ObjectId,
    block_size: u32,
    cluster_size: u32,
) -> Option<Vec<u8>> {
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
            cluster: cluster_size / block_size,
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
