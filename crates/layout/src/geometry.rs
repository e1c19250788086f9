//! How a filesystem is divided: groups, stripes, and the places of its fixed metadata.
//!
//! A gap in a file means something else where ext4 keeps a copy of its superblock than in the middle
//! of a group. The geometry does not change while the filesystem is mounted, so ext's superblock may
//! be read from the device; XFS reports its geometry by ioctl, without root. A geometry is a pure
//! value: that of a filesystem of 2010 can be written down from the output of its mke2fs.

mod ext;
mod xfs;

use std::fmt::Debug;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::sync::Arc;

use fskind::Family;

pub use ext::Ext;
#[cfg(test)]
pub(crate) use ext::tests::piszcz;
pub use xfs::Xfs;

use crate::cause::Cause;

/// RAID geometry that the filesystem was made with, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stripe {
    /// Bytes on one disk before the next disk is used.
    pub unit: u64,
    /// Bytes of a full stripe over all data disks.
    pub width: u64,
}

/// The division of a filesystem. Addresses and lengths are bytes of the device.
pub trait Geometry: Debug + Send + Sync {
    /// Bytes of a block.
    fn block_size(&self) -> u64;

    /// What the filesystem calls its parts: `group`, `AG`.
    fn group_name(&self) -> &'static str;

    /// Number of groups.
    fn groups(&self) -> u64;

    /// The group of a byte of the device.
    fn group_of(&self, physical: u64) -> u64;

    /// The first byte of a group.
    fn group_start(&self, group: u64) -> u64;

    /// The group that an inode's number names.
    fn group_of_inode(&self, inode: u64) -> u64;

    /// The stripe, where one is set.
    fn stripe(&self) -> Option<Stripe>;

    /// Fixed metadata at a byte of the device, by geometry alone: what it is, and the range of
    /// bytes from there to its end.
    fn metadata_at(&self, physical: u64) -> Option<(Cause, Range<u64>)>;

    /// Bytes that e4defrag expects in one extent at best; `None` where it does not run.
    fn defrag_unit(&self) -> Option<u64> {
        None
    }
}

/// The geometry of the filesystem that an open file is on; `None` where it has none here, or is ext
/// on a device that cannot be read (not root).
pub fn of(file: &File) -> Option<Arc<dyn Geometry>> {
    match Family::of_statfs(rustix::fs::fstatfs(file).ok()?.f_type as u64)? {
        Family::Ext => Some(Arc::new(Ext::of(file).ok()?)),
        Family::Xfs => Some(Arc::new(Xfs::of(file).ok()?)),
        Family::Btrfs | Family::Ocfs2 | Family::F2fs => None,
    }
}

/// A stripe whose lengths are given in blocks; `None` without a unit.
fn stripe_of(unit: u64, width: u64, block_size: u64) -> Option<Stripe> {
    (unit > 0).then(|| Stripe {
        unit: unit.saturating_mul(block_size),
        width: width.max(unit).saturating_mul(block_size),
    })
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
