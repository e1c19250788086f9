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

/// The golden section, (sqrt 5 - 1) / 2.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// Steps of a golden section: the bracket shrinks to 3e-17 of itself.
const SECTIONS: usize = 80;

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

/// S(v) and kappa(v).
pub(super) fn squares(shape: &Shape, data: &Data, v: f64) -> (f64, f64) {
    let n = data.z.len() as f64;
    let rest = || {
        data.u
            .iter()
            .zip(&data.z)
            .map(|(u, z)| z - shape.log(v, *u))
    };
    let level = rest().sum::<f64>() / n;
    (rest().map(|r| (r - level).powi(2)).sum(), level)
}

/// ln y less the law at `v`.
pub(super) fn residuals(shape: &Shape, data: &Data, v: f64) -> Vec<f64> {
    let (_, level) = squares(shape, data, v);
    let pairs = data.u.iter().zip(&data.z);
    pairs.map(|(u, z)| z - level - shape.log(v, *u)).collect()
}

/// Where in `bracket` a function with one peak there is largest, and how large. The ends are
/// looked at too.
pub(super) fn largest(bracket: (f64, f64), of: impl Fn(f64) -> f64) -> (f64, f64) {
    let (mut low, mut high) = bracket;
    let mut best = (low, of(low));
    let mut better = |v: f64| {
        let value = of(v);
        if value > best.1 {
            best = (v, value);
        }
        value
    };
    better(high);
    let mut left = high - GOLDEN * (high - low);
    let mut right = low + GOLDEN * (high - low);
    let (mut at_left, mut at_right) = (better(left), better(right));
    for _ in 0..SECTIONS {
        if at_left < at_right {
            low = left;
            (left, at_left) = (right, at_right);
            right = low + GOLDEN * (high - low);
            at_right = better(right);
        } else {
            high = right;
            (right, at_right) = (left, at_left);
            left = high - GOLDEN * (high - low);
            at_left = better(left);
        }
    }
    best
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
        let (least, level) = squares(&shape, data, best);
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
            let (squares, level) = squares(&self.shape, &self.data, v);
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
