//! Native workloads and the engines that carry their I/O.
//!
//! The studies of 2008 to 2012 ran aiod and dd, iozone, compilebench and fs_mark; here they are
//! rewritten, [`stream`], [`throughput`], [`tree`] and [`fill`], with their numbers exactly as the
//! originals compute them and two clocks more; [`age`] is fs_mark and `rm` in rounds, and [`mix`] is fio. The programs
//! themselves were not wrapped, for three reasons. Their clocks stop before the data are
//! on the device, or stop after half of it, and their output does not say which; a wrapper cannot
//! repair that. Their state (leftover files, warm caches, a generator shared between threads) is
//! an accident of how they were started, while here it is a parameter and is recorded as evidence.
//! And they ask for tools of their time: compilebench needs Python 2.
//!
//! What every workload keeps to:
//! * Preparation is never inside the clock of a measurement: files are open, buffers touched and
//!   orders drawn before the first timestamp ([`clock`], CLOCK_MONOTONIC).
//! * Three rates ([`Clocks`]): (a) as the original computes it, (b) to the end of an fsync of
//!   every file, (c) to the end of [`mod@syncfs`] on the target.
//! * The load generator costs next to nothing: the null [`engine`] shows how much.
//! * A workload knows nothing of studies, devices or terminals. It takes its parameters, reports to an
//!   [`Observer`], asks it to drop caches, and stops soon after it is cancelled. It never prints.
//! * It leaves no file, also after an error, unless its parameters keep them.

pub mod age;
pub mod buffer;
mod cache;
mod calls;
mod children;
pub mod clock;
pub mod direct;
pub mod engine;
pub mod error;
pub mod fill;
mod gate;
mod gauge;
pub mod group;
mod memory;
pub mod metadata;
pub mod mix;
#[cfg(test)]
mod mounted;
pub mod observe;
pub mod phase;
mod remove;
pub mod residency;
mod scan;
pub mod shared;
pub mod stream;
pub mod syncfs;
pub mod throughput;
pub mod tree;
mod workload;

pub use error::Error;
pub use observe::Observer;
pub use phase::{
    Bucket, Clocks, Evidence, LatencyReport, Outcome, PhaseReport, RunReport, ThreadReport,
};
pub use progress::{Progress, Silent};
pub use workload::Workload;
