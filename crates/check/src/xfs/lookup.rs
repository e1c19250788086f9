//! Parts of files by inode, read one after the other: for the few cases that a sweep leaves open.

use std::collections::BTreeSet;

use ondisk::bytes::{be16, be32};
use ondisk::xfs::btree::{self, ForkRoot};
use ondisk::xfs::dinode::{Format, Inode};
use ondisk::xfs::{Extent, extent};

use super::rules::Rules;
use super::volume::Volume;

/// Extents that are read at most.
const MOST_EXTENTS: usize = 1 << 22;

/// The extents of the data fork of an inode, as far as they can be read; none where the inode cannot be.
pub(crate) fn extents(volume: &Volume<'_>, ino: u64) -> Option<Vec<Extent>> {
    let geo = &volume.geo;
    let mut bytes = vec![0; geo.inode_size as usize];
    volume
        .source
        .read_at(&mut bytes, geo.ino_offset(ino))
        .ok()?;
    let inode = Inode::new(geo, &bytes);
    let fork = inode.data_fork();
    match Format::from_byte(inode.format())? {
        Format::Extents => {
            let count = usize::try_from(inode.nextents()).unwrap_or(usize::MAX);
            Some(extent::list(fork, count).collect())
        }
        Format::Btree => {
            let root = ForkRoot::new(fork);
            let mut found = Found::default();
            for nth in 0..usize::from(root.count()).min(root.room()) {
                tree(volume, root.pointer(nth), root.level(), &mut found);
            }
            Some(found.extents)
        }
        _ => Some(Vec::new()),
    }
}

/// What was found of a fork's btree.
#[derive(Default)]
struct Found {
    extents: Vec<Extent>,
    /// Blocks of the tree that were met: in a damaged one many nodes may lead to one block.
    met: BTreeSet<u64>,
}

/// The extents below a block of a fork's btree, which is one level below `above`. Blocks that were met before are left out, and all that
/// follows once the check is cancelled.
fn tree(volume: &Volume<'_>, block: u64, above: u16, found: &mut Found) {
    let geo = &volume.geo;
    if !geo.is_block(block)
        || above == 0
        || found.extents.len() >= MOST_EXTENTS
        || !found.met.insert(block)
        || volume.progress.cancelled()
    {
        return;
    }
    let Ok(bytes) = volume.read(block, 1) else {
        return;
    };
    let (level, count) = (be16(&bytes, 4), usize::from(be16(&bytes, 6)));
    if level != above - 1 || be32(&bytes, 0) != btree::fork_magic(geo.v5) {
        return;
    }
    let count = count.min(btree::fork_room(geo));
    if level == 0 {
        let records = bytes.get(btree::long_header(geo.v5)..).unwrap_or_default();
        found.extents.extend(extent::list(records, count));
        return;
    }
    for nth in 0..count {
        tree(volume, btree::fork_pointer(geo, &bytes, nth), level, found);
    }
}

/// A directory block by its offset in blocks of the filesystem; none where it is not mapped or cannot be read.
pub(crate) fn directory_block(
    volume: &Volume<'_>,
    rules: &Rules,
    extents: &[Extent],
    offset: u64,
) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(rules.geometry.directory_block());
    for at in offset..offset + rules.dir_blocks {
        let after = extents.partition_point(|extent| extent.offset <= at);
        let extent = extents[..after].last().filter(|extent| at < extent.end())?;
        let block = extent.block + (at - extent.offset);
        if !volume.geo.is_block(block) {
            return None;
        }
        bytes.extend(volume.read(block, 1).ok()?);
    }
    Some(bytes)
}
