//! The walk that gives every slot its inode number and finds where each unit begins.

use std::ops::Range;

use progress::Progress;

use super::{Cursor, Full, Mapping, Placer, System, Usage};
use crate::Error;
use crate::ext4::layout::Layout;
use crate::ext4::plan::{Kind, Numbers, Object, ObjectId, Objects};

/// Directories between two that are remembered.
const STEP: u32 = 16;

/// Start of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ext4) struct Start {
    /// The first slot of it, counted over the whole population; the root itself is number 0.
    pub(in crate::ext4) first: u64,
    /// The same slot by its name.
    pub(in crate::ext4) id: ObjectId,
    /// From where its blocks are taken.
    pub(in crate::ext4) cursor: u64,
    /// The last block of attributes before, which others may share.
    pub(in crate::ext4) xattr: u64,
}

/// Everything that must be known before a unit can be written.
pub(in crate::ext4) struct Plan<'a> {
    layout: &'a Layout,
    population: &'a dyn Objects,
    /// One for each unit, and one after the last.
    pub(in crate::ext4) starts: Vec<Start>,
    /// The number of every 16th directory's first slot. Inodes, and so slots, have 32 bits.
    bases: Vec<u32>,
    /// Blocks outside of their object's home, ascending.
    pub(in crate::ext4) outside: Vec<Range<u64>>,
    pub(in crate::ext4) system: System,
    /// What each owner has.
    pub(in crate::ext4) usage: Usage,
}

impl<'a> Plan<'a> {
    /// Places a population.
    pub(in crate::ext4) fn new(
        layout: &'a Layout,
        population: &'a dyn Objects,
        progress: &dyn Progress,
    ) -> Result<Self, Error> {
        if population.directories() == 0 || population.slots(0) == 0 {
            return Err(Error::Population("there is no root".to_owned()));
        }
        let mut usage = Usage::new(layout);
        let total = Total::of(layout, population, &mut usage, progress)?;
        let inodes = layout.free_inodes();
        if total.slots > inodes {
            return Err(Error::Room {
                what: "inodes",
                need: total.slots,
                have: inodes,
                advice: "ask for more inodes, fewer bytes for each, or a larger image",
            });
        }
        let system = System::place(layout, population, &usage)
            .map_err(|full| no_room(full, layout, &total))?;
        let mut plan = Self {
            layout,
            population,
            starts: Vec::new(),
            bases: Vec::new(),
            outside: Vec::new(),
            system,
            usage,
        };
        let ways: &[bool] = if layout.options.spread {
            &[true, false]
        } else {
            &[false]
        };
        for spread in ways {
            match plan.walk(*spread, &total, progress) {
                Ok(()) => return Ok(plan),
                Err(Full::Other(error)) => return Err(error),
                Err(full) if !spread => return Err(no_room(full, layout, &total)),
                Err(_) => {}
            }
        }
        Ok(plan)
    }

    fn walk(&mut self, spread: bool, total: &Total, progress: &dyn Progress) -> Result<(), Full> {
        self.bases.clear();
        self.outside.clear();
        let mut usage = self.usage.clone();
        usage.clear();
        self.system.charge(&mut usage, self.layout)?;
        let first = ObjectId {
            directory: 0,
            slot: 1,
        };
        let begin = u64::from(self.layout.geometry.first_data_block);
        let mut walk = Walk {
            cursor: Cursor::new(self.layout, &self.system.taken, 0, begin),
            placer: Placer::new(self.layout),
            mapping: Mapping::default(),
            share: if spread {
                Share::of(total, self.layout)
            } else {
                Share::none()
            },
            starts: vec![Start {
                first: 1,
                id: first,
                cursor: begin,
                xattr: 0,
            }],
            outside: Vec::new(),
            usage,
            left: self.layout.unit_inodes(0).end - u64::from(self.layout.first_free_inode()),
            limit: self.layout.unit_blocks(0).end,
            layout: self.layout,
            population: self.population,
        };
        let mut number = 0_u64;
        for directory in 0..self.population.directories() {
            if directory % STEP == 0 {
                self.bases.push(number as u32);
            }
            let slots = self.population.slots(directory);
            walk.directory(directory, slots, number)?;
            number += u64::from(slots);
            if directory % 256 == 0 && progress.cancelled() {
                return Err(Full::Other(Error::Stopped));
            }
        }
        let end = Start {
            first: number,
            id: ObjectId {
                directory: self.population.directories(),
                slot: 0,
            },
            cursor: 0,
            xattr: 0,
        };
        walk.starts.resize(self.layout.units() as usize + 1, end);
        self.outside = walk.outside;
        self.usage = walk.usage;
        self.starts = walk.starts;
        Ok(())
    }

    fn base(&self, directory: u32) -> u64 {
        let begin = directory / STEP * STEP;
        let base = self
            .bases
            .get((directory / STEP) as usize)
            .copied()
            .unwrap_or(0);
        u64::from(base)
            + (begin..directory)
                .map(|other| u64::from(self.population.slots(other)))
                .sum::<u64>()
    }

    /// The first inode number of a unit that the population may use.
    pub(in crate::ext4) fn first_inode(&self, unit: u32) -> u32 {
        if unit == 0 {
            self.layout.first_free_inode()
        } else {
            self.layout.unit_inodes(unit).start as u32
        }
    }
}

impl Numbers for Plan<'_> {
    fn inode(&self, id: ObjectId) -> u32 {
        self.run(id).0
    }

    fn run(&self, id: ObjectId) -> (u32, u32) {
        if id.directory >= self.population.directories() {
            return (0, 0);
        }
        let slots = self.population.slots(id.directory);
        if id.slot >= slots {
            return (0, 0);
        }
        let number = self.base(id.directory) + u64::from(id.slot);
        if number == 0 {
            return (ondisk::ext4::inode::number::ROOT, 1);
        }
        let unit = self.starts.partition_point(|start| start.first <= number) - 1;
        let here = number - self.starts[unit].first;
        let more = self.starts[unit + 1].first - number;
        let more = more.min(u64::from(slots - id.slot)) as u32;
        (self.first_inode(unit as u32) + here as u32, more)
    }
}

/// What a population needs in all; blocks without those that map them.
#[derive(Debug, Default)]
struct Total {
    slots: u64,
    blocks: u64,
}

impl Total {
    fn of(
        layout: &Layout,
        population: &dyn Objects,
        usage: &mut Usage,
        progress: &dyn Progress,
    ) -> Result<Self, Error> {
        let quotas = usage.is_wanted();
        let mut this = Self::default();
        let shift = layout.geometry.block_size.trailing_zeros();
        // Whole clusters, which are powers of two.
        let cluster = u64::from(layout.geometry.cluster_blocks);
        let round = (cluster << shift) - 1;
        let whole = !(cluster - 1);
        for directory in 0..population.directories() {
            let slots = population.slots(directory);
            if slots == 0 {
                return Err(Error::Population(format!(
                    "directory {directory} has no slot"
                )));
            }
            this.slots += u64::from(slots);
            let mut blocks = 0_u64;
            let mut met = Ok(());
            let mut add = |object: &Object, times: u64| {
                if quotas && met.is_ok() {
                    met = usage.meet(object);
                }
                let mut one = u64::from(object.gap);
                if object.xattr_block && !object.xattr_shared {
                    one += cluster;
                }
                if object.has_blocks() {
                    one += object.size.saturating_add(round) >> shift & whole;
                }
                blocks = blocks.saturating_add(one.saturating_mul(times));
            };
            let alike = population.alike(directory, 1..slots);
            if let Some(object) = alike {
                add(&object, u64::from(slots) - 1);
            }
            let rest = if alike.is_some() { 1 } else { slots };
            population.visit(directory, 0..rest, &mut |_, object| add(object, 1));
            met?;
            this.blocks = this.blocks.saturating_add(blocks);
            if directory % 256 == 0 && progress.cancelled() {
                return Err(Error::Stopped);
            }
        }
        // The root has its inode already.
        this.slots -= 1;
        Ok(this)
    }
}

/// How far one may go before the next unit's turn: half by inodes, half by blocks.
#[derive(Debug)]
struct Share {
    inode: f64,
    block: f64,
    unit: f64,
    done: f64,
}

impl Share {
    fn of(total: &Total, layout: &Layout) -> Self {
        let part = |of: u64| 0.5 / (of.max(1)) as f64;
        Self {
            inode: part(total.slots),
            block: part(total.blocks),
            unit: 1.0 / f64::from(layout.units()),
            done: 0.0,
        }
    }

    fn none() -> Self {
        Self {
            inode: 0.0,
            block: 0.0,
            unit: 1.0,
            done: 0.0,
        }
    }

    /// How often `each` can be added before the share of a unit is reached; a little less, for the sake of rounding.
    fn until(&self, unit: u32, each: f64) -> u64 {
        let left = self.unit * f64::from(unit + 1) - self.done;
        if each > 0.0 {
            (left / each).max(0.0) as u64
        } else {
            u64::MAX
        }
    }

    fn reached(&self, unit: u32) -> bool {
        self.done >= self.unit * f64::from(unit + 1)
    }
}

/// The walk's state.
struct Walk<'a, 'c> {
    layout: &'a Layout,
    population: &'a dyn Objects,
    cursor: Cursor<'c>,
    placer: Placer,
    mapping: Mapping,
    share: Share,
    starts: Vec<Start>,
    outside: Vec<Range<u64>>,
    usage: Usage,
    /// Inodes left in the unit that is home now.
    left: u64,
    /// Its end.
    limit: u64,
}

impl Walk<'_, '_> {
    fn directory(&mut self, directory: u32, slots: u32, base: u64) -> Result<(), Full> {
        let first = u32::from(directory == 0);
        let alike = self
            .population
            .alike(directory, 1..slots)
            .filter(|_| !self.usage.is_wanted())
            .and_then(|object| Some((object, self.placer.one_run(&object)?)));
        let rest = if alike.is_some() { 1 } else { slots };
        let mut result = Ok(());
        let population = self.population;
        population.visit(directory, first..rest, &mut |slot, object| {
            if result.is_ok() {
                let id = ObjectId { directory, slot };
                result = self.object(id, object, base + u64::from(slot));
            }
        });
        let mut slot = rest;
        while let Some((object, blocks)) = alike.filter(|_| result.is_ok() && slot < slots) {
            let id = ObjectId { directory, slot };
            result = self.object(id, &object, base + u64::from(slot));
            slot += 1;
            slot += self.more_alike(blocks, slots - slot);
        }
        result
    }

    /// Places objects of this many blocks as long as nothing changes: the unit has inodes, its
    /// share is not reached, and its blocks follow each other. Returns how many.
    fn more_alike(&mut self, blocks: u64, most: u32) -> u32 {
        let home = self.home();
        if self.cursor.unit() > home {
            return 0;
        }
        let each = self.share.inode + self.share.block * blocks as f64;
        let more = u64::from(most)
            .min(self.left)
            .min(self.share.until(home, each));
        let run = self.cursor.take_alike(blocks, more);
        let times = (run.end - run.start) / blocks;
        self.left -= times;
        self.share.done += each * times as f64;
        times as u32
    }

    fn home(&self) -> u32 {
        self.starts.len() as u32 - 1
    }

    fn object(&mut self, id: ObjectId, object: &Object, number: u64) -> Result<(), Full> {
        let home = self.home();
        if self.cursor.unit() > home {
            self.enter(self.cursor.unit(), id, number);
        } else if self.left == 0 {
            if home + 1 == self.layout.units() {
                return Err(Full::Inodes);
            }
            self.enter(home + 1, id, number);
        } else if self.share.reached(home) && home + 1 < self.layout.units() {
            self.enter(home + 1, id, number);
        }
        self.left -= 1;
        self.share.done += self.share.inode;
        if object.kind == Kind::Free {
            return Ok(());
        }
        let before = self.cursor.given;
        self.placer.place(
            self.population,
            id,
            object,
            &mut self.cursor,
            &mut self.mapping,
        )?;
        if self.usage.is_wanted() {
            let bytes = self.mapping.blocks * u64::from(self.layout.geometry.block_size);
            self.usage.add(object, bytes, self.population.owed(id));
        }
        let blocks = self.cursor.given - before + u64::from(object.gap);
        self.share.done += self.share.block * blocks as f64;
        if self.cursor.unit() > self.home() {
            let limit = self.limit;
            let from = self.outside.len();
            let beyond = self.mapping.ranges().filter(|range| range.start >= limit);
            self.outside.extend(beyond);
            self.outside[from..].sort_unstable_by_key(|range| range.start);
        }
        Ok(())
    }

    /// The next home. The units between get no inodes of the population.
    fn enter(&mut self, unit: u32, id: ObjectId, number: u64) {
        self.cursor.jump(unit);
        let cursor = self.cursor.position();
        let start = Start {
            first: number,
            id,
            cursor,
            xattr: self.placer.xattr,
        };
        self.starts.resize(unit as usize + 1, start);
        let inodes = self.layout.unit_inodes(unit);
        self.left = inodes.end - inodes.start;
        self.limit = self.layout.unit_blocks(unit).end;
    }
}

fn no_room(full: Full, layout: &Layout, total: &Total) -> Error {
    let free = layout.geometry.blocks_count;
    match full {
        Full::Other(error) => error,
        Full::Inodes => Error::Room {
            what: "inodes",
            need: total.slots,
            have: layout.free_inodes(),
            advice: "the files' blocks leave some groups' inodes unused: ask for more inodes, or a larger image",
        },
        Full::Blocks => Error::Room {
            what: "blocks",
            need: total.blocks,
            have: free,
            advice: "tables, journal and what maps the files take some of them: ask for a larger image, or smaller files",
        },
    }
}
