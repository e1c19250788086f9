//! How a time grows with a size: which of two laws holds, and what it projects.
//!
//! A check of 100,000 files takes so long; how long would one of 100 million take? Two laws are
//! asked. The power law `y = a x^b` is what a process does whose cost for each file changes with
//! the number of files (b = 1: each costs the same; b > 1: trees deepen, caches miss). Linear plus
//! constant, `y = c + d x` with c, d >= 0, is what a process does that has a fixed cost (opening
//! the device, reading the empty inode tables) and then the same cost for each file. At the
//! sizes of a laboratory both can fit, and they part where it matters: far beyond the data.
//!
//! **One error model for both.** Times vary by a share of themselves: a check of 100 s does not
//! repeat to the same tenth of a second as one of 1 s. So both laws are fitted by maximum likelihood
//! under `y = f(x) exp(e)`, e normal with mean 0 and one standard deviation sigma. The
//! log-likelihood of n values is
//!
//! ```text
//! l = - n/2 ln(2 pi sigma^2) - sum(ln y_i) - S / (2 sigma^2),   S = sum (ln y_i - ln f(x_i))^2
//! ```
//!
//! `sum(ln y_i)` is the Jacobian of y to ln y, the same for both; the best f has the least S, the
//! best sigma^2 is S / n. A power law fitted on logarithms against a line fitted to y itself (the
//! usual pair) would compare likelihoods of two error models, and the line would hang on the
//! largest size alone.
//!
//! **Which law** holds is decided by Akaike's criterion, corrected for few values:
//! `AICc = -2 l + 2 k + 2 k (k + 1) / (n - k - 1)`, k = 3 (two parameters and sigma). Burnham and Anderson, Model
//! Selection and Multimodel Inference, 2nd ed. (2002), section 2.4 and eq. 7.5 for AICc, section
//! 2.6 for the reading: a law less than 2 above the other has substantial support. Such two laws are called
//! not distinguishable here, and both are reported. As k is the same, the difference of AICc is
//! `n ln(S / S_best)`, which exists for four values too, where AICc itself divides by 0.
//!
//! **Fitting** is one search over one number. Both laws are a level times a shape:
//! `ln f(x) = kappa + h_v(x)`, where kappa's optimum is a mean, so S is a function of the shape v alone. For the power
//! law v = b has a closed form. For the line, v = ln(d g / c) with g the geometric mean of x: its S is
//! evaluated on a grid that spans every shape that double precision can distinguish from a constant or a
//! proportion, and the best point refined by golden section. So there is no start to choose and
//! nothing that could fail to converge; c = 0 and d = 0 are the two ends.
//!
//! **Intervals** are profile-likelihood intervals with an F cut: all laws with
//! `S <= S_min + s^2 F(1, df)`, Bates and Watts, Nonlinear Regression Analysis and Its Applications (1988), section
//! 6.1. For the power law, which is linear in the logarithms, they are the exact t intervals. They
//! are of the law (the median y at that x), not of one further run. Because of the form above the
//! largest projection of that region is again a search over v alone. A residual bootstrap was
//! rejected: four sizes of three runs give it no tails, and it does not know that c cannot be below
//! 0.
//!
//! **What a law misses.** Several runs at each size show the noise of a run; where the sizes lie off
//! the law by more than that (F test of lack of fit, Draper and Smith, Applied Regression Analysis,
//! 3rd ed. (1998), section 2.1), more runs at the same sizes teach nothing about the law. So the
//! interval is then made from the misses, with as many degrees of freedom as sizes less two:
//! sometimes pooling, p < 0.25, after Bancroft, Biometrics 20 (1964), 427-442. The difference of AICc
//! then counts each size as one value, too. At p < 0.05 it is warned of.
//!
//! Measured (`examples/growth.rs`, 2000 simulated runs each, seed fixed; sizes 1, 2, 4, 8 (and 16)
//! x 10^4): the share of 95 % intervals that hold the truth, and how often the right law was found.
//!
//! ```text
//!                             noise miss   1st   2nd   x 10  x 100  shown   law found, %
//! law               sizes  n    %    %                        x 100  right  wrong
//! 2e-5 x^1.2            4  3    2    0   96.2   95.8   95.5   95.7   95.7  100.0    0.0
//! 2e-5 x^1.2            4  5    2    0   96.2   96.5   96.2   96.5   96.5  100.0    0.0
//! 2e-5 x^1.2            5  5   10    0   96.2   96.1   96.3   96.2   96.2  100.0    0.0
//! 2e-5 x^1.2            4  3    2    3   91.8   91.7   92.4   92.0   92.0  100.0    0.0
//! 2e-5 x^1.2            5  5    2    3   95.6   95.8   95.8   95.8   95.8  100.0    0.0
//! 1 + 3e-5 x            4  3    2    0   96.5   95.6   95.7   95.5   95.5  100.0    0.0
//! 1 + 3e-5 x            4  5    2    0   96.2   95.8   96.0   95.8   95.8  100.0    0.0
//! 1 + 3e-5 x            5  5   10    0   96.7   96.8   96.8   96.8   96.4   97.2    0.4
//! 1 + 3e-5 x            4  3    2    3   91.8   92.1   92.0   92.0   89.8   92.8    2.2
//! 1 + 3e-5 x            5  5    2    3   95.0   96.0   96.1   96.0   96.0   99.8    0.0
//! 1e-4 x                4  3    2    0   96.0   96.7   96.8   96.7   96.6    0.5    9.3
//! 1e-4 x                4  5    2    0   95.3   96.5   96.5   96.5   97.0    0.3    8.4
//! 1e-4 x                5  5   10    0   96.8   96.4   96.4   96.4   97.2    0.5    8.4
//! 1e-4 x                4  3    2    3   94.4   94.7   94.7   94.7   92.0    3.6   21.1
//! 1e-4 x                5  5    2    3   95.7   96.9   96.9   96.9   95.5    4.0   17.8
//! ```
//!
//! "Shown" is what a report prints: the chosen law, or either of both. "Right" and "wrong" are
//! differences of 2 or more. The last law is both laws at once (b = 1, c = 0), so "wrong" there is a
//! power law with b near 1, whose interval holds the truth nevertheless.
//!
//! What no interval can hold: a law that changes beyond the data, as when the inodes no longer fit
//! into memory. [`Growth::reach`] is how far a projection goes beyond the largest size.

mod data;
mod line;
mod power;
mod profile;
mod squares;

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use data::Size;

use crate::dist::{f_above, t_quantile_two_sided};
use crate::error::{Error, check_level};
use crate::interval::Interval;
use crate::warning::Warning;
use data::Data;
use profile::{Profile, Shape};
use squares::{residuals, squares};

/// Fewest sizes from which a law is read: two parameters pass through any two, and a third tells
/// whether they bend but not how.
pub const LEAST_SIZES: usize = 4;

/// Difference of AICc below which two laws are not distinguishable.
pub const DISTINGUISHABLE: f64 = 2.0;

/// Parameters of each law, sigma included.
const PARAMETERS: f64 = 3.0;

/// p of the lack of fit below which the interval is made from what the law misses (Bancroft 1964).
const POOL: f64 = 0.25;

/// p of the lack of fit that is warned of.
const LACKS: f64 = 0.05;

/// A mean square deviation of ln y that is rounding, not noise.
const EXACT: f64 = 1e-24;

/// One measured value: `y` (a time) at the size `x` (files).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Size.
    pub x: f64,
    /// Value.
    pub y: f64,
}

/// A law of growth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Law {
    /// `y = a x^b`.
    Power,
    /// `y = c + d x`, c >= 0, d >= 0.
    Linear,
}

impl Law {
    /// What a report calls it.
    pub const fn name(self) -> &'static str {
        match self {
            Law::Power => "power law",
            Law::Linear => "linear plus constant",
        }
    }

    /// Names of its two parameters.
    pub const fn parameters(self) -> [&'static str; 2] {
        match self {
            Law::Power => ["a", "b"],
            Law::Linear => ["c", "d"],
        }
    }
}

/// A value with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The maximum-likelihood value.
    pub value: f64,
    /// Its profile-likelihood interval.
    pub interval: Interval,
}

/// How the measured sizes lie about a law, against how runs of one size vary.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LackOfFit {
    /// Mean square of the sizes' misses over that of the runs within a size.
    pub f: f64,
    /// p of a larger one, were the law true.
    pub p: f64,
}

/// One law, fitted.
#[derive(Debug, Clone)]
pub struct Fit {
    /// Which.
    pub law: Law,
    /// Its parameters in the order of [`Law::parameters`].
    pub parameters: [Estimate; 2],
    /// Standard deviation of ln y about the law that the intervals rest on: 0.02 is 2 % of y.
    pub spread: f64,
    /// Its degrees of freedom.
    pub degrees: f64,
    /// Least sum of squares of ln y about the law.
    pub squares: f64,
    /// AICc of the values; `None` for four, where it does not exist.
    pub aicc: Option<f64>,
    /// AICc above that of the better law; 0 for the better. Of the values, or of the sizes where
    /// the better law misses those ([`Growth::by_sizes`]).
    pub delta: f64,
    /// `None` without repetition.
    pub lack_of_fit: Option<LackOfFit>,
    /// What to know before trusting it.
    pub warnings: Vec<Warning>,
    /// Sum of squares of the sizes' misses alone.
    missed: f64,
    level: f64,
    profile: Profile,
}

impl Fit {
    /// The law at `x` with its interval.
    pub fn at(&self, x: f64) -> Estimate {
        let shape = self.profile.shape();
        let du = x.ln() - self.profile.centre();
        self.estimate(|v| shape.log(v, du))
    }

    /// The estimate of `exp(kappa + of(v))`.
    fn estimate(&self, of: impl Fn(f64) -> f64) -> Estimate {
        let (value, low, high) = self.profile.estimate(of);
        Estimate {
            value,
            interval: Interval::nominal(low, high, self.level),
        }
    }
}

/// Both laws on the same values.
#[derive(Debug, Clone)]
pub struct Growth {
    /// The two laws, the one with the lesser AICc first.
    pub fits: [Fit; 2],
    /// The sizes with their values, ascending.
    pub sizes: Vec<Size>,
    /// Number of values.
    pub n: usize,
    /// Smallest and largest x.
    pub range: (f64, f64),
    /// Whether a size counts as one value, because the better law misses the sizes by more than
    /// runs of one size vary: more runs then add nothing about the law.
    pub by_sizes: bool,
}

impl Growth {
    /// The law chosen by AICc.
    pub fn best(&self) -> &Fit {
        &self.fits[0]
    }

    /// The other one.
    pub fn other(&self) -> &Fit {
        &self.fits[1]
    }

    /// Whether the values distinguish the two laws.
    pub fn distinguishable(&self) -> bool {
        self.other().delta >= DISTINGUISHABLE
    }

    /// What a report must show: the chosen law, or both where they are not distinguishable.
    pub fn reported(&self) -> &[Fit] {
        if self.distinguishable() {
            &self.fits[..1]
        } else {
            &self.fits
        }
    }

    /// How many times the largest measured size `x` is; at most 1 inside the data.
    pub fn reach(&self, x: f64) -> f64 {
        x / self.range.1
    }
}

/// Fits both laws to `points`, with intervals of `level`.
///
/// Values whose x lie within 5 % of a neighbour's count as one size: files are counted after the
/// fact, and runs of one size may differ by a few.
///
/// # Errors
/// Fewer than [`LEAST_SIZES`] sizes, an x or y that is not positive and finite, a level outside
/// (0, 1).
pub fn grow(points: &[Point], level: f64) -> Result<Growth, Error> {
    check_level(level)?;
    let data = Data::new(points)?;
    let power = fit(&data, Shape::Power, level);
    let line = fit(&data, Shape::Line(line::Line::over(&data)), level);
    let mut fits = [power, line];
    fits.sort_by(|a, b| a.squares.total_cmp(&b.squares));
    let by_sizes = fits[0].degrees < points.len() as f64 - 2.0;
    if by_sizes {
        fits.sort_by(|a, b| a.missed.total_cmp(&b.missed));
    }
    let (values, squares): (usize, fn(&Fit) -> f64) = if by_sizes {
        (data.sizes.len(), |fit| fit.missed)
    } else {
        (points.len(), |fit| fit.squares)
    };
    let (n, exact) = (values as f64, points.len() as f64 * EXACT);
    fits[1].delta = n * (squares(&fits[1]).max(exact) / squares(&fits[0]).max(exact)).ln();
    let edge = |pick: fn(f64, f64) -> f64, from| points.iter().map(|p| p.x).fold(from, pick);
    Ok(Growth {
        fits,
        n: points.len(),
        range: (edge(f64::min, f64::INFINITY), edge(f64::max, 0.0)),
        sizes: data.sizes,
        by_sizes,
    })
}

fn fit(data: &Data, shape: Shape, level: f64) -> Fit {
    let best = shape.best(data);
    let (squares, _) = squares(|u| shape.log(best, u), data);
    let noise = Noise::about(&shape, data, best, squares);
    let t = t_quantile_two_sided(level, noise.degrees);
    let cut = squares + noise.variance * t * t;
    let profile = Profile::new(shape, data, best, cut);
    let mut warnings = Vec::new();
    if data.sizes.len() == data.z.len() {
        warnings.push(Warning::NoRepetition);
    }
    if squares <= data.z.len() as f64 * EXACT {
        warnings.push(Warning::NoSpread);
    } else if let Some(lack) = noise.lack_of_fit.filter(|lack| lack.p < LACKS) {
        warnings.push(Warning::LackOfFit { p: lack.p });
    }
    let nothing = Estimate {
        value: f64::NAN,
        interval: Interval::nominal(f64::NAN, f64::NAN, level),
    };
    let mut fit = Fit {
        law: profile.shape().law(),
        parameters: [nothing; 2],
        spread: noise.variance.sqrt(),
        degrees: noise.degrees,
        squares,
        aicc: aicc(data, squares),
        delta: 0.0,
        lack_of_fit: noise.lack_of_fit,
        warnings,
        missed: noise.missed,
        level,
        profile,
    };
    fit.parameters = parameters(&fit);
    fit
}

fn parameters(fit: &Fit) -> [Estimate; 2] {
    let centre = fit.profile.centre();
    match fit.profile.shape() {
        Shape::Power => {
            let (value, low, high) = fit.profile.shapes();
            let exponent = Estimate {
                value,
                interval: Interval::nominal(low, high, fit.level),
            };
            [fit.estimate(|b| -b * centre), exponent]
        }
        Shape::Line(line) => [
            fit.estimate(|v| line.log_constant(v)),
            fit.estimate(|v| line.log_slope(v) - centre),
        ],
    }
}

/// `None` where n is not above k + 1.
fn aicc(data: &Data, squares: f64) -> Option<f64> {
    let (n, k) = (data.z.len() as f64, PARAMETERS);
    let jacobian: f64 = data.z.iter().sum();
    let variance = (squares / n).max(EXACT);
    let twice = n * (1.0 + (2.0 * std::f64::consts::PI * variance).ln()) + 2.0 * jacobian;
    (n > k + 1.0).then(|| twice + 2.0 * k + 2.0 * k * (k + 1.0) / (n - k - 1.0))
}

/// The variance of ln y that an interval rests on.
struct Noise {
    variance: f64,
    degrees: f64,
    /// Sum of squares of the sizes' misses.
    missed: f64,
    lack_of_fit: Option<LackOfFit>,
}

impl Noise {
    fn about(shape: &Shape, data: &Data, best: f64, squares: f64) -> Noise {
        let (n, sizes) = (data.z.len() as f64, data.sizes.len() as f64);
        let residuals = residuals(|u| shape.log(best, u), data);
        let mut within = 0.0;
        for group in &data.groups {
            let of = &residuals[group.clone()];
            let mean = of.iter().sum::<f64>() / of.len() as f64;
            within += of.iter().map(|e| (e - mean).powi(2)).sum::<f64>();
        }
        let missed = (squares - within).max(0.0);
        let (runs, misses) = (n - sizes, sizes - 2.0);
        let pooled = Noise {
            variance: squares / (n - 2.0),
            degrees: n - 2.0,
            missed,
            lack_of_fit: None,
        };
        if runs < 1.0 {
            return pooled;
        }
        let f = missed / misses / (within / runs).max(EXACT);
        let lack_of_fit = Some(LackOfFit {
            f,
            p: f_above(f, misses, runs),
        });
        if f > 1.0 && lack_of_fit.is_some_and(|lack| lack.p < POOL) {
            return Noise {
                variance: missed / misses,
                degrees: misses,
                missed,
                lack_of_fit,
            };
        }
        Noise {
            lack_of_fit,
            ..pooled
        }
    }
}
