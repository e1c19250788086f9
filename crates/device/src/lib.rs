//! Modelled block devices: how long requests would take on hardware that is not at hand.
//!
//! Everything here is arithmetic. There is no I/O and no clock: time is a `u64` of nanoseconds that
//! the caller moves on, and the same requests give the same times on every run. A number from this
//! crate is *modelled* and must be called so wherever it is printed.
//!
//! **Models** implement [`Model`]: [`disk::Disk`], [`ssd::Ssd`], [`array::Array`],
//! [`controller::Controller`] and [`link::Link`]. A device is a tree of them. Requests go in at the
//! root with the current time, completions come out in the order of their times.
//!
//! **Device files** ([`Catalogue`]) describe devices in TOML. Each figure has a source: published,
//! extracted from a drive, fitted to named results, or assumed. [`Variation`] draws figures from the
//! ranges of their sources, so that a result can have an interval.
//!
//! **Replay** ([`replay`]) runs recorded requests on a model: at their recorded times, at their
//! recorded depth, or in their dependency order.
//!
//! The disk model follows Ruemmler and Wilkes (An introduction to disk drive modeling, 1994) in its
//! parts, but needs only what data sheets print. Sustained rates already contain track and cylinder
//! skews, so there is no table of tracks: the angle of a byte is the time that reading up to it takes,
//! in turns. Rejected: DiskSim's parameters, of which there are over a hundred for each drive, and
//! which exist for drives of the 1990s only.
//!
//! Not modelled: defects, thermal recalibration, garbage collection and SLC caches of SSDs.

pub mod array;
mod catalogue;
pub mod controller;
pub mod disk;
pub mod disksim;
mod file;
mod limits;
pub mod link;
mod model;
#[cfg(test)]
mod noted;
mod random;
pub mod replay;
mod served;
mod slab;
pub mod ssd;
mod timeline;

pub use catalogue::Catalogue;
pub use file::{Described, Device, Error, Figure, Kind, Origin, Variation, decimal_size};
pub use limits::{Expected, Limits, expected, limits, random_read_ms};
pub use model::{Completion, Model, Nanoseconds, Op, Request, Usage, run_alone};
pub use served::Served;
