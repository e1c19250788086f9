//! The fixed contents of a group: superblocks and their backups, descriptors, blocks kept for more of them.
//!
//! Two layouts of the group descriptors exist. In the old one the whole table follows the superblock
//! and each of its backups, and reserved blocks for growth may follow the table. With `meta_bg` the
//! descriptors of as many groups as fit one block (a "metablock group") are in the first, second and
//! last of those groups. A filesystem may begin in the old layout and continue in the new one
//! (`s_first_meta_bg`). Source: Documentation/filesystems/ext4/blockgroup.rst.

use std::ops::Range;

use super::Geometry;
use crate::ext4::Superblock;
use crate::ext4::feature::{Compat, RoCompat};

/// Which groups hold a copy of the superblock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backups {
    /// Every group.
    Every,
    /// Groups 0 and 1 and the powers of 3, 5 and 7 (`sparse_super`).
    Sparse,
    /// Group 0 and these two (`sparse_super2`).
    Listed([u32; 2]),
}

impl Backups {
    /// The rule that a superblock's features name.
    pub fn of(sb: &Superblock) -> Backups {
        if sb.has_compat(Compat::SPARSE_SUPER2) {
            Backups::Listed(sb.s_backup_bgs.map(zerocopy::little_endian::U32::get))
        } else if sb.has_ro_compat(RoCompat::SPARSE_SUPER) {
            Backups::Sparse
        } else {
            Backups::Every
        }
    }

    /// Whether a group holds a copy of the superblock.
    pub fn has_super(self, group: u32) -> bool {
        match self {
            _ if group == 0 => true,
            Backups::Listed(listed) => listed.contains(&group),
            Backups::Every => true,
            Backups::Sparse => {
                group == 1 || [3, 5, 7].into_iter().any(|base| is_power_of(group, base))
            }
        }
    }
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
    /// What that indirect block lists: the same block in each group with a backup, as many as it has room for.
    pub backups: Vec<u64>,
}

impl Geometry {
    /// Whether a group holds a copy of the superblock.
    pub fn has_super(&self, group: u32) -> bool {
        self.backups.has_super(group)
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

    /// Whether a group's descriptors are in the `meta_bg` layout.
    pub fn in_meta_bg(&self, group: u32) -> bool {
        group / self.descs_per_block() >= self.first_meta_bg
    }

    /// The fixed contents of a group.
    pub fn group_layout(&self, group: u32) -> GroupLayout {
        let base = self.base_block(group);
        let has_super = self.has_super(group);
        let after = base + u64::from(has_super);
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
        let end = after + descriptors;
        GroupLayout {
            group,
            blocks: self.group_blocks(group),
            clusters: self.group_clusters(group),
            superblock: has_super.then_some(base),
            descriptors: after..end,
            reserved_gdt: end..end + reserved,
        }
    }

    /// The layout of every group, ascending.
    pub fn group_layouts(&self) -> impl Iterator<Item = GroupLayout> {
        (0..self.groups).map(|group| self.group_layout(group))
    }

    /// The primary block of descriptors number `index`; `None` past the table's end.
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

    /// The blocks kept for the growth of the descriptors, as inode 7 must map them: its doubly indirect
    /// block lists the reserved blocks of group 0 at the index that each would have in the table, and each
    /// reserved block lists its own backups.
    pub fn reserved_gdt_map(&self) -> impl Iterator<Item = ReservedGdtBlock> {
        let addresses = self.block_size / 4;
        let base = self.base_block(0) + 1 + u64::from(self.desc_blocks());
        // Once for all of them: there may be millions of groups, and thousands of blocks.
        let groups = self.super_groups().skip(1).take(addresses as usize);
        let groups: Vec<u64> = groups.map(u64::from).collect();
        (0..self.reserved_gdt_blocks).map(move |nth| {
            let block = base + u64::from(nth);
            ReservedGdtBlock {
                index: (self.desc_blocks() + nth) % addresses,
                block,
                backups: groups
                    .iter()
                    .map(|group| block + group * u64::from(self.blocks_per_group))
                    .collect(),
            }
        })
    }
}

fn is_power_of(number: u32, base: u32) -> bool {
    let mut power = u64::from(base);
    while power < u64::from(number) {
        power *= u64::from(base);
    }
    power == u64::from(number)
}
