//! Block devices in user space, by the kernel's driver `ublk_drv` (Linux 6.0).
//!
//! A device has two nodes: `/dev/ublkbN`, the disk, and `/dev/ublkcN`, through which a process serves it. [`Control`] makes and
//! removes devices by commands on `/dev/ublk-control`; a [`Queue`] takes the disk's requests and gives answers. Both are
//! `io_uring` commands, of which there is no other interface. All is done by one thread and one hardware queue: a modelled device
//! decides itself in which order its requests are done.
//!
//! The order of a life: [`Control::add`], [`Queue::open`] in the thread that serves, [`Control::start`] (which returns once the kernel has
//! read the partition table, so the queue must be served meanwhile), [`Control::stop`], the end of the queue, [`Control::delete`].
//! When the process dies, the kernel removes the disk; the other node stays until something deletes it, which is why a
//! device has a [`Mark`].
//!
//! Constants and structs are those of `include/uapi/linux/ublk_cmd.h`. Left out: zero copy, recovery after a crash of the server, zones,
//! devices of users who are not root.

mod abi;
mod control;
mod queue;
mod ring;

pub use control::{Control, Device, Disk, Info, Mark, devices, is_there, works};
pub use queue::{Op, Queue, Request};

/// The node through which devices are made.
pub const CONTROL: &str = "/dev/ublk-control";

/// Bytes of a sector, the unit of the driver's numbers.
pub const SECTOR: u64 = 512;
