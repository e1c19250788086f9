//! Native workloads and the engines that carry their I/O.

pub mod buffer;
pub mod clock;
pub mod direct;
pub mod engine;
pub mod error;
pub mod observe;
pub mod phase;
pub mod residency;
pub mod syncfs;
pub mod throughput;
pub mod tree;

pub use error::Error;
pub use observe::{Observer, Progress, Silent};
pub use phase::{Clocks, Evidence, Outcome, PhaseReport, RunReport, ThreadReport};
