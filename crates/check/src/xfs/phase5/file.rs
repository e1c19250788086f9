//! A file of the superblock's, read slowly.

use ondisk::bytes::{be16, be32};
use ondisk::xfs::Extent;
use ondisk::xfs::btree::{ForkRoot, fork_magic, fork_pointer, fork_room, long_header};
use ondisk::xfs::dinode::{Format, Inode, MAGIC};
use ondisk::xfs::extent::list;

use crate::xfs::volume::Volume;

/// Blocks of a fork's btree at most.
const MOST_BLOCKS: usize = 1 << 16;

/// Why a file cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    Inode,
    Map,
}

/// A file.
#[derive(Debug)]
pub(super) struct File {
    pub(super) size: u64,
    extents: Vec<Extent>,
}

impl File {
    /// The block number of a block of the file; none in a hole.
    pub(super) fn block(&self, block: u64) -> Option<u64> {
        let at = self
            .extents
            .partition_point(|extent| extent.offset <= block);
        let extent = self.extents.get(at.checked_sub(1)?)?;
        let within = block - extent.offset;
        (within < extent.count).then(|| extent.block + within)
    }
}

/// Reads the inode and its map.
pub(super) fn open(volume: &Volume<'_>, ino: u64) -> Result<File, Refused> {
    let geo = &volume.geo;
    if !geo.is_inode(ino) {
        return Err(Refused::Inode);
    }
    let mut bytes = vec![0; geo.inode_size as usize];
    let read = volume.source.read_at(&mut bytes, geo.ino_offset(ino));
    let inode = Inode::new(geo, &bytes);
    if read.is_err() || inode.magic() != MAGIC {
        return Err(Refused::Inode);
    }
    let fork = inode.data_fork();
    let mut extents: Vec<Extent> = match Format::from_byte(inode.format()) {
        Some(Format::Extents) => {
            let count = usize::try_from(inode.nextents()).unwrap_or(usize::MAX);
            list(fork, count).collect()
        }
        Some(Format::Btree) => leaves(volume, &ForkRoot::new(fork))?,
        _ => return Err(Refused::Map),
    };
    extents.sort_unstable();
    Ok(File {
        size: inode.size(),
        extents,
    })
}

fn leaves(volume: &Volume<'_>, root: &ForkRoot<'_>) -> Result<Vec<Extent>, Refused> {
    let geo = &volume.geo;
    let level = root.level();
    let count = usize::from(root.count()).min(root.room());
    let mut stack: Vec<(u64, u16)> = (0..count)
        .map(|index| (root.pointer(index), level.wrapping_sub(1)))
        .collect();
    let mut extents = Vec::new();
    let mut met = 0;
    while let Some((block, level)) = stack.pop() {
        met += 1;
        if met > MOST_BLOCKS || !geo.is_block(block) {
            return Err(Refused::Map);
        }
        let bytes = volume.read(block, 1).map_err(|_| Refused::Map)?;
        if be32(&bytes, 0) != fork_magic(geo.v5) || be16(&bytes, 4) != level {
            return Err(Refused::Map);
        }
        let used = usize::from(be16(&bytes, 6)).min(fork_room(geo));
        if level == 0 {
            extents.extend(list(&bytes[long_header(geo.v5)..], used));
        } else {
            stack.extend((0..used).map(|index| (fork_pointer(geo, &bytes, index), level - 1)));
        }
    }
    Ok(extents)
}
