//! A run's folder.

pub mod event;
pub mod run;

pub use event::*;
pub use run::{Closing, Phase, Run, Status, TrialRecord};
