//! The division of XFS, as XFS_IOC_FSGEOMETRY reports it, without root (ioctl_xfs_fsgeometry(2)).
#![allow(unsafe_code, reason = "an ioctl that neither rustix nor libc has")]
#![allow(
    clippy::cast_lossless,
    reason = "libc::Ioctl is a signed int on some systems"
)]

use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd};

use super::{Geometry, Stripe, stripe_of};
use crate::cause::Cause;

/// `_IOR('X', 100, struct xfs_fsop_geom_v1)`: every kernel has it.
const XFS_IOC_FSGEOMETRY_V1: u32 = 0x8070_5864;

/// `struct xfs_fsop_geom_v1`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Raw {
    block_size: u32,
    realtime_extent: u32,
    ag_blocks: u32,
    ag_count: u32,
    log_blocks: u32,
    sector_size: u32,
    inode_size: u32,
    inode_percent: u32,
    data_blocks: u64,
    realtime_blocks: u64,
    realtime_extents: u64,
    log_start: u64,
    uuid: [u8; 16],
    stripe_unit: u32,
    stripe_width: u32,
    version: i32,
    flags: u32,
    log_sector_size: u32,
    realtime_sector_size: u32,
    directory_block_size: u32,
    // The C structure is a multiple of eight bytes long.
    padding: u32,
}

/// The geometry of XFS. Lengths are blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Xfs {
    /// Bytes of a block.
    pub block_size: u64,
    /// Blocks of an AG; the last one may be shorter.
    pub ag_blocks: u64,
    /// Number of AGs.
    pub ag_count: u64,
    /// Bytes of a sector.
    pub sector_size: u64,
    /// Bytes of an inode.
    pub inode_size: u64,
    /// First block of the log (AG and block packed in one number); 0: on another device.
    pub log_start: u64,
    /// Blocks of the log.
    pub log_blocks: u64,
    /// Stripe unit; 0: none.
    pub stripe_unit: u64,
    /// Stripe width; 0: none.
    pub stripe_width: u64,
}

impl Xfs {
    /// Of the filesystem that an open file is on.
    ///
    /// # Errors
    /// When it is not XFS.
    pub fn of(file: impl AsFd) -> io::Result<Xfs> {
        let mut raw = Raw::default();
        // SAFETY: the pointer is to a live `struct xfs_fsop_geom_v1`; the kernel writes that much,
        // and any bit pattern is a value of these integers.
        let answer = unsafe {
            libc::ioctl(
                file.as_fd().as_raw_fd(),
                XFS_IOC_FSGEOMETRY_V1 as libc::Ioctl,
                &raw mut raw,
            )
        };
        if answer < 0 {
            return Err(io::Error::last_os_error());
        }
        if raw.block_size < 512 || raw.ag_blocks == 0 || raw.inode_size == 0 {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        Ok(Xfs {
            block_size: raw.block_size.into(),
            ag_blocks: raw.ag_blocks.into(),
            ag_count: raw.ag_count.into(),
            sector_size: raw.sector_size.into(),
            inode_size: raw.inode_size.into(),
            log_start: raw.log_start,
            log_blocks: raw.log_blocks.into(),
            stripe_unit: raw.stripe_unit.into(),
            stripe_width: raw.stripe_width.into(),
        })
    }

    /// Bytes of an AG.
    pub fn ag_bytes(&self) -> u64 {
        self.ag_blocks.saturating_mul(self.block_size).max(1)
    }

    /// `sb_agblklog`: bits of a block's number within its AG.
    fn ag_bits(&self) -> u32 {
        self.ag_blocks.next_power_of_two().trailing_zeros()
    }

    /// Bits of an inode's number below its AG's.
    pub fn inode_shift(&self) -> u32 {
        let inodes_per_block = (self.block_size / self.inode_size).max(1);
        self.ag_bits() + inodes_per_block.ilog2()
    }

    /// Metadata at a block of the device: what it is and the first block after it. An AG begins
    /// with its headers (superblock, AGF, AGI, AGFL: a sector each); the trees' roots, which mkfs puts
    /// after them, may move and are not counted.
    fn metadata_at_block(&self, block: u64) -> Option<(Cause, u64)> {
        let (ag, within) = (block / self.ag_blocks, block % self.ag_blocks);
        let headers = (4 * self.sector_size).div_ceil(self.block_size);
        if within < headers {
            return Some((Cause::AgHeader, ag * self.ag_blocks + headers));
        }
        if self.log_start == 0 {
            return None;
        }
        let bits = self.ag_bits();
        let start =
            (self.log_start >> bits) * self.ag_blocks + (self.log_start & ((1 << bits) - 1));
        let end = start + self.log_blocks;
        (start..end)
            .contains(&block)
            .then_some((Cause::Journal, end))
    }
}

impl Geometry for Xfs {
    fn block_size(&self) -> u64 {
        self.block_size
    }

    fn group_name(&self) -> &'static str {
        "AG"
    }

    fn groups(&self) -> u64 {
        self.ag_count
    }

    fn group_of(&self, physical: u64) -> u64 {
        physical / self.ag_bytes()
    }

    fn group_start(&self, group: u64) -> u64 {
        group.saturating_mul(self.ag_bytes())
    }

    fn group_of_inode(&self, inode: u64) -> u64 {
        inode >> self.inode_shift()
    }

    fn stripe(&self) -> Option<Stripe> {
        stripe_of(self.stripe_unit, self.stripe_width, self.block_size)
    }

    fn metadata_at(&self, physical: u64) -> Option<(Cause, Range<u64>)> {
        let (cause, end) = self.metadata_at_block(physical / self.block_size)?;
        Some((cause, physical..end.saturating_mul(self.block_size)))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The array of Piszcz's mail of 2010, as mkfs.xfs printed it. The log is in the middle AG.
    pub(crate) fn piszcz() -> Xfs {
        Xfs {
            block_size: 4096,
            ag_blocks: 41_970_496,
            ag_count: 32,
            sector_size: 512,
            inode_size: 256,
            log_start: (16 << 26) + 4,
            log_blocks: 521_728,
            stripe_unit: 16,
            stripe_width: 176,
        }
    }

    #[test]
    fn the_structure_has_the_kernels_size() {
        assert_eq!(size_of::<Raw>(), 112);
    }

    #[test]
    fn headers_and_log() {
        let xfs = piszcz();
        let ag = |n: u64| n * 41_970_496;
        assert_eq!(
            xfs.metadata_at_block(ag(2)),
            Some((Cause::AgHeader, ag(2) + 1))
        );
        assert_eq!(xfs.metadata_at_block(ag(2) + 16), None);
        assert_eq!(
            xfs.metadata_at_block(ag(16) + 1000),
            Some((Cause::Journal, ag(16) + 4 + 521_728))
        );
        // 2^26 blocks of sixteen inodes.
        assert_eq!(xfs.inode_shift(), 26 + 4);
    }
}
