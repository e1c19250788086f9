//! How a filesystem is divided: groups, stripes, and where its fixed metadata lies.
//!
//! A gap in a file means something else at the place where ext4 keeps a copy of its superblock
//! than in the middle of a group. What is needed for that does not change while the filesystem is
//! mounted, so ext's superblock may be read from the device; XFS tells the same by ioctl, to anyone.
//! A geometry is a pure value: that of a filesystem of 2010 can be written down from what mke2fs
//! printed then.

mod ext;
mod xfs;

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

pub use ext::Ext;
#[cfg(test)]
pub(crate) use ext::tests::piszcz;
pub use xfs::Xfs;

use crate::gaps::Cause;

/// The division of a filesystem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Geometry {
    /// ext2, ext3, ext4.
    Ext(Ext),
    /// XFS.
    Xfs(Xfs),
}

/// RAID geometry as the filesystem was told it, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stripe {
    /// What one disk gets before the next one's turn.
    pub unit: u64,
    /// What all disks get.
    pub width: u64,
}

impl Geometry {
    /// The geometry of the filesystem that an open file is on; `None` where it is neither ext nor
    /// XFS, or ext on a device that cannot be read (not root).
    pub fn of(file: &File) -> Option<Geometry> {
        let magic = rustix::fs::fstatfs(file).ok()?.f_type as u64;
        match magic {
            crate::file::EXT => {
                let device = device(file)?;
                let device = File::open(device).ok()?;
                // Through the device's page cache, which is where a mounted ext4 keeps its metadata.
                // It must not be dropped afterwards: that would make the filesystem cold.
                Ext::read(&device).ok().map(Geometry::Ext)
            }
            crate::file::XFS => Xfs::of(file).ok().map(Geometry::Xfs),
            _ => None,
        }
    }

    /// Bytes of a block.
    pub fn block_size(&self) -> u64 {
        match self {
            Geometry::Ext(ext) => ext.block_size,
            Geometry::Xfs(xfs) => xfs.block_size,
        }
    }

    /// What the filesystem calls its parts.
    pub fn group_name(&self) -> &'static str {
        match self {
            Geometry::Ext(_) => "group",
            Geometry::Xfs(_) => "AG",
        }
    }

    /// Number of groups or AGs.
    pub fn groups(&self) -> u64 {
        match self {
            Geometry::Ext(ext) => ext.groups(),
            Geometry::Xfs(xfs) => xfs.ag_count,
        }
    }

    /// The group or AG of a byte of the device.
    pub fn group_of(&self, physical: u64) -> u64 {
        match self {
            Geometry::Ext(ext) => ext.group_of(physical / ext.block_size),
            Geometry::Xfs(xfs) => physical / xfs.ag_bytes(),
        }
    }

    /// The first byte of a group or AG.
    pub fn group_start(&self, group: u64) -> u64 {
        match self {
            Geometry::Ext(ext) => ext.group_start(group).saturating_mul(ext.block_size),
            Geometry::Xfs(xfs) => group.saturating_mul(xfs.ag_bytes()),
        }
    }

    /// The group or AG that an inode's number names.
    pub fn group_of_inode(&self, inode: u64) -> u64 {
        match self {
            Geometry::Ext(ext) => inode.saturating_sub(1) / ext.inodes_per_group,
            Geometry::Xfs(xfs) => inode >> xfs.inode_shift(),
        }
    }

    /// The stripe, where one is set.
    pub fn stripe(&self) -> Option<Stripe> {
        let (unit, width) = match self {
            Geometry::Ext(ext) => (ext.stride, ext.stripe_width),
            Geometry::Xfs(xfs) => (xfs.stripe_unit, xfs.stripe_width),
        };
        let bytes = |blocks: u64| blocks.saturating_mul(self.block_size());
        (unit > 0).then(|| Stripe {
            unit: bytes(unit),
            width: bytes(width.max(unit)),
        })
    }

    /// Fixed metadata at a byte of the device, by geometry alone: what it is, and the range of bytes from
    /// there to its end.
    pub(crate) fn metadata_at(&self, physical: u64) -> Option<(Cause, Range<u64>)> {
        let size = self.block_size();
        let block = physical / size;
        let (cause, end) = match self {
            Geometry::Ext(ext) => ext.metadata_at(block)?,
            Geometry::Xfs(xfs) => xfs.metadata_at(block)?,
        };
        Some((cause, physical..end.saturating_mul(size)))
    }
}

/// The block device under a file, by its number.
fn device(file: &File) -> Option<std::path::PathBuf> {
    let number = file.metadata().ok()?.dev();
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    let is_it = |path: &Path| {
        std::fs::metadata(path)
            .is_ok_and(|found| found.file_type().is_block_device() && found.rdev() == number)
    };
    let mounts = probe::mountinfo::own().unwrap_or_default();
    let source = mounts
        .into_iter()
        .filter(|mount| mount.device == (major, minor))
        .map(|mount| mount.source)
        .find(|source| is_it(source));
    let by_number = || std::path::PathBuf::from(format!("/dev/block/{major}:{minor}"));
    source.or_else(|| Some(by_number()).filter(|path| is_it(path)))
}
