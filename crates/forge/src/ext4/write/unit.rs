//! Putting one unit together.

use std::ops::Range;
use std::sync::Mutex;

use ondisk::ext4::group_descriptor::{
    BLOCK_UNINIT, DescriptorChecksum, INODE_UNINIT, INODE_ZEROED,
};
use ondisk::ext4::inode::number;
use ondisk::ext4::{GroupDescriptor, bitmap};
use progress::Progress;

use super::bitmaps::{Bitmaps, zeros};
use super::content::write_content;
use super::inode::Inodes;
use super::inode_template::InodeTemplate;
use super::summary::Summary;
use super::system;
use super::table::Table;
use crate::Error;
use crate::ext4::layout::{Layout, Unit};
use crate::ext4::place::{Cursor, Full, Mapping, Placer, Plan};
use crate::ext4::plan::{Home, Kind, Object, ObjectId, Objects};
use crate::image_file::ImageFile;

/// What one thread needs to write units, used for one after the other.
pub(super) struct Builder<'a> {
    layout: &'a Layout,
    population: &'a dyn Objects,
    plan: &'a Plan<'a>,
    image: &'a ImageFile,
    inodes: Inodes<'a>,
    placer: Placer,
    mapping: Mapping,
    bitmaps: Bitmaps,
    table: Table,
    /// For files that are alike.
    template: Option<InodeTemplate>,
    /// Directories of each group.
    directories: Vec<u32>,
    /// One more than the index of the last inode in use of each group.
    used: Vec<u32>,
    buffer: Vec<u8>,
    block: Vec<u8>,
}

impl<'a> Builder<'a> {
    pub(super) fn new(layout: &'a Layout, population: &'a dyn Objects, plan: &'a Plan<'a>) -> Self {
        Self {
            layout,
            population,
            plan,
            image: &layout.image,
            inodes: Inodes::new(layout),
            placer: Placer::new(layout),
            mapping: Mapping::default(),
            bitmaps: Bitmaps::new(layout),
            table: Table::default(),
            template: None,
            directories: Vec::new(),
            used: Vec::new(),
            buffer: Vec::new(),
            block: Vec::new(),
        }
    }

    /// Writes everything that has its home in a unit, and the unit's bitmaps.
    pub(super) fn build(
        &mut self,
        number: u32,
        summary: &Mutex<Summary>,
        progress: &dyn Progress,
    ) -> Result<(), Error> {
        let unit = self.layout.unit(number)?;
        self.begin(&unit);
        if number == 0 {
            self.system(&unit)?;
        }
        self.population(&unit, progress)?;
        self.bitmaps.flush();
        let descriptors = self.descriptors(&unit)?;
        let mut summary = summary
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        for desc in &descriptors {
            summary.add(desc);
        }
        drop(summary);
        self.write_descriptors(&unit, &descriptors)
    }

    /// Marks the clusters in use without files, and those of files whose home is another unit.
    fn begin(&mut self, unit: &Unit) {
        self.bitmaps.begin(unit);
        self.directories.clear();
        self.directories.resize(unit.descriptors.len(), 0);
        self.used.clear();
        self.used.resize(unit.descriptors.len(), 0);
        for range in within(self.plan.system.taken.ranges(), unit) {
            self.bitmaps.set(range, false);
        }
        for range in self.plan.system.added() {
            self.bitmaps.set(range, true);
        }
        for range in within(&self.plan.outside, unit) {
            self.bitmaps.set(range, true);
        }
    }

    /// The inodes that every filesystem has. With few inodes in a group they fill more than one.
    fn system(&mut self, unit: &Unit) -> Result<(), Error> {
        let geometry = &self.layout.geometry;
        let size = usize::from(geometry.inode_size);
        let count = self.layout.first_free_inode() - 1;
        let slots = system::inodes(self.layout, self.plan, self.population, &self.inodes)?;
        let per_group = geometry.inodes_per_group;
        let tables = slots.chunks(per_group as usize * size);
        for ((group, desc), table) in unit.descriptors.iter().enumerate().zip(tables) {
            let offset = desc.inode_table() * u64::from(geometry.block_size);
            self.image.write(offset, table)?;
            self.used[group] = (table.len() / size) as u32;
        }
        for index in 0..count {
            self.bitmaps
                .mark_inode((index / per_group) as usize, index % per_group);
        }
        for ino in [number::ROOT, Home::LOST_AND_FOUND] {
            self.directories[((ino - 1) / per_group) as usize] += 1;
        }
        system::write_root(
            self.layout,
            self.plan,
            self.population,
            &self.inodes,
            &mut self.buffer,
        )
    }

    fn population(&mut self, unit: &Unit, progress: &dyn Progress) -> Result<(), Error> {
        let start = self.plan.starts[unit.number as usize];
        let mut left = self.plan.starts[unit.number as usize + 1].first - start.first;
        let mut ino = self.plan.first_inode(unit.number);
        let mut cursor = Cursor::new(
            self.layout,
            &self.plan.system.taken,
            unit.number,
            start.cursor,
        );
        self.placer.xattr = start.xattr;
        let mut id = start.id;
        let mut group = usize::MAX;
        while left > 0 {
            let slots = self.population.slots(id.directory);
            let end = u64::from(slots).min(u64::from(id.slot) + left) as u32;
            self.directory(unit, id, end, ino, &mut group, &mut cursor)?;
            // The last inode of all may have the largest number there is.
            ino = ino.wrapping_add(end - id.slot.min(end));
            let done = u64::from(end - id.slot.min(end));
            left -= done;
            progress.advance(done);
            id = ObjectId {
                directory: id.directory + 1,
                slot: 0,
            };
        }
        self.table
            .flush(self.layout.geometry.inode_size.into(), self.image)
    }

    /// Writes the slots of a directory from `id` on to `end`; the first one's inode is `ino`.
    fn directory(
        &mut self,
        unit: &Unit,
        id: ObjectId,
        end: u32,
        ino: u32,
        group: &mut usize,
        cursor: &mut Cursor<'_>,
    ) -> Result<(), Error> {
        let ObjectId { directory, slot } = id;
        let population = self.population;
        let first = slot.max(1);
        let alike = population.alike(directory, first..end);
        self.choose_template(alike.as_ref())?;
        let rest = if alike.is_some() { first } else { end };
        let mut result = Ok(());
        population.visit(directory, slot..rest.min(end), &mut |slot, object| {
            if result.is_ok() {
                let here = ObjectId { directory, slot };
                result = self.slot(unit, here, object, ino + (slot - id.slot), group, cursor);
            }
        });
        let mut slot = rest;
        while let Some(object) = alike.filter(|_| result.is_ok() && slot < end) {
            let ino = ino + (slot - id.slot);
            let here = ObjectId { directory, slot };
            result = self.slot(unit, here, &object, ino, group, cursor);
            slot += 1;
            if result.is_ok() && slot < end {
                slot += self.more_alike(unit, ino + 1, end - slot, *group, cursor)?;
            }
        }
        result
    }

    /// Sets the template to that of an object, or to none.
    fn choose_template(&mut self, object: Option<&Object>) -> Result<(), Error> {
        let Some(object) = object else {
            self.template = None;
            return Ok(());
        };
        if !self
            .template
            .as_ref()
            .is_some_and(|template| template.is_of(object))
        {
            let blocks = self.placer.one_run(object);
            let template = blocks.map(|blocks| InodeTemplate::new(&self.inodes, object, blocks));
            self.template = template.transpose()?;
        }
        Ok(())
    }

    /// Writes inodes by the template, as many as the group has and as have contiguous blocks; returns how many.
    fn more_alike(
        &mut self,
        unit: &Unit,
        ino: u32,
        most: u32,
        group: usize,
        cursor: &mut Cursor<'_>,
    ) -> Result<u32, Error> {
        let per_group = self.layout.geometry.inodes_per_group;
        let index = (ino - 1) % per_group;
        let same_group = (ino - 1) / per_group - unit.groups.start == group as u32;
        let Some(template) = self.template.as_ref().filter(|_| same_group) else {
            return Ok(0);
        };
        let most = most.min(per_group - index);
        let run = cursor.take_alike(template.blocks, most.into());
        let times = ((run.end - run.start) / template.blocks) as u32;
        if times == 0 {
            return Ok(0);
        }
        let size = usize::from(self.layout.geometry.inode_size);
        for nth in 0..times {
            let table = self.table.room(index + nth, size, self.image)?;
            let start = run.start + u64::from(nth) * template.blocks;
            template.write(&self.inodes, ino + nth, start, table)?;
        }
        self.bitmaps.mark(run);
        self.bitmaps.mark_inodes(group, index..index + times);
        self.used[group] = index + times;
        Ok(times)
    }

    /// Writes one inode and what belongs to it.
    fn slot(
        &mut self,
        unit: &Unit,
        id: ObjectId,
        object: &Object,
        ino: u32,
        last_group: &mut usize,
        cursor: &mut Cursor<'_>,
    ) -> Result<(), Error> {
        if object.kind == Kind::Free {
            return Ok(());
        }
        let geometry = &self.layout.geometry;
        let size = usize::from(geometry.inode_size);
        let per_group = geometry.inodes_per_group;
        let group = ((ino - 1) / per_group - unit.groups.start) as usize;
        let index = (ino - 1) % per_group;
        if group != *last_group {
            self.table.flush(size, self.image)?;
            self.table.offset =
                unit.descriptors[group].inode_table() * u64::from(geometry.block_size);
            self.table.first = index;
            *last_group = group;
        }
        self.placer
            .place(self.population, id, object, cursor, &mut self.mapping)
            .map_err(changed)?;
        for range in self.mapping.ranges() {
            self.bitmaps.mark(range);
        }
        self.bitmaps.mark_inode(group, index);
        self.used[group] = index + 1;
        self.directories[group] += u32::from(object.kind == Kind::Directory);
        self.inode(id, object, ino, index)
    }

    fn inode(&mut self, id: ObjectId, object: &Object, ino: u32, index: u32) -> Result<(), Error> {
        let layout = self.layout;
        let generation = self.inodes.generation(ino);
        let size = usize::from(layout.geometry.inode_size);
        let slot = self.table.slot(index, size, self.image)?;
        let mut inode = self.inodes.fill(slot, generation, object, &self.mapping)?;
        let always = matches!(object.kind, Kind::Directory | Kind::Symlink | Kind::Value);
        let has_content = object.content || always && object.has_blocks();
        let home = Home {
            ino,
            seed: None,
            superblock: &layout.superblock,
            numbers: self.plan,
        };
        if object.finish {
            let home = Home {
                seed: self.inodes.block_seed(ino, generation),
                ..home
            };
            self.population.finish_inode(id, &home, &mut inode)?;
        }
        if let Some(seed) = self.inodes.seed {
            inode.seal(seed, ino)?;
        }
        let own_xattr = self.mapping.xattr != 0 && !object.xattr_shared;
        if self.mapping.nodes.is_empty() && !has_content && !own_xattr {
            return Ok(());
        }
        let home = Home {
            seed: self.inodes.block_seed(ino, generation),
            ..home
        };
        self.inodes
            .nodes(self.image, &self.mapping, home.seed, &mut self.block)?;
        if has_content {
            let whole = object.kind == Kind::Directory;
            write_content(
                layout,
                self.population,
                id,
                &home,
                self.image,
                &self.mapping,
                whole,
                &mut self.buffer,
            )?;
        }
        if own_xattr {
            let block_size = layout.geometry.block_size;
            self.block.clear();
            self.block.resize(block_size as usize, 0);
            self.population
                .xattr_block(id, &home, self.mapping.xattr, &mut self.block)?;
            self.image
                .write(self.mapping.xattr * u64::from(block_size), &self.block)?;
        }
        Ok(())
    }

    /// Makes the descriptors and writes the bitmaps that are not implied by them.
    fn descriptors(&mut self, unit: &Unit) -> Result<Vec<GroupDescriptor>, Error> {
        let geometry = &self.layout.geometry;
        let uninit = self.layout.uninit();
        let mut all = Vec::with_capacity(unit.descriptors.len());
        for (nth, group) in unit.groups.clone().enumerate() {
            let clusters = geometry.group_clusters(group);
            let mut desc = unit.descriptors[nth];
            desc.set_free_blocks(zeros(self.bitmaps.of_blocks(nth), clusters));
            desc.set_free_inodes(zeros(
                self.bitmaps.of_inodes(nth),
                geometry.inodes_per_group,
            ));
            desc.set_used_dirs(self.directories[nth]);
            let mut flags = INODE_ZEROED;
            if uninit {
                desc.set_itable_unused(geometry.inodes_per_group - self.used[nth]);
                if self.used[nth] == 0 {
                    flags |= INODE_UNINIT;
                }
                // The kernel makes both when it takes the group's first inode, and the last group needs its padding.
                let last = group + 1 == geometry.groups;
                if self.used[nth] == 0 && !self.bitmaps.touched(nth) && !last {
                    flags |= BLOCK_UNINIT;
                }
            }
            desc.raw.bg_flags = flags.into();
            self.bitmaps.pad(nth, clusters, geometry.inodes_per_group);
            if let Some(seed) = self.layout.seed() {
                if flags & BLOCK_UNINIT == 0 {
                    let bytes = self.bitmaps.of_blocks(nth);
                    let sum = bitmap::block_checksum(seed, geometry, &desc, bytes)?;
                    desc.set_block_bitmap_csum(sum.computed);
                }
                if flags & INODE_UNINIT == 0 {
                    let bytes = self.bitmaps.of_inodes(nth);
                    let sum = bitmap::inode_checksum(seed, geometry, &desc, bytes)?;
                    desc.set_inode_bitmap_csum(sum.computed);
                }
            }
            all.push(desc);
        }
        let wanted = |flag| {
            let all = &all;
            move |nth: usize| {
                all.get(nth)
                    .is_some_and(|desc: &GroupDescriptor| !desc.has_flags(flag))
            }
        };
        let blocks = all.iter().map(GroupDescriptor::block_bitmap);
        self.bitmaps
            .write(self.image, blocks, true, wanted(BLOCK_UNINIT))?;
        let inodes = all.iter().map(GroupDescriptor::inode_bitmap);
        self.bitmaps
            .write(self.image, inodes, false, wanted(INODE_UNINIT))?;
        Ok(all)
    }

    /// Writes the descriptors to the primary table, neighbours together.
    fn write_descriptors(
        &mut self,
        unit: &Unit,
        descriptors: &[GroupDescriptor],
    ) -> Result<(), Error> {
        let geometry = &self.layout.geometry;
        let checksum = DescriptorChecksum::of(&self.layout.superblock);
        let size = usize::from(geometry.desc_size);
        let mut bytes = vec![0; size];
        let mut offset = 0;
        self.buffer.clear();
        for (group, desc) in unit.groups.clone().zip(descriptors) {
            desc.write(&mut bytes)?;
            checksum.seal(group, &mut bytes);
            let (block, at) = geometry.desc_position(group).unwrap_or((0, 0));
            let here = block * u64::from(geometry.block_size) + u64::from(at);
            if offset + self.buffer.len() as u64 != here {
                self.image.write(offset, &self.buffer)?;
                self.buffer.clear();
                offset = here;
            }
            self.buffer.extend_from_slice(&bytes);
        }
        self.image.write(offset, &self.buffer)
    }
}

/// The ranges of an ascending list that reach into a unit.
fn within<'r>(ranges: &'r [Range<u64>], unit: &Unit) -> impl Iterator<Item = Range<u64>> + use<'r> {
    let (start, end) = (unit.blocks.start, unit.blocks.end);
    let from = ranges.partition_point(|range| range.end <= start);
    let rest = ranges[from..].iter();
    rest.take_while(move |range| range.start < end).cloned()
}

/// A population that gave other answers than when it was placed.
fn changed(full: Full) -> Error {
    match full {
        Full::Other(error) => error,
        Full::Blocks | Full::Inodes => Error::Population(
            "it needs more room now than when it was asked first; its answers must not change"
                .to_owned(),
        ),
    }
}
