//! A run's folder.

pub mod event;
#[doc(hidden)]
pub mod example;
pub mod run;

pub use event::*;
pub use run::{Closing, Phase, Run, Status, TrialRecord};
