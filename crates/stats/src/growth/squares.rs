//! How far data are from a law, and where a function of one shape is largest.
//!
//! S(v) is the sum of squares of `ln y - h_v(x) - kappa(v)`; kappa(v), the mean of `ln y - h_v(x)`, is the level that makes it least.

use super::data::Data;

/// The golden section, (sqrt 5 - 1) / 2.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// Steps of a golden section: the bracket shrinks to 3e-17 of itself.
const SECTIONS: usize = 80;

/// S(v) and kappa(v); `log` is h_v at ln x - centre.
pub(super) fn squares(log: impl Fn(f64) -> f64, data: &Data) -> (f64, f64) {
    let n = data.z.len() as f64;
    let rest = || data.u.iter().zip(&data.z).map(|(u, z)| z - log(*u));
    let level = rest().sum::<f64>() / n;
    (rest().map(|r| (r - level).powi(2)).sum(), level)
}

/// ln y less the law; `log` is h_v at ln x - centre.
pub(super) fn residuals(log: impl Fn(f64) -> f64, data: &Data) -> Vec<f64> {
    let (_, level) = squares(&log, data);
    let pairs = data.u.iter().zip(&data.z);
    pairs.map(|(u, z)| z - level - log(*u)).collect()
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
