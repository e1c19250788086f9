//! One unit: a flexible group, or a plain one.

use std::ops::Range;

use ondisk::ext4::GroupDescriptor;

use super::Layout;
use crate::Error;

/// A unit without files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::ext4) struct Unit {
    pub(in crate::ext4) number: u32,
    pub(in crate::ext4) groups: Range<u32>,
    pub(in crate::ext4) blocks: Range<u64>,
    /// The descriptor of each group.
    pub(in crate::ext4) descriptors: Vec<GroupDescriptor>,
}

impl Layout {
    /// Number of units.
    pub(in crate::ext4) fn units(&self) -> u32 {
        self.geometry.groups.div_ceil(self.unit_groups)
    }

    /// The groups of a unit.
    fn unit_group_numbers(&self, number: u32) -> Range<u32> {
        let first = number * self.unit_groups;
        first..(first + self.unit_groups).min(self.geometry.groups)
    }

    /// The blocks of a unit.
    pub(in crate::ext4) fn unit_blocks(&self, number: u32) -> Range<u64> {
        let groups = self.unit_group_numbers(number);
        let geometry = &self.geometry;
        geometry.group_first_block(groups.start)..geometry.group_blocks(groups.end - 1).end
    }

    /// The unit of that number.
    pub(in crate::ext4) fn unit(&self, number: u32) -> Result<Unit, Error> {
        let groups = self.unit_group_numbers(number);
        Ok(Unit {
            number,
            blocks: self.unit_blocks(number),
            descriptors: groups
                .clone()
                .map(|group| self.descriptor(group))
                .collect::<Result<_, _>>()?,
            groups,
        })
    }

    /// The number of the unit that contains a block.
    pub(in crate::ext4) fn unit_of_block(&self, block: u64) -> u32 {
        let group = self
            .geometry
            .group_of_block(block)
            .unwrap_or(self.geometry.groups - 1);
        group / self.unit_groups
    }

    /// The inode numbers of a unit.
    pub(in crate::ext4) fn unit_inodes(&self, number: u32) -> Range<u64> {
        let per_group = u64::from(self.geometry.inodes_per_group);
        let groups = self.unit_group_numbers(number);
        u64::from(groups.start) * per_group + 1..u64::from(groups.end) * per_group + 1
    }
}
