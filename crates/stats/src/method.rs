//! The name of the method that gave a number.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How a ratio, its interval or its p-value was obtained. `Display` is what a report prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Welch's t test on logarithms of two independent samples ([`crate::welch`]).
    WelchLog,
    /// The paired t test on logarithms of within-block ratios ([`crate::paired`]).
    PairedLog,
    /// The Mann-Whitney rank-sum test ([`mod@crate::rank`]).
    MannWhitney,
    /// The Wilcoxon signed-rank test ([`mod@crate::rank`]).
    SignedRank,
    /// BCa bootstrap of the ratio of two medians ([`crate::ratio::ratio_of_medians`]).
    BootstrapMedians,
    /// BCa bootstrap of the median within-block ratio ([`crate::ratio::paired_ratio`]).
    BootstrapPaired,
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::WelchLog => "Welch on logs",
            Self::PairedLog => "paired t on logs",
            Self::MannWhitney => "Mann-Whitney",
            Self::SignedRank => "Wilcoxon signed-rank",
            Self::BootstrapMedians => "BCa bootstrap of medians",
            Self::BootstrapPaired => "BCa bootstrap of blocks",
        })
    }
}
