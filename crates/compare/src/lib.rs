//! How cells are paired and compared: within a run, and between runs.
//!
//! There is one place that decides which two things are compared and how, so that a table, an explanation and a gate
//! never disagree. Within a run, [`pair`] compares two cells block by block, and [`tables`] says which figures of which cells
//! a reader sees; reports and explanations both ask here. Between runs, [`compare()`] matches cells by their settled
//! parameters, takes the run as the unit, and judges; [`history()`](history::history) looks for steps in a series of runs; [`bisect`] judges one step of
//! a search for a commit.
//!
//! Rejected: thresholds without intervals (they trip at noise, and people then switch the gate off), and trials of one run as
//! independent values (they find differences between equal sides in a third of all cases).
//!
//! The crate belongs to the experiment wing. Of the other wing it uses `probe`'s type of a context record and the difference of two.

#![allow(
    clippy::format_push_string,
    reason = "a string per printed line costs nothing here, and write! returns a Result to discard"
)]

pub mod bisect;
mod comparison;
pub mod context;
mod direction;
mod error;
mod figure;
pub mod format;
pub mod history;
mod key;
mod options;
pub mod pair;
pub mod plan;
mod select;
mod side;
pub mod tables;

pub use comparison::{
    Compared, Gate, Judged, Outcome, Row, RunFacts, SideFacts, Unmatched, Values, WhyNot, compare,
};
pub use direction::{Direction, is_wall_time, reads_metadata};
pub use error::Error;
pub use key::{Keys, parameters, short_id};
pub use options::{FailOn, MARGIN, Options, parse_margin};
pub use select::{has, varying};
pub use side::{Folder, Side, SideRun, Source, Stored, disjoint};
pub use store::Selector;
