//! Fills an empty filesystem, allocation group by allocation group.
//!
//! A thread goes through a stretch of a group in the order of its blocks: inodes and directory blocks are put together in memory and written in runs,
//! blocks of attributes and contents go out as they are made. When all stretches of a group are written and it is known which blocks are used, its
//! trees are built and its headers written; the superblock with the sums comes last. (With `inode32` on large groups all inodes are in one, so
//! whole groups would leave all but one processor without work.)

mod directory;
mod finish;
mod group;
mod inode;
mod near;
mod trees;

use std::sync::Mutex;

use ondisk::xfs::da::BlockInfo;
use ondisk::xfs::feature::V4_ATTR;
use ondisk::xfs::{Geometry, Superblock, checksum};
use progress::{Progress, Step, Unit};

use super::attributes::Address;
use super::contents::Contents;
use super::plan::Plan;
use super::volume::{Empty, SYSTEM_INODES};
use crate::{Error, Written, units};

use group::{Stretch, StretchOf, Writer};

/// What all threads share.
#[derive(Clone, Copy)]
pub(super) struct Shared<'a> {
    pub(super) empty: &'a Empty,
    pub(super) contents: &'a Contents,
    pub(super) plan: &'a Plan,
}

/// Sums of groups.
#[derive(Debug, Default, Clone, Copy)]
struct Totals {
    inodes: u64,
    free_inodes: u64,
    /// Free blocks as the superblock counts them: with free lists and trees of free space but the roots.
    free: u64,
}

/// What the threads have written so far.
struct Sums {
    /// The stretches of each group: their first items, and what was written.
    written: Vec<Mutex<Vec<(usize, Stretch)>>>,
    totals: Mutex<Totals>,
}

impl Sums {
    /// Takes a stretch in; the whole group once all of its `count` stretches are there.
    fn whole(&self, of: &StretchOf, count: usize, stretch: Stretch) -> Option<Stretch> {
        let mut found = unpoisoned(self.written[of.ag as usize].lock());
        found.push((of.from.map_or(0, |cut| cut.item), stretch));
        if found.len() < count {
            return None;
        }
        let mut all = std::mem::take(&mut *found);
        all.sort_unstable_by_key(|one| one.0);
        let mut all = all.into_iter().map(|one| one.1);
        let mut whole = all.next()?;
        all.for_each(|next| whole.append(next));
        Some(whole)
    }

    fn add(&self, own: Totals) {
        let mut all = unpoisoned(self.totals.lock());
        all.inodes += own.inodes;
        all.free_inodes += own.free_inodes;
        all.free += own.free;
    }
}

/// What a lock protects, also where a thread has died that held it: the run then ends with that thread's panic.
fn unpoisoned<T>(locked: Result<T, std::sync::PoisonError<T>>) -> T {
    locked.unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The stretches of all groups, in their order.
fn stretches(plan: &Plan) -> Vec<StretchOf> {
    let mut all = Vec::new();
    for (ag, group) in (0..).zip(&plan.groups) {
        let froms = std::iter::once(None).chain(group.cuts.iter().copied().map(Some));
        let tos = group.cuts.iter().copied().map(Some);
        let both = froms.zip(tos.chain([None]));
        all.extend(both.map(|(from, to)| StretchOf { ag, from, to }));
    }
    all
}

/// Fills an empty filesystem. When anything fails, the image is removed.
pub(super) fn write(
    mut empty: Empty,
    contents: &Contents,
    progress: &dyn Progress,
) -> Result<Written, Error> {
    let plan = Plan::new(&empty, contents, progress)?;
    let shared = Shared {
        empty: &empty,
        contents,
        plan: &plan,
    };
    let unit = Unit::Items("inodes".into());
    progress.begin(Step::new("writing").counted_in(unit).of(plan.in_use));
    let stretches = stretches(&plan);
    let sums = Sums {
        written: plan.groups.iter().map(|_| Mutex::default()).collect(),
        totals: Mutex::default(),
    };
    units::each(
        stretches.len(),
        progress,
        || Writer::new(shared),
        |writer, nth| {
            let of = &stretches[nth];
            let stretch = writer.stretch(of, progress)?;
            let count = plan.groups[of.ag as usize].cuts.len() + 1;
            if let Some(whole) = sums.whole(of, count, stretch) {
                sums.add(writer.finish(of.ag, whole)?);
            }
            Ok(())
        },
    )?;
    let totals = unpoisoned(sums.totals.into_inner());
    superblock(&empty, contents, totals)?;
    if empty.options.sync {
        progress.begin(Step::new("syncing"));
        empty.image.sync()?;
    }
    let written = Written {
        size: empty.options.size,
        bytes: empty.image.written(),
        inodes: plan.in_use,
        directories: contents.population.directories().into(),
        blocks: empty.geometry.blocks - totals.free,
        free_blocks: totals.free,
        free_inodes: totals.free_inodes,
        maker: empty.maker.clone(),
    };
    debug_assert_eq!(
        totals.inodes - totals.free_inodes,
        plan.in_use + u64::from(SYSTEM_INODES)
    );
    empty.image.keep();
    Ok(written)
}

/// Writes the counters of the first superblock, and that there are attributes, as the kernel does with the first one.
fn superblock(empty: &Empty, contents: &Contents, totals: Totals) -> Result<(), Error> {
    let mut sector = empty.header(0, 0)?;
    let sb = Superblock::read_mut(&mut sector)?;
    let attributes = &contents.population.profile().attributes;
    if attributes.inode + attributes.block > 0.0 {
        sb.sb_versionnum = (sb.sb_versionnum.get() | V4_ATTR).into();
    }
    sb.sb_icount = totals.inodes.into();
    sb.sb_ifree = totals.free_inodes.into();
    sb.sb_fdblocks = totals.free.into();
    empty.put_header(0, 0, &mut sector, checksum::SUPERBLOCK)
}

/// Writes the head of a node or leaf, but for its neighbours, and its checksum.
pub(super) fn da_header(
    geometry: &Geometry,
    block: &mut [u8],
    address: Address,
    magic: u16,
) -> Result<(), Error> {
    let info = BlockInfo::read_mut(block)?;
    info.magic = magic.into();
    if geometry.v5 {
        info.blkno = address.daddr.into();
        info.lsn = 0.into();
        info.uuid = geometry.uuid;
        info.owner = address.owner.into();
        checksum::seal(block, checksum::DA);
    }
    Ok(())
}
