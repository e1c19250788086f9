//! The arithmetic of a volume: blocks, clusters, groups.

use super::chain;
use super::superblock::Superblock;
use super::system::BACKUPS;
use crate::Error;

/// Sizes of a volume that can be computed with: block 512 to 4096 bytes, cluster 4 KiB to 1 MiB, not smaller than a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Volume {
    /// log2 of the block size.
    pub block_bits: u32,
    /// log2 of the cluster size.
    pub cluster_bits: u32,
    /// Clusters.
    pub clusters: u32,
    /// Block of the first group of the global bitmap.
    pub first_group: u64,
}

impl Volume {
    /// The volume of a superblock.
    ///
    /// # Errors
    ///
    /// [`Error::Range`] for sizes that do not exist.
    pub fn new(sb: &Superblock) -> Result<Self, Error> {
        let range = |what, found: u32, low: u32, high: u32| {
            if (low..=high).contains(&found) {
                Ok(found)
            } else {
                Err(Error::Range {
                    what,
                    found: found.into(),
                    low: low.into(),
                    high: high.into(),
                })
            }
        };
        Ok(Self {
            block_bits: range("s_blocksize_bits", sb.s_blocksize_bits.get(), 9, 12)?,
            cluster_bits: range("s_clustersize_bits", sb.s_clustersize_bits.get(), 12, 20)?,
            clusters: sb.i_clusters.get(),
            first_group: sb.s_first_cluster_group.get(),
        })
    }

    /// Bytes of a block.
    pub fn block_size(&self) -> usize {
        1 << self.block_bits
    }

    /// Bytes of a cluster.
    pub fn cluster_size(&self) -> u64 {
        1 << self.cluster_bits
    }

    /// Blocks of a cluster.
    pub fn blocks_per_cluster(&self) -> u64 {
        1 << (self.cluster_bits - self.block_bits)
    }

    /// Blocks.
    pub fn blocks(&self) -> u64 {
        self.block_of(self.clusters.into())
    }

    /// First block of a cluster.
    pub fn block_of(&self, cluster: u64) -> u64 {
        cluster << (self.cluster_bits - self.block_bits)
    }

    /// The cluster that a block is in.
    pub fn cluster_of(&self, block: u64) -> u64 {
        block >> (self.cluster_bits - self.block_bits)
    }

    /// Clusters that hold this number of bytes.
    pub fn clusters_of(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.cluster_size())
    }

    /// Bits of a whole group of the global bitmap (`cl_cpg`); a smaller volume has one group of fewer.
    pub fn group_clusters(&self) -> u32 {
        chain::bitmap_size(self.block_size()) as u32 * 8
    }

    /// Number of groups of the global bitmap, with `per_group` clusters each; none with 0.
    pub fn groups(&self, per_group: u32) -> Option<u32> {
        (per_group > 0).then(|| self.clusters.div_ceil(per_group))
    }

    /// Block of a group of the global bitmap, with `per_group` clusters each.
    pub fn group_block(&self, group: u64, per_group: u32) -> u64 {
        if group == 0 {
            self.first_group
        } else {
            self.block_of(group.saturating_mul(per_group.into()))
        }
    }

    /// Blocks of the backups of the superblock that the volume has room for.
    pub fn backups(&self) -> impl Iterator<Item = u64> + use<> {
        let this = *self;
        BACKUPS
            .into_iter()
            .map(move |byte| byte >> this.block_bits)
            .filter(move |&block| block < this.blocks())
    }
}
