//! Names of a directory with leaves that have the same hash: whether they are the same name. Collisions of 32 bits are rare, but names
//! of one hash are easily made, as many as a directory holds: each data block is read once, in ascending order.

use std::hash::{BuildHasher as _, RandomState};

use ondisk::xfs::Extent;
use ondisk::xfs::directory::{Item, item};

use crate::frame::failure::Failure;
use crate::xfs::lookup;
use crate::xfs::rules::Rules;
use crate::xfs::sink::{Name, Sink};
use crate::xfs::volume::Volume;
use crate::xfs::worker::Worker;
use crate::xfs::xfs_repair::problems::DIR_ENT_DUP;

/// A hash entry whose name may be equal to that of others of its directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Alike {
    /// Rank of the directory.
    pub(super) rank: u64,
    /// Hash of the name.
    pub(super) hash: u32,
    /// Address of the name.
    pub(super) address: u32,
}

/// Compares the names of entries that have one hash, of each directory.
///
/// # Errors
/// The check was cancelled, or outgrew its memory.
pub(super) fn run(
    volume: &Volume<'_>,
    rules: &Rules,
    mut entries: Vec<Alike>,
    worker: &mut Worker<'_>,
) -> Result<(), Failure> {
    entries.sort_unstable();
    // An address that is there twice is a hash table that does not agree with the names.
    entries.dedup();
    for of_directory in entries.chunk_by(|one, next| one.rank == next.rank) {
        let runs = of_directory.chunk_by(|one, next| one.hash == next.hash);
        let runs = runs.filter(|run| run.len() > 1).flatten();
        let mut addresses: Vec<u32> = runs.map(|one| one.address).collect();
        if addresses.is_empty() {
            continue;
        }
        addresses.sort_unstable();
        let ino = worker.state.chunks.ino(of_directory[0].rank);
        if let Some(extents) = lookup::extents(volume, ino) {
            let directory = Directory {
                volume,
                rules,
                ino,
                extents,
            };
            directory.compare(&addresses, worker)?;
        }
    }
    Ok(())
}

/// A directory whose names are read by address.
struct Directory<'a> {
    volume: &'a Volume<'a>,
    rules: &'a Rules,
    ino: u64,
    extents: Vec<Extent>,
}

impl Directory<'_> {
    /// Raises the names at these addresses, which ascend, that one before them has.
    fn compare(&self, addresses: &[u32], worker: &mut Worker<'_>) -> Result<(), Failure> {
        // Two names of one fingerprint are one name: the keys are drawn anew for each directory, so names cannot be made for them.
        let keys = (RandomState::new(), RandomState::new());
        let mut names: Vec<([u64; 2], u32)> = Vec::with_capacity(addresses.len());
        self.each(addresses, |address, name| {
            names.push((
                [keys.0.hash_one(name.name), keys.1.hash_one(name.name)],
                address,
            ));
        })?;
        names.sort_unstable();
        let same = names.chunk_by(|one, next| one.0 == next.0);
        let mut again: Vec<u32> = same.flat_map(|run| &run[1..]).map(|one| one.1).collect();
        again.sort_unstable();
        self.each(&again, |_, name| worker.find(name.about(&DIR_ENT_DUP)))
    }

    /// Reads the names at these addresses, which ascend. What cannot be read is left out.
    fn each(&self, addresses: &[u32], mut each: impl FnMut(u32, &Name<'_>)) -> Result<(), Failure> {
        let (volume, rules) = (self.volume, self.rules);
        let size = rules.geometry.directory_block() as u64;
        let block_of = |address: &u32| (u64::from(*address) << 3) / size;
        for of_block in addresses.chunk_by(|one, next| block_of(one) == block_of(next)) {
            volume.go_on()?;
            let offset = block_of(&of_block[0]) * rules.dir_blocks;
            let bytes = lookup::directory_block(volume, rules, &self.extents, offset);
            let Some(bytes) = bytes else { continue };
            for address in of_block {
                let at = ((u64::from(*address) << 3) % size) as usize;
                let Some(Item::Entry(entry)) = item(rules.geometry.ftype, &bytes, at, bytes.len())
                else {
                    continue;
                };
                let name = Name {
                    directory: self.ino,
                    ino: entry.inumber,
                    kind: entry.ftype,
                    name: entry.name,
                    place: Some((offset, at)),
                };
                each(*address, &name);
            }
        }
        Ok(())
    }
}
