//! Linear plus constant: `y = k ((1 - t) + t x / g)`, g the geometric mean of x, 0 <= t <= 1.
//!
//! The shape is v = ln(t / (1 - t)), so that it moves as freely near a constant (t = 0) as near a
//! proportion (t = 1). Beyond `low` and `high` no double distinguishes the shape from those two: there v
//! means t = 0 and t = 1 themselves.

use super::data::Data;
use super::squares::{largest, squares};

/// ln of a share that vanishes beside 1 in double precision.
const VANISHES: f64 = 37.0;

/// Step of the grid over v. The shape bends over about four units of v, wherever it bends.
const STEP: f64 = 0.25;

/// Halvings of a bracket: from a step to less than the rounding.
const HALVINGS: usize = 60;

/// The family of shapes for one set of sizes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line {
    low: f64,
    high: f64,
}

impl Line {
    pub(super) fn over(data: &Data) -> Line {
        let least = data.u.iter().copied().fold(f64::INFINITY, f64::min);
        let most = data.u.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Line {
            low: -most - VANISHES,
            high: -least + VANISHES,
        }
    }

    /// ln(1 - t): of the constant over the level.
    pub(super) fn log_constant(self, v: f64) -> f64 {
        if v >= self.high {
            f64::NEG_INFINITY
        } else if v <= self.low {
            0.0
        } else {
            -log_one_plus_exp(v)
        }
    }

    /// ln t: of the slope, for x in units of g, over the level.
    pub(super) fn log_slope(self, v: f64) -> f64 {
        if v <= self.low {
            f64::NEG_INFINITY
        } else if v >= self.high {
            0.0
        } else {
            -log_one_plus_exp(-v)
        }
    }

    /// `ln((1 - t) + t exp(u))`.
    pub(super) fn log(self, v: f64, u: f64) -> f64 {
        let (constant, slope) = (self.log_constant(v), self.log_slope(v) + u);
        let (less, more) = (constant.min(slope), constant.max(slope));
        more + (less - more).exp().ln_1p()
    }

    fn grid(self) -> impl Iterator<Item = f64> {
        let steps = ((self.high - self.low) / STEP).ceil() as u32;
        let step = (self.high - self.low) / f64::from(steps);
        (0..=steps).map(move |i| {
            if i == steps {
                self.high
            } else {
                self.low + f64::from(i) * step
            }
        })
    }

    /// The best of the grid, refined between its neighbours; an end where the end is as good.
    pub(super) fn best(self, data: &Data) -> f64 {
        let of = |v: f64| squares(|u| self.log(v, u), data).0;
        let grid: Vec<f64> = self.grid().collect();
        let values: Vec<f64> = grid.iter().map(|v| of(*v)).collect();
        let (last, mut at) = (grid.len() - 1, 0);
        for i in 1..grid.len() {
            if values[i] < values[at] {
                at = i;
            }
        }
        let between = (grid[at.saturating_sub(1)], grid[(at + 1).min(last)]);
        let (mut best, least) = largest(between, |v| -of(v));
        let rounding = 1e-13 * values[at] + data.z.len() as f64 * super::EXACT;
        for end in [0, last] {
            if values[end] <= -least + rounding {
                best = grid[end];
            }
        }
        best
    }

    /// From the outermost shapes whose S is not above `cut`: their outer neighbours on the grid lie
    /// beyond, and the edge between is found by halving.
    pub(super) fn region(self, data: &Data, best: f64, cut: f64) -> (f64, f64) {
        let inside = |v: f64| squares(|u| self.log(v, u), data).0 <= cut;
        let mut points: Vec<f64> = self.grid().chain([best]).collect();
        points.sort_unstable_by(f64::total_cmp);
        let held = |v: &f64| *v == best || inside(*v);
        let first = points.iter().position(held).unwrap_or(0);
        let last = points.iter().rposition(held).unwrap_or(points.len() - 1);
        let edge = |within: f64, beyond: Option<&f64>| {
            let Some(&(mut beyond)) = beyond else {
                return within;
            };
            let mut within = within;
            for _ in 0..HALVINGS {
                let middle = f64::midpoint(within, beyond);
                if inside(middle) {
                    within = middle;
                } else {
                    beyond = middle;
                }
            }
            within
        };
        (
            edge(
                points[first],
                first.checked_sub(1).and_then(|i| points.get(i)),
            ),
            edge(points[last], points.get(last + 1)),
        )
    }
}

/// `ln(1 + e^v)` without overflow.
fn log_one_plus_exp(v: f64) -> f64 {
    v.max(0.0) + (-v.abs()).exp().ln_1p()
}
