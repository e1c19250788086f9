//! Where every piece of a filesystem's own metadata lies.
//!
//! All arithmetic of blocks, clusters and groups is in one value that is computed once from a
//! superblock and holds only numbers that were found possible. A field that would make the arithmetic
//! meaningless is an [`Error`] here; a field that is merely wrong (an inode count that does not fit the
//! groups) is left for a checker to report.
//!
//! Two layouts of the group descriptors exist. In the old one the whole table follows the superblock
//! and each of its backups, and reserved blocks for growth may follow the table. With `meta_bg` the
//! descriptors of as many groups as fit one block (a "metablock group") lie in the first, second and
//! last of those very groups. A filesystem may begin in the old layout and go on in the new one
//! (`s_first_meta_bg`). Source: Documentation/filesystems/ext4/blockgroup.rst.

use std::ops::Range;

use super::feature::{Compat, Incompat, RoCompat};
use super::{Error, GroupDescriptor, Superblock};

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
    /// Inodes of a group; the bits of its inode bitmap.
    pub inodes_per_group: u32,
    /// Bytes of an inode in the table.
    pub inode_size: u16,
    /// Bytes of a group descriptor.
    pub desc_size: u16,
    /// Number of groups.
    pub groups: u32,
    /// Descriptor blocks from this one on follow the `meta_bg` layout; `u32::MAX` without the feature.
    pub first_meta_bg: u32,
    /// Blocks kept behind each old-style descriptor table.
    pub reserved_gdt_blocks: u32,
    /// Groups of a flexible group; 1 without `flex_bg`.
    pub groups_per_flex: u32,
    backups: Backups,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Backups {
    Every,
    Sparse,
    Listed([u32; 2]),
}

/// What the layout puts into one group, apart from what its descriptor points to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupLayout {
    /// Its number.
    pub group: u32,
    /// Its blocks.
    pub blocks: Range<u64>,
    /// Its clusters; the last group may have fewer.
    pub clusters: u32,
    /// The block of its superblock or backup.
    pub superblock: Option<u64>,
    /// Its blocks of group descriptors, primary or backup.
    pub descriptors: Range<u64>,
    /// The blocks kept for the growth of the descriptors.
    pub reserved_gdt: Range<u64>,
}

/// One block kept for the growth of the descriptor table, as the resize inode maps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReservedGdtBlock {
    /// Index within the resize inode's doubly indirect block.
    pub index: u32,
    /// The block in group 0; the resize inode uses it as an indirect block.
    pub block: u64,
    /// What that indirect block lists: the same block in each group with a backup.
    pub backups: Vec<u64>,
}

fn within(what: &'static str, found: u64, low: u64, high: u64) -> Result<u64, Error> {
    if (low..=high).contains(&found) {
        return Ok(found);
    }
    Err(Error::Range {
        what,
        found,
        low,
        high,
    })
}

fn must(fits: bool, what: &'static str, found: u64, problem: &'static str) -> Result<(), Error> {
    if fits {
        Ok(())
    } else {
        Err(Error::Value {
            what,
            found,
            problem,
        })
    }
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
            inodes_per_block.max(1),
            block_bits,
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
            backups: backups(sb),
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

    /// The group of a block, `None` for one before the first group or behind the last.
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

    /// Where an inode lies: its block and the offset in it, by its group's descriptor. `None` when there is
    /// no such inode or the table would leave the 64-bit block numbers.
    pub fn inode_position(&self, ino: u32, desc: &GroupDescriptor) -> Option<(u64, u32)> {
        let (_, index) = self.index_of_inode(ino)?;
        let byte = u64::from(index) * u64::from(self.inode_size);
        let block = byte / u64::from(self.block_size);
        let block = desc.inode_table().checked_add(block)?;
        Some((block, (byte % u64::from(self.block_size)) as u32))
    }

    /// Whether a group holds a copy of the superblock.
    pub fn has_super(&self, group: u32) -> bool {
        match self.backups {
            _ if group == 0 => true,
            Backups::Listed(listed) => listed.contains(&group),
            Backups::Every => true,
            Backups::Sparse => {
                group == 1 || [3, 5, 7].into_iter().any(|base| is_power_of(group, base))
            }
        }
    }

    /// The groups that hold a copy of the superblock, ascending, group 0 first.
    pub fn super_groups(&self) -> impl Iterator<Item = u32> {
        (0..self.groups).filter(|group| self.has_super(*group))
    }

    /// The block that group 0's superblock is counted to. With 1 KiB blocks and bigalloc the first group
    /// begins at block 0, and the superblock, at byte 1024, is in block 1 all the same.
    fn base_block(&self, group: u32) -> u64 {
        match self.group_first_block(group) {
            0 if self.block_size == 1024 => 1,
            block => block,
        }
    }

    /// Whether a group's descriptors lie in the `meta_bg` layout.
    pub fn in_meta_bg(&self, group: u32) -> bool {
        group / self.descs_per_block() >= self.first_meta_bg
    }

    /// What lies in a group by layout alone.
    pub fn group_layout(&self, group: u32) -> GroupLayout {
        let base = self.base_block(group);
        let has_super = self.has_super(group);
        let behind = base + u64::from(has_super);
        let (descriptors, reserved) = if self.in_meta_bg(group) {
            let place = group % self.descs_per_block();
            let holds = place <= 1 || place == self.descs_per_block() - 1;
            (u64::from(holds), 0)
        } else if has_super && self.first_meta_bg != u32::MAX {
            (self.first_meta_bg.min(self.desc_blocks()).into(), 0)
        } else if has_super {
            (self.desc_blocks().into(), self.reserved_gdt_blocks.into())
        } else {
            (0, 0)
        };
        let end = behind + descriptors;
        GroupLayout {
            group,
            blocks: self.group_blocks(group),
            clusters: self.group_clusters(group),
            superblock: has_super.then_some(base),
            descriptors: behind..end,
            reserved_gdt: end..end + reserved,
        }
    }

    /// The layout of every group, ascending.
    pub fn group_layouts(&self) -> impl Iterator<Item = GroupLayout> {
        (0..self.groups).map(|group| self.group_layout(group))
    }

    /// The primary block of descriptors number `index`; `None` behind the table's end.
    pub fn desc_block(&self, index: u32) -> Option<u64> {
        if index >= self.desc_blocks() {
            return None;
        }
        if index < self.first_meta_bg {
            return Some(self.base_block(0) + 1 + u64::from(index));
        }
        let group = index * self.descs_per_block();
        Some(self.base_block(group) + u64::from(self.has_super(group)))
    }

    /// The backup of descriptor block `index` that belongs to the superblock of `group`.
    pub fn backup_desc_block(&self, group: u32, index: u32) -> Option<u64> {
        if index >= self.desc_blocks() {
            return None;
        }
        if index < self.first_meta_bg {
            let has = self.has_super(group) && group < self.groups;
            return has.then(|| self.base_block(group) + 1 + u64::from(index));
        }
        let second = index * self.descs_per_block() + 1;
        if second >= self.groups {
            return None;
        }
        Some(self.base_block(second) + u64::from(self.has_super(second)))
    }

    /// The block and offset of a group's descriptor, primary copy.
    pub fn desc_position(&self, group: u32) -> Option<(u64, u32)> {
        let per_block = self.descs_per_block();
        let block = self.desc_block(group / per_block)?;
        (group < self.groups).then(|| (block, group % per_block * u32::from(self.desc_size)))
    }

    /// Where a group's bitmaps and inode table may lie by the rules of the checker: within the group,
    /// or anywhere with `flex_bg`. `flex_bg` is given because a flexible group of one group is legal.
    pub fn metadata_range(&self, group: u32, flex_bg: bool) -> Range<u64> {
        if flex_bg {
            u64::from(self.first_data_block)..self.blocks_count
        } else {
            self.group_blocks(group)
        }
    }

    /// The blocks kept for the growth of the descriptors, as inode 7 must map them: its doubly indirect
    /// block lists the reserved blocks of group 0 at the index that each would have in the table, and each
    /// reserved block lists its own backups.
    pub fn reserved_gdt_map(&self) -> impl Iterator<Item = ReservedGdtBlock> {
        let addresses = self.block_size / 4;
        let base = self.base_block(0) + 1 + u64::from(self.desc_blocks());
        (0..self.reserved_gdt_blocks).map(move |nth| {
            let block = base + u64::from(nth);
            ReservedGdtBlock {
                index: (self.desc_blocks() + nth) % addresses,
                block,
                backups: self
                    .super_groups()
                    .skip(1)
                    .map(|group| block + u64::from(group) * u64::from(self.blocks_per_group))
                    .collect(),
            }
        })
    }
}

fn sizes(sb: &Superblock) -> Result<(u32, u32), Error> {
    let log_block = within("s_log_block_size", sb.s_log_block_size.get().into(), 0, 6)?;
    let log_cluster = u64::from(sb.s_log_cluster_size.get());
    if !sb.has_ro_compat(RoCompat::BIGALLOC) {
        // Old tools wrote the fragment size here; without bigalloc it may only repeat the block size.
        must(
            log_cluster == log_block,
            "s_log_cluster_size",
            log_cluster,
            "differs from s_log_block_size without bigalloc",
        )?;
        return Ok((1024 << log_block, 1));
    }
    within("s_log_cluster_size", log_cluster, log_block, 19)?;
    Ok((1024 << log_block, 1 << (log_cluster - log_block)))
}

fn inode_size(sb: &Superblock, block_size: u32) -> Result<u16, Error> {
    let size = sb.inode_size();
    within("s_inode_size", size.into(), 128, block_size.into())?;
    must(
        size.is_power_of_two(),
        "s_inode_size",
        size.into(),
        "is not a power of two",
    )?;
    Ok(size)
}

fn desc_size(sb: &Superblock, block_size: u32) -> Result<u16, Error> {
    let size = sb.desc_size();
    if sb.has_incompat(Incompat::BIT64) {
        // The field has 16 bits and mke2fs never goes beyond 1024.
        within(
            "s_desc_size",
            size.into(),
            64,
            u64::from(block_size.min(1024)),
        )?;
        must(
            size.is_power_of_two(),
            "s_desc_size",
            size.into(),
            "is not a power of two",
        )?;
    }
    Ok(size)
}

fn first_data_block(sb: &Superblock, block_size: u32) -> Result<u32, Error> {
    let first = sb.s_first_data_block.get();
    let expected = u32::from(block_size == 1024);
    // mke2fs -O bigalloc with 1 KiB blocks begins at block 0, so that clusters are aligned.
    if first == 0 && sb.has_ro_compat(RoCompat::BIGALLOC) {
        return Ok(0);
    }
    must(
        first == expected,
        "s_first_data_block",
        first.into(),
        "is not what the block size asks for (1 with 1 KiB, else 0)",
    )?;
    Ok(first)
}

fn groups_per_flex(sb: &Superblock) -> Result<u32, Error> {
    if !sb.has_incompat(Incompat::FLEX_BG) {
        return Ok(1);
    }
    let log = within(
        "s_log_groups_per_flex",
        sb.s_log_groups_per_flex.into(),
        0,
        31,
    )?;
    Ok(1 << log)
}

fn backups(sb: &Superblock) -> Backups {
    if sb.has_compat(Compat::SPARSE_SUPER2) {
        Backups::Listed(sb.s_backup_bgs.map(zerocopy::little_endian::U32::get))
    } else if sb.has_ro_compat(RoCompat::SPARSE_SUPER) {
        Backups::Sparse
    } else {
        Backups::Every
    }
}

fn is_power_of(number: u32, base: u32) -> bool {
    let mut power = u64::from(base);
    while power < u64::from(number) {
        power *= u64::from(base);
    }
    power == u64::from(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use zerocopy::FromBytes;

    fn superblock(log_block: u32, blocks: u64) -> Superblock {
        let mut sb = Superblock::empty();
        sb.s_log_block_size = log_block.into();
        sb.s_log_cluster_size = log_block.into();
        sb.s_first_data_block = u32::from(log_block == 0).into();
        sb.s_blocks_per_group = (8 * (1024 << log_block)).into();
        sb.s_clusters_per_group = sb.s_blocks_per_group;
        sb.s_inodes_per_group = 1024.into();
        sb.s_inode_size = 256.into();
        sb.s_feature_ro_compat = RoCompat::SPARSE_SUPER.0.into();
        sb.set_blocks_count(blocks);
        sb
    }

    #[test]
    fn backups_are_where_the_manual_says() {
        let sb = superblock(2, 32768 * 130);
        let geometry = Geometry::new(&sb).unwrap();
        let groups: Vec<u32> = geometry.super_groups().collect();
        assert_eq!(groups, [0, 1, 3, 5, 7, 9, 25, 27, 49, 81, 125]);
    }

    #[test]
    fn with_meta_bg_descriptors_lie_in_first_second_and_last() {
        let mut sb = superblock(0, 8192 * 100);
        sb.s_feature_incompat = Incompat::META_BG.0.into();
        let geometry = Geometry::new(&sb).unwrap();
        assert_eq!(geometry.descs_per_block(), 32);
        let holders: Vec<u32> = geometry
            .group_layouts()
            .filter(|layout| !layout.descriptors.is_empty())
            .map(|layout| layout.group)
            .collect();
        assert_eq!(holders, [0, 1, 31, 32, 33, 63, 64, 65, 95, 96, 97]);
        assert_eq!(
            geometry.desc_block(1),
            Some(32 * 8192 + 1),
            "group 32 has no superblock"
        );
        assert_eq!(geometry.backup_desc_block(0, 1), Some(33 * 8192 + 1));
        assert_eq!(geometry.desc_block(4), None);
    }

    #[test]
    fn the_last_group_is_cut_off() {
        let geometry = Geometry::new(&superblock(0, 20000)).unwrap();
        assert_eq!(geometry.groups, 3);
        assert_eq!(geometry.group_blocks(2), 16385..20000);
        assert_eq!(geometry.group_of_block(0), None);
        assert_eq!(geometry.bit_of_block(16386), Some((2, 1)));
        assert_eq!(geometry.group_of_block(20000), None);
    }

    #[test]
    fn impossible_fields_are_named() {
        let mut sb = superblock(2, 32768);
        sb.s_inode_size = 200.into();
        let error = Geometry::new(&sb).unwrap_err().to_string();
        assert!(
            error.starts_with("s_inode_size: 200 is not a power of two"),
            "{error}"
        );
        let mut sb = superblock(2, 32768);
        sb.s_log_block_size = 7.into();
        assert!(matches!(
            Geometry::new(&sb),
            Err(Error::Range {
                what: "s_log_block_size",
                found: 7,
                high: 6,
                ..
            })
        ));
    }

    proptest! {
        #[test]
        fn every_block_and_inode_has_one_place(
            log_block in 0_u32..=6,
            blocks in 2_u64..1 << 33,
            pick: u64,
        ) {
            let mut sb = superblock(log_block, blocks);
            sb.s_feature_incompat = Incompat::BIT64.0.into();
            sb.s_desc_size = 64.into();
            let Ok(geometry) = Geometry::new(&sb) else { return Ok(()) };
            let block = pick % blocks;
            if let Some((group, bit)) = geometry.bit_of_block(block) {
                prop_assert!(geometry.group_blocks(group).contains(&block));
                prop_assert!(bit < geometry.group_clusters(group));
            } else {
                prop_assert!(block < u64::from(geometry.first_data_block));
            }
            let ino = (pick % u64::from(geometry.inodes_count())) as u32 + 1;
            let (group, index) = geometry.index_of_inode(ino).unwrap();
            prop_assert_eq!(geometry.inode_number(group, index), Some(ino));
        }

        /// Whatever the superblock says, the arithmetic neither panics nor leaves the filesystem.
        #[test]
        fn any_superblock_gives_a_geometry_or_an_error(
            bytes in proptest::collection::vec(any::<u8>(), super::super::superblock::SIZE),
            log_block in 0_u32..=7,
            group: u32,
        ) {
            let mut sb = Superblock::read_from_bytes(&bytes).unwrap();
            sb.s_log_block_size = log_block.into();
            sb.s_log_cluster_size = (log_block + u32::from(bytes[0] & 3)).into();
            sb.s_inode_size = 256.into();
            if sb.has_incompat(Incompat::BIT64) {
                sb.s_desc_size = 64.into();
            }
            sb.s_clusters_per_group = 8192.into();
            sb.s_blocks_per_group = (8192 << (bytes[0] & 3)).into();
            sb.s_inodes_per_group = 512.into();
            if let Ok(geometry) = Geometry::new(&sb) {
                let group = group % geometry.groups;
                let layout = geometry.group_layout(group);
                prop_assert!(layout.blocks.start < layout.blocks.end);
                prop_assert!(geometry.desc_position(group).is_some());
                prop_assert!(geometry.inodes_count() >= geometry.inodes_per_group);
            }
        }
    }
}
