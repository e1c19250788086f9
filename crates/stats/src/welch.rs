//! Welch's t test on logarithms: two independent samples of positive values.
//!
//! On logarithms, because a filesystem is faster by a factor and not by a number of bytes a second,
//! because noise in benchmarks grows with the value, and because the interval of a difference of
//! logarithms is the interval of a ratio at once, symmetric when the sides are swapped.

use crate::error::{Error, check_count, check_level, check_positive};
use crate::log_ratio::{LogDifference, LogRatio, logs, without_spread};
use crate::method::Method;
use crate::moments::{moments, no_log_spread};

/// The ratio of geometric means `other / base`, with Welch's interval and test.
///
/// Welch, Biometrika 34 (1947), 28-35; degrees of freedom of Welch 1938 and Satterthwaite,
/// Biometrics Bulletin 2 (1946), 110-114. Assumes independent runs and logarithms that are
/// near normal; not that the two sides vary alike.
///
/// # Errors
/// Fewer than two values on a side, a value that is not positive and finite, a level outside (0,
/// 1).
pub fn log_ratio(base: &[f64], other: &[f64], level: f64) -> Result<LogRatio, Error> {
    check_level(level)?;
    check_positive(base)?;
    check_positive(other)?;
    let n = base.len().min(other.len());
    check_count("Welch's test", 2, n)?;
    let (base, other) = (logs(base), logs(other));
    let (x, y) = (moments(&base), moments(&other));
    let difference = y.mean - x.mean;
    if no_log_spread(&base) && no_log_spread(&other) {
        return Ok(without_spread(difference, n, level, Method::WelchLog));
    }
    let (vx, vy) = (x.variance / x.n, y.variance / y.n);
    let df = (vx + vy).powi(2) / (vx.powi(2) / (x.n - 1.0) + vy.powi(2) / (y.n - 1.0));
    let standard_error = (vx + vy).sqrt();
    Ok(LogDifference {
        difference,
        standard_error,
        df,
        n,
    }
    .ratio(level, Method::WelchLog))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::warning::Warning;

    fn close(ours: f64, theirs: f64) {
        assert!(
            (ours - theirs).abs() <= 1e-9 * theirs.abs(),
            "{ours} against {theirs}"
        );
    }

    /// scipy 1.10.1: `r = ttest_ind(np.log(b), np.log(a), equal_var=False)`, with `df` by
    /// Satterthwaite's formula and the interval `exp(d -+ t.ppf(.975, df) * se)` in numpy.
    #[test]
    fn as_in_scipy() {
        let a = [101.2, 99.8, 103.4, 97.6, 100.9];
        let b = [112.5, 118.1, 104.9, 121.3, 109.7, 115.0];
        let r = log_ratio(&a, &b, 0.95).unwrap();
        close(r.ratio, 1.1282084484207415);
        close(r.t.unwrap(), 5.1783338393638685);
        close(r.df.unwrap(), 6.823095023643367);
        close(r.p.unwrap(), 0.0013891250591722153);
        close(r.interval.low, 1.0674316215803907);
        close(r.interval.high, 1.1924457523596752);
        assert!(r.warnings.is_empty());
    }

    #[test]
    fn constant_samples_have_a_ratio_but_no_test() {
        let r = log_ratio(&[100.0; 5], &[150.0; 5], 0.95).unwrap();
        close(r.ratio, 1.5);
        assert_eq!((r.t, r.p, r.interval.width()), (None, None, 0.0));
        assert_eq!(r.warnings, [Warning::NoSpread]);
    }

    /// One constant side: all spread and all degrees of freedom are the other's.
    #[test]
    fn one_constant_sample_leaves_the_others_freedom() {
        let r = log_ratio(&[100.0; 5], &[150.0, 151.0, 149.0, 152.0], 0.95).unwrap();
        close(r.df.unwrap(), 3.0);
        assert_eq!(r.warnings, [Warning::FewValues { n: 4 }]);
    }

    #[test]
    fn refuses_what_has_no_ratio() {
        assert!(matches!(
            log_ratio(&[1.0], &[1.0, 2.0], 0.95),
            Err(Error::TooFew { .. })
        ));
        assert!(matches!(
            log_ratio(&[1.0, 0.0], &[1.0, 2.0], 0.95),
            Err(Error::NotPositive { index: 1, .. })
        ));
        assert!(matches!(
            log_ratio(&[1.0, 2.0], &[1.0, 2.0], 95.0),
            Err(Error::Level(_))
        ));
    }

    /// Two values over the whole range of a double: the interval stays finite.
    #[test]
    fn wild_spread_stays_finite() {
        let r = log_ratio(&[1e-300, 1e300], &[1e-300, 1e300], 0.99).unwrap();
        assert!(r.interval.high.is_finite() && r.interval.low >= 0.0);
    }

    proptest! {
        #[test]
        fn swapping_inverts_and_scaling_scales(
            a in prop::collection::vec(1.0..1e6, 2..12),
            b in prop::collection::vec(1.0..1e6, 2..12),
            scale in 0.01..100.0_f64,
        ) {
            let r = log_ratio(&a, &b, 0.95).unwrap();
            let swapped = log_ratio(&b, &a, 0.95).unwrap();
            prop_assert!((r.ratio * swapped.ratio - 1.0).abs() < 1e-9);
            prop_assert!((r.interval.low * swapped.interval.high - 1.0).abs() < 1e-6);
            prop_assert!((r.p.unwrap() - swapped.p.unwrap()).abs() < 1e-9);
            prop_assert!(r.interval.contains(r.ratio));
            let b: Vec<f64> = b.iter().map(|v| v * scale).collect();
            let scaled = log_ratio(&a, &b, 0.95).unwrap();
            prop_assert!((scaled.ratio / r.ratio / scale - 1.0).abs() < 1e-9);
            prop_assert!((scaled.interval.low / r.interval.low / scale - 1.0).abs() < 1e-6);
        }

        #[test]
        fn p_and_interval_agree(
            a in prop::collection::vec(1.0..10.0, 2..9),
            b in prop::collection::vec(1.0..10.0, 2..9),
        ) {
            let r = log_ratio(&a, &b, 0.95).unwrap();
            let p = r.p.unwrap();
            prop_assume!((p - 0.05).abs() > 1e-6);
            prop_assert_eq!(p > 0.05, r.interval.contains(1.0));
        }
    }
}
