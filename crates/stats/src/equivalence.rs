//! Equivalence: how sure it is that a ratio is within the practical band.
//!
//! That no difference was found does not show that two sides are equal: few runs find nothing. Two
//! one-sided tests on the logarithm of the ratio (TOST) reverse the burden of proof. The hypothesis
//! to reject is that the ratio is outside of the band, below it or above it.

use crate::compare::Comparison;
use crate::dist::t_above;
use crate::precision::standard_error;

/// p of "the ratio is outside `1 - band ..= 1 + band`": small where the two sides are equal for
/// practical purposes. None where the runs do not vary, so that there is no error to judge by.
///
/// The larger p of the two one-sided t tests: Schuirmann, J. Pharmacokinetics and Biopharmaceutics
/// 15 (1987), 657-680. At 5 % it is the same as a 90 % interval within the band. Assumes what the
/// comparison's own t test does.
pub fn equivalence(comparison: &Comparison, band: f64) -> Option<f64> {
    let df = comparison.df?;
    let error = standard_error(comparison)?;
    let ratio = comparison.ratio.ln();
    let above_floor = t_above((ratio - (1.0 - band).ln()) / error, df);
    let below_ceiling = t_above(((1.0 + band).ln() - ratio) / error, df);
    Some(above_floor.max(below_ceiling))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::compare::{Options, compare};

    const BASE: [f64; 5] = [101.2, 90.8, 113.4, 97.6, 85.9];

    fn times(factors: [f64; 5]) -> Comparison {
        let other: Vec<f64> = BASE.iter().zip(factors).map(|(v, f)| v * f).collect();
        compare(&BASE, &other, Options::default()).unwrap()
    }

    /// By hand: the logarithms of the factors have mean 0.00198685 and standard error 0.00236194; the larger
    /// p is that of the ceiling, t = (ln 1.02 - 0.00198685) / 0.00236194 = 7.54286 with 4 degrees of
    /// freedom.
    #[test]
    fn a_known_case() {
        let p = equivalence(&times([1.003, 0.995, 1.009, 1.004, 0.999]), 0.02).unwrap();
        assert!((p - 0.000_827_421_6).abs() < 1e-8, "{p}");
    }

    #[test]
    fn a_difference_and_a_wide_interval_are_not_equal() {
        let far = equivalence(&times([1.10, 1.09, 1.11, 1.105, 1.095]), 0.02).unwrap();
        assert!(far > 0.99, "{far}");
        let wide = equivalence(&times([0.9, 1.1, 0.8, 1.2, 1.0]), 0.02).unwrap();
        assert!(wide > 0.2, "{wide}");
        assert_eq!(equivalence(&times([1.0; 5]), 0.02), None);
    }

    proptest! {
        /// A 90 % interval within the band and p <= 5 % are the same statement.
        #[test]
        fn p_and_the_interval_of_one_less_two_alpha_agree(
            factors in prop::collection::vec(0.97..1.03_f64, 5),
        ) {
            let other: Vec<f64> = BASE.iter().zip(&factors).map(|(v, f)| v * f).collect();
            let options = Options { level: 0.9, ..Options::default() };
            let comparison = compare(&BASE, &other, options).unwrap();
            let p = equivalence(&comparison, 0.02).unwrap();
            prop_assume!((p - 0.05).abs() > 1e-6);
            let inside = comparison.interval.low > 0.98 && comparison.interval.high < 1.02;
            prop_assert_eq!(p < 0.05, inside);
        }
    }
}
