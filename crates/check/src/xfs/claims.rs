//! Which blocks are taken, by whatever: headers, btrees, free extents, chunks, and the blocks of files.
//!
//! A window of 2^16 blocks is a run, a list of runs, or a bitmap when there are too many runs. Neighbours merge, so on a sound filesystem each
//! window is one run in the end, which takes no memory but the window's. A block that is taken twice goes to a list, which [`super::phase4`] judges: it knows by then whose it was.
//!
//! Blocks of files with the shared flag are not taken here, they are listed; sorted lists tell how often each block is shared.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ondisk::xfs::Geometry;
use ondisk::xfs::record::{RMAP_ATTR, RMAP_BMBT, RMAP_UNWRITTEN};

use super::fingerprint::{Mapped, WINDOW, negated, plus};

mod batch;
mod window;

pub(crate) use batch::Batch;
use window::Blocks;

/// Of what an extent of a file is part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    /// The inode.
    pub(crate) ino: u64,
    /// The attribute fork.
    pub(crate) attr: bool,
    /// A regular file.
    pub(crate) regular: bool,
    /// An inode with the shared flag.
    pub(crate) shares: bool,
}

/// An extent of a file, or a block of the btree of a fork. It must be one of the filesystem: of one allocation group and after its headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileExtent {
    /// Of what it is part.
    pub(crate) owner: Owner,
    /// The first block.
    pub(crate) fsblock: u64,
    /// Blocks.
    pub(crate) length: u32,
    /// First block within the file; 0 of the btree.
    pub(crate) offset: u64,
    /// Allocated and not written.
    pub(crate) unwritten: bool,
    /// Whether it is a block of the fork's btree.
    pub(crate) bmbt: bool,
}

impl FileExtent {
    /// What the btree of reverse mappings should say of it.
    fn mapped(&self) -> Mapped {
        let flag = |is_set: bool, bit: u64| if is_set { bit } else { 0 };
        Mapped {
            owner: self.owner.ino,
            flags: flag(self.bmbt, RMAP_BMBT)
                | flag(self.owner.attr, RMAP_ATTR)
                | flag(self.unwritten, RMAP_UNWRITTEN),
            offset: self.offset,
            advances: !self.bmbt,
        }
    }

    /// Whether several files may have its blocks. For `xfs_repair` that holds of both forks.
    fn is_shared(&self) -> bool {
        let owner = &self.owner;
        owner.shares && owner.regular && !self.bmbt
    }

    /// It as one whose blocks were taken before.
    fn conflict(&self) -> Conflict {
        Conflict {
            owner: self.owner,
            fsblock: self.fsblock,
            length: self.length,
            bmbt: self.bmbt,
        }
    }
}

/// An extent of a file of which at least one block was taken before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Conflict {
    /// Who comes second.
    pub(crate) owner: Owner,
    /// The first block.
    pub(crate) fsblock: u64,
    /// Blocks.
    pub(crate) length: u32,
    /// Whether it is a block of the fork's btree.
    pub(crate) bmbt: bool,
}

/// An extent of a file with the shared flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SharedExtent {
    /// The first block, within the allocation group.
    pub(crate) start: u32,
    /// Blocks.
    pub(crate) length: u32,
    /// The inode.
    pub(crate) ino: u64,
}

/// A mapping as found, for a second pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Found {
    /// The first block, within the allocation group.
    pub(crate) start: u32,
    /// Blocks.
    pub(crate) length: u32,
    /// What they are.
    pub(crate) mapped: Mapped,
}

/// A window: what is taken of it, and the sum of its mappings.
#[derive(Debug, Default)]
struct Window {
    blocks: Blocks,
    sum: u64,
}

/// The claims of an allocation group.
#[derive(Debug, Default)]
struct Group {
    windows: Vec<Mutex<Window>>,
    shared: Mutex<Vec<SharedExtent>>,
    /// Those of attribute forks once more: no kernel shares them.
    attributes: Mutex<Vec<SharedExtent>>,
    /// In the second pass: mappings in the windows that are looked for.
    found: Mutex<Vec<Found>>,
}

/// All claims.
#[derive(Debug)]
pub(crate) struct Claims {
    geo: Geometry,
    groups: Vec<Group>,
    conflicts: Mutex<Vec<Conflict>>,
    /// Bytes that windows with several runs take.
    fragments: AtomicU64,
    /// The most that they took at once.
    most_fragments: AtomicU64,
    /// In the second pass, the windows whose mappings are looked for, by allocation group, ascending.
    wanted: Option<Vec<Vec<u32>>>,
}

impl Claims {
    /// No claims.
    pub(crate) fn new(geo: &Geometry) -> Claims {
        let groups = (0..geo.ag_count).map(|ag| {
            let windows = geo.ag_length(ag).div_ceil(WINDOW);
            Group {
                windows: (0..windows).map(|_| Mutex::default()).collect(),
                ..Group::default()
            }
        });
        Claims {
            geo: *geo,
            groups: groups.collect(),
            conflicts: Mutex::default(),
            fragments: 0.into(),
            most_fragments: 0.into(),
            wanted: None,
        }
    }

    /// Takes an extent of a file by itself.
    fn alone(&self, one: &FileExtent) {
        let (Ok(ag), start) = (
            u32::try_from(self.geo.ag_of(one.fsblock)),
            self.geo.agbno_of(one.fsblock),
        ) else {
            return;
        };
        let Some(group) = self.groups.get(ag as usize) else {
            return;
        };
        let mapped = one.mapped();
        if one.is_shared() {
            self.map(ag, start, one.length, &mapped);
            if self.wanted.is_none() {
                let extent = SharedExtent {
                    start,
                    length: one.length,
                    ino: one.owner.ino,
                };
                lock(&group.shared).push(extent);
                if one.owner.attr {
                    lock(&group.attributes).push(extent);
                }
            }
            return;
        }
        if !self.take(ag, start, one.length, Some(&mapped)) {
            lock(&self.conflicts).push(one.conflict());
        }
    }

    /// Takes blocks of an allocation group, and adds a mapping of them; whether none was taken before. In the second pass nothing is taken.
    pub(crate) fn take(&self, ag: u32, start: u32, length: u32, mapped: Option<&Mapped>) -> bool {
        if self.wanted.is_some() {
            if let Some(mapped) = mapped {
                self.map(ag, start, length, mapped);
            }
            return true;
        }
        let mapped = mapped.filter(|_| self.geo.rmapbt);
        self.windows(ag, start, length).fold(true, |sole, part| {
            let mut window = lock(part.window);
            if let Some(mapped) = mapped {
                let advanced = mapped.advanced(part.first - start);
                let series = advanced.series(part.first, part.start, part.length);
                window.sum = plus(window.sum, series);
            }
            self.change(&mut window, |blocks| blocks.take(part.start, part.length)) && sole
        })
    }

    /// Changes what is taken of a window, and counts the memory of that.
    fn change<T>(&self, window: &mut Window, change: impl FnOnce(&mut Blocks) -> T) -> T {
        let before = window.blocks.memory();
        let result = change(&mut window.blocks);
        let after = window.blocks.memory();
        if after != before {
            // Wraps where it becomes less.
            let more = after.wrapping_sub(before);
            let sum = self.fragments.fetch_add(more, Relaxed).wrapping_add(more);
            self.most_fragments.fetch_max(sum, Relaxed);
        }
        result
    }

    /// Bytes of a filesystem's claims before anything is taken.
    pub(crate) fn empty_memory(geo: &Geometry) -> u64 {
        let windows = geo.blocks.div_ceil(WINDOW.into()) + u64::from(geo.ag_count);
        let (group, window) = (size_of::<Group>(), size_of::<Mutex<Window>>());
        u64::from(geo.ag_count) * group as u64 + windows * window as u64
    }

    /// The most bytes that windows with several runs took so far.
    pub(crate) fn fragments(&self) -> u64 {
        self.most_fragments.load(Relaxed)
    }

    /// Bytes of the extents of files with the shared flag: of all, and of the group that has most.
    pub(crate) fn shared_memory(&self) -> (u64, u64) {
        let bytes =
            |list: &Mutex<Vec<SharedExtent>>| (lock(list).len() * size_of::<SharedExtent>()) as u64;
        let groups = self.groups.iter();
        let each = groups.map(|group| bytes(&group.shared) + bytes(&group.attributes));
        each.fold((0, 0), |(sum, most), one| (sum + one, most.max(one)))
    }

    /// Adds a mapping and takes nothing.
    pub(crate) fn map(&self, ag: u32, start: u32, length: u32, mapped: &Mapped) {
        if let Some(wanted) = &self.wanted {
            let (first, last) = (
                start / WINDOW,
                start.saturating_add(length.max(1) - 1) / WINDOW,
            );
            let list = wanted.get(ag as usize).map_or(&[][..], Vec::as_slice);
            let at = list.partition_point(|window| *window < first);
            if list.get(at).is_some_and(|window| *window <= last) {
                lock(&self.groups[ag as usize].found).push(Found {
                    start,
                    length,
                    mapped: *mapped,
                });
            }
            return;
        }
        self.add_sum(ag, start, length, mapped, false);
    }

    /// Subtracts a mapping that the btree has.
    pub(crate) fn unmap(&self, ag: u32, start: u32, length: u32, mapped: &Mapped) {
        self.add_sum(ag, start, length, mapped, true);
    }

    fn add_sum(&self, ag: u32, start: u32, length: u32, mapped: &Mapped, negative: bool) {
        if !self.geo.rmapbt {
            return;
        }
        for part in self.windows(ag, start, length) {
            let advanced = mapped.advanced(part.first - start);
            let series = advanced.series(part.first, part.start, part.length);
            let mut window = lock(part.window);
            let series = if negative { negated(series) } else { series };
            window.sum = plus(window.sum, series);
        }
    }

    /// The parts of a run of blocks by window; blocks past the end of the allocation group are left out.
    fn windows(&self, ag: u32, start: u32, length: u32) -> impl Iterator<Item = Part<'_>> {
        let windows = self
            .groups
            .get(ag as usize)
            .map_or(&[][..], |group| group.windows.as_slice());
        let end = start.saturating_add(length).min(self.geo.ag_length(ag));
        let mut at = start;
        std::iter::from_fn(move || {
            let window = windows.get((at / WINDOW) as usize).filter(|_| at < end)?;
            let first = at;
            at = end.min((first / WINDOW + 1).saturating_mul(WINDOW));
            Some(Part {
                window,
                first,
                start: first % WINDOW,
                length: at - first,
            })
        })
    }

    /// The conflicts so far, in no order; none are left.
    pub(crate) fn take_conflicts(&self) -> Vec<Conflict> {
        std::mem::take(&mut *lock(&self.conflicts))
    }

    /// Those of them that are in attribute forks; none are left.
    pub(crate) fn take_shared_attributes(&self, ag: u32) -> Vec<SharedExtent> {
        let group = self.groups.get(ag as usize);
        group.map_or_else(Vec::new, |group| {
            std::mem::take(&mut *lock(&group.attributes))
        })
    }

    /// The extents of files with the shared flag in an allocation group, in no order; none are left.
    pub(crate) fn take_shared(&self, ag: u32) -> Vec<SharedExtent> {
        let group = self.groups.get(ag as usize);
        group.map_or_else(Vec::new, |group| std::mem::take(&mut *lock(&group.shared)))
    }

    /// Runs of blocks of an allocation group that were not taken, as first block and length.
    pub(crate) fn gaps(&self, ag: u32, mut gap: impl FnMut(u32, u32)) {
        let Some(group) = self.groups.get(ag as usize) else {
            return;
        };
        let end = self.geo.ag_length(ag);
        let mut open: Option<(u32, u32)> = None;
        for (number, window) in group.windows.iter().enumerate() {
            let base = number as u32 * WINDOW;
            let blocks = (end - base).min(WINDOW);
            lock(window).blocks.gaps(blocks, |start, length| {
                let start = base + start;
                match &mut open {
                    Some((first, run)) if *first + *run == start => *run += length,
                    _ => {
                        if let Some((first, run)) = open.replace((start, length)) {
                            gap(first, run);
                        }
                    }
                }
            });
        }
        if let Some((first, run)) = open {
            gap(first, run);
        }
    }

    /// Windows of an allocation group in which mappings and btree differ.
    pub(crate) fn unequal(&self, ag: u32) -> Vec<u32> {
        let windows = self
            .groups
            .get(ag as usize)
            .map_or(&[][..], |group| group.windows.as_slice());
        let differ =
            |(at, window): (usize, &Mutex<Window>)| (lock(window).sum != 0).then_some(at as u32);
        windows.iter().enumerate().filter_map(differ).collect()
    }

    /// Begins the second pass, in which nothing is taken and mappings in these windows are collected.
    pub(crate) fn recall(&mut self, wanted: Vec<Vec<u32>>) {
        self.wanted = Some(wanted);
    }

    /// Ends the second pass.
    pub(crate) fn forget(&mut self) {
        self.wanted = None;
    }

    /// Whether this is the second pass.
    pub(crate) fn is_second(&self) -> bool {
        self.wanted.is_some()
    }

    /// The mappings that the second pass has collected in an allocation group, sorted.
    pub(crate) fn take_found(&self, ag: u32) -> Vec<Found> {
        let group = self.groups.get(ag as usize);
        let mut found =
            group.map_or_else(Vec::new, |group| std::mem::take(&mut *lock(&group.found)));
        found.sort_unstable();
        found
    }
}

/// A part of a run that is in one window.
struct Part<'a> {
    window: &'a Mutex<Window>,
    /// First block, within the allocation group.
    first: u32,
    /// The same within the window.
    start: u32,
    length: u32,
}

impl Mapped {
    /// The same mapping this many blocks later.
    pub(crate) fn advanced(&self, by: u32) -> Mapped {
        Mapped {
            offset: if self.advances {
                self.offset.wrapping_add(by.into())
            } else {
                self.offset
            },
            ..*self
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
