//! S over the shape of a law, and the likelihood region that intervals are read from.
//!
//! With `ln f(x) = kappa + h_v(x)`, S(v, kappa) = S(v) + n (kappa - kappa(v))^2, where kappa(v) is
//! the mean of ln y - h_v(x). So the region `S <= cut` holds, for each v with S(v) <= cut, the
//! levels within sqrt((cut - S(v)) / n) of kappa(v), and the largest `kappa + w(v)` in it is the
//! largest of one function of v.

use super::Law;
use super::data::Data;
use super::line::Line;
use super::power;
use super::squares::{largest, squares};

/// Places at which a region is looked at before the best is refined.
const LOOKS: u32 = 48;

/// A law's family of shapes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shape {
    Power,
    Line(Line),
}

impl Shape {
    pub(super) fn law(&self) -> Law {
        match self {
            Shape::Power => Law::Power,
            Shape::Line(_) => Law::Linear,
        }
    }

    /// `h_v` at ln x - centre = `u`.
    pub(super) fn log(&self, v: f64, u: f64) -> f64 {
        match self {
            Shape::Power => power::log(v, u),
            Shape::Line(line) => line.log(v, u),
        }
    }

    /// The v of the least S.
    pub(super) fn best(&self, data: &Data) -> f64 {
        match self {
            Shape::Power => power::best(data),
            Shape::Line(line) => line.best(data),
        }
    }
}

/// A fitted law and its likelihood region.
#[derive(Debug, Clone)]
pub(super) struct Profile {
    shape: Shape,
    data: Data,
    best: f64,
    level: f64,
    cut: f64,
    region: (f64, f64),
}

impl Profile {
    pub(super) fn new(shape: Shape, data: &Data, best: f64, cut: f64) -> Profile {
        let (least, level) = squares(|u| shape.log(best, u), data);
        let region = match &shape {
            _ if cut <= least => (best, best),
            Shape::Power => power::region(data, best, cut - least),
            Shape::Line(line) => line.region(data, best, cut),
        };
        Profile {
            shape,
            data: data.clone(),
            best,
            level,
            cut,
            region,
        }
    }

    pub(super) fn shape(&self) -> &Shape {
        &self.shape
    }

    pub(super) fn centre(&self) -> f64 {
        self.data.centre
    }

    /// The best v and the interval of v.
    pub(super) fn shapes(&self) -> (f64, f64, f64) {
        (self.best, self.region.0, self.region.1)
    }

    /// `exp(kappa + w(v))`: its best value, and the least and largest of the region.
    pub(super) fn estimate(&self, w: impl Fn(f64) -> f64) -> (f64, f64, f64) {
        let value = self.level + w(self.best);
        let high = self.extreme(1.0, &w).max(value);
        let low = self.extreme(-1.0, &w).min(value);
        (value.exp(), low.exp(), high.exp())
    }

    /// The largest `sign (kappa + w(v))` of the region, with its sign taken off again.
    fn extreme(&self, sign: f64, w: &impl Fn(f64) -> f64) -> f64 {
        let n = self.data.z.len() as f64;
        let of = |v: f64| {
            let (squares, level) = squares(|u| self.shape.log(v, u), &self.data);
            let half = ((self.cut - squares).max(0.0) / n).sqrt();
            sign * (level + w(v)) + half
        };
        let (from, to) = self.region;
        let place = |i: u32| from + (to - from) * f64::from(i) / f64::from(LOOKS);
        let mut at = 0;
        let mut most = of(from);
        for i in 1..=LOOKS {
            let value = of(place(i));
            if value > most {
                (at, most) = (i, value);
            }
        }
        let bracket = (place(at.saturating_sub(1)), place((at + 1).min(LOOKS)));
        sign * largest(bracket, of).1.max(most)
    }
}
