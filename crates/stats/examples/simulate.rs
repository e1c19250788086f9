//! Prints the simulations that the crate rests on: the critical values of the outlier fences and of
//! the two-group test, and how often the intervals and tests are right at small sample sizes.
//!
//! `cargo run --release -p stats --example simulate` takes two minutes; with the argument `speed` it
//! prints only what a call costs.

use std::hint::black_box;
use std::time::Instant;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use stats::groups::best_split;
use stats::order::quantile_sorted;
use stats::{Options, compare, paired, rank, ratio, summarize, welch};

const LEVEL: f64 = 0.95;

/// Standard normal and uniform numbers from a seed.
struct Draws(ChaCha8Rng);

impl Draws {
    fn uniform(&mut self) -> f64 {
        // 53 bits, moved off zero so that its logarithm is finite.
        ((self.0.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// Box and Muller, Annals of Mathematical Statistics 29 (1958), 610-611.
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

/// How runs of a benchmark vary, about a median of 100.
#[derive(Clone, Copy)]
enum Noise {
    /// Log-normal with 5 % standard deviation.
    LogNormal,
    /// The same, but one run in ten stalls to 70 to 100 % of its speed.
    Stalls,
    /// Student's t with 3 degrees of freedom on logarithms, scaled to 3 %.
    HeavyTails,
    /// Runs fall on 97 or 103, with 0.5 % about either.
    TwoGroups,
    /// Only the other side varies by 5 %, the base by 1 %.
    Unequal,
}

impl Noise {
    const ALL: [(Self, &str); 5] = [
        (Self::LogNormal, "log-normal 5 %"),
        (Self::Stalls, "one in ten stalls"),
        (Self::HeavyTails, "heavy tails (t3)"),
        (Self::TwoGroups, "two groups"),
        (Self::Unequal, "unequal spread"),
    ];

    fn draw(self, draws: &mut Draws, base: bool) -> f64 {
        let log = match self {
            Self::LogNormal => 0.05 * draws.normal(),
            Self::Stalls => {
                let stall = if draws.uniform() < 0.1 {
                    1.0 - 0.3 * draws.uniform()
                } else {
                    1.0
                };
                0.02 * draws.normal() + stall.ln()
            }
            Self::HeavyTails => {
                let chi: f64 = (0..3).map(|_| draws.normal().powi(2)).sum();
                0.03 * draws.normal() / (chi / 3.0).sqrt()
            }
            Self::TwoGroups => {
                let side = if draws.uniform() < 0.5 { -0.03 } else { 0.03 };
                side + 0.005 * draws.normal()
            }
            Self::Unequal => (if base { 0.01 } else { 0.05 }) * draws.normal(),
        };
        100.0 * log.exp()
    }
}

fn percentile(values: &mut [f64], share: f64) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    quantile_sorted(values, share)
}

fn critical_values(draws: &mut Draws) {
    println!("Critical values over normal samples (outlier fence 95 %, two groups 99 %):");
    println!(
        "{:>5} {:>18} {:>8} {:>8}",
        "n", "some beyond 1.5", "fence", "groups"
    );
    for n in (5..=20).chain([25, 30, 40, 60, 100]) {
        let rounds = if n <= 20 { 400_000 } else { 100_000 };
        let (mut reach, mut explained) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            let mut x: Vec<f64> = (0..n).map(|_| draws.normal()).collect();
            x.sort_unstable_by(f64::total_cmp);
            let (q1, q3) = (quantile_sorted(&x, 0.25), quantile_sorted(&x, 0.75));
            reach.push((q1 - x[0]).max(x[n - 1] - q3) / (q3 - q1));
            explained.extend(best_split(&x).map(|split| split.explained));
        }
        let tukey = reach.iter().filter(|k| **k > 1.5).count() as f64 / f64::from(rounds);
        println!(
            "{n:>5} {:>16.1} % {:>8.2} {:>8.3}",
            tukey * 100.0,
            percentile(&mut reach, 0.95),
            percentile(&mut explained, 0.99)
        );
    }
}

/// Counts of how often an interval holds the truth and a test calls a difference where none is.
#[derive(Default)]
struct Score {
    welch: u32,
    paired: u32,
    bootstrap: u32,
    bootstrap_paired: u32,
    median: u32,
    false_welch: u32,
    false_ranks: u32,
    found_welch: u32,
    found_ranks: u32,
}

fn coverage(draws: &mut Draws) {
    const ROUNDS: u32 = 4000;
    println!(
        "\nOf {ROUNDS} pairs of equal populations: share of 95 % intervals that hold the truth,"
    );
    println!("false differences at 5 %, and true differences of 10 % found at p = 0.05 / 30.");
    println!(
        "{:<18} {:>3} {:>7} {:>7} {:>7} {:>7} {:>7} | {:>6} {:>6} | {:>6} {:>6}",
        "noise", "n", "Welch", "paired", "BCa", "BCa pr", "median", "Welch", "M-W", "Welch", "M-W"
    );
    for (noise, name) in Noise::ALL {
        // The median of two groups lies in the gap between them, which is no value of the sample.
        let median = {
            let mut many: Vec<f64> = (0..200_001).map(|_| noise.draw(draws, false)).collect();
            percentile(&mut many, 0.5)
        };
        for n in [3, 5, 7, 10, 20] {
            let mut score = Score::default();
            for round in 0..ROUNDS {
                one(&mut score, noise, n, u64::from(round), median, draws);
            }
            let share = |count: u32| f64::from(count) * 100.0 / f64::from(ROUNDS);
            println!(
                "{name:<18} {n:>3} {:>7.1} {:>7.1} {:>7.1} {:>7.1} {:>7.1} | {:>6.1} {:>6.1} | {:>6.1} {:>6.1}",
                share(score.welch),
                share(score.paired),
                share(score.bootstrap),
                share(score.bootstrap_paired),
                share(score.median),
                share(score.false_welch),
                share(score.false_ranks),
                share(score.found_welch),
                share(score.found_ranks),
            );
        }
    }
}

fn one(score: &mut Score, noise: Noise, n: usize, seed: u64, median: f64, draws: &mut Draws) {
    let a: Vec<f64> = (0..n).map(|_| noise.draw(draws, true)).collect();
    let b: Vec<f64> = (0..n).map(|_| noise.draw(draws, false)).collect();
    let holds = |interval: stats::Interval| u32::from(interval.contains(1.0));
    // All samples here are positive and long enough, so no call is refused.
    if let Ok(r) = welch::log_ratio(&a, &b, LEVEL) {
        score.welch += holds(r.interval);
        score.false_welch += u32::from(r.p.is_some_and(|p| p <= 0.05));
    }
    if let Ok(r) = paired::log_ratio(&a, &b, LEVEL) {
        score.paired += holds(r.interval);
    }
    if let Ok(r) = ratio::ratio_of_medians(&a, &b, LEVEL, seed) {
        score.bootstrap += holds(r.interval);
    }
    if let Ok(r) = ratio::paired_ratio(&a, &b, LEVEL, seed) {
        score.bootstrap_paired += holds(r.interval);
    }
    if let Ok(r) = rank::mann_whitney(&a, &b) {
        score.false_ranks += u32::from(r.p_two_sided <= 0.05);
    }
    if let Ok(s) = summarize(&b) {
        score.median += u32::from(s.median_interval.is_some_and(|i| i.contains(median)));
    }
    let faster: Vec<f64> = b.iter().map(|v| v * 1.1).collect();
    if let Ok(r) = welch::log_ratio(&a, &faster, LEVEL) {
        score.found_welch += u32::from(r.p.is_some_and(|p| p <= 0.05 / 30.0));
    }
    if let Ok(r) = rank::mann_whitney(&a, &faster) {
        score.found_ranks += u32::from(r.p_two_sided <= 0.05 / 30.0);
    }
}

/// What a report pays for one comparison.
fn speed(draws: &mut Draws) {
    const CALLS: u32 = 1000;
    println!("\nMean time of one call, microseconds:");
    for n in [5, 10, 20] {
        let a: Vec<f64> = (0..n).map(|_| Noise::LogNormal.draw(draws, true)).collect();
        let b: Vec<f64> = (0..n)
            .map(|_| Noise::LogNormal.draw(draws, false))
            .collect();
        let time = |call: &dyn Fn()| {
            let start = Instant::now();
            (0..CALLS).for_each(|_| call());
            start.elapsed().as_secs_f64() * 1e6 / f64::from(CALLS)
        };
        println!(
            "n {n:>3}: summarize {:>6.1}, BCa ratio of medians {:>6.1}, compare {:>6.1}",
            time(&|| drop(black_box(summarize(&a)))),
            time(&|| drop(black_box(ratio::ratio_of_medians(&a, &b, LEVEL, 1)))),
            time(&|| drop(black_box(compare(&a, &b, Options::default())))),
        );
    }
}

fn main() {
    let mut draws = Draws(ChaCha8Rng::from_seed([7; 32]));
    if std::env::args().nth(1).as_deref() != Some("speed") {
        critical_values(&mut draws);
        coverage(&mut draws);
    }
    speed(&mut draws);
}
