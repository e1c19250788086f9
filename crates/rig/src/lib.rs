//! The rig: devices, the safety gate, mkfs, mount, readahead, cold caches; everything undone.
//!
//! A trial needs a freshly made filesystem on a device that is otherwise unused, and the host must be
//! as before when it is over, on every way out. Three decisions carry this crate:
//!
//! - **Written down before made.** Each image, loop device, mount and folder gets a line in an undo
//!   journal before it exists ([`undo`]). `Drop` undoes on errors and interrupts; after a kill -9
//!   [`clean()`] reads the journal and asks the kernel, and believes neither alone. Rejected:
//!   autoclear loop devices and detached mounts, which vanish by themselves but at a time that
//!   the lab does not control, inside another's measurement.
//! - **The gate reports every reason.** A real disk is taken only when it is not in use, is empty (or
//!   holds what this tool left), and is named by its serial ([`gate`]); it is examined twice, the
//!   second time held open exclusively.
//!   Rejected: asking `blkid`, `lsblk` or `wipefs`, whose absence or age would open the gate.
//! - **Read back, not assumed.** What was asked (direct I/O, readahead, limits, mount options, the
//!   driver) is compared with what sysfs, the control groups, mountinfo and the superblock's own
//!   bytes say ([`probe::superblock`]). What cannot be set as asked ends the cell.
//!
//! Filesystems are made by the distribution's mkfs and mounted by the kernel's mount API, whose
//! log names the option that was refused. The rig knows kinds; variants are the study's data.

pub mod cache;
mod cgroup;
mod clean;
mod command;
pub mod device;
mod error;
pub mod filesystem;
pub mod fsck;
pub mod gate;
pub mod host;
pub mod lazy_init;
pub mod limits;
mod memory;
mod mounted;
mod prepared;
pub mod recovery;
pub mod reference;
mod resource_limits;
mod rig;
pub mod settled;
mod syscall;
pub mod undo;

pub use cgroup::limits_here;
pub use clean::{Cleaning, Undone, clean, clean_folder, clean_up, still_there};
pub use error::{Class, Error, Result};
pub use memory::GroupReading;
pub use prepared::{Facts, Prepared, Timings};
pub use rig::{Request, Rig, Target};
