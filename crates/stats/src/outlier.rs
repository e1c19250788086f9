//! Outliers are named, never deleted.
//!
//! A slow run in five is often the finding (a journal commit, a writeback storm); a laboratory that
//! drops it drops the evidence. So values beyond Tukey's fences get a warning, and all statistics
//! keep them.

use crate::calibration::look_up;
use crate::order::quantile_sorted;

/// How far beyond the quartiles the fences are, in interquartile ranges, by sample size: a sample
/// of normal values has some value outside in 5 % of cases.
///
/// Tukey's own 1.5 (Exploratory Data Analysis, 1977, section 2D) calls something an outlier in 33 %
/// of normal samples of five (simulated here; Hoaglin, Iglewicz and Tukey, J. American Statistical
/// Association 81 (1986), 991-999, give the like), which no one would read twice. Choosing the
/// factor by sample size for 5 % is Hoaglin and Iglewicz's remedy, J. American Statistical
/// Association 82 (1987), 1147-1149. Simulated for the quartiles used here with a million samples
/// of each size (`examples/simulate.rs` repeats it with fewer); over 100 values the last row is
/// kept.
const FENCE: [(usize, f64); 21] = [
    (5, 5.61),
    (6, 3.59),
    (7, 3.0),
    (8, 2.91),
    (9, 3.38),
    (10, 2.94),
    (11, 2.73),
    (12, 2.7),
    (13, 2.88),
    (14, 2.67),
    (15, 2.57),
    (16, 2.56),
    (17, 2.66),
    (18, 2.54),
    (19, 2.48),
    (20, 2.48),
    (25, 2.46),
    (30, 2.37),
    (40, 2.32),
    (60, 2.29),
    (100, 2.29),
];

/// The fences of values in ascending order, below and above which a value is called an outlier;
/// `None` for fewer than five values, of which no rule can judge.
pub fn fences(sorted: &[f64]) -> Option<(f64, f64)> {
    if sorted.len() < FENCE[0].0 {
        return None;
    }
    let (q1, q3) = (quantile_sorted(sorted, 0.25), quantile_sorted(sorted, 0.75));
    let reach = look_up(&FENCE, sorted.len()) * (q3 - q1);
    Some((q1 - reach, q3 + reach))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_values_need_a_gross_outlier() {
        let (low, high) = fences(&[9.8, 9.9, 10.0, 10.1, 10.2]).unwrap();
        assert!((low - (9.9 - 0.2 * FENCE[0].1)).abs() < 1e-9);
        assert!((high - (10.1 + 0.2 * FENCE[0].1)).abs() < 1e-9);
        assert_eq!(fences(&[1.0, 2.0, 3.0, 400.0]), None);
    }
}
