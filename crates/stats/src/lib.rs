//! Statistics for small benchmark samples: few runs, skewed noise, many comparisons.

// Known answers stand in the tests as scipy printed them.
#![cfg_attr(test, allow(clippy::unreadable_literal))]

pub mod bootstrap;
mod calibration;
mod dist;
mod error;
pub mod groups;
mod interval;
pub mod log_ratio;
mod method;
mod moments;
pub mod order;
pub mod outlier;
pub mod paired;
pub mod rank;
pub mod ratio;
mod resample;
pub mod summary;
pub mod trend;
mod warning;
pub mod welch;

pub use error::Error;
pub use interval::Interval;
pub use log_ratio::LogRatio;
pub use method::Method;
pub use summary::{Summary, summarize};
pub use warning::{ADVISED_BOOTSTRAP, ADVISED_VALUES, Warning};

/// Half the width of the practical band: a ratio within 2 % of 1 is no difference that matters.
pub const PRACTICAL_BAND: f64 = 0.02;
