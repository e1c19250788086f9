//! Study files and what they expand to.

pub mod model;
pub mod units;

pub use model::*;
pub use units::Bytes;
