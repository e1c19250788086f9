//! A run's folder: what happened, kept so that a kill at any moment loses no finished trial.

pub mod error;
pub mod event;
#[doc(hidden)]
pub mod example;
pub mod folder;
pub mod index;
pub mod list;
pub mod log;
pub mod run;
pub mod schema;
pub mod show;
pub mod telemetry;
mod text;

pub use error::Error;
pub use event::*;
pub use folder::RunFolder;
pub use list::{Listing, State, list};
pub use log::Log;
pub use run::{Closing, Phase, Run, Status, TrialRecord};
