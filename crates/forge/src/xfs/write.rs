//! Fills an empty filesystem, allocation group by allocation group.
//!
//! A thread goes through a group in the order of its blocks: units of inodes are put together in memory and written in runs, blocks of directories,
//! attributes and contents go out as they are made. When all is known which blocks are used, the trees of the group are built and its headers
//! written; the superblock with the sums comes last.

mod directory;
mod finish;
mod group;
mod inode;
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

use group::Writer;

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
    let totals = Mutex::new(Totals::default());
    units::each(
        plan.groups.len(),
        progress,
        || Writer::new(shared),
        |writer, ag| {
            let own = writer.group(ag as u32, progress)?;
            let mut all = totals
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            all.inodes += own.inodes;
            all.free_inodes += own.free_inodes;
            all.free += own.free;
            Ok(())
        },
    )?;
    let totals = totals
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
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
