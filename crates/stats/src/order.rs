//! Order statistics: quantiles, and the median's distribution-free interval.

use crate::error::{Error, check_finite, check_level};
use crate::interval::Interval;

/// The values in ascending order.
pub(crate) fn sorted(values: &[f64]) -> Vec<f64> {
    let mut values = values.to_vec();
    values.sort_unstable_by(f64::total_cmp);
    values
}

/// The median of `values`, which are put in order; NaN for no values.
///
/// Sorts in place, as the bootstrap calls it thousands of times on its own buffer.
pub fn median_mut(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let n = values.len();
    match n {
        0 => f64::NAN,
        _ if n % 2 == 1 => values[n / 2],
        _ => f64::midpoint(values[n / 2 - 1], values[n / 2]),
    }
}

/// The quantile at `share` (0..=1) of values in ascending order; NaN for no values.
///
/// Linear between order statistics at `(n - 1) * share`: definition 7 of Hyndman and Fan, "Sample
/// quantiles in statistical packages", The American Statistician 50 (1996), 361-365; the default
/// of R and NumPy.
pub fn quantile_sorted(sorted: &[f64], share: f64) -> f64 {
    if sorted.is_empty() {
        return f64::NAN;
    }
    let last = sorted.len() - 1;
    let at = share.clamp(0.0, 1.0) * last as f64;
    let below = (at.floor() as usize).min(last);
    let above = (below + 1).min(last);
    let part = at - below as f64;
    // Written as a weighted sum so that it cannot overflow between two huge values.
    let value = sorted[below] * (1.0 - part) + sorted[above] * part;
    // Rounding must not carry it past the two; `clamp` would panic on values out of order.
    value.max(sorted[below]).min(sorted[above])
}

/// Coverage of the median by the interval from the `rank`-th smallest to the `rank`-th largest of
/// `n` values: `1 - 2 P(Bin(n, 1/2) <= rank - 1)`. `rank` counts from 1 and is at most `(n + 1) /
/// 2`.
///
/// David and Nagaraja, Order Statistics, 3rd ed. (2003), section 7.1, with p = 1/2.
/// Exact for a continuous population; with ties the true coverage is higher.
pub fn median_coverage(n: usize, rank: usize) -> f64 {
    // Term by term from P(0) = 2^-n. Beyond n = 1074 that underflows; start from logarithms there.
    let ln_half = -std::f64::consts::LN_2;
    let mut ln_term = n as f64 * ln_half;
    let mut below = 0.0;
    for i in 0..rank {
        below += ln_term.exp();
        ln_term += ((n - i) as f64 / (i + 1) as f64).ln();
    }
    (1.0 - 2.0 * below).max(0.0)
}

/// The narrowest symmetric order-statistic interval for the median that reaches `level`, or the
/// whole range of the sample where none does; `achieved` shows which. `None` for a single value.
///
/// Five values reach 93.75 %, six 96.88 %: an interval that states this was preferred to Hettmansperger
/// and Sheather's interpolation between order statistics (1986), which hits 95 % only nearly and
/// only where such an interval exists at all.
pub fn median_interval(values: &[f64], level: f64) -> Result<Option<Interval>, Error> {
    check_finite(values)?;
    check_level(level)?;
    Ok(median_interval_sorted(&sorted(values), level))
}

/// [`median_interval`] of checked values in ascending order.
pub(crate) fn median_interval_sorted(sorted: &[f64], level: f64) -> Option<Interval> {
    let n = sorted.len();
    if n < 2 {
        return None;
    }
    let mut rank = 1;
    while rank < n / 2 && median_coverage(n, rank + 1) >= level {
        rank += 1;
    }
    Some(Interval {
        low: sorted[rank - 1],
        high: sorted[n - rank],
        level,
        achieved: Some(median_coverage(n, rank)),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// numpy 1.x: `np.quantile([1, 2, 4, 8, 16], [0, 0.1, 0.25, 0.5, 0.9, 1])`.
    #[test]
    fn quantiles_as_in_numpy() {
        let x = [1.0, 2.0, 4.0, 8.0, 16.0];
        for (share, value) in [
            (0.0, 1.0),
            (0.1, 1.4),
            (0.25, 2.0),
            (0.5, 4.0),
            (0.9, 12.8),
            (1.0, 16.0),
        ] {
            assert!(
                (quantile_sorted(&x, share) - value).abs() < 1e-12,
                "{share}"
            );
        }
        assert!(quantile_sorted(&[], 0.5).is_nan());
    }

    /// `1 - 2 * scipy.stats.binom.cdf(rank - 1, n, 0.5)`.
    #[test]
    fn coverage_as_in_scipy() {
        for (n, rank, theirs) in [
            (2, 1, 0.5),
            (5, 1, 0.9375),
            (6, 1, 0.96875),
            (10, 2, 0.978515625),
            (20, 6, 0.9586105346679688),
            (100, 40, 0.9647997997822951),
        ] {
            assert!(
                (median_coverage(n, rank) - theirs).abs() < 1e-12,
                "n {n} rank {rank}"
            );
        }
        // scipy: 1 - 2*binom.cdf(967, 2000, .5); 2^-2000 is below the smallest double.
        assert!((median_coverage(2000, 968) - 0.8539182244977459).abs() < 1e-9);
    }

    /// Every ordering of which values fall below the median is equally likely: count them.
    #[test]
    fn coverage_against_brute_force() {
        for n in 1..=14_usize {
            for rank in 1..=n.div_ceil(2) {
                let covered = (0_u32..1 << n)
                    .filter(|below| {
                        let below = below.count_ones() as usize;
                        rank <= below && below <= n - rank
                    })
                    .count();
                let exact = covered as f64 / f64::from(1_u32 << n);
                assert!(
                    (median_coverage(n, rank) - exact).abs() < 1e-12,
                    "n {n} rank {rank}"
                );
            }
        }
    }

    #[test]
    fn five_values_say_what_they_reach() {
        let interval = median_interval(&[3.0, 1.0, 5.0, 2.0, 4.0], 0.95)
            .unwrap()
            .unwrap();
        assert_eq!((interval.low, interval.high), (1.0, 5.0));
        assert_eq!(interval.achieved, Some(0.9375));
        assert!(interval.falls_short());
        assert_eq!(median_interval(&[1.0], 0.95).unwrap(), None);
    }

    /// The ranks of the tables: n = 10 takes 2 and 9 (97.9 %), n = 20 takes 6 and 15 (95.9 %).
    /// Conover, Practical Nonparametric Statistics, 3rd ed. (1999), section 3.2.
    #[test]
    fn ranks_as_tabulated() {
        for (n, low, high) in [(6, 1, 6), (10, 2, 9), (20, 6, 15), (30, 10, 21)] {
            let x: Vec<f64> = (1..=n).map(f64::from).collect();
            let interval = median_interval(&x, 0.95).unwrap().unwrap();
            assert_eq!(
                (interval.low, interval.high),
                (f64::from(low), f64::from(high)),
                "n {n}"
            );
        }
    }

    proptest! {
        #[test]
        fn interval_contains_the_median(
            x in prop::collection::vec(-1e6..1e6, 2..40),
            level in 0.5..0.999,
        ) {
            let interval = median_interval(&x, level).unwrap().unwrap();
            prop_assert!(interval.contains(median_mut(&mut x.clone())));
            let reached = interval.achieved.unwrap();
            let whole = median_coverage(x.len(), 1);
            prop_assert!(reached >= level || reached == whole);
        }

        #[test]
        fn median_is_the_half_quantile(x in prop::collection::vec(-1e6..1e6, 1..40)) {
            let m = median_mut(&mut x.clone());
            prop_assert!((m - quantile_sorted(&sorted(&x), 0.5)).abs() <= 1e-9 * m.abs().max(1.0));
        }
    }
}
