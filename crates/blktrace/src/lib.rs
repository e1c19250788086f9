//! Block traces: the files that blktrace writes, read and explained.
//!
//! A trace is a file for each CPU (`sda.blktrace.0`, `.1` ...), each a plain sequence of records
//! ([`record`]). [`Trace`] opens them by their base and merges them in time in constant memory,
//! whatever their size.

pub mod analysis;
pub mod btt;
mod error;
mod file;
// The fixture names this crate as others do.
#[cfg(test)]
extern crate self as blktrace;
#[cfg(test)]
#[path = "../../fixtures/src/block_trace.rs"]
pub mod forge;
mod merge;
pub mod merged;
mod pipeline;
pub mod record;
pub mod text;
mod trace;
pub mod verify;

pub use analysis::Analysis;
pub use error::Error;
pub use file::Event;
pub use pipeline::each_of;
pub use record::{Action, Category, Head};
pub use trace::{Trace, TraceFile};
