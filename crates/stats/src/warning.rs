//! What a reader must know before trusting a number.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::method::Method;

/// Samples smaller than this say so beside every number made of them.
pub const ADVISED_VALUES: usize = 5;

/// Below this many values a bootstrap interval does not keep its level; see the coverage table in
/// the crate's essay.
pub const ADVISED_BOOTSTRAP: usize = 10;

/// An assumption that the data do not carry, or a limit of the method, returned with the value.
///
/// Typed, so that a report can collect equal warnings, number its footnotes and translate them;
/// `Display` gives the sentence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Warning {
    /// Fewer values than [`ADVISED_VALUES`].
    FewValues {
        /// Values there are.
        n: usize,
    },
    /// No order-statistic interval of this many values covers the median with the level asked for.
    LevelNotReached {
        /// Level asked for.
        level: f64,
        /// The most that the whole range of the sample covers.
        achieved: f64,
    },
    /// A value beyond the outer fences. It is kept in every statistic.
    Outlier {
        /// Position in the sample, in the order of runs, from 0.
        index: usize,
        /// The value.
        value: f64,
        /// Lower fence.
        low: f64,
        /// Upper fence.
        high: f64,
    },
    /// The values fall into two groups more cleanly than one normal population would.
    TwoGroups {
        /// Values in the lower group.
        low_n: usize,
        /// Mean of the lower group.
        low_mean: f64,
        /// Values in the upper group.
        high_n: usize,
        /// Mean of the upper group.
        high_mean: f64,
    },
    /// The values rise or fall over the order of runs.
    Drift {
        /// Kendall's tau-b against the order of runs: positive where values rise.
        tau: f64,
        /// Two-sided p of the Mann-Kendall test.
        p: f64,
    },
    /// All values (or all ratios of pairs) are equal, so their spread shows nothing.
    NoSpread,
    /// A bootstrap of fewer than [`ADVISED_BOOTSTRAP`] values.
    FewForBootstrap {
        /// Values in the smaller sample.
        n: usize,
    },
    /// The rank test, which assumes no distribution, does not support the verdict of the main one.
    TestsDisagree {
        /// The main test's p.
        p: f64,
        /// The rank test.
        check: Method,
        /// The rank test's p.
        check_p: f64,
    },
    /// The sizes lie off a law of growth by more than the runs of one size vary.
    LackOfFit {
        /// p of the F test of lack of fit.
        p: f64,
    },
    /// One run at each size of a law of growth: noise and misfit cannot be separated.
    NoRepetition,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FewValues { n } => {
                write!(f, "only {n} value(s): {ADVISED_VALUES} or more are advised")
            }
            Self::LevelNotReached { level, achieved } => write!(
                f,
                "the median's interval covers {:.2} %, not {:.2} %: too few values",
                achieved * 100.0,
                level * 100.0
            ),
            Self::Outlier {
                index,
                value,
                low,
                high,
            } => write!(
                f,
                "run {} is an outlier: {} is outside {} .. {}; it was kept",
                index + 1,
                short(*value),
                short(*low),
                short(*high)
            ),
            Self::TwoGroups {
                low_n,
                low_mean,
                high_n,
                high_mean,
            } => write!(
                f,
                "two groups: {low_n} run(s) near {} and {high_n} near {}; one middle value misleads",
                short(*low_mean),
                short(*high_mean)
            ),
            Self::Drift { tau, p } => {
                let way = if *tau > 0.0 { "rise" } else { "fall" };
                write!(
                    f,
                    "values {way} over the runs (tau {tau:.2}, p {p:.3}): not a steady state"
                )
            }
            Self::NoSpread => write!(f, "all values are equal: the interval is a point"),
            Self::FewForBootstrap { n } => write!(
                f,
                "a bootstrap of {n} value(s) is rough: {ADVISED_BOOTSTRAP} or more are advised"
            ),
            Self::TestsDisagree { p, check, check_p } => {
                write!(
                    f,
                    "p {p:.4} is not supported by the {check} test (p {check_p:.4})"
                )
            }
            Self::LackOfFit { p } => write!(
                f,
                "the law misses the sizes by more than runs of one size vary (p {p:.3}): another law holds"
            ),
            Self::NoRepetition => write!(
                f,
                "one run at each size: noise cannot be distinguished from curvature; run more blocks"
            ),
        }
    }
}

/// Four significant digits: a warning points at a value, it does not report it.
fn short(value: f64) -> String {
    let before_point = value.abs().log10().floor();
    let decimals = if before_point.is_finite() {
        (3.0 - before_point).clamp(0.0, 9.0)
    } else {
        0.0
    };
    format!("{value:.*}", decimals as usize)
}

/// Adds [`Warning::FewValues`] where it is due.
pub(crate) fn warn_few(n: usize, warnings: &mut Vec<Warning>) {
    if n < ADVISED_VALUES {
        warnings.push(Warning::FewValues { n });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_read_as_one_line_and_survive_json() {
        let all = [
            Warning::FewValues { n: 3 },
            Warning::LevelNotReached {
                level: 0.95,
                achieved: 0.9375,
            },
            Warning::Outlier {
                index: 4,
                value: 9.0,
                low: 1.0,
                high: 2.0,
            },
            Warning::TwoGroups {
                low_n: 2,
                low_mean: 1.0,
                high_n: 3,
                high_mean: 2.0,
            },
            Warning::Drift {
                tau: -1.0,
                p: 0.0167,
            },
            Warning::NoSpread,
            Warning::FewForBootstrap { n: 5 },
            Warning::TestsDisagree {
                p: 0.01,
                check: Method::MannWhitney,
                check_p: 0.2,
            },
            Warning::LackOfFit { p: 0.012 },
            Warning::NoRepetition,
        ];
        for warning in all {
            let text = warning.to_string();
            assert!(!text.contains('\n') && text.len() < 120, "{text}");
            let json = serde_json::to_string(&warning).unwrap();
            assert_eq!(
                serde_json::from_str::<Warning>(&json).unwrap(),
                warning,
                "{json}"
            );
        }
        assert_eq!(
            Warning::LevelNotReached {
                level: 0.95,
                achieved: 0.9375
            }
            .to_string(),
            "the median's interval covers 93.75 %, not 95.00 %: too few values"
        );
        assert_eq!(
            Warning::Drift {
                tau: -1.0,
                p: 0.0167
            }
            .to_string(),
            "values fall over the runs (tau -1.00, p 0.017): not a steady state"
        );
    }
}
