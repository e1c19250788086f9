//! Native workloads and the engines that carry their I/O.

pub mod observe;
pub mod phase;

pub use observe::{Observer, Progress, Silent};
pub use phase::{Clocks, Outcome, PhaseReport, ThreadReport};
