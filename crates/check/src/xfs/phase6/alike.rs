//! Names of a directory with leaves that have the same hash: whether they are the same name. Collisions of 32 bits are rare.

use ondisk::xfs::Extent;
use ondisk::xfs::directory::{Item, item};

use crate::xfs::lookup;
use crate::xfs::rules::Rules;
use crate::xfs::sink::{Name, Sink};
use crate::xfs::volume::Volume;
use crate::xfs::worker::Worker;
use crate::xfs::xfs_repair::problems::{DIR_ENT_DUP, DIR_HASH_TABLE};

/// Compares the names at the addresses of each pair, with the rank of the directory.
pub(super) fn run(
    volume: &Volume<'_>,
    rules: &Rules,
    mut pairs: Vec<(u64, u32, u32)>,
    worker: &mut Worker<'_>,
) {
    pairs.sort_unstable();
    for of_directory in pairs.chunk_by(|one, next| one.0 == next.0) {
        let ino = worker.state.chunks.ino(of_directory[0].0);
        let Some(extents) = lookup::extents(volume, ino) else {
            continue;
        };
        for (_, one, other) in of_directory {
            pair(volume, rules, ino, &extents, (*one, *other), worker);
        }
    }
}

fn pair(
    volume: &Volume<'_>,
    rules: &Rules,
    ino: u64,
    extents: &[Extent],
    (one, other): (u32, u32),
    worker: &mut Worker<'_>,
) {
    let at = |address: u32| -> Option<(Vec<u8>, u64, usize)> {
        let byte = u64::from(address) << 3;
        let size = rules.geometry.directory_block() as u64;
        let offset = byte / size * rules.dir_blocks;
        let bytes = lookup::directory_block(volume, rules, extents, offset)?;
        Some((bytes, offset, (byte % size) as usize))
    };
    let (Some(one), Some(other)) = (at(one), at(other)) else {
        return;
    };
    let entry = |place: &(Vec<u8>, u64, usize)| {
        let (bytes, offset, at) = place;
        match item(rules.geometry.ftype, bytes, *at, bytes.len())? {
            Item::Entry(entry) => Some((
                entry.name.to_vec(),
                entry.inumber,
                entry.ftype,
                *offset,
                *at,
            )),
            Item::Free { .. } => None,
        }
    };
    let (Some(one), Some((name, inumber, ftype, offset, at))) = (entry(&one), entry(&other)) else {
        return;
    };
    let found = Name {
        directory: ino,
        ino: inumber,
        kind: ftype,
        name: &name,
        place: Some((offset, at)),
    };
    if (one.3, one.4) == (offset, at) {
        worker.find(found.about(&DIR_HASH_TABLE));
    } else if one.0 == name {
        worker.find(found.about(&DIR_ENT_DUP));
    }
}
