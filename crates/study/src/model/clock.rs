//! What is inside the clock of a rate.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is inside the clock of a rate.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// (a) as the original tool computes it.
    #[default]
    Original,
    /// (b) to the end of an fsync of every file.
    Fsync,
    /// (c) to the end of syncfs on the filesystem.
    Syncfs,
}

impl Clock {
    /// `(a)`, `(b)` or `(c)`.
    pub const fn mark(self) -> &'static str {
        match self {
            Clock::Original => "(a)",
            Clock::Fsync => "(b)",
            Clock::Syncfs => "(c)",
        }
    }
}
