//! Axes: from a value to a place on the drawing, with round ticks.

/// A tick.
pub(super) struct Tick {
    pub(super) value: f64,
    pub(super) label: String,
}

/// From `low..high` to `from..to` of the drawing.
pub(super) struct Linear {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

/// 1, 2 or 5 times a power of ten, so that about `count` of them make `range`.
fn step(range: f64, count: u32) -> f64 {
    let rough = range / f64::from(count);
    if !rough.is_normal() {
        return 1.0;
    }
    let power = 10_f64.powf(rough.log10().floor());
    let factors = [1.0, 2.0, 5.0, 10.0];
    let found = factors
        .iter()
        .map(|f| f * power)
        .find(|s| *s >= rough * 0.999);
    found.unwrap_or(power * 10.0)
}

/// A number with the decimals that its step needs.
fn label(value: f64, step: f64) -> String {
    let decimals = (-step.log10()).ceil().clamp(0.0, 9.0) as usize;
    format!("{value:.decimals$}")
}

impl Linear {
    pub(super) fn new(low: f64, high: f64, from: f64, to: f64) -> Linear {
        // At least a part of what the numbers themselves can distinguish.
        let least = (low.abs() * 1e-9).max(1e-9);
        let high = match high - low {
            range if range > least => high,
            _ => low + least.max(1.0),
        };
        Linear {
            low,
            high,
            from,
            to,
        }
    }

    /// An axis that ends at a tick.
    pub(super) fn round(low: f64, high: f64, from: f64, to: f64) -> Linear {
        let axis = Linear::new(low, high, from, to);
        let step = step(axis.high - axis.low, 5);
        let high = (axis.high / step).ceil() * step;
        Linear { high, ..axis }
    }

    /// The value at its end.
    pub(super) fn high(&self) -> f64 {
        self.high
    }

    pub(super) fn at(&self, value: f64) -> f64 {
        let share = (value - self.low) / (self.high - self.low);
        self.from + share.clamp(0.0, 1.0) * (self.to - self.from)
    }

    /// About this many round values.
    pub(super) fn ticks(&self, count: u32) -> Vec<Tick> {
        let step = step(self.high - self.low, count);
        let first = (self.low / step - 1e-9).ceil() as i64;
        let last = (self.high / step + 1e-9).floor() as i64;
        let ticks = (first..=last.min(first + 20)).map(|number| {
            let value = number as f64 * step;
            Tick {
                value,
                label: label(value, step),
            }
        });
        ticks.collect()
    }
}

/// A logarithmic axis from `low..high` to `from..to` of the drawing. What is below `low`, and 0, is at its beginning.
pub(super) struct Logarithmic {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

/// Decades of a logarithmic axis at most: what is below them is too small to be compared.
const DECADES: f64 = 5.0;

impl Logarithmic {
    /// `least` and `most` are above 0.
    pub(super) fn new(least: f64, most: f64, from: f64, to: f64) -> Logarithmic {
        let high = most.log10();
        // Air below the smallest, so that it is not taken for 0.
        let low = (least.log10() - 0.15).max(high - DECADES);
        Logarithmic {
            low: low.min(high - 1.0),
            high: high + 0.05,
            from,
            to,
        }
    }

    fn at(&self, value: f64) -> f64 {
        let log = value.max(f64::MIN_POSITIVE).log10();
        let share = (log - self.low) / (self.high - self.low);
        self.from + share.clamp(0.0, 1.0) * (self.to - self.from)
    }

    /// Powers of ten; with their doubles and fives where there are few.
    fn ticks(&self) -> Vec<Tick> {
        let factors: &[f64] = match self.high - self.low {
            ..2.0 => &[1.0, 2.0, 5.0],
            _ => &[1.0],
        };
        let powers = self.low.floor() as i32..=self.high.ceil() as i32;
        let values = powers.flat_map(|power| factors.iter().map(move |f| (power, f)));
        let ticks = values.filter_map(|(power, factor)| {
            let value = factor * 10_f64.powi(power);
            (self.low..=self.high)
                .contains(&value.log10())
                .then(|| Tick {
                    value,
                    label: label(value, 10_f64.powi(power)),
                })
        });
        ticks.collect()
    }
}

/// The upright axis of a plot.
pub(super) enum Upright {
    Linear(Linear),
    Logarithmic(Logarithmic),
}

impl Upright {
    pub(super) fn at(&self, value: f64) -> f64 {
        match self {
            Upright::Linear(axis) => axis.at(value),
            Upright::Logarithmic(axis) => axis.at(value),
        }
    }

    /// About five round values, or powers of ten.
    pub(super) fn ticks(&self) -> Vec<Tick> {
        match self {
            Upright::Linear(axis) => axis.ticks(5),
            Upright::Logarithmic(axis) => axis.ticks(),
        }
    }

    /// The value at its end.
    pub(super) fn high(&self) -> f64 {
        match self {
            Upright::Linear(axis) => axis.high(),
            Upright::Logarithmic(axis) => 10_f64.powf(axis.high),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ticks_are_round_and_say_what_they_are() {
        let labels = |low, high| -> Vec<String> {
            let axis = Linear::new(low, high, 0.0, 1.0);
            axis.ticks(5).into_iter().map(|tick| tick.label).collect()
        };
        assert_eq!(labels(0.0, 1.3), ["0.0", "0.5", "1.0"]);
        assert_eq!(labels(0.0, 250.0), ["0", "50", "100", "150", "200", "250"]);
        assert_eq!(
            labels(3.0, 3.004),
            ["3.000", "3.001", "3.002", "3.003", "3.004"]
        );
    }

    #[test]
    fn an_axis_without_a_range_has_one() {
        for low in [0.0, 5.0, 2.3e18] {
            let axis = Linear::new(low, low, 0.0, 100.0);
            assert!(axis.at(low).is_finite() && axis.at(low + 1e12).is_finite());
            assert!(!axis.ticks(5).is_empty());
        }
    }

    #[test]
    fn a_logarithmic_axis_shows_small_values_and_0_is_at_its_beginning() {
        let axis = Logarithmic::new(3.0, 800.0, 200.0, 20.0);
        let labels: Vec<String> = axis.ticks().into_iter().map(|tick| tick.label).collect();
        assert_eq!(labels, ["10", "100"]);
        assert!(axis.at(800.0) < 30.0 && (150.0..195.0).contains(&axis.at(3.0)));
        assert_eq!(axis.at(0.0), 200.0);
        let few = Logarithmic::new(0.5, 12.0, 200.0, 20.0);
        let labels: Vec<String> = few.ticks().into_iter().map(|tick| tick.label).collect();
        assert_eq!(labels, ["0.5", "1", "2", "5", "10"]);
    }

    proptest! {
        #[test]
        fn ticks_lie_within_and_are_few(low in 0.0_f64..1e9, range in 1e-6_f64..1e12) {
            let axis = Linear::round(low, low + range, 240.0, 20.0);
            let ticks = axis.ticks(5);
            prop_assert!(ticks.len() <= 12, "{}", ticks.len());
            for tick in ticks {
                prop_assert!((19.999..=240.001).contains(&axis.at(tick.value)));
            }
            prop_assert!(axis.at(low + range) >= 20.0);
        }
    }
}
