//! A run's folder: what happened, kept so that a kill at any moment loses no finished trial.
//!
//! There is one truth, `events.jsonl`: an append-only log of what the lab did, one event a line.
//! Everything else follows from it. [`Run::load`] folds it into the value that reports read and
//! that lists which trials remain; [`list`](list()) and [`show`] print it; the crate `store` makes tables of it. To resume is to read the log, take the folder's lock and
//! append: the plan, with its order and seeds, is in the first line, so neither the study file nor
//! the same version of it is needed. Beside the log are the telemetry files, one a trial, which are
//! large, are not needed to resume, and have a format of their own ([`telemetry`]).
//!
//! JSON Lines was chosen over a binary log because a run is evidence: in ten years it must be
//! readable with `less` and `jq`. Events are few (some ten a trial), so size and speed do not count;
//! telemetry rows are many, so there they do. A database as the truth was rejected: it rewrites
//! pages of finished trials, and a reader needs that database's version.
//!
//! Files of a folder, lines of the log and bytes of telemetry are described
//! in docs/formats.md; the schema of a line is schemas/events.schema.json ([`schema`]).
//!
//! This crate belongs to the experiment wing: it knows plans and numbers, not devices, and all of
//! it works without root.

pub mod crash;
pub mod error;
mod estimate;
pub mod event;
// The fixture names this crate as others do.
#[cfg(test)]
extern crate self as record;
#[cfg(test)]
#[path = "../../fixtures/src/example.rs"]
pub mod example;
pub mod folder;
mod identity;
pub mod list;
pub mod log;
mod names;
mod noise;
pub mod run;
pub mod schema;
pub mod show;
pub mod tags;
pub mod telemetry;
mod text;

pub use crash::{Crash, CrashAgreement, CrashDamage, PowerCut};
pub use error::Error;
pub use estimate::{Estimate, EstimatedDevice, EstimatedPass, Stream};
pub use event::*;
pub use folder::RunFolder;
pub use identity::id_of_line;
pub use list::{Listing, State, list, run_folders};
pub use log::Log;
pub use noise::{DiskNoise, Noise, QUIET_MACHINE};
pub use run::{Closing, Phase, Run, Status, TrialRecord};
pub use tags::Tags;
