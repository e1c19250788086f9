//! A file of the superblock's, read slowly.

use ondisk::xfs::Extent;
use ondisk::xfs::dinode::{Format, Inode, MAGIC};

use crate::xfs::lookup;
use crate::xfs::volume::Volume;

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
    let format = Format::from_byte(inode.format());
    if !matches!(format, Some(Format::Extents | Format::Btree)) {
        return Err(Refused::Map);
    }
    let mut extents = lookup::extents(volume, ino).ok_or(Refused::Map)?;
    extents.sort_unstable();
    Ok(File {
        size: inode.size(),
        extents,
    })
}
