//! Latencies of single records.

use crate::calls::Times;
use crate::clock::now_ns;

/// How long each record took: one reading of the clock and one count a record, inside the phase,
/// between two records.
#[derive(Clone, Debug, Default)]
pub struct Latency {
    times: Times,
    last_ns: u64,
}

impl Latency {
    /// The first record begins now.
    pub fn begin(&mut self) {
        self.last_ns = now_ns();
    }

    /// A record ended now, and the next begins.
    #[inline]
    pub fn lap(&mut self) {
        let now = now_ns();
        self.record(now.saturating_sub(self.last_ns));
        self.last_ns = now;
    }

    /// A record took this long.
    #[inline]
    pub fn record(&mut self, nanoseconds: u64) {
        self.times.record(nanoseconds);
    }

    /// Number of records.
    pub fn count(&self) -> u64 {
        self.times.count()
    }

    /// The times.
    pub(crate) fn times(&self) -> &Times {
        &self.times
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn laps_follow_one_another() {
        let mut latency = Latency::default();
        let begin = now_ns();
        latency.begin();
        for _ in 0..10 {
            latency.lap();
        }
        assert_eq!(latency.count(), 10);
        assert!(latency.last_ns >= begin && latency.last_ns <= now_ns());
    }
}
