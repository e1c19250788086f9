//! One allocation group, or a stretch of it.
//!
//! A stretch begins where the plan has a cut: with a directory whose inodes begin a unit, so that no unit is of two stretches. What the stretches
//! of a group note is joined when all of them are written.

use ondisk::xfs::Extent;
use ondisk::xfs::record::{RMAP_BMBT, RMAP_UNWRITTEN, owner};
use progress::Progress;

use super::Shared;
use super::inode::Template;
use super::near::Near;
use crate::Error;
use crate::population::ObjectId;
use crate::xfs::contents::{Kind, Shapes};
use crate::xfs::cursor::Cursor;
use crate::xfs::fork;
use crate::xfs::ledger::{ATTRIBUTES, Ledger, Used};
use crate::xfs::plan::{self, Cut, Data, Item, Segment};
use crate::xfs::uses::{Part, Uses};
use crate::xfs::volume::SYSTEM_INODES;

/// Where a stretch of a group is: from a cut or the group's beginning to a cut or its end.
pub(super) struct StretchOf {
    pub(super) ag: u32,
    pub(super) from: Option<Cut>,
    pub(super) to: Option<Cut>,
}

/// What was written of a group, or of a stretch of it.
#[derive(Debug)]
pub(super) struct Stretch {
    pub(super) ledger: Ledger,
    /// A bit for each inode that is free, 64 to a word.
    pub(super) masks: Vec<u64>,
}

impl Stretch {
    /// Joins the stretch that follows.
    pub(super) fn append(&mut self, next: Stretch) {
        self.ledger.append(next.ledger);
        self.masks.extend(next.masks);
    }
}

/// A thread's buffers, and the group that it writes.
pub(super) struct Writer<'a> {
    pub(super) shared: Shared<'a>,
    pub(super) ag: u32,
    shapes: Shapes,
    pub(super) uses: Uses,
    /// Inodes and directory blocks that are not written yet.
    near: Near,
    /// The last unit of inodes, and its first block.
    unit: (u32, Vec<u8>),
    /// The number of the stretch's first inode.
    base: u32,
    /// A bit for each inode from there on that is free, 64 to a word.
    masks: Vec<u64>,
    /// What will be the extents of one directory.
    pub(super) extents: Vec<Extent>,
    /// Blocks of the btree of those extents.
    pub(super) tree: Vec<u64>,
    pub(super) bytes: Vec<u8>,
    pub(super) template: Template,
}

impl<'a> Writer<'a> {
    pub(super) fn new(shared: Shared<'a>) -> Self {
        Self {
            shared,
            ag: 0,
            shapes: Shapes::default(),
            uses: Uses::default(),
            near: Near::default(),
            unit: (0, Vec::new()),
            base: 0,
            masks: Vec::new(),
            extents: Vec::new(),
            tree: Vec::new(),
            bytes: Vec::new(),
            template: Template::default(),
        }
    }

    /// Writes a stretch of a group.
    pub(super) fn stretch(
        &mut self,
        of: &StretchOf,
        progress: &dyn Progress,
    ) -> Result<Stretch, Error> {
        let Shared { empty, plan, .. } = self.shared;
        let group = &plan.groups[of.ag as usize];
        let own = &empty.groups[of.ag as usize];
        let before = own.used.partition_point(|used| used.start < own.room.0);
        let mut cursor = of
            .from
            .map_or_else(|| empty.cursor(of.ag), |cut| cut.cursor);
        self.ag = of.ag;
        self.base = cursor.index - cursor.index % empty.sizes.unit_inodes;
        self.masks.clear();
        let mut ledger = Ledger::new(own.length, empty.geometry.rmapbt);
        if of.from.is_none() {
            for used in &own.used[..before] {
                ledger.add(*used);
            }
            if of.ag == 0 {
                self.system_inodes()?;
            }
        }
        let first = of.from.map_or(0, |cut| cut.item);
        let end = of.to.map_or(group.items.len(), |cut| cut.item);
        for item in &group.items[first..end] {
            if progress.cancelled() {
                return Err(Error::Stopped);
            }
            match *item {
                Item::Directory(directory) => {
                    self.directory_item(directory, &mut cursor, &mut ledger, progress)?;
                }
                Item::Segment(directory, nth) => {
                    let all = plan.segments.get(&directory).map_or(&[][..], Vec::as_slice);
                    if let Some(segment) = all.get(nth as usize) {
                        self.segment(directory, all, segment, &mut ledger);
                        cursor.block += segment.len as u32;
                    }
                }
            }
        }
        if of.to.is_none() {
            for used in &own.used[before..] {
                ledger.add(*used);
            }
            self.never_used(cursor.index)?;
        }
        self.end_unit()?;
        self.near.flush(empty)?;
        let masks = std::mem::take(&mut self.masks);
        Ok(Stretch { ledger, masks })
    }

    /// Begins the chunk of the root with the inodes that mkfs.xfs made.
    fn system_inodes(&mut self) -> Result<(), Error> {
        let empty = self.shared.empty;
        let at = empty.root_chunk;
        let size = (empty.sizes.unit_blocks << empty.geometry.block_log) as usize;
        let found = empty.image.read(empty.geometry.offset(0, at), size)?;
        self.begin_unit(at)?;
        self.unit.1.copy_from_slice(&found);
        for index in 0..SYSTEM_INODES {
            self.mark(index);
            let inode = self.slot(index);
            super::inode::restamp(empty, &mut self.unit.1[inode])?;
        }
        Ok(())
    }

    /// Begins a unit of inodes.
    fn begin_unit(&mut self, at: u32) -> Result<(), Error> {
        self.end_unit()?;
        let empty = self.shared.empty;
        let size = (empty.sizes.unit_blocks << empty.geometry.block_log) as usize;
        self.unit.0 = at;
        self.unit.1.resize(size, 0);
        let words = (empty.sizes.unit_inodes / 64) as usize;
        self.masks.extend(std::iter::repeat_n(u64::MAX, words));
        Ok(())
    }

    /// Hands on the last unit.
    fn end_unit(&mut self) -> Result<(), Error> {
        let (at, bytes) = &mut self.unit;
        if !bytes.is_empty() {
            self.near.put(self.shared.empty, self.ag, *at, bytes)?;
            bytes.clear();
        }
        Ok(())
    }

    /// Notes that an inode is in use.
    fn mark(&mut self, index: u32) {
        let nth = index - self.base;
        self.masks[(nth / 64) as usize] &= !(1 << (nth % 64));
    }

    /// The bytes of an inode of the last unit.
    fn slot(&self, index: u32) -> std::ops::Range<usize> {
        let empty = self.shared.empty;
        let size = empty.geometry.inode_size as usize;
        let at = (index % empty.sizes.unit_inodes) as usize * size;
        at..at + size
    }

    /// Fills the rest of the last unit.
    fn never_used(&mut self, from: u32) -> Result<(), Error> {
        let end = self.end();
        for index in from..end {
            let ino = self.number(index);
            let range = self.slot(index);
            super::inode::never_used(self.shared.empty, &mut self.unit.1[range], ino)?;
        }
        Ok(())
    }

    /// The first inode that has no unit.
    fn end(&self) -> u32 {
        self.base + self.masks.len() as u32 * 64
    }

    fn number(&self, index: u32) -> u64 {
        let agino = self.shared.plan.agino(self.ag, index);
        self.shared.empty.geometry.ino(self.ag, agino)
    }

    /// Writes a directory, its files, and their data.
    fn directory_item(
        &mut self,
        directory: u32,
        cursor: &mut Cursor,
        ledger: &mut Ledger,
        progress: &dyn Progress,
    ) -> Result<(), Error> {
        let Shared {
            empty,
            contents,
            plan,
        } = self.shared;
        let geometry = &empty.geometry;
        let shape = self.shapes.get(contents, directory)?;
        let slots = contents.population.slots(directory);
        let total = slots.total();
        let first = plan.home(directory).first;
        let new = if directory == 0 { total - 1 } else { total };
        let ino = plan.inode(ObjectId::directory(directory));
        let (mut units, mut places) = (Vec::new(), Vec::with_capacity(shape.births.len()));
        let count = shape.births.len() as u32;
        let from = cursor.block;
        cursor.directory(
            &empty.sizes,
            new,
            count,
            &mut |at| units.push(at),
            &mut |nth, at| places.push((shape.births[nth as usize], at)),
        );
        self.extents = plan::extents(contents, self.ag, &mut places);
        let fork = geometry.literal_area();
        self.tree.clear();
        for _ in 0..fork::blocks(geometry, fork, self.extents.len() as u64) {
            self.tree.push(geometry.fsblock(self.ag, cursor.small(1)));
        }
        self.near.open(empty, self.ag, from, cursor.block)?;
        self.note_directory(ino, &units, ledger);
        self.directory_blocks(directory, ino, &shape, &places)?;

        let own = [Segment {
            address: 0,
            len: u64::from(u32::MAX),
            ag: self.ag,
            at: cursor.block,
            slot: (0, 0),
        }];
        let segments = plan.segments.get(&directory);
        let data = Data {
            geometry,
            segments: segments.map_or(&own[..], Vec::as_slice),
        };
        let mut units = units.into_iter();
        let mut address = 0;
        for slot in 0..total {
            let id = ObjectId { directory, slot };
            let index = if directory == 0 && slot > 0 {
                first + SYSTEM_INODES - 1 + slot
            } else {
                first + slot
            };
            if index >= self.end()
                && let Some(at) = units.next()
            {
                self.begin_unit(at)?;
            }
            let Some(object) = contents.object(&slots, id) else {
                continue;
            };
            let mut uses = std::mem::take(&mut self.uses);
            uses.find(contents, &data, id, &object, address);
            let ino = self.number(index);
            if segments.is_none() {
                uses.each(&mut |part, extent| ledger.add(used(geometry, ino, part, extent)));
            }
            self.uses = uses;
            if object.kind != Kind::Freed {
                self.mark(index);
            }
            let range = self.slot(index);
            let mut bytes = std::mem::take(&mut self.unit.1);
            let result = self.file(&mut bytes[range], ino, id, &object, &shape);
            self.unit.1 = bytes;
            result?;
            address += object.blocks;
        }
        if segments.is_none() {
            cursor.block += address as u32;
        }
        progress.advance(total.into());
        Ok(())
    }

    /// Takes a block of the directory that is being written.
    pub(super) fn put_near(&mut self, at: u32, bytes: &[u8]) -> Result<(), Error> {
        self.near.put(self.shared.empty, self.ag, at, bytes)
    }

    /// Notes the blocks of inodes and of a directory.
    fn note_directory(&mut self, ino: u64, units: &[u32], ledger: &mut Ledger) {
        let empty = self.shared.empty;
        let geometry = &empty.geometry;
        let blocks = empty.sizes.unit_blocks;
        let mut all: Vec<Used> = units
            .iter()
            .map(|&at| Used::new(at, blocks, owner::INODES))
            .collect();
        all.extend(
            self.extents
                .iter()
                .map(|extent| used(geometry, ino, Part::Contents, extent)),
        );
        all.extend(self.tree.iter().map(|&block| Used {
            offset: RMAP_BMBT,
            ..Used::new(geometry.agbno_of(block), 1, ino)
        }));
        all.sort_unstable_by_key(|used| used.start);
        for used in all {
            ledger.add(used);
        }
    }

    /// Notes the blocks of a segment, whose files' inodes may be in another group.
    fn segment(&mut self, directory: u32, all: &[Segment], segment: &Segment, ledger: &mut Ledger) {
        let Shared {
            empty,
            contents,
            plan,
        } = self.shared;
        let geometry = &empty.geometry;
        let data = Data {
            geometry,
            segments: all,
        };
        if ledger.used.is_none() && contents.population.plain_size().is_some() {
            // The files fill it, and nothing is noted of each.
            let len = segment.len as u32;
            ledger.add(Used::new(segment.at, len, owner::FS));
            return;
        }
        let slots = contents.population.slots(directory);
        let first = geometry.fsblock(self.ag, segment.at);
        let end = first + segment.len;
        let (mut slot, mut address) = segment.slot;
        while slot < slots.total() && address < segment.address + segment.len {
            let id = ObjectId { directory, slot };
            slot += 1;
            let Some(object) = contents.object(&slots, id) else {
                continue;
            };
            let next = address + object.blocks;
            if next > segment.address && next > address {
                let ino = plan.inode(id);
                self.uses.find(contents, &data, id, &object, address);
                self.uses.each(&mut |part, extent| {
                    let from = extent.block.max(first);
                    let to = (extent.block + extent.count).min(end);
                    if from < to {
                        let here = Extent {
                            offset: extent.offset + (from - extent.block),
                            block: from,
                            count: to - from,
                            unwritten: extent.unwritten,
                        };
                        ledger.add(used(geometry, ino, part, &here));
                    }
                });
            }
            address = next;
        }
    }
}

/// An extent as a record of reverse mappings has it.
fn used(geometry: &ondisk::xfs::Geometry, ino: u64, part: Part, extent: &Extent) -> Used {
    let offset = match part {
        Part::Attributes => extent.offset | ATTRIBUTES,
        Part::Contents if extent.unwritten => extent.offset | RMAP_UNWRITTEN,
        Part::Contents => extent.offset,
        Part::Tree => RMAP_BMBT,
    };
    Used {
        offset,
        ..Used::new(geometry.agbno_of(extent.block), extent.count as u32, ino)
    }
}
