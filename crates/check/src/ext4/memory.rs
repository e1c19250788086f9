//! How much memory a check takes, known before it begins.
//!
//! The maps have an entry for each inode and a bit for each cluster, but pages that nobody touches take no memory: what counts is
//! what the descriptors call used. A descriptor that lies makes the check larger, never without bound: by what the maps
//! have at most.

use ondisk::ext4::group_descriptor::{BLOCK_UNINIT, DescriptorChecksum, INODE_UNINIT};
use serde::Serialize;

use super::{Directory, Failure, Run, Volume};

/// Bytes of the maps for each inode in use: a byte each for kind, links and names, three bits, and what
/// attributes and quotas need for some.
const PER_INODE: u64 = 4;
/// Bits for each cluster in use: owned, and those behind it that passes keep for a while.
const BITS_PER_CLUSTER: u64 = 2;
/// Findings of a filesystem in bad order: so many problems come with a full list.
const PROBLEMS: u64 = 8;
/// The program itself, its stacks and small buffers.
const BASE: u64 = 24 << 20;

/// What a check takes, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Estimate {
    /// Maps with an entry for each inode in use.
    pub inodes: u64,
    /// Maps with a bit for each cluster in use.
    pub blocks: u64,
    /// Directories and where their blocks lie.
    pub directories: u64,
    /// Group descriptors.
    pub descriptors: u64,
    /// Buffers of the sweeps.
    pub buffers: u64,
    /// The program, and findings.
    pub rest: u64,
}

impl Estimate {
    /// All together.
    pub fn total(&self) -> u64 {
        self.inodes + self.blocks + self.directories + self.descriptors + self.buffers + self.rest
    }

    /// By what the descriptors say.
    pub(crate) fn of(volume: &Volume<'_>) -> Estimate {
        let geometry = &volume.geometry;
        let uninit = DescriptorChecksum::of(&volume.sb).allows_uninit();
        let per_group = u64::from(geometry.inodes_per_group);
        let (mut inodes, mut clusters, mut directories) = (0, 0, 0_u64);
        for descriptor in &volume.descriptors {
            let unused = if !uninit {
                0
            } else if descriptor.has_flags(INODE_UNINIT) {
                per_group
            } else {
                u64::from(descriptor.itable_unused()).min(per_group)
            };
            inodes += per_group - unused;
            directories += u64::from(descriptor.used_dirs()).min(per_group);
            if !(uninit && descriptor.has_flags(BLOCK_UNINIT)) {
                clusters += u64::from(geometry.clusters_per_group);
            }
        }
        let each = size_of::<Directory>() + size_of::<Run>();
        let descriptor = size_of::<ondisk::ext4::GroupDescriptor>();
        Estimate {
            inodes: inodes * PER_INODE,
            blocks: clusters * BITS_PER_CLUSTER / 8,
            directories: directories * each as u64,
            descriptors: volume.descriptors.len() as u64 * descriptor as u64,
            buffers: volume.sweep().memory(volume.source.geometry()) as u64,
            rest: BASE + volume.options.keep as u64 * PROBLEMS * 256,
        }
    }
}

/// Makes the buffers as small as the caller's bound asks for.
///
/// # Errors
/// The maps alone are larger than it.
pub(crate) fn fit(volume: &mut Volume<'_>) -> Result<Estimate, Failure> {
    loop {
        let estimate = Estimate::of(volume);
        let Some(limit) = volume
            .options
            .memory
            .filter(|limit| *limit < estimate.total())
        else {
            return Ok(estimate);
        };
        let sweep = &mut volume.options.sweep;
        let block = volume.geometry.block_size as usize;
        if sweep.depth > volume.options.threads.max(1) {
            sweep.depth = (sweep.depth / 2).max(volume.options.threads.max(1));
        } else if sweep.request > block.max(64 << 10) {
            sweep.request = (sweep.request / 2).max(block);
        } else if volume.options.threads > 1 {
            volume.options.threads /= 2;
        } else {
            return Err(Failure::Memory {
                needs: estimate.total(),
                limit,
            });
        }
    }
}
