//! Values that fall into two groups.
//!
//! Runs at 100 MB/s and runs at 60 MB/s have a median that no run showed. Five values carry no test
//! of bimodality proper (Hartigan's dip needs dozens), but they can show a split too clean for one
//! normal population.

use crate::calibration::look_up;
use crate::moments::moments;

/// The share of the sum of squares that the best split explains in 1 % of normal samples.
///
/// The statistic and the idea of simulating it: Engelman and Hartigan, "Percentage points of a test
/// for clusters", J. American Statistical Association 64 (1969), 1647-1648. Simulated again, with a
/// million samples of each size (`examples/simulate.rs` repeats it with fewer), as here each group
/// must hold two values at least: one is an outlier. Over 100 values the last row is kept, which
/// warns a little less often.
const CLEAN: [(usize, f64); 21] = [
    (5, 0.982),
    (6, 0.967),
    (7, 0.951),
    (8, 0.936),
    (9, 0.922),
    (10, 0.909),
    (11, 0.897),
    (12, 0.886),
    (13, 0.877),
    (14, 0.868),
    (15, 0.86),
    (16, 0.854),
    (17, 0.847),
    (18, 0.842),
    (19, 0.836),
    (20, 0.83),
    (25, 0.81),
    (30, 0.794),
    (40, 0.772),
    (60, 0.746),
    (100, 0.721),
];

/// The division of a sample into a lower and an upper group that explains most of its spread.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Split {
    /// Values in the lower group.
    pub low_n: usize,
    /// Its mean.
    pub low_mean: f64,
    /// Mean of the upper group.
    pub high_mean: f64,
    /// Share of the sum of squares that lies between the groups: 0..=1; 1 where each is constant.
    pub explained: f64,
}

/// The best split into two groups of two or more; `None` for fewer than five values, or where the
/// values are all equal.
pub fn best_split(sorted: &[f64]) -> Option<Split> {
    let n = sorted.len();
    let all = moments(sorted);
    if n < CLEAN[0].0 || all.variance == 0.0 {
        return None;
    }
    let total = all.variance * (all.n - 1.0);
    let mut best: Option<Split> = None;
    // Sums of deviations from the mean; those of the upper group are the lower's, negated.
    let mut lower = 0.0;
    for (i, value) in sorted.iter().enumerate().take(n - 2) {
        lower += value - all.mean;
        let low_n = i + 1;
        if low_n < 2 {
            continue;
        }
        let (low, high) = (low_n as f64, (n - low_n) as f64);
        let explained = (lower * lower * (1.0 / low + 1.0 / high) / total).min(1.0);
        if best.is_none_or(|b| explained > b.explained) {
            let (low_mean, high_mean) = (all.mean + lower / low, all.mean - lower / high);
            best = Some(Split {
                low_n,
                low_mean,
                high_mean,
                explained,
            });
        }
    }
    best
}

/// [`best_split`], if it is cleaner than in 99 % of normal samples of this size.
pub fn two_groups(sorted: &[f64]) -> Option<Split> {
    best_split(sorted).filter(|split| split.explained > look_up(&CLEAN, sorted.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_clean_groups_are_found() {
        let split = two_groups(&[60.0, 60.5, 100.0, 100.5, 101.0]).unwrap();
        assert_eq!((split.low_n, split.low_mean), (2, 60.25));
        assert!((split.high_mean - 100.5).abs() < 1e-12);
        // By hand: between 2*3/5*40.25^2, within 0.125 + 0.5.
        let between = 1.2 * 40.25 * 40.25;
        assert!((split.explained - between / (between + 0.625)).abs() < 1e-12);
    }

    #[test]
    fn one_outlier_or_an_even_spread_is_no_group() {
        assert_eq!(two_groups(&[60.0, 100.0, 100.1, 100.2, 100.3]), None);
        assert_eq!(two_groups(&[100.0, 100.1, 100.2, 100.3, 160.0]), None);
        assert_eq!(two_groups(&[1.0, 2.0, 3.0, 4.0, 5.0]), None);
        assert_eq!(best_split(&[1.0; 8]), None);
        assert_eq!(best_split(&[1.0, 1.0, 2.0, 2.0]), None);
    }
}
