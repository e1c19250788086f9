//! "Not worse by more than a margin": the burden of proof of a gate that demands evidence.
//!
//! That no regression was found shows nothing where runs vary: few of them find nothing. A one-sided test of
//! the opposite hypothesis, that the other side is worse by the margin or more, passes only what was shown.

use serde::{Deserialize, Serialize};

use crate::compare::Comparison;
use crate::dist::{t_above, t_quantile_two_sided};
use crate::error::Error;
use crate::precision::{POWER, standard_error};

/// Confidence level of the one-sided bound.
pub const ONE_SIDED_LEVEL: f64 = 0.95;
/// Values a side beyond which [`values_to_show`] and [`values_to_find`] give no number.
pub const MOST_VALUES: usize = 1000;

/// Whether the other side is shown to be not worse than the base by more than a margin.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct NotWorse {
    /// The margin, a share: 0.05 allows 5 %.
    pub margin: f64,
    /// Lower bound of goodness, other over base (for times base over other), at [`ONE_SIDED_LEVEL`].
    pub bound: f64,
    /// p of "worse by the margin or more"; none where nothing varies.
    pub p: Option<f64>,
    /// Whether the bound is above `1 - margin`.
    pub shown: bool,
}

/// Judges by `d - t(0.95, df) se > ln(1 - margin)`: `d` is the logarithm of the ratio, its negative where smaller is better,
/// `se` and `df` are those of the comparison (Welch's, where it is unpaired).
///
/// The one-sided test of non-inferiority: Blackwelder, Controlled Clinical Trials 3 (1982), 345-353, here on logarithms. Where
/// every comparison of a family has to pass, none is corrected: Berger, Technometrics 24 (1982), 295-300
/// (intersection-union tests). Where nothing varies the ratio itself is compared.
///
/// # Errors
/// A margin outside (0, 1).
pub fn not_worse(comparison: &Comparison, margin: f64) -> Result<NotWorse, Error> {
    check_margin(margin)?;
    let up = if comparison.higher_is_better {
        1.0
    } else {
        -1.0
    };
    let d = up * comparison.ratio.ln();
    let floor = (1.0 - margin).ln();
    let (least, p) = match (comparison.df, standard_error(comparison)) {
        (None, _) => (d, None),
        (Some(df), Some(error)) => (
            d - t_one_sided(ONE_SIDED_LEVEL, df) * error,
            Some(t_above((d - floor) / error, df)),
        ),
        // An interval that overflowed: nothing is shown.
        (Some(_), None) => (f64::NEG_INFINITY, Some(1.0)),
    };
    Ok(NotWorse {
        margin,
        bound: least.exp(),
        p,
        shown: least > floor,
    })
}

/// Values a side with which two equal sides are shown to be not worse by more than the margin, with a probability of
/// [`POWER`]. `spread` is the standard deviation of the logarithms. None beyond [`MOST_VALUES`].
///
/// The smallest n with `-ln(1 - margin) / (spread sqrt(2 / n)) >= t(0.95) + t(power)` at 2 (n - 1) degrees of freedom. Julious,
/// Statistics in Medicine 23 (2004), 1921-1986, section 4.
///
/// # Errors
/// A margin outside (0, 1).
pub fn values_to_show(spread: f64, margin: f64) -> Result<Option<usize>, Error> {
    check_margin(margin)?;
    Ok(smallest(|n, df| {
        let error = spread * (2.0 / n).sqrt();
        -(1.0 - margin).ln() >= (t_one_sided(ONE_SIDED_LEVEL, df) + t_one_sided(POWER, df)) * error
    }))
}

/// Values a side with which a side that is worse by `size` is found, with a probability of [`POWER`]: its interval at
/// `level` is clear of the band, and p is at most `alpha`.
///
/// None beyond [`MOST_VALUES`], and for a size within the band.
///
/// # Errors
/// A size outside (0, 1), a band outside [0, 1).
pub fn values_to_find(
    spread: f64,
    size: f64,
    band: f64,
    level: f64,
    alpha: f64,
) -> Result<Option<usize>, Error> {
    check_margin(size)?;
    if !(0.0..1.0).contains(&band) {
        return Err(Error::Band(band));
    }
    let (step, edge) = (-(1.0 - size).ln(), -(1.0 - band).ln());
    let upper = |above: f64, df: f64| t_quantile_two_sided(1.0 - 2.0 * above, df);
    Ok(smallest(|n, df| {
        let error = spread * (2.0 / n).sqrt();
        let power = t_one_sided(POWER, df);
        step >= (upper(alpha / 2.0, df) + power) * error
            && step - edge > (t_quantile_two_sided(level, df) + power) * error
    }))
}

fn smallest(enough: impl Fn(f64, f64) -> bool) -> Option<usize> {
    (2..=MOST_VALUES).find(|&n| {
        let n = n as f64;
        enough(n, 2.0 * (n - 1.0))
    })
}

/// The t that a share `level` of the distribution is below.
fn t_one_sided(level: f64, df: f64) -> f64 {
    t_quantile_two_sided(2.0 * level - 1.0, df)
}

fn check_margin(margin: f64) -> Result<(), Error> {
    if margin > 0.0 && margin < 1.0 {
        Ok(())
    } else {
        Err(Error::Margin(margin))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::compare::{Options, compare};

    fn unpaired(base: &[f64], other: &[f64], higher_is_better: bool) -> Comparison {
        let options = Options {
            paired: false,
            higher_is_better,
            ..Options::default()
        };
        compare(base, other, options).unwrap()
    }

    const BASE: [f64; 5] = [101.2, 99.8, 103.4, 97.6, 100.9];
    const OTHER: [f64; 6] = [98.5, 99.1, 101.9, 100.3, 97.7, 99.0];

    /// scipy 1.10.1: Welch's d and se of np.log, `d - t.ppf(.95, df) * se`, `t.sf((d - log(.95)) / se, df)`; checked by
    /// hand here from the two-sided interval at 90 %, whose lower end is the same bound.
    #[test]
    fn the_bound_is_the_lower_end_of_the_interval_at_ninety_per_cent() {
        let c = unpaired(&BASE, &OTHER, true);
        let found = not_worse(&c, 0.05).unwrap();
        let options = Options {
            level: 0.90,
            paired: false,
            ..Options::default()
        };
        let ninety = compare(&BASE, &OTHER, options).unwrap();
        assert!(
            (found.bound - ninety.interval.low).abs() < 1e-9,
            "{found:?}"
        );
        assert!(found.shown && found.p.unwrap() < 0.05, "{found:?}");
        assert!(!not_worse(&c, 0.01).unwrap().shown);
    }

    #[test]
    fn times_are_judged_the_other_way_round() {
        let rates = not_worse(&unpaired(&BASE, &OTHER, true), 0.05).unwrap();
        let times = not_worse(&unpaired(&OTHER, &BASE, false), 0.05).unwrap();
        assert!((rates.bound - times.bound).abs() < 1e-9);
        assert_eq!(rates.shown, times.shown);
    }

    #[test]
    fn without_spread_the_ratio_decides() {
        let of = |other: f64| not_worse(&unpaired(&[100.0; 3], &[other; 3], true), 0.05).unwrap();
        assert!(of(96.0).shown && of(96.0).p.is_none());
        assert!(!of(94.0).shown);
    }

    #[test]
    fn a_margin_is_a_share() {
        let c = unpaired(&BASE, &OTHER, true);
        for margin in [0.0, 1.0, -0.1, f64::NAN, 5.0] {
            assert!(matches!(not_worse(&c, margin), Err(Error::Margin(_))));
        }
    }

    /// The table of docs/metrics.md: with a margin of 5 % about 80 % of equal pairs pass at the number given.
    #[test]
    fn the_numbers_grow_with_the_spread() {
        let show = |spread| values_to_show(spread, 0.05).unwrap().unwrap();
        assert_eq!(
            [show(0.01), show(0.02), show(0.03), show(0.05)],
            [2, 3, 6, 13]
        );
        assert_eq!(values_to_show(2.0, 0.05).unwrap(), None);
        let find = |size| values_to_find(0.03, size, 0.02, 0.95, 0.05).unwrap();
        assert!(find(0.10).unwrap() < find(0.05).unwrap());
        assert_eq!(find(0.02), None, "at the edge of the band");
        assert!(values_to_find(0.03, 0.1, 1.0, 0.95, 0.05).is_err());
    }

    proptest! {
        /// The bound and p say the same.
        #[test]
        fn shown_is_p_of_five_per_cent(
            base in prop::collection::vec(90.0..110.0_f64, 3..8),
            other in prop::collection::vec(90.0..110.0_f64, 3..8),
        ) {
            let found = not_worse(&unpaired(&base, &other, true), 0.05).unwrap();
            let p = found.p.unwrap();
            prop_assume!((p - 0.05).abs() > 1e-6);
            prop_assert_eq!(found.shown, p < 0.05);
        }
    }
}
