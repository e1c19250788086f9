//! The places of a filesystem's own metadata.
//!
//! All arithmetic of blocks, clusters and groups is in one value that is computed once from a
//! superblock and holds only numbers that were found possible. A field that would make the arithmetic
//! meaningless is an [`Error`] here; a field that is merely wrong (an inode count that does not fit the
//! groups) is left for a checker to report.
//! Source: Documentation/filesystems/ext4/blockgroup.rst.

mod fields;
mod layout;

use std::ops::Range;

use super::feature::Incompat;
use super::{Error, GroupDescriptor, Superblock};
use fields::{
    desc_size, first_data_block, groups_per_flex, inode_size, most_inodes, must, sizes, within,
};
pub use layout::{Backups, GroupLayout, ReservedGdtBlock};

/// The arithmetic of one filesystem. Blocks are numbered from the start of the device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Geometry {
    /// Bytes of a block, 1024 to 65536.
    pub block_size: u32,
    /// Blocks of a cluster; 1 without bigalloc.
    pub cluster_blocks: u32,
    /// Blocks of the filesystem.
    pub blocks_count: u64,
    /// The block at which group 0 begins.
    pub first_data_block: u32,
    /// Blocks of a group.
    pub blocks_per_group: u32,
    /// Clusters of a group; the bits of its block bitmap.
    pub clusters_per_group: u32,
    /// Inodes of a group. It may be more than its inode bitmap has bits ([`Geometry::inode_bitmap_fits`]).
    pub inodes_per_group: u32,
    /// Bytes of an inode in the table.
    pub inode_size: u16,
    /// Bytes of a group descriptor.
    pub desc_size: u16,
    /// Number of groups.
    pub groups: u32,
    /// Descriptor blocks from this one on follow the `meta_bg` layout; `u32::MAX` without the feature.
    pub first_meta_bg: u32,
    /// Blocks kept after each old-style descriptor table.
    pub reserved_gdt_blocks: u32,
    /// Groups of a flexible group; 1 without `flex_bg`.
    pub groups_per_flex: u32,
    backups: Backups,
}

impl Geometry {
    /// The geometry that a superblock describes.
    ///
    /// # Errors
    ///
    /// [`Error::Range`] or [`Error::Value`] with the first field that makes the arithmetic impossible.
    pub fn new(sb: &Superblock) -> Result<Self, Error> {
        let (block_size, cluster_blocks) = sizes(sb)?;
        let block_bits = u64::from(block_size) * 8;
        let clusters_per_group = u64::from(if cluster_blocks == 1 {
            sb.s_blocks_per_group.get()
        } else {
            sb.s_clusters_per_group.get()
        });
        within("s_clusters_per_group", clusters_per_group, 8, block_bits)?;
        must(
            clusters_per_group.is_multiple_of(8),
            "s_blocks_per_group",
            clusters_per_group,
            "is not a multiple of 8",
        )?;
        let blocks_per_group = u64::from(sb.s_blocks_per_group.get());
        must(
            blocks_per_group == clusters_per_group * u64::from(cluster_blocks),
            "s_blocks_per_group",
            blocks_per_group,
            "is not s_clusters_per_group times the blocks of a cluster",
        )?;
        let inode_size = inode_size(sb, block_size)?;
        let inodes_per_block = u64::from(block_size / u32::from(inode_size));
        let inodes_per_group = within(
            "s_inodes_per_group",
            u64::from(sb.s_inodes_per_group.get()),
            inodes_per_block,
            most_inodes(inodes_per_block, blocks_per_group).max(block_bits),
        )?;
        let mut this = Self {
            block_size,
            cluster_blocks,
            blocks_count: sb.blocks_count(),
            first_data_block: first_data_block(sb, block_size)?,
            blocks_per_group: blocks_per_group as u32,
            clusters_per_group: clusters_per_group as u32,
            inodes_per_group: inodes_per_group as u32,
            inode_size,
            desc_size: desc_size(sb, block_size)?,
            groups: 0,
            first_meta_bg: u32::MAX,
            reserved_gdt_blocks: u32::from(sb.s_reserved_gdt_blocks.get()),
            groups_per_flex: groups_per_flex(sb)?,
            backups: Backups::of(sb),
        };
        this.groups = this.count_groups()?;
        if sb.has_incompat(Incompat::META_BG) {
            // A value beyond the table is a finding of its own; the layout then is the old one throughout.
            this.first_meta_bg = sb.s_first_meta_bg.get();
        }
        within(
            "s_reserved_gdt_blocks",
            this.reserved_gdt_blocks.into(),
            0,
            u64::from(block_size / 4),
        )?;
        Ok(this)
    }

    fn count_groups(&self) -> Result<u32, Error> {
        let first = u64::from(self.first_data_block);
        within("s_blocks_count", self.blocks_count, first + 1, 1 << 48)?;
        let groups = (self.blocks_count - first).div_ceil(self.blocks_per_group.into());
        // Inode numbers have 32 bits, and every group has inodes.
        let most = u64::from(u32::MAX / self.inodes_per_group);
        within("number of groups", groups, 1, most).map(|groups| groups as u32)
    }

    /// Descriptors in a block.
    pub fn descs_per_block(&self) -> u32 {
        self.block_size / u32::from(self.desc_size)
    }

    /// Blocks of a whole descriptor table.
    pub fn desc_blocks(&self) -> u32 {
        self.groups.div_ceil(self.descs_per_block())
    }

    /// Inodes of the filesystem, by the groups. `s_inodes_count` should be this.
    pub fn inodes_count(&self) -> u32 {
        self.groups * self.inodes_per_group
    }

    /// Whether the inode bitmap of a group, which is one block, has a bit for each inode. The kernel mounts no filesystem where it does
    /// not, and libext2fs reads no bitmaps of it. As there, up to seven inodes without a bit do not count.
    /// Source: e2fsprogs, lib/ext2fs/rw_bitmaps.c, `read_bitmaps_range_prepare`.
    pub fn inode_bitmap_fits(&self) -> bool {
        self.inodes_per_group / 8 <= self.block_size
    }

    /// Blocks of one group's inode table.
    pub fn inode_table_blocks(&self) -> u32 {
        let bytes = u64::from(self.inodes_per_group) * u64::from(self.inode_size);
        bytes.div_ceil(self.block_size.into()) as u32
    }

    /// The first block of a group. A group that does not exist gives where it would be.
    pub fn group_first_block(&self, group: u32) -> u64 {
        u64::from(self.first_data_block) + u64::from(group) * u64::from(self.blocks_per_group)
    }

    /// The blocks of a group, cut off at the end of the filesystem.
    pub fn group_blocks(&self, group: u32) -> Range<u64> {
        let start = self.group_first_block(group).min(self.blocks_count);
        let end = start + u64::from(self.blocks_per_group);
        start..end.min(self.blocks_count)
    }

    /// The clusters of a group.
    pub fn group_clusters(&self, group: u32) -> u32 {
        let blocks = self.group_blocks(group);
        (blocks.end - blocks.start).div_ceil(self.cluster_blocks.into()) as u32
    }

    /// The group of a block, `None` for one before the first group or after the last.
    pub fn group_of_block(&self, block: u64) -> Option<u32> {
        if block >= self.blocks_count {
            return None;
        }
        let within = block.checked_sub(self.first_data_block.into())?;
        Some((within / u64::from(self.blocks_per_group)) as u32)
    }

    /// A block's group and its bit in the block bitmap of that group.
    pub fn bit_of_block(&self, block: u64) -> Option<(u32, u32)> {
        let group = self.group_of_block(block)?;
        let within = block - self.group_first_block(group);
        Some((group, (within / u64::from(self.cluster_blocks)) as u32))
    }

    /// An inode's group and its index in that group's table, `None` for a number that is not there.
    pub fn index_of_inode(&self, ino: u32) -> Option<(u32, u32)> {
        let index = ino.checked_sub(1)?;
        let group = index / self.inodes_per_group;
        (group < self.groups).then_some((group, index % self.inodes_per_group))
    }

    /// The number of the inode at `index` of a group's table.
    pub fn inode_number(&self, group: u32, index: u32) -> Option<u32> {
        (group < self.groups && index < self.inodes_per_group)
            .then(|| group * self.inodes_per_group + index + 1)
    }

    /// The place of an inode: its block and the offset in it, by its group's descriptor. `None` when there is
    /// no such inode or the table would leave the 64-bit block numbers.
    pub fn inode_position(&self, ino: u32, desc: &GroupDescriptor) -> Option<(u64, u32)> {
        let (_, index) = self.index_of_inode(ino)?;
        let byte = u64::from(index) * u64::from(self.inode_size);
        let block = byte / u64::from(self.block_size);
        let block = desc.inode_table().checked_add(block)?;
        Some((block, (byte % u64::from(self.block_size)) as u32))
    }

    /// Where a group's bitmaps and inode table may be by the rules of the checker: within the group,
    /// or anywhere with `flex_bg`. `flex_bg` is given because a flexible group of one group is legal.
    pub fn metadata_range(&self, group: u32, flex_bg: bool) -> Range<u64> {
        if flex_bg {
            u64::from(self.first_data_block)..self.blocks_count
        } else {
            self.group_blocks(group)
        }
    }
}

#[cfg(test)]
mod tests;
