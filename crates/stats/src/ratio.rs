//! Ratios of medians with bootstrap intervals: what a table of medians shows, and how sure it is.
//!
//! The verdict of [`mod@crate::compare`] does not rest on these, for want of values to resample;
//! they are printed beside it.

use serde::{Deserialize, Serialize};

use crate::bootstrap::{Bootstrap, bca, bca_two_sample};
use crate::error::{Error, check_paired, check_positive};
use crate::interval::Interval;
use crate::method::Method;
use crate::order::median_mut;
use crate::warning::Warning;

/// Resamples of the intervals here. Efron and Tibshirani, An Introduction to the Bootstrap (1993),
/// chapter 14, ask for 1000 or more for the ends of a BCa interval.
pub const RESAMPLES: usize = 2000;

/// A ratio, other over base, with its bootstrap interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// The ratio.
    pub ratio: f64,
    /// Its BCa interval.
    pub interval: Interval,
    /// [`Method::BootstrapMedians`] or [`Method::BootstrapPaired`].
    pub method: Method,
    /// What to know before trusting it.
    pub warnings: Vec<Warning>,
}

impl Ratio {
    fn from(bootstrap: Bootstrap, method: Method) -> Self {
        let Bootstrap {
            estimate,
            interval,
            warnings,
            ..
        } = bootstrap;
        Self {
            ratio: estimate,
            interval,
            method,
            warnings,
        }
    }
}

/// The median of `other` over the median of `base`, as independent samples.
///
/// # Errors
/// Fewer than two values on a side, a value that is not positive and finite, a level outside (0,
/// 1).
pub fn ratio_of_medians(
    base: &[f64],
    other: &[f64],
    level: f64,
    seed: u64,
) -> Result<Ratio, Error> {
    check_positive(base)?;
    check_positive(other)?;
    let ratio = |base: &mut [f64], other: &mut [f64]| median_mut(other) / median_mut(base);
    let bootstrap = bca_two_sample(base, other, ratio, level, RESAMPLES, seed)?;
    Ok(Ratio::from(bootstrap, Method::BootstrapMedians))
}

/// The median of the within-block ratios `other[i] / base[i]`, by drawing whole blocks.
///
/// Not the ratio of the medians: where blocks differ, the two medians may come from two blocks.
///
/// # Errors
/// As [`ratio_of_medians`], and samples of different length.
pub fn paired_ratio(base: &[f64], other: &[f64], level: f64, seed: u64) -> Result<Ratio, Error> {
    check_positive(base)?;
    check_positive(other)?;
    check_paired(base, other)?;
    let ratios: Vec<f64> = base.iter().zip(other).map(|(x, y)| y / x).collect();
    let bootstrap = bca(&ratios, median_mut, level, RESAMPLES, seed)?;
    Ok(Ratio::from(bootstrap, Method::BootstrapPaired))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ratios_are_other_over_base() {
        let base = [100.0, 101.0, 99.0, 102.0, 98.0];
        let other = [50.0, 51.0, 49.0, 52.0, 48.0];
        let r = ratio_of_medians(&base, &other, 0.95, 1).unwrap();
        assert_eq!((r.ratio, r.method), (0.5, Method::BootstrapMedians));
        assert!(r.interval.low > 0.46 && r.interval.high < 0.54, "{r:?}");
        assert_eq!(r.warnings, [Warning::FewForBootstrap { n: 5 }]);
    }

    #[test]
    fn pairing_takes_the_blocks_out() {
        let base = [100.0, 80.0, 60.0, 40.0, 20.0];
        let other = [110.0, 88.0, 66.0, 44.0, 22.0];
        let r = paired_ratio(&base, &other, 0.95, 1).unwrap();
        assert!(
            (r.ratio - 1.1).abs() < 1e-12 && r.interval.width() < 1e-12,
            "{r:?}"
        );
        let unpaired = ratio_of_medians(&base, &other, 0.95, 1).unwrap();
        assert!(unpaired.interval.width() > 0.5);
        assert!(paired_ratio(&base, &other[1..], 0.95, 1).is_err());
    }

    #[test]
    fn refuses_zero() {
        assert!(matches!(
            ratio_of_medians(&[1.0, 2.0], &[0.0, 1.0], 0.95, 1),
            Err(Error::NotPositive { index: 0, .. })
        ));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn ratio_lies_inside_and_scales(
            pairs in prop::collection::vec((1.0..1e3, 1.0..1e3), 2..12),
            scale in 0.01..100.0_f64,
        ) {
            let base: Vec<f64> = pairs.iter().map(|p| p.0).collect();
            let other: Vec<f64> = pairs.iter().map(|p| p.1).collect();
            let scaled: Vec<f64> = other.iter().map(|v| v * scale).collect();
            for of in [ratio_of_medians, paired_ratio] {
                let r = of(&base, &other, 0.95, 9).unwrap();
                let s = of(&base, &scaled, 0.95, 9).unwrap();
                prop_assert!(r.interval.contains(r.ratio));
                prop_assert!((s.ratio / scale / r.ratio - 1.0).abs() < 1e-9);
            }
        }
    }
}
