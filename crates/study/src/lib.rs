//! Study files and what they expand to.
//!
//! A study is a TOML file: a question, the factors it varies, the workloads it measures, the tables
//! it prints. [`Study::load`] reads one, [`plan`] expands it to a [`Plan`]: every cell, every trial
//! in its order, with nothing left to decide. A plan is a plain value; it goes into the run's log
//! before anything is touched, so that a killed run needs neither its study file nor the code that
//! expanded it.
//!
//! The path of a value: `document` reads files and lays each upon those it includes; a profile is
//! laid upon that; the command line (`overrides`) edits the result; `validate` checks it; `expand`
//! makes cells of it. All of them work on `node`s, values that remember where they were written,
//! because what a user needs with `0 is not a thread count` is the line to change, and
//! that line may be in an included file or an argument. Deserialising each file with serde and
//! merging structs was rejected: positions are lost, and "absent" cannot be distinguished from "default".
//!
//! What a file may hold is declared once, by the types of [`mod@file`] and [`model`]: their
//! generated JSON schema is both the published one and what files are checked against, so the two
//! cannot differ. The interpreter of that schema is our own (`check`): a library validates a document
//! without positions, and its messages name the schema's keywords, not the user's line. Rules between values (a record that must be a multiple of 512, a working set that
//! must fit) are code, in `rules` and `capacity`.
//!
//! A study file by path may come from anyone: sizes, depths, includes, cells and trials are
//! bounded, and no input may panic.

mod builtin;
mod capacity;
mod check;
mod derive;
mod devices;
pub mod directory;
mod document;
mod error;
pub mod estimate;
mod estimated;
mod exclude;
mod expand;
mod factor;
pub mod file;
mod filter;
pub mod footprint;
pub mod forecast;
pub mod forged;
mod inodes;
pub mod kernel_range;
pub mod limit;
pub mod listing;
pub mod metrics;
pub mod model;
pub mod names;
mod node;
pub mod order;
mod overrides;
mod placed;
mod planner;
mod references;
pub mod render;
mod rules;
pub mod schema;
mod skipped;
mod stacks;
pub mod template;
mod unlimited;
mod validate;
pub mod wording;

pub use devices::DevicesFile;
pub use error::{Error, Origin, Problem};
pub use kernel_range::KernelRange;
pub use limit::Limit;
pub use model::*;
pub use overrides::Overrides;
pub use params::Bytes;
pub use params::units;
pub use planner::{BASE, Study, plan};
