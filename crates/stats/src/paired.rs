//! The paired t test on logarithms: one ratio for each block.
//!
//! Runs are in randomised complete blocks: each block holds every cell once, close together in
//! time. What slows a whole block (a neighbour on the host, a warmer drive) slows both sides of a
//! pair and leaves their ratio alone. Pairing pays for that with degrees of freedom: n - 1 instead
//! of up to 2 n - 2, which at five blocks makes the interval 1.2 times as wide where blocks do not
//! matter.

use crate::error::{Error, check_count, check_level, check_paired, check_positive};
use crate::log_ratio::{LogDifference, LogRatio, without_spread};
use crate::method::Method;
use crate::moments::{moments, no_log_spread};

/// The geometric mean of the within-block ratios `other[i] / base[i]`, with its t interval and
/// test.
///
/// "Student", Biometrika 6 (1908), 1-25; for randomised blocks Fisher, The Design of Experiments
/// (1935), chapters III and IV. Assumes that blocks are independent and that the logarithms of the
/// ratios are near normal. `base[i]` and `other[i]` must come from the same block.
///
/// # Errors
/// Samples of different length or of fewer than two blocks, a value that is not positive and
/// finite, a level outside (0, 1).
pub fn log_ratio(base: &[f64], other: &[f64], level: f64) -> Result<LogRatio, Error> {
    check_level(level)?;
    check_positive(base)?;
    check_positive(other)?;
    check_paired(base, other)?;
    let n = base.len();
    check_count("a paired t test", 2, n)?;
    let differences = log_differences(base, other);
    let d = moments(&differences);
    if no_log_spread(&differences) {
        return Ok(without_spread(d.mean, n, level, Method::PairedLog));
    }
    let standard_error = (d.variance / d.n).sqrt();
    let df = d.n - 1.0;
    Ok(LogDifference {
        difference: d.mean,
        standard_error,
        df,
        n,
    }
    .ratio(level, Method::PairedLog))
}

/// Logarithms of the within-block ratios `other / base` of positive values.
pub(crate) fn log_differences(base: &[f64], other: &[f64]) -> Vec<f64> {
    base.iter()
        .zip(other)
        .map(|(x, y)| y.ln() - x.ln())
        .collect()
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

    /// scipy 1.10.1: `ttest_rel(np.log(b), np.log(a))` and the interval
    /// `np.exp(t.interval(0.95, 4, d.mean(), sem(d)))` with `d = np.log(b) - np.log(a)`.
    #[test]
    fn as_in_scipy() {
        let a = [101.2, 90.8, 113.4, 97.6, 85.9];
        let b = [106.5, 95.1, 117.9, 104.3, 88.7];
        let r = log_ratio(&a, &b, 0.95).unwrap();
        close(r.ratio, 1.0480593872122397);
        close(r.t.unwrap(), 8.043718356455958);
        close(r.p.unwrap(), 0.0012967300553794689);
        close(r.interval.low, 1.0312152024187493);
        close(r.interval.high, 1.0651787100765149);
        assert_eq!(r.df, Some(4.0));
    }

    #[test]
    fn a_constant_ratio_has_no_test() {
        let r = log_ratio(&[3.0, 7.1, 11.3], &[3.3, 7.81, 12.43], 0.95).unwrap();
        close(r.ratio, 1.1);
        assert_eq!(r.p, None);
        assert_eq!(r.warnings, [Warning::NoSpread, Warning::FewValues { n: 3 }]);
    }

    #[test]
    fn refuses_blocks_that_do_not_pair() {
        assert!(matches!(
            log_ratio(&[1.0, 2.0], &[1.0], 0.95),
            Err(Error::UnequalLengths { base: 2, other: 1 })
        ));
        assert!(matches!(
            log_ratio(&[1.0], &[1.0], 0.95),
            Err(Error::TooFew { .. })
        ));
    }

    proptest! {
        /// A slow block slows both sides: the result must not see it.
        #[test]
        fn block_effects_cancel(
            pairs in prop::collection::vec((1.0..1e3, 1.0..1e3, 0.1..10.0), 3..10),
        ) {
            let a: Vec<f64> = pairs.iter().map(|p| p.0).collect();
            let b: Vec<f64> = pairs.iter().map(|p| p.1).collect();
            let slow_a: Vec<f64> = pairs.iter().map(|p| p.0 * p.2).collect();
            let slow_b: Vec<f64> = pairs.iter().map(|p| p.1 * p.2).collect();
            let (r, slow) = (
                log_ratio(&a, &b, 0.95).unwrap(),
                log_ratio(&slow_a, &slow_b, 0.95).unwrap(),
            );
            prop_assert!((r.ratio / slow.ratio - 1.0).abs() < 1e-9);
            prop_assert!((r.p.unwrap() - slow.p.unwrap()).abs() < 1e-6);
            prop_assert!(r.interval.contains(r.ratio));
        }
    }
}
