//! The plan: which group and inodes each directory has, and where the data of its files is.
//!
//! One way over the population counts what each directory takes and chooses its group. Kept are eight bytes for each directory, four for
//! each chunk of inodes, and the order of the directories in each group. What else the writers need they find by going the same way again, group by
//! group. A directory whose files do not fit its group, and every one with `inode32`, has its data in segments of several groups.

use std::collections::HashMap;

use ondisk::xfs::Geometry;
use progress::{Progress, Step};

use super::contents::{Births, Contents, Kind};
use super::cursor::Cursor;
use super::directory::Place;
use super::fork;
use super::options::Placement;
use super::possible;
use super::volume::Empty;
use crate::Error;
use crate::population::ObjectId;

mod segments;

pub(super) use segments::{Data, Segment};

/// What a group has, in the order of its blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Item {
    /// The inodes of a directory and its files, the directory's blocks, and the files' data if that is in one piece.
    Directory(u32),
    /// A segment of a directory's data, by its number.
    Segment(u32, u32),
}

/// A place where a group can be divided: before the directory of an item, whose inodes begin a unit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cut {
    pub(super) item: usize,
    pub(super) cursor: Cursor,
}

/// Inodes between two cuts at least.
const BETWEEN_CUTS: u32 = 1 << 15;

/// One allocation group.
#[derive(Debug, Default)]
pub(super) struct Group {
    pub(super) items: Vec<Item>,
    /// Where it can be divided, in its order.
    pub(super) cuts: Vec<Cut>,
    /// The first block of each unit of inodes.
    pub(super) units: Vec<u32>,
    /// Inodes given out.
    pub(super) inodes: u32,
    cursor: Cursor,
    /// The first block that may not be given out.
    end: u32,
}

impl Group {
    /// Notes that the next item may begin another stretch, if it may.
    fn cut(&mut self, unit: u32) {
        let last = self.cuts.last().map_or(0, |cut| cut.cursor.index);
        let index = self.cursor.index;
        if !self.items.is_empty() && index.is_multiple_of(unit) && index - last >= BETWEEN_CUTS {
            self.cuts.push(Cut {
                item: self.items.len(),
                cursor: self.cursor,
            });
        }
    }

    /// Blocks that are left.
    fn left(&self) -> u64 {
        self.end.saturating_sub(self.cursor.block).into()
    }
}

/// Where a directory's inodes are.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Home {
    pub(super) ag: u32,
    /// The number of its own inode among those of the group.
    pub(super) first: u32,
}

/// The plan of a filesystem.
#[derive(Debug)]
pub(super) struct Plan {
    homes: Vec<Home>,
    pub(super) groups: Vec<Group>,
    /// The segments of those directories whose data is not in one piece after their inodes.
    pub(super) segments: HashMap<u32, Vec<Segment>>,
    geometry: Geometry,
    unit_inodes: u32,
    /// Inodes in use, those of mkfs.xfs not counted.
    pub(super) in_use: u64,
}

/// What a directory takes.
#[derive(Debug)]
struct Need {
    slots: u32,
    births: std::sync::Arc<[Place]>,
    /// Blocks for inodes and the directory at most.
    near: u64,
    /// Blocks for the files.
    data: u64,
}

impl Plan {
    /// Places everything.
    ///
    /// # Errors
    ///
    /// [`Error::Room`] for a population that does not fit.
    pub(super) fn new(
        empty: &Empty,
        contents: &Contents,
        progress: &dyn Progress,
    ) -> Result<Self, Error> {
        progress.begin(Step::new("placing files"));
        let directories = contents.population.directories();
        let mut this = Self {
            homes: Vec::with_capacity(directories as usize),
            groups: (0..empty.geometry.ag_count)
                .map(|ag| group(empty, ag))
                .collect(),
            segments: HashMap::new(),
            geometry: empty.geometry,
            unit_inodes: empty.sizes.unit_inodes,
            in_use: 0,
        };
        let mut births = Births::default();
        let mut turn = Turn::new(empty);
        for directory in 0..directories {
            if progress.cancelled() {
                return Err(Error::Stopped);
            }
            let need = this.need(empty, contents, directory, &mut births)?;
            this.place(empty, contents, directory, &need, &mut turn)?;
        }
        for group in &mut this.groups {
            group.inodes = group.cursor.index;
        }
        let units: usize = this.groups.iter().map(|group| group.units.len()).sum();
        possible::inodes(empty, units as u64 * u64::from(empty.sizes.unit_inodes))?;
        Ok(this)
    }

    /// Counts the inodes and blocks of a directory and its files.
    fn need(
        &mut self,
        empty: &Empty,
        contents: &Contents,
        directory: u32,
        births: &mut Births,
    ) -> Result<Need, Error> {
        let slots = contents.population.slots(directory);
        let size = births.get(contents, directory)?;
        let total = slots.total();
        let mut data = 0;
        let mut uniform = false;
        for slot in 0..total {
            let id = ObjectId { directory, slot };
            let Some(object) = contents.object(&slots, id) else {
                continue;
            };
            data += object.blocks;
            self.in_use += u64::from(object.kind != Kind::Freed);
            if slot == 1 && slots.free == 0 && contents.population.plain_size().is_some() {
                // All files are alike.
                data += object.blocks * u64::from(total - 2);
                self.in_use += u64::from(total - 2);
                uniform = true;
                break;
            }
        }
        debug_assert!(uniform || data < 1 << 60);
        let count = size.births.len() as u32;
        // The root's inode is mkfs.xfs's.
        let slots = if directory == 0 { total - 1 } else { total };
        self.in_use -= u64::from(directory == 0);
        let map = fork::blocks(
            &contents.geometry,
            contents.geometry.literal_area(),
            u64::from(count) << contents.geometry.dirblk_log,
        );
        Ok(Need {
            slots,
            births: size.births,
            near: Cursor::most(&empty.sizes, slots, count) + map,
            data,
        })
    }

    fn place(
        &mut self,
        empty: &Empty,
        contents: &Contents,
        directory: u32,
        need: &Need,
        turn: &mut Turn,
    ) -> Result<(), Error> {
        let spread = empty.options.placement == Placement::Inode32 && need.data > 0;
        let whole = need.near + if spread { 0 } else { need.data };
        let ag = match turn.choose(&self.groups, whole, directory) {
            Some(ag) => ag,
            None => turn
                .roomiest(&self.groups)
                .filter(|&ag| self.groups[ag as usize].left() >= need.near)
                .ok_or_else(|| self.room(need.near))?,
        };
        let group = &mut self.groups[ag as usize];
        let first = if directory == 0 {
            0
        } else {
            group.cursor.index
        };
        self.homes.push(Home { ag, first });
        group.cut(empty.sizes.unit_inodes);
        group.items.push(Item::Directory(directory));
        near(empty, contents, group, need);
        if !spread && group.left() >= need.data {
            group.cursor.block += need.data as u32;
            return Ok(());
        }
        if spread {
            self.spread(contents, directory, turn)
        } else {
            self.split(directory, ag, need.data)
        }
    }

    /// The error for something that does not fit.
    fn room(&self, need: u64) -> Error {
        let have = self.groups.iter().map(Group::left).max().unwrap_or(0);
        Error::Room {
            what: "blocks in a row",
            need,
            have,
            advice: "ask for a larger image, fewer files or smaller ones",
        }
    }

    /// The group and the first inode of a directory.
    pub(super) fn home(&self, directory: u32) -> Home {
        self.homes
            .get(directory as usize)
            .copied()
            .unwrap_or_default()
    }

    /// The inode number of an object.
    pub(super) fn inode(&self, id: ObjectId) -> u64 {
        let home = self.home(id.directory);
        let agino = self.agino(home.ag, home.first + id.slot);
        self.geometry.ino(home.ag, agino)
    }

    /// The number within a group of the inode given out as number `index`.
    pub(super) fn agino(&self, ag: u32, index: u32) -> u32 {
        let group = &self.groups[ag as usize];
        let unit = (index / self.unit_inodes) as usize;
        let block = group.units.get(unit).copied().unwrap_or(0);
        (block << self.geometry.inopb_log) + index % self.unit_inodes
    }
}

/// A group before anything is in it.
fn group(empty: &Empty, ag: u32) -> Group {
    let own = &empty.groups[ag as usize];
    // The kernel sets a part aside for the growth of its trees.
    let reserve = own.length / 50 + 16;
    Group {
        units: if ag == 0 {
            vec![empty.root_chunk]
        } else {
            Vec::new()
        },
        cursor: empty.cursor(ag),
        end: own.room.1.saturating_sub(reserve),
        ..Group::default()
    }
}

/// Gives out the inodes and blocks of a directory.
fn near(empty: &Empty, contents: &Contents, group: &mut Group, need: &Need) {
    let units = &mut group.units;
    let mut found: Vec<(Place, u32)> = Vec::with_capacity(need.births.len());
    group.cursor.directory(
        &empty.sizes,
        need.slots,
        need.births.len() as u32,
        &mut |at| units.push(at),
        &mut |nth, at| found.push((need.births[nth as usize], at)),
    );
    let extents = extents(contents, 0, &mut found).len() as u64;
    let fork = contents.geometry.literal_area();
    for _ in 0..fork::blocks(&contents.geometry, fork, extents) {
        group.cursor.small(1);
    }
}

/// The extents of a directory whose blocks are at these places of a group.
pub(super) fn extents(
    contents: &Contents,
    ag: u32,
    places: &mut [(Place, u32)],
) -> Vec<ondisk::xfs::Extent> {
    places.sort_unstable();
    let mut extents = Vec::new();
    for &(place, at) in places.iter() {
        let next = ondisk::xfs::Extent {
            offset: contents.offset(place),
            block: contents.geometry.fsblock(ag, at),
            count: 1 << contents.geometry.dirblk_log,
            unwritten: false,
        };
        fork::push(&mut extents, next);
    }
    extents
}

/// Which group is next.
#[derive(Debug)]
struct Turn {
    placement: Placement,
    /// Groups that may have inodes.
    groups: u32,
    next: u32,
    /// The next group for data, with `inode32`.
    data: u32,
}

impl Turn {
    fn new(empty: &Empty) -> Self {
        let geometry = &empty.geometry;
        let groups = match empty.options.placement {
            Placement::Inode32 => {
                let below = (1_u64 << 32) >> geometry.agino_bits();
                (below.min(geometry.ag_count.into()) as u32).max(1)
            }
            _ => geometry.ag_count,
        };
        Self {
            placement: empty.options.placement,
            groups,
            next: 0,
            data: 0,
        }
    }

    /// The next group with room for a directory.
    fn choose(&mut self, groups: &[Group], blocks: u64, directory: u32) -> Option<u32> {
        let count = if directory == 0 { 1 } else { self.groups };
        let found = (0..count)
            .map(|nth| (self.next + nth) % self.groups)
            .find(|&ag| groups[ag as usize].left() >= blocks)?;
        self.next = match self.placement {
            Placement::Packed => found,
            _ if directory == 0 => 0,
            _ => (found + 1) % self.groups,
        };
        Some(found)
    }

    /// The group for inodes with the most room.
    fn roomiest(&self, groups: &[Group]) -> Option<u32> {
        (0..self.groups).max_by_key(|&ag| (groups[ag as usize].left(), std::cmp::Reverse(ag)))
    }
}
