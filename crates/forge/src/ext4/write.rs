//! Fills an empty filesystem, from the first unit to the last.
//!
//! A unit is put together by one thread and knows nothing of the others: its bitmaps stay in memory until its objects are
//! done, its inodes go out a MiB at a time, contents of directories as they are made. Units ascend, so the device is
//! written from its front to its end, with a step back of a few blocks for the bitmaps of each unit and to its descriptors in
//! the table. The superblocks, which hold the sums, come last.
//!
//! Rejected: one strictly ascending stream. It needs each unit's bitmaps before its inodes, so every inode
//! would have to be made twice; the page cache, or the elevator of a disk, reorders the step back at no cost.
//! Also rejected: a buffer for a whole unit's tables, which may be gigabytes with large blocks.

mod bitmaps;
mod content;
mod inode;
mod inode_template;
mod sink;
mod summary;
mod system;
mod table;
mod unit;

use std::sync::Mutex;

use progress::{Progress, Step, Unit};

use super::layout::Layout;
use super::place::Plan;
use super::plan::Objects;
use crate::{Error, Written, units};

use summary::Summary;
use unit::Builder;

/// Fills an empty filesystem. When anything fails, the image is removed.
///
/// # Errors
///
/// [`Error::Room`] when the population does not fit, [`Error::Population`] when it contradicts itself, [`Error::Io`]
/// with the cause when the image cannot be made, [`Error::Stopped`] when `progress` asks to stop.
pub fn write(
    mut layout: Layout,
    population: &dyn Objects,
    progress: &dyn Progress,
) -> Result<Written, Error> {
    let written = fill(&layout, population, progress)?;
    layout.image.keep();
    Ok(written)
}

fn fill(
    layout: &Layout,
    population: &dyn Objects,
    progress: &dyn Progress,
) -> Result<Written, Error> {
    progress.begin(Step::new("placing files"));
    let before = layout.image.written();
    let plan = Plan::new(layout, population, progress)?;
    let summary = Mutex::new(Summary::default());
    let unit = Unit::Items("inodes".into());
    progress.begin(Step::new("writing").counted_in(unit).of(inodes(population)));
    all_units(layout, population, &plan, &summary, progress)?;
    let summary = summary
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    system::write(layout, &plan)?;
    summary.write(layout, before)?;
    if layout.options.sync {
        progress.begin(Step::new("syncing"));
        layout.image.sync()?;
    }
    Ok(summary.written(layout))
}

/// Inodes of a whole population, as [`Progress::advance`] counts them: all slots but the root's, whose inode is not one of the
/// population's.
fn inodes(population: &dyn Objects) -> u64 {
    let directories = 0..population.directories();
    let slots: u64 = directories
        .map(|directory| u64::from(population.slots(directory)))
        .sum();
    slots.saturating_sub(1)
}

fn all_units(
    layout: &Layout,
    population: &dyn Objects,
    plan: &Plan<'_>,
    summary: &Mutex<Summary>,
    progress: &dyn Progress,
) -> Result<(), Error> {
    units::each(
        layout.units() as usize,
        progress,
        || Builder::new(layout, population, plan),
        |builder, number| builder.build(number as u32, summary, progress),
    )
}
