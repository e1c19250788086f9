//! A modelled time with its interval.

use super::Recorded;
use super::engine::{Error, Options, replay};
use crate::catalogue::Catalogue;
use crate::file::{self, Variation};

/// Runs with drawn figures that an interval takes.
pub const RUNS: u32 = 16;

/// The standard normal deviate that 5 % are beyond on each side.
const DEVIATE: f64 = 1.644_853_6;

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

    /// Of a record: sequential if nine of ten requests begin where one of the four before them ended.
    pub fn of(record: &[Recorded]) -> Structural {
        Structural::of_ranges(record.iter().map(|r| (r.offset, r.len)))
    }

    /// Of requests by offset and length.
    pub(super) fn of_ranges(ranges: impl Iterator<Item = (u64, u64)>) -> Structural {
        let (mut count, mut sequential) = (0_usize, 0_usize);
        let mut ends = [None; 4];
        for (offset, len) in ranges {
            sequential += usize::from(ends.contains(&Some(offset)));
            ends[count % ends.len()] = Some(offset.saturating_add(len));
            count += 1;
        }
        if sequential * 10 >= count.saturating_sub(1) * 9 && count > 1 {
            Structural::Sequential
        } else {
            Structural::Scattered
        }
    }
}

/// A modelled duration and where it is with 90 % probability, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The median of the runs.
    pub median: f64,
    /// 5 % are below.
    pub low: f64,
    /// 5 % are above.
    pub high: f64,
}

impl Estimate {
    /// From the results of runs with drawn figures, seconds, none of which is 0 or less.
    pub fn of(mut runs: Vec<f64>, structural: Structural) -> Estimate {
        runs.sort_by(f64::total_cmp);
        let middle = runs.len() / 2;
        let median = match runs.len() {
            0 => 0.0,
            n if n % 2 == 0 => f64::midpoint(runs[middle - 1], runs[middle]),
            _ => runs[middle],
        };
        let logs: Vec<f64> = runs.iter().map(|run| run.max(1e-9).ln()).collect();
        let n = logs.len().max(2) as f64;
        let mean = logs.iter().sum::<f64>() / n;
        // One run has no spread that could be known.
        let variance = if logs.len() < 2 {
            0.0
        } else {
            logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (n - 1.0)
        };
        let spread = (DEVIATE * (variance + structural.sigma().powi(2)).sqrt()).exp();
        Estimate {
            median,
            low: median / spread,
            high: median * spread,
        }
    }
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
    let mut times = Vec::with_capacity(runs as usize);
    for run in 0..u64::from(runs) {
        let variation = Variation::Drawn(seed_of_run(seed, run));
        let mut model = catalogue.model(device, variation)?;
        times.push(replay(&mut *model, record, options)?.elapsed as f64 / 1e9);
    }
    Ok(Estimate::of(times, Structural::of(record)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_spread_the_interval_is_the_structural_one() {
        let estimate = Estimate::of(vec![10.0; 16], Structural::Scattered);
        // exp(1.645 * 0.12) = 1.2182.
        assert!((estimate.high - 12.182).abs() < 0.001 && (estimate.low - 8.209).abs() < 0.001);
        assert_eq!(estimate.median, 10.0);
        let narrow = Estimate::of(vec![10.0; 16], Structural::Sequential);
        assert!(narrow.high < 11.1);
        assert_eq!(Estimate::of(vec![10.0], Structural::Sequential), narrow);
    }

    #[test]
    fn spread_widens_it() {
        let runs = (0..16).map(|i| 9.0 + f64::from(i) / 8.0).collect();
        let estimate = Estimate::of(runs, Structural::Sequential);
        assert!(estimate.high / estimate.median > 1.12, "{estimate:?}");
    }
}
