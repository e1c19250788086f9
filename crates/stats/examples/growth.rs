//! Prints how often the intervals of growth laws hold the truth and how often the right law is
//! found: the table in the essay of `stats::growth`.
//!
//! `cargo run --release -p stats --example growth` takes some seconds.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use stats::growth::{Law, Point, grow};

const SETS: usize = 2000;

/// Standard normal numbers from a seed.
struct Draws(ChaCha8Rng);

impl Draws {
    fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// Box and Muller, Annals of Mathematical Statistics 29 (1958), 610-611.
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

/// A truth and how it is measured.
struct Case {
    law: Law,
    parameters: [f64; 2],
    sizes: u32,
    runs: u32,
    /// Standard deviation of ln y of a run, and of a size about the law.
    noise: f64,
    misses: f64,
}

impl Case {
    fn at(&self, x: f64) -> f64 {
        let [first, second] = self.parameters;
        match self.law {
            Law::Power => first * x.powf(second),
            Law::Linear => first + second * x,
        }
    }

    fn measure(&self, draws: &mut Draws) -> Vec<Point> {
        let mut points = Vec::new();
        for size in 0..self.sizes {
            let x = 1e4 * f64::from(1_u32 << size);
            let miss = self.misses * draws.normal();
            for _ in 0..self.runs {
                let y = self.at(x) * (miss + self.noise * draws.normal()).exp();
                points.push(Point { x, y });
            }
        }
        points
    }

    /// Shares: first and second parameter, projection x 10 and x 100 of the true law, the reported
    /// projections x 100 together; right law chosen firmly, wrong law chosen firmly.
    fn simulate(&self) -> [f64; 7] {
        let mut draws = Draws(ChaCha8Rng::from_seed([3; 32]));
        let mut counts = [0_usize; 7];
        let far = 1e4 * f64::from(1_u32 << (self.sizes - 1));
        for _ in 0..SETS {
            let Ok(growth) = grow(&self.measure(&mut draws), 0.95) else {
                continue;
            };
            for fit in growth.fits.iter().filter(|f| f.law == self.law) {
                let truths = [
                    fit.parameters[0].interval.contains(self.parameters[0]),
                    fit.parameters[1].interval.contains(self.parameters[1]),
                    fit.at(10.0 * far).interval.contains(self.at(10.0 * far)),
                    fit.at(100.0 * far).interval.contains(self.at(100.0 * far)),
                ];
                for (count, holds) in counts.iter_mut().zip(truths) {
                    *count += usize::from(holds);
                }
            }
            let truth = self.at(100.0 * far);
            let mut reported = growth.reported().iter();
            counts[4] += usize::from(reported.any(|f| f.at(100.0 * far).interval.contains(truth)));
            let (firm, right) = (growth.distinguishable(), growth.best().law == self.law);
            counts[5] += usize::from(firm && right);
            counts[6] += usize::from(firm && !right);
        }
        counts.map(|count| 100.0 * count as f64 / SETS as f64)
    }
}

fn main() {
    println!(
        "                            noise miss   1st   2nd   x 10  x 100  shown   law found, %\n\
         law               sizes  n    %    %                        x 100  right  wrong"
    );
    let laws = [
        (Law::Power, [2e-5, 1.2], "2e-5 x^1.2"),
        (Law::Power, [1e-4, 1.05], "1e-4 x^1.05"),
        (Law::Linear, [1.0, 3e-5], "1 + 3e-5 x"),
        (Law::Linear, [0.0, 1e-4], "1e-4 x"),
    ];
    for (law, parameters, name) in laws {
        for (sizes, runs, noise, misses) in [
            (4, 3, 0.02, 0.0),
            (4, 5, 0.02, 0.0),
            (5, 5, 0.1, 0.0),
            (4, 3, 0.02, 0.03),
            (5, 5, 0.02, 0.03),
        ] {
            let case = Case {
                law,
                parameters,
                sizes,
                runs,
                noise,
                misses,
            };
            let shares: Vec<String> = case.simulate().iter().map(|s| format!("{s:6.1}")).collect();
            println!(
                "{name:18}{sizes:5} {runs:2} {:4.0} {:4.0} {}",
                noise * 100.0,
                misses * 100.0,
                shares.join(" ")
            );
        }
    }
}
