//! Mean and sample standard deviation.

/// Number, mean and sample variance of some values.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moments {
    pub(crate) n: f64,
    pub(crate) mean: f64,
    /// With divisor n - 1; 0 for a single value.
    pub(crate) variance: f64,
}

/// The moments of `values`, of which there is at least one.
///
/// By deviations from a mean that a second pass has corrected (after Chan, Golub and LeVeque, The
/// American Statistician 37 (1983), 242-247): byte rates near 1e9 that differ in the last digits
/// lose everything in the one-pass formula.
pub(crate) fn moments(values: &[f64]) -> Moments {
    let n = values.len() as f64;
    // Each term is divided before the sum, so that large values cannot overflow it.
    let rough: f64 = values.iter().map(|v| v / n).sum();
    let error: f64 = values.iter().map(|v| v - rough).sum();
    let mean = rough + error / n;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    let variance = if values.len() < 2 {
        0.0
    } else {
        squares / (n - 1.0)
    };
    Moments { n, mean, variance }
}

/// Whether the values differ by no more than the rounding of the arithmetic that made them.
pub(crate) fn no_spread(values: &[f64]) -> bool {
    let (range, size) = extent(values);
    range <= 64.0 * f64::EPSILON * size
}

/// [`no_spread`] for logarithms and their differences, whose rounding is that of the logarithms and
/// not of the difference.
///
/// Logarithms of values in one constant ratio differ in their last bits; a t test would call that
/// spread and report p = 1e-60.
pub(crate) fn no_log_spread(logs: &[f64]) -> bool {
    let (range, size) = extent(logs);
    range <= 1024.0 * f64::EPSILON * size.max(1.0)
}

/// Largest less smallest value, and the largest magnitude.
fn extent(values: &[f64]) -> (f64, f64) {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (high - low, low.abs().max(high.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_differences_of_large_values_survive() {
        let m = moments(&[1e9 + 4.0, 1e9 + 7.0, 1e9 + 13.0, 1e9 + 16.0]);
        assert_eq!((m.mean, m.variance), (1e9 + 10.0, 30.0));
        assert_eq!(moments(&[3.0]).variance, 0.0);
    }

    #[test]
    fn rounding_is_not_spread() {
        let ratios: Vec<f64> = [3.0_f64, 7.1, 11.3]
            .iter()
            .map(|v| (v * 1.1).ln() - v.ln())
            .collect();
        assert!(no_log_spread(&ratios));
        assert!(!no_log_spread(&[0.0, 1e-6]));
        assert!(no_spread(&[1.1, 1.1 + 2.0 * f64::EPSILON]));
        // Small values are not equal values.
        assert!(!no_spread(&[1e-30, 2e-30]));
    }
}
