//! Tables of runs, for questions that no report answers.
//!
//! The log of a run is the truth, and everything here is derived from it: [`index`] makes SQLite tables of one
//! run, in its folder.

mod error;
pub mod index;

pub use error::Error;
