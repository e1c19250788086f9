//! The ratio that the two t tests on logarithms give.

use serde::{Deserialize, Serialize};

use crate::dist::{t_quantile_two_sided, t_two_sided};
use crate::interval::Interval;
use crate::method::Method;
use crate::warning::{Warning, warn_few};

/// A ratio of geometric means, other over base, with its t interval and test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LogRatio {
    /// Geometric mean of the other side over that of the base.
    pub ratio: f64,
    /// Interval of the ratio; a point where there is no spread.
    pub interval: Interval,
    /// The t statistic; `None` where there is no spread to judge by.
    pub t: Option<f64>,
    /// Its degrees of freedom.
    pub df: Option<f64>,
    /// Two-sided p of "the ratio is 1"; `None` where there is no spread.
    pub p: Option<f64>,
    /// [`Method::WelchLog`] or [`Method::PairedLog`].
    pub method: Method,
    /// What to know before trusting it.
    pub warnings: Vec<Warning>,
}

/// A difference of mean logarithms and how well it is known.
pub(crate) struct LogDifference {
    pub(crate) difference: f64,
    pub(crate) standard_error: f64,
    pub(crate) df: f64,
    /// Values in the smaller sample.
    pub(crate) n: usize,
}

impl LogDifference {
    /// Back from logarithms to a ratio, with interval and test.
    pub(crate) fn ratio(&self, level: f64, method: Method) -> LogRatio {
        let mut warnings = Vec::new();
        warn_few(self.n, &mut warnings);
        let t = self.difference / self.standard_error;
        let half = t_quantile_two_sided(level, self.df) * self.standard_error;
        LogRatio {
            ratio: finite_exp(self.difference),
            interval: Interval::nominal(
                finite_exp(self.difference - half),
                finite_exp(self.difference + half),
                level,
            ),
            t: Some(t),
            df: Some(self.df),
            p: Some(t_two_sided(t, self.df)),
            method,
            warnings,
        }
    }
}

/// The ratio of samples without spread: the difference is what it is, and no t test applies.
pub(crate) fn without_spread(difference: f64, n: usize, level: f64, method: Method) -> LogRatio {
    let mut warnings = vec![Warning::NoSpread];
    warn_few(n, &mut warnings);
    let ratio = finite_exp(difference);
    LogRatio {
        ratio,
        interval: Interval::nominal(ratio, ratio, level),
        t: None,
        df: None,
        p: None,
        method,
        warnings,
    }
}

/// e^x, kept finite: two values of wild spread give an end of e^1000, which JSON cannot carry.
fn finite_exp(x: f64) -> f64 {
    x.exp().min(f64::MAX)
}

/// Natural logarithms of positive values.
pub(crate) fn logs(values: &[f64]) -> Vec<f64> {
    values.iter().map(|v| v.ln()).collect()
}
