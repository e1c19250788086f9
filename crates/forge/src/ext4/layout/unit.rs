//! One unit: a flexible group, or a plain one.

use std::ops::Range;

use super::{Layout, Taken};
use crate::Error;

/// Where one group's bitmaps and table begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ext4) struct Places {
    pub(in crate::ext4) block_bitmap: u64,
    pub(in crate::ext4) inode_bitmap: u64,
    pub(in crate::ext4) inode_table: u64,
}

/// A unit without files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::ext4) struct Unit {
    pub(in crate::ext4) number: u32,
    pub(in crate::ext4) groups: Range<u32>,
    pub(in crate::ext4) blocks: Range<u64>,
    /// For each group of it.
    pub(in crate::ext4) places: Vec<Places>,
    /// Superblocks, descriptors and blocks kept for them.
    pub(in crate::ext4) copies: Taken,
    /// These, bitmaps and tables.
    pub(in crate::ext4) taken: Taken,
}

impl Layout {
    /// The unit of that number.
    pub(in crate::ext4) fn unit(&self, number: u32) -> Result<Unit, Error> {
        let geometry = &self.geometry;
        let first = number * self.unit_groups;
        let groups = first..(first + self.unit_groups).min(geometry.groups);
        let blocks = geometry.group_first_block(first)..geometry.group_blocks(groups.end - 1).end;
        let mut copies = Taken::default();
        for group in groups.clone() {
            let layout = geometry.group_layout(group);
            if let Some(block) = layout.superblock {
                // With clusters, the boot block in front of it belongs to the same one and is counted with it.
                copies.insert(block..block + 1);
            }
            copies.insert(layout.descriptors.start..layout.reserved_gdt.end);
        }
        if blocks.start == 0 && geometry.block_size == 1024 {
            copies.insert(0..1);
        }
        let mut unit = Unit {
            number,
            groups,
            blocks,
            places: Vec::with_capacity(self.unit_groups as usize),
            taken: copies.clone(),
            copies,
        };
        let fits = if self.unit_groups > 1 {
            unit.place_together(
                geometry.inode_table_blocks().into(),
                self.unit_groups,
                geometry,
            )
        } else {
            unit.place_alone(geometry.inode_table_blocks().into())
        };
        fits.ok_or_else(|| {
            Error::Option(format!(
                "{} inodes of a group: the tables of groups {} to {} do not fit; ask for fewer inodes",
                geometry.inodes_per_group,
                unit.groups.start,
                unit.groups.end - 1
            ))
        })?;
        Ok(unit)
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
        let first = u64::from(number) * u64::from(self.unit_groups);
        let end = (first + u64::from(self.unit_groups)).min(self.geometry.groups.into());
        first * per_group + 1..end * per_group + 1
    }
}

impl Unit {
    fn take(&mut self, starts: Range<u64>, len: u64) -> Option<u64> {
        let start = self.taken.first_fit(starts, len)?;
        (start + len <= self.blocks.end).then(|| {
            self.taken.insert(start..start + len);
            start
        })
    }

    /// A group's own tables in the group: block bitmap, inode bitmap, table, each in the first room.
    fn place_alone(&mut self, table: u64) -> Option<()> {
        let all = self.blocks.clone();
        let places = Places {
            block_bitmap: self.take(all.clone(), 1)?,
            inode_bitmap: self.take(all.clone(), 1)?,
            inode_table: self.take(all, table)?,
        };
        self.places.push(places);
        Some(())
    }

    /// All block bitmaps, then all inode bitmaps, then all tables, around blocks already in use.
    fn place_together(
        &mut self,
        table: u64,
        size: u32,
        geometry: &ondisk::ext4::Geometry,
    ) -> Option<()> {
        // Bitmaps of another kind begin where the last one of this kind will end; the last unit may have fewer.
        let groups = self.groups.end - self.groups.start;
        let apart = if self.groups.end == geometry.groups && groups > 1 {
            groups
        } else {
            size
        };
        let most = u64::from(geometry.blocks_per_group / 4);
        for nth in 0..groups {
            let rest = u64::from(groups - nth);
            let last = self.places.last().copied();
            let search = |unit: &Self, from: Option<u64>, element: u64| {
                let window = (rest * element).min(most);
                from.and_then(|from| unit.taken.first_fit(from..from + window, element))
                    .or_else(|| unit.taken.first_fit(unit.blocks.clone(), window))
                    .or_else(|| unit.taken.first_fit(unit.blocks.clone(), element))
            };
            let end = self.blocks.end;
            let from = search(self, last.map(|last| last.block_bitmap + 1), 1)?;
            let block_bitmap = self.take(from..end, 1)?;
            let after = last.map_or(block_bitmap + u64::from(apart), |last| {
                last.inode_bitmap + 1
            });
            let from = search(self, Some(after), 1)?;
            let inode_bitmap = self.take(from..end, 1)?;
            let after = last.map_or(inode_bitmap + u64::from(apart), |last| {
                last.inode_table + table
            });
            let from = search(self, Some(after), table)?;
            let inode_table = self.take(from..end, table)?;
            self.places.push(Places {
                block_bitmap,
                inode_bitmap,
                inode_table,
            });
        }
        Some(())
    }
}
