//! Placement: inode numbers and blocks of everything, before anything is written.
//!
//! One walk over the population, in its order, gives each slot an inode number and each object its blocks, from the
//! front of the device to its end. Only the start of each unit is kept; the same arithmetic, started
//! there, gives the same places again when the unit is written, by any thread.
//!
//! An object's *home* is the unit of its inode. Its blocks begin in its home and may continue in
//! the units after it; what is there is kept as a range, so that the unit can be written
//! without looking back.
//!
//! Two ways to fill a device. Spread, every unit gets its share of inodes and blocks, as directories in the root make the kernel
//! do (Orlov's allocator). Packed, each unit is filled before the next one. What does not fit when spread, because
//! the files of one part are larger than those of another, is tried packed.

mod cursor;
mod mapping;
mod plan;
mod system;
mod usage;

pub(super) use cursor::{Cursor, Full};
pub(super) use mapping::{Mapping, Node, Placer};
pub(super) use plan::Plan;
pub(super) use system::System;
pub(super) use usage::Usage;
