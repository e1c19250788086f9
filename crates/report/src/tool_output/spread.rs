//! How much repetitions differ, as IOR and mdtest compute it.

/// The largest, the smallest, the mean and the standard deviation of some values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spread {
    pub(super) max: f64,
    pub(super) min: f64,
    pub(super) mean: f64,
    pub(super) deviation: f64,
}

impl Spread {
    /// Of these values, with their number less `freedom` as the divisor of the variance: IOR takes 0, mdtest 1. One value has no deviation.
    /// None of no value.
    pub(super) fn of(values: &[f64], freedom: usize) -> Option<Spread> {
        let first = *values.first()?;
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let divisor = values.len().saturating_sub(freedom).max(1);
        Some(Spread {
            max: values.iter().copied().fold(first, f64::max),
            min: values.iter().copied().fold(first, f64::min),
            mean,
            deviation: (squares / divisor as f64).sqrt(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 5439.20, 4255.48 and 4689.00 IOR printed 488.98 as the deviation (n), and 4794.56 as the mean.
    #[test]
    fn deviations_are_those_of_the_programs() {
        let values = [4689.0, 5439.20, 4255.48];
        let ior = Spread::of(&values, 0).unwrap();
        assert!((ior.mean - 4794.56).abs() < 0.01 && (ior.deviation - 488.98).abs() < 0.1);
        let mdtest = Spread::of(&values, 1).unwrap();
        assert!((mdtest.deviation / ior.deviation - 1.5_f64.sqrt()).abs() < 1e-9);
        assert_eq!((ior.max, ior.min), (5439.20, 4255.48));
        assert_eq!(Spread::of(&[7.0], 1).unwrap().deviation, 0.0);
        assert_eq!(Spread::of(&[], 0), None);
    }
}
