//! One sample in numbers, with what must be known before trusting them.

use serde::{Deserialize, Serialize};

use crate::PRACTICAL_BAND;
use crate::error::{Error, check_finite, check_level};
use crate::groups::two_groups;
use crate::interval::Interval;
use crate::moments::moments;
use crate::order::{median_interval_sorted, median_mut, sorted};
use crate::outlier::fences;
use crate::trend::mann_kendall;
use crate::warning::{Warning, warn_few};

/// The level of [`summarize`].
pub const LEVEL: f64 = 0.95;

/// Largest p of a drift that is reported. One sample of five in 60 drifts by chance this much.
const DRIFT_P: f64 = 0.02;

/// What one sample shows. All values are in the unit of the sample.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Values.
    pub n: usize,
    /// Arithmetic mean.
    pub mean: f64,
    /// Sample standard deviation, with divisor n - 1; `None` for a single value.
    pub stddev: Option<f64>,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
    /// Median.
    pub median: f64,
    /// Order-statistic interval of the median ([`crate::order::median_interval`]); `None` for a
    /// single value.
    pub median_interval: Option<Interval>,
    /// Coefficient of variation, `stddev / |mean|`; `None` for a single value or a mean of zero.
    pub cv: Option<f64>,
    /// What to know before trusting it, the gravest first.
    pub warnings: Vec<Warning>,
}

/// Summarises values in the order in which they were measured, with a 95 % interval.
///
/// # Errors
/// No value, a value that is not finite, or values so large that their squares are not.
pub fn summarize(values: &[f64]) -> Result<Summary, Error> {
    summarize_at(values, LEVEL)
}

/// [`summarize`] with another level for the median's interval.
///
/// # Errors
/// As [`summarize`], and a level outside (0, 1).
pub fn summarize_at(values: &[f64], level: f64) -> Result<Summary, Error> {
    check_finite(values)?;
    check_level(level)?;
    let mut ordered = sorted(values);
    let (min, max) = (ordered[0], ordered[ordered.len() - 1]);
    let median = median_mut(&mut ordered);
    let median_interval = median_interval_sorted(&ordered, level);
    let m = moments(values);
    if !m.mean.is_finite() || !m.variance.is_finite() {
        return Err(Error::StatisticNotFinite);
    }
    let stddev = (values.len() > 1).then(|| m.variance.sqrt());
    // Rounding can carry the mean of equal values an ulp past them.
    let mean = m.mean.clamp(min, max);
    Ok(Summary {
        n: values.len(),
        mean,
        stddev,
        min,
        max,
        median,
        median_interval,
        cv: stddev.filter(|_| mean != 0.0).map(|s| s / mean.abs()),
        warnings: warnings(values, &ordered, median, median_interval)?,
    })
}

/// Whether a difference of this size is one that the laboratory would call a difference at all.
///
/// Values that agree within the practical band are a steady measurement, whatever pattern a test
/// finds in their last digits.
fn matters(difference: f64, median: f64) -> bool {
    difference > PRACTICAL_BAND * median.abs()
}

fn warnings(
    values: &[f64],
    ordered: &[f64],
    median: f64,
    interval: Option<Interval>,
) -> Result<Vec<Warning>, Error> {
    let mut warnings = Vec::new();
    let n = values.len();
    warn_few(n, &mut warnings);
    let range = ordered[n - 1] - ordered[0];
    if range == 0.0 {
        if n > 1 {
            warnings.push(Warning::NoSpread);
        }
    } else if matters(range, median) {
        warnings.extend(shape(values, ordered, median)?);
    }
    if let Some(Interval {
        level,
        achieved: Some(achieved),
        ..
    }) = interval
        && achieved < level
    {
        warnings.push(Warning::LevelNotReached { level, achieved });
    }
    Ok(warnings)
}

/// Warnings of what the values look like, in order of runs and in order of size.
fn shape(values: &[f64], ordered: &[f64], median: f64) -> Result<Vec<Warning>, Error> {
    let mut warnings = Vec::new();
    let trend = mann_kendall(values)?;
    if trend.p <= DRIFT_P {
        warnings.push(Warning::Drift {
            tau: trend.tau,
            p: trend.p,
        });
    }
    if let Some(split) = two_groups(ordered)
        && matters(split.high_mean - split.low_mean, median)
    {
        warnings.push(Warning::TwoGroups {
            low_n: split.low_n,
            low_mean: split.low_mean,
            high_n: ordered.len() - split.low_n,
            high_mean: split.high_mean,
        });
    }
    if let Some((low, high)) = fences(ordered) {
        let outside = |v: f64| (v < low || v > high) && matters((v - median).abs(), median);
        warnings.extend(values.iter().enumerate().filter(|(_, v)| outside(**v)).map(
            |(index, &value)| Warning::Outlier {
                index,
                value,
                low,
                high,
            },
        ));
    }
    Ok(warnings)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// numpy 1.x: `np.mean`, `np.std(ddof=1)`, `np.median` of the five.
    #[test]
    fn as_in_numpy() {
        let s = summarize(&[104.2, 99.1, 101.7, 98.4, 103.3]).unwrap();
        assert_eq!((s.n, s.min, s.max, s.median), (5, 98.4, 104.2, 101.7));
        assert!((s.mean - 101.34).abs() < 1e-12);
        assert!((s.stddev.unwrap() - 2.540275575601986).abs() < 1e-12);
        assert!((s.cv.unwrap() - 2.540275575601986 / 101.34).abs() < 1e-14);
        assert_eq!(
            s.warnings,
            [Warning::LevelNotReached {
                level: 0.95,
                achieved: 0.9375
            }]
        );
    }

    /// The digits that a one-pass variance loses: NIST Statistical Reference Datasets, NumAcc3
    /// (1000000.2, then 500 pairs of 1000000.1 and 1000000.3): mean 1000000.2, stddev 0.1.
    #[test]
    fn nist_numacc3() {
        let mut x = vec![1_000_000.2];
        (0..500).for_each(|_| x.extend([1_000_000.1, 1_000_000.3]));
        let s = summarize(&x).unwrap();
        assert!((s.mean - 1_000_000.2).abs() < 1e-9);
        assert!((s.stddev.unwrap() - 0.1).abs() < 1e-9);
    }

    #[test]
    fn one_value_has_no_spread_to_speak_of() {
        let s = summarize(&[7.0]).unwrap();
        assert_eq!((s.mean, s.median, s.stddev, s.cv), (7.0, 7.0, None, None));
        assert_eq!(s.median_interval, None);
        assert_eq!(s.warnings, [Warning::FewValues { n: 1 }]);
    }

    #[test]
    fn refuses_nothing_and_nonsense() {
        assert_eq!(summarize(&[]), Err(Error::Empty));
        assert!(matches!(
            summarize(&[1.0, f64::NAN]),
            Err(Error::NotFinite { index: 1, .. })
        ));
        assert_eq!(summarize(&[-1e300, 1e300]), Err(Error::StatisticNotFinite));
        assert_eq!(summarize_at(&[1.0], 95.0), Err(Error::Level(95.0)));
    }

    fn kinds(values: &[f64]) -> Vec<Warning> {
        let mut warnings = summarize(values).unwrap().warnings;
        warnings.retain(|w| !matches!(w, Warning::LevelNotReached { .. }));
        warnings
    }

    #[test]
    fn drift_is_told() {
        let w = kinds(&[100.0, 97.0, 93.0, 90.0, 85.0]);
        assert!(matches!(w[..], [Warning::Drift { tau: -1.0, .. }]), "{w:?}");
        // The same pattern within the practical band is no drift.
        assert_eq!(kinds(&[100.0, 99.9, 99.8, 99.7, 99.6]), []);
    }

    #[test]
    fn an_outlier_is_told_and_kept() {
        let x = [100.0, 101.0, 40.0, 99.5, 100.5];
        let w = kinds(&x);
        assert!(
            matches!(
                w[..],
                [Warning::Outlier {
                    index: 2,
                    value: 40.0,
                    ..
                }]
            ),
            "{w:?}"
        );
        let s = summarize(&x).unwrap();
        assert_eq!((s.n, s.min), (5, 40.0));
        assert!((s.mean - 88.2).abs() < 1e-12);
    }

    #[test]
    fn two_groups_are_told() {
        let w = kinds(&[100.0, 60.0, 100.5, 60.2, 101.0]);
        assert!(
            matches!(
                w[..],
                [Warning::TwoGroups {
                    low_n: 2,
                    high_n: 3,
                    ..
                }]
            ),
            "{w:?}"
        );
    }

    #[test]
    fn equal_values_are_told() {
        assert_eq!(kinds(&[3.0; 6]), [Warning::NoSpread]);
    }

    proptest! {
        #[test]
        fn all_lies_between_the_ends(x in prop::collection::vec(-1e9..1e9, 1..50)) {
            let s = summarize(&x).unwrap();
            prop_assert!(s.min <= s.mean && s.mean <= s.max);
            prop_assert!(s.min <= s.median && s.median <= s.max);
            prop_assert!(s.stddev.is_none_or(|d| d >= 0.0 && d <= s.max - s.min));
            prop_assert!(s.median_interval.is_none_or(|i| i.contains(s.median)));
        }

        #[test]
        fn only_drift_sees_the_order(mut x in prop::collection::vec(1.0..1e3, 1..20)) {
            let warned = |x: &[f64]| {
                let mut s = summarize(x).unwrap();
                let drift = |w: &Warning| matches!(w, Warning::Drift { .. } | Warning::Outlier { .. });
                s.warnings.retain(|w| !drift(w));
                s
            };
            let a = warned(&x);
            x.reverse();
            let b = warned(&x);
            prop_assert_eq!(a.median_interval, b.median_interval);
            prop_assert_eq!(a.warnings, b.warnings);
            prop_assert!((a.mean - b.mean).abs() < 1e-9);
        }

        #[test]
        fn survives_json(x in prop::collection::vec(-1e9..1e9, 1..20)) {
            let s = summarize(&x).unwrap();
            let json = serde_json::to_string(&s).unwrap();
            prop_assert_eq!(serde_json::from_str::<Summary>(&json).unwrap(), s);
        }
    }
}
