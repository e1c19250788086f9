//! Latencies of single records.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;

use crate::clock::now_ns;

/// A histogram of the time each record took, in nanoseconds, three significant digits.
///
/// Recording costs about 30 ns a record (one vDSO clock read, one counter) and happens inside the
/// phase, between two records; it is therefore off unless asked for. Records longer than an hour
/// count as an hour.
#[derive(Clone, Debug)]
pub struct Latency {
    histogram: Histogram<u64>,
    last_ns: u64,
}

const HOUR_NS: u64 = 3_600_000_000_000;

impl Default for Latency {
    fn default() -> Self {
        let Ok(histogram) = Histogram::new_with_max(HOUR_NS, 3) else {
            unreachable!("an hour at three digits is a valid histogram")
        };
        Latency {
            histogram,
            last_ns: 0,
        }
    }
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
        self.histogram.saturating_record(nanoseconds.max(1));
    }

    /// Adds the records of another child.
    pub fn merge(&mut self, other: &Latency) {
        // Both have the same bounds, so the only error of `add` cannot occur.
        let _ = self.histogram.add(&other.histogram);
    }

    /// Number of records.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// `latency_min`, `_mean`, `_p50`, `_p90`, `_p99`, `_p999`, `_max`, in seconds.
    pub fn figures(&self) -> BTreeMap<String, f64> {
        let h = &self.histogram;
        let quantile = |q| h.value_at_quantile(q) as f64;
        [
            ("min", h.min() as f64),
            ("mean", h.mean()),
            ("p50", quantile(0.5)),
            ("p90", quantile(0.9)),
            ("p99", quantile(0.99)),
            ("p999", quantile(0.999)),
            ("max", h.max() as f64),
        ]
        .into_iter()
        .map(|(name, ns)| (format!("latency_{name}"), ns / 1e9))
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_a_known_series_in_seconds() {
        let (mut a, mut b) = (Latency::default(), Latency::default());
        for ns in 1..=500_u64 {
            a.record(ns * 1000);
            b.record((ns + 500) * 1000);
        }
        a.merge(&b);
        assert_eq!(a.count(), 1000);
        let figures = a.figures();
        let near = |name: &str, s: f64| {
            let v = figures[name];
            assert!((v - s).abs() <= s * 0.002, "{name} {v} {s}");
        };
        near("latency_min", 1e-6);
        near("latency_p50", 500e-6);
        near("latency_p99", 990e-6);
        near("latency_max", 1000e-6);
        near("latency_mean", 500.5e-6);
    }
}
