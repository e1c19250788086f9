//! One allocation group.

use ondisk::xfs::Extent;
use ondisk::xfs::record::{RMAP_BMBT, RMAP_UNWRITTEN, owner};
use progress::Progress;

use super::{Shared, Totals};
use crate::Error;
use crate::population::ObjectId;
use crate::xfs::contents::{Kind, Shapes};
use crate::xfs::cursor::Cursor;
use crate::xfs::fork;
use crate::xfs::ledger::{ATTRIBUTES, Ledger, Used};
use crate::xfs::plan::{self, Data, Item, Segment};
use crate::xfs::uses::{Part, Uses};
use crate::xfs::volume::SYSTEM_INODES;

/// Bytes of inodes that are written at once.
const RUN: usize = 1 << 20;

/// A thread's buffers, and the group that it writes.
pub(super) struct Writer<'a> {
    pub(super) shared: Shared<'a>,
    pub(super) ag: u32,
    shapes: Shapes,
    pub(super) uses: Uses,
    /// Units of inodes that follow each other, and the first block of them.
    run: (u32, Vec<u8>),
    /// A bit for each inode that is free, 64 to a word.
    pub(super) masks: Vec<u64>,
    /// What will be the extents of one directory.
    pub(super) extents: Vec<Extent>,
    /// Blocks of the btree of those extents.
    pub(super) tree: Vec<u64>,
    pub(super) bytes: Vec<u8>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(shared: Shared<'a>) -> Self {
        Self {
            shared,
            ag: 0,
            shapes: Shapes::default(),
            uses: Uses::default(),
            run: (0, Vec::new()),
            masks: Vec::new(),
            extents: Vec::new(),
            tree: Vec::new(),
            bytes: Vec::new(),
        }
    }

    /// Writes a group.
    pub(super) fn group(&mut self, ag: u32, progress: &dyn Progress) -> Result<Totals, Error> {
        let Shared { empty, plan, .. } = self.shared;
        self.ag = ag;
        self.masks.clear();
        let own = &empty.groups[ag as usize];
        let mut ledger = Ledger::new(own.length, empty.geometry.rmapbt);
        let before = own.used.partition_point(|used| used.start < own.room.0);
        for used in &own.used[..before] {
            ledger.add(*used);
        }
        let mut cursor = empty.cursor(ag);
        if ag == 0 {
            self.system_inodes()?;
        }
        for item in &plan.groups[ag as usize].items {
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
        for used in &own.used[before..] {
            ledger.add(*used);
        }
        ledger.finish();
        self.never_used(cursor.index)?;
        self.flush()?;
        self.finish(ledger)
    }

    /// Begins the chunk of the root with the inodes that mkfs.xfs made.
    fn system_inodes(&mut self) -> Result<(), Error> {
        let empty = self.shared.empty;
        let at = empty.root_chunk;
        let size = (empty.sizes.unit_blocks << empty.geometry.block_log) as usize;
        let found = empty.image.read(empty.geometry.offset(0, at), size)?;
        self.begin_unit(at)?;
        self.run.1.copy_from_slice(&found);
        for index in 0..SYSTEM_INODES {
            self.mark(index);
            let inode = self.slot(index);
            let mut bytes = std::mem::take(&mut self.run.1);
            let result = super::inode::restamp(empty, &mut bytes[inode.clone()]);
            self.run.1 = bytes;
            result?;
        }
        Ok(())
    }

    /// Begins a unit of inodes.
    fn begin_unit(&mut self, at: u32) -> Result<(), Error> {
        let empty = self.shared.empty;
        let size = (empty.sizes.unit_blocks << empty.geometry.block_log) as usize;
        let (start, bytes) = &self.run;
        let next = *start + (bytes.len() >> empty.geometry.block_log) as u32;
        if bytes.is_empty() || next != at || bytes.len() >= RUN {
            self.flush()?;
            self.run.0 = at;
        }
        let len = self.run.1.len();
        self.run.1.resize(len + size, 0);
        let words = (empty.sizes.unit_inodes / 64) as usize;
        self.masks.extend(std::iter::repeat_n(u64::MAX, words));
        Ok(())
    }

    /// Writes the units of the run.
    fn flush(&mut self) -> Result<(), Error> {
        if !self.run.1.is_empty() {
            self.shared.empty.put(self.ag, self.run.0, &self.run.1)?;
            self.run.1.clear();
        }
        Ok(())
    }

    /// Notes that an inode is in use.
    fn mark(&mut self, index: u32) {
        self.masks[(index / 64) as usize] &= !(1 << (index % 64));
    }

    /// The bytes of an inode of the last unit.
    fn slot(&self, index: u32) -> std::ops::Range<usize> {
        let empty = self.shared.empty;
        let size = empty.geometry.inode_size as usize;
        let unit = (empty.sizes.unit_blocks << empty.geometry.block_log) as usize;
        let within = (index % empty.sizes.unit_inodes) as usize;
        let at = self.run.1.len() - unit + within * size;
        at..at + size
    }

    /// Fills the rest of the last unit.
    fn never_used(&mut self, from: u32) -> Result<(), Error> {
        let end = self.masks.len() as u32 * 64;
        for index in from..end {
            let ino = self.number(index);
            let range = self.slot(index);
            super::inode::never_used(self.shared.empty, &mut self.run.1[range], ino)?;
        }
        Ok(())
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
            if index >= self.masks.len() as u32 * 64
                && let Some(at) = units.next()
            {
                self.begin_unit(at)?;
            }
            let Some(object) = contents.object(&slots, id) else {
                continue;
            };
            let mut uses = std::mem::take(&mut self.uses);
            uses.find(contents, &data, id, &object, address);
            if segments.is_none() {
                let ino = self.number(index);
                uses.each(&mut |part, extent| ledger.add(used(geometry, ino, part, extent)));
            }
            self.uses = uses;
            if object.kind != Kind::Freed {
                self.mark(index);
            }
            let range = self.slot(index);
            let mut bytes = std::mem::take(&mut self.run.1);
            let ino = self.number(index);
            let result = self.inode(&mut bytes[range], ino, id, &object, &shape);
            self.run.1 = bytes;
            result?;
            address += object.blocks;
        }
        if segments.is_none() {
            cursor.block += address as u32;
        }
        progress.advance(total.into());
        Ok(())
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
