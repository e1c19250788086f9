//! Response times of a replay.

use hdrhistogram::Histogram;

use crate::model::Nanoseconds;

/// Longest time that is counted by itself, and not with all longer ones: a day.
const LONGEST: u64 = 86_400_000_000_000;

/// Response times in bounded memory: the mean is exact, quantiles are within 0.1 %.
#[derive(Clone, Debug)]
pub struct Responses {
    histogram: Histogram<u64>,
    sum: u128,
    count: u64,
}

/// An empty histogram of times, within 0.1 %.
pub(super) fn times() -> Histogram<u64> {
    let histogram = Histogram::new_with_bounds(1, LONGEST, 3);
    histogram.expect("1 to a day with 3 digits is a valid range")
}

impl Default for Responses {
    fn default() -> Responses {
        Responses {
            histogram: times(),
            sum: 0,
            count: 0,
        }
    }
}

impl Responses {
    /// Adds a response time.
    pub fn add(&mut self, time: Nanoseconds) {
        self.histogram.saturating_record(time.max(1));
        self.sum += u128::from(time);
        self.count += 1;
    }

    /// Number of requests.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Mean, ns; 0 without requests.
    pub fn mean(&self) -> f64 {
        if self.count == 0 {
            return 0.0;
        }
        self.sum as f64 / self.count as f64
    }

    /// The time that a share of the requests does not exceed, ns.
    pub fn quantile(&self, share: f64) -> Nanoseconds {
        if self.count == 0 {
            return 0;
        }
        self.histogram.value_at_quantile(share)
    }

    /// The longest, ns.
    pub fn longest(&self) -> Nanoseconds {
        self.histogram.max()
    }
}
