//! Write logs, in the format of the kernel's dm-log-writes: the image of a device as of any of them.
//!
//! The target (kernel document device-mapper/log-writes, drivers/md/dm-log-writes.c) writes each write to a
//! device into a log beside it, with what a crash depends on: was it a flush, was it forced to the medium
//! (FUA), was it a discard. QEMU's `blklogwrites` writes the same format on the host. A write comes into the
//! log when it has completed, and dm-log-writes holds it back until the flush that makes it durable: so the
//! image as of a flush is what a power cut just after it leaves, and a filesystem has to recover from each.
//!
//! ```text
//! byte 0            superblock: magic, version, entries, bytes of a sector; one sector
//! one sector later  entry: sector, sectors, flags, bytes of text; then, in the same sector, a mark's text
//! then              the entry's data, unless it is a discard; the next entry follows
//! ```
//!
//! [`Log`] reads the entries' heads once (a log is read from its start: nothing in it says where the n-th
//! entry is), [`Entries`] passes them one by one, [`Replay`] is a source: a base and, above it, the log up to an entry. It copies nothing,
//! so a checker that reads through this crate can check any moment directly. Rejected: a memory of whole
//! images, and reading the log backwards for each block, which is quadratic over many moments.
//!
//! A log is untrusted. Every length is checked against the bytes of the file, an entry costs at least a
//! sector of the log and less than that of memory, and a log that ends early is read as far as it goes.

mod boundary;
mod format;
mod replay;

pub use boundary::{Boundary, spread};
pub use format::{Ending, Entries, Entry, Flags, Log, LogError, MAGIC, VERSION};
pub use replay::Replay;
