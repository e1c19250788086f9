//! A modelled time with its interval.

use super::Recorded;
use super::engine::{Error, Options, replay_linked};
use super::linker::linked;
use crate::catalogue::Catalogue;
use crate::file::{self, Variation};

/// Runs with drawn figures that an interval takes.
pub const RUNS: u32 = 16;

/// What the model itself may be wrong by, as the standard deviation of the logarithm of its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Structural {
    /// Requests that move the head.
    Scattered,
    /// Requests that follow each other.
    Sequential,
}

impl Structural {
    fn sigma(self) -> f64 {
        match self {
            Structural::Scattered => 0.12,
            Structural::Sequential => 0.06,
        }
    }

    /// Of the requests of a count, those that begin where one of the four before them ended.
    pub(super) fn of_count(sequential: u64, count: u64) -> Structural {
        if sequential * 10 >= count.saturating_sub(1) * 9 && count > 1 {
            Structural::Sequential
        } else {
            Structural::Scattered
        }
    }
}

/// Requests in the order of submission: whether they follow each other. They do if nine of ten begin where one of the four before them
/// ended.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sequence {
    count: u64,
    sequential: u64,
    ends: [Option<u64>; 4],
}

impl Sequence {
    /// Takes the next by offset and length.
    pub(super) fn add(&mut self, offset: u64, len: u64) {
        self.sequential += u64::from(self.ends.contains(&Some(offset)));
        self.ends[self.count as usize % self.ends.len()] = Some(offset.saturating_add(len));
        self.count += 1;
    }

    pub(super) fn structural(&self) -> Structural {
        Structural::of_count(self.sequential, self.count)
    }
}

/// A modelled duration and where it is with 90 % probability, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// As much is below as above.
    pub median: f64,
    /// 5 % are below.
    pub low: f64,
    /// 5 % are above.
    pub high: f64,
}

impl Estimate {
    /// From the results of runs with drawn figures, seconds, none of which is 0 or less.
    ///
    /// Each run stands for as much as any other, and around each lies the models' own error, log-normal. The interval has the
    /// quantiles of the runs and that error together. A log-normal fitted to the runs would be too narrow on one side where the
    /// runs are skewed, as they are where one figure decides.
    pub fn of(runs: &[f64], structural: Structural) -> Estimate {
        let logs: Vec<f64> = runs.iter().map(|run| run.max(1e-9).ln()).collect();
        if logs.is_empty() {
            return Estimate {
                median: 0.0,
                low: 0.0,
                high: 0.0,
            };
        }
        let at = |share: f64| quantile(&logs, structural.sigma(), share).exp();
        Estimate {
            median: at(0.5),
            low: at(0.05),
            high: at(0.95),
        }
    }
}

/// The quantile of a mixture of equal normal distributions around `means`, by bisection.
fn quantile(means: &[f64], sigma: f64, share: f64) -> f64 {
    let least = means.iter().copied().fold(f64::INFINITY, f64::min);
    let most = means.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let below = |x: f64| {
        let sum: f64 = means.iter().map(|mean| normal((x - mean) / sigma)).sum();
        sum / means.len() as f64
    };
    // Beyond 5 sigma there is less than any share that is asked for.
    let (mut low, mut high) = (least - 5.0 * sigma, most + 5.0 * sigma);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if below(middle) < share {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

/// The standard normal distribution function (Abramowitz and Stegun 1964, 26.2.17; error below 7.5e-8).
fn normal(x: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * x.abs());
    let coefficients = [
        1.330_274_429,
        -1.821_255_978,
        1.781_477_937,
        -0.356_563_782,
        0.319_381_530,
    ];
    let polynomial = coefficients.iter().fold(0.0, |sum, c| (sum + c) * t);
    let beyond = (-x * x / 2.0).exp() / std::f64::consts::TAU.sqrt() * polynomial;
    if x < 0.0 { beyond } else { 1.0 - beyond }
}

/// The seed of a run of an estimate, so that all of its runs differ and each can be repeated.
pub const fn seed_of_run(seed: u64, run: u64) -> u64 {
    seed.wrapping_mul(0x1_0000).wrapping_add(run)
}

/// What stops an estimate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The device.
    #[error(transparent)]
    Device(#[from] file::Error),
    /// The record.
    #[error(transparent)]
    Replay(#[from] Error),
}

/// How long a record takes on a device: `runs` replays with figures drawn from their ranges.
///
/// # Errors
/// There is no such device, or the record does not fit it.
pub fn estimate(
    catalogue: &Catalogue,
    device: &str,
    record: &[Recorded],
    options: Options,
    runs: u32,
    seed: u64,
) -> Result<Estimate, Failure> {
    let (kept, outline) = linked(record)?;
    let mut times = Vec::with_capacity(runs as usize);
    for run in 0..u64::from(runs) {
        let variation = Variation::Drawn(seed_of_run(seed, run));
        let mut model = catalogue.model(device, variation)?;
        let requests = &mut kept.as_slice();
        let replayed = replay_linked(&mut *model, requests, &outline, options, &mut |_, _, _| {})?;
        times.push(replayed.elapsed as f64 / 1e9);
    }
    Ok(Estimate::of(&times, outline.structural))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_spread_the_interval_is_the_structural_one() {
        let estimate = Estimate::of(&[10.0; 16], Structural::Scattered);
        // exp(1.645 * 0.12) = 1.2182.
        assert!((estimate.high - 12.182).abs() < 0.001 && (estimate.low - 8.209).abs() < 0.001);
        assert!((estimate.median - 10.0).abs() < 1e-5);
        let narrow = Estimate::of(&[10.0; 16], Structural::Sequential);
        assert!(narrow.high < 11.1);
        let one = Estimate::of(&[10.0], Structural::Sequential);
        assert!((one.high - narrow.high).abs() < 1e-9);
        assert_eq!(Estimate::of(&[], Structural::Scattered).high, 0.0);
    }

    #[test]
    fn spread_widens_it() {
        let runs: Vec<f64> = (0..16).map(|i| 9.0 + f64::from(i) / 8.0).collect();
        let estimate = Estimate::of(&runs, Structural::Sequential);
        assert!(estimate.high / estimate.median > 1.12, "{estimate:?}");
    }

    #[test]
    fn skewed_runs_have_a_skewed_interval() {
        // Twelve runs near 10 s, four near 20: more than 5 % of the runs are in the upper part, none below 10.
        let runs = [vec![10.0; 12], vec![20.0; 4]].concat();
        let estimate = Estimate::of(&runs, Structural::Sequential);
        assert!(estimate.high > 20.0 && estimate.low > 8.9, "{estimate:?}");
        assert!((10.0..10.7).contains(&estimate.median), "{estimate:?}");
    }

    #[test]
    fn the_distribution_function_is_the_normal_one() {
        for (x, share) in [(0.0, 0.5), (1.644_853_6, 0.95), (-1.0, 0.158_655_25)] {
            assert!((normal(x) - share).abs() < 1e-6, "{x}");
        }
    }
}
