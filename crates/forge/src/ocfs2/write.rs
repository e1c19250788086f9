//! Fills an empty volume, group of inodes by group.
//!
//! A group is put together in memory by one thread and written at once: its descriptor, then its inodes. Directories with blocks, extent
//! blocks and contents go out as they are made. The allocators' inodes and the descriptors of the global bitmap, which hold the sums, come
//! last.

mod allocators;
mod directory;
mod group;
mod inode;
mod writer;

use progress::{Progress, Step, Unit};

use super::contents::Contents;
use super::plan::Plan;
use super::volume::Empty;
use crate::{Error, Written, units};

use writer::Writer;

/// What all threads share.
#[derive(Clone, Copy)]
pub(super) struct Shared<'a> {
    pub(super) empty: &'a Empty,
    pub(super) contents: &'a Contents,
    pub(super) plan: &'a Plan,
}

/// Fills an empty volume. When anything fails, the image is removed.
pub(super) fn write(
    mut empty: Empty,
    contents: &Contents,
    progress: &dyn Progress,
) -> Result<Written, Error> {
    let plan = Plan::new(&mut empty, contents, progress)?;
    let shared = Shared {
        empty: &empty,
        contents,
        plan: &plan,
    };
    let unit = Unit::Items("inodes".into());
    progress.begin(Step::new("writing").counted_in(unit).of(plan.in_use));
    Writer::new(shared).root()?;
    groups(shared, progress)?;
    let used = allocators::write(shared)?;
    if empty.options.sync {
        progress.begin(Step::new("syncing"));
        empty.image.sync()?;
    }
    let written = written(shared, used);
    empty.image.keep();
    Ok(written)
}

/// Writes all groups of inodes, with as many threads as there are processors.
fn groups(shared: Shared<'_>, progress: &dyn Progress) -> Result<(), Error> {
    let plan = shared.plan;
    let all: Vec<(usize, usize)> = plan
        .inodes
        .iter()
        .enumerate()
        .flat_map(|(slot, inodes)| (0..inodes.groups.len()).map(move |group| (slot, group)))
        .collect();
    units::each(
        all.len(),
        progress,
        || Writer::new(shared),
        |writer, number| match all.get(number) {
            Some(&(slot, group)) => writer.group(slot, group, progress),
            None => Ok(()),
        },
    )
}

fn written(shared: Shared<'_>, used_clusters: u64) -> Written {
    let Shared {
        empty,
        contents,
        plan,
    } = shared;
    let per_cluster = empty.volume.blocks_per_cluster();
    let free_inodes: u64 = plan
        .inodes
        .iter()
        .flat_map(|inodes| {
            (0..inodes.groups.len()).map(|group| u64::from(inodes.bits - inodes.used(group)))
        })
        .sum();
    Written {
        size: empty.options.size,
        bytes: empty.image.written(),
        inodes: plan.in_use,
        // The root is among them, `lost+found` is not.
        directories: u64::from(contents.population.directories()) + 1,
        blocks: used_clusters * per_cluster,
        free_blocks: (u64::from(empty.volume.clusters) - used_clusters) * per_cluster,
        free_inodes,
        maker: empty.maker.clone(),
    }
}
