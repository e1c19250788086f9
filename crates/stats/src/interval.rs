//! A confidence interval with the level asked for and the level reached.

use serde::{Deserialize, Serialize};

/// A two-sided confidence interval; both ends belong to it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end, in the unit of the statistic.
    pub low: f64,
    /// Upper end, in the unit of the statistic.
    pub high: f64,
    /// The confidence level asked for, such as 0.95.
    pub level: f64,
    /// The level that the method is known to reach where that is exact (order statistics); `None`
    /// where it is nominal (t intervals, bootstrap).
    pub achieved: Option<f64>,
}

impl Interval {
    /// An interval whose coverage is nominal.
    pub(crate) fn nominal(low: f64, high: f64, level: f64) -> Self {
        Self {
            low,
            high,
            level,
            achieved: None,
        }
    }

    /// Whether it contains `value`.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// Upper end less lower end.
    pub fn width(&self) -> f64 {
        self.high - self.low
    }

    /// Whether the exact coverage is known to fall short of the level asked for.
    pub fn falls_short(&self) -> bool {
        self.achieved.is_some_and(|achieved| achieved < self.level)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_belong_to_it() {
        let interval = Interval::nominal(1.0, 2.0, 0.95);
        assert!(interval.contains(1.0) && interval.contains(2.0));
        assert!(!interval.contains(2.0 + 1e-12));
        assert_eq!(interval.width(), 1.0);
        assert!(!interval.falls_short());
        assert!(
            Interval {
                achieved: Some(0.9375),
                ..interval
            }
            .falls_short()
        );
    }
}
