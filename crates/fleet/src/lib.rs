//! One run on many nodes: each block is run whole on one of them, and all are gathered into one run.
//!
//! A block holds every cell once, and cells are compared within blocks. So a block is what a node is given: what
//! differs between nodes cancels in each comparison, and the node is a factor of blocks for free. Halves of a block on two nodes
//! would have no pairing, so a block that broke is run again as a whole.
//!
//! There is no scheduler here. `fleet submit` writes a folder ([`FleetPlan`]) and a script for Slurm, whose array has an element for
//! each block; any other scheduler, or a loop, may call `fleet block RUN NUMBER` instead. Nodes share the folder and nothing else: an
//! attempt takes its number by making a folder, which is atomic on every shared filesystem, and locks nothing of another's.
//!
//! [`gather`] is a pure function of the folder: of each block the first whole attempt, in the order of time. What it writes is an
//! ordinary run.

pub mod attempts;
pub mod block;
pub mod error;
pub mod gather;
pub mod nodes;
pub mod plan;
pub mod script;
pub mod slurm;
pub mod status;

pub use error::Error;
pub use plan::FleetPlan;
