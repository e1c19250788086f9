//! What each system call took.
//!
//! The clock is read once between two calls (the end of one is the begin of the next), in the
//! vDSO, about 25 ns; fs_mark reads it twice for each. Counting happens after the close, outside
//! every call and therefore inside "App Overhead", where fs_mark's own bookkeeping is too. Only
//! where a file takes several writes does a write's time include the counting of the one before
//! it, about 10 ns.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;

/// The calls that fs_mark times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// open(O_CREAT).
    Creat,
    /// write.
    Write,
    /// fsync before close; or open, fsync and close of a file written before.
    Fsync,
    /// sync or syncfs.
    Sync,
    /// close.
    Close,
    /// unlink.
    Unlink,
}

impl Call {
    /// In fs_mark's columns' order.
    pub(crate) const ALL: [Call; 6] = [
        Call::Creat,
        Call::Write,
        Call::Fsync,
        Call::Sync,
        Call::Close,
        Call::Unlink,
    ];

    /// The first part of its figures' names.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Call::Creat => "creat",
            Call::Write => "write",
            Call::Fsync => "fsync",
            Call::Sync => "sync",
            Call::Close => "close",
            Call::Unlink => "unlink",
        }
    }
}

/// Times of one kind of call: exact count, total, least and most, and a histogram of three
/// significant digits that grows with the longest.
#[derive(Clone, Debug)]
struct Times {
    total_ns: u64,
    min_ns: u64,
    max_ns: u64,
    histogram: Histogram<u64>,
}

impl Default for Times {
    fn default() -> Self {
        let Ok(histogram) = Histogram::new(3) else {
            unreachable!("three digits are valid")
        };
        Times {
            total_ns: 0,
            min_ns: u64::MAX,
            max_ns: 0,
            histogram,
        }
    }
}

/// Times of all kinds of calls. Memory does not depend on their number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Calls([Option<Box<Times>>; 6]);

impl Calls {
    /// A call took this long.
    #[inline]
    pub(crate) fn record(&mut self, call: Call, nanoseconds: u64) {
        let times = self.0[call as usize].get_or_insert_default();
        times.total_ns += nanoseconds;
        times.min_ns = times.min_ns.min(nanoseconds);
        times.max_ns = times.max_ns.max(nanoseconds);
        // It grows as needed, so that no value is out of its range.
        let _ = times.histogram.record(nanoseconds.max(1));
    }

    /// Adds another process's.
    pub(crate) fn merge(&mut self, other: &Calls) {
        for (mine, other) in self.0.iter_mut().zip(&other.0) {
            let Some(other) = other else { continue };
            let mine = mine.get_or_insert_default();
            mine.total_ns += other.total_ns;
            mine.min_ns = mine.min_ns.min(other.min_ns);
            mine.max_ns = mine.max_ns.max(other.max_ns);
            // It grows as needed, so the only error of `add` cannot occur.
            let _ = mine.histogram.add(&other.histogram);
        }
    }

    /// Number of calls.
    pub(crate) fn count(&self, call: Call) -> u64 {
        self.0[call as usize]
            .as_ref()
            .map_or(0, |times| times.histogram.len())
    }

    /// Time in the calls that fs_mark takes out of its loop's time to get "App Overhead": all but
    /// unlink.
    pub(crate) fn inside_loop_ns(&self) -> u64 {
        let all = Call::ALL.iter().filter(|call| **call != Call::Unlink);
        all.filter_map(|call| self.0[*call as usize].as_ref())
            .map(|times| times.total_ns)
            .sum()
    }

    /// `<call>_min`, `_avg`, `_max`, `_p50`, `_p99` in seconds, of the calls that were made.
    pub(crate) fn figures(&self) -> BTreeMap<String, f64> {
        let mut figures = BTreeMap::new();
        for call in Call::ALL {
            let Some(times) = &self.0[call as usize] else {
                continue;
            };
            // A histogram gives the upper end of a value's bucket, which may lie beyond the most.
            let quantile = |q| {
                let value = times.histogram.value_at_quantile(q);
                value.clamp(times.min_ns, times.max_ns) as f64
            };
            let count = times.histogram.len().max(1) as f64;
            for (name, nanoseconds) in [
                ("min", times.min_ns as f64),
                ("avg", times.total_ns as f64 / count),
                ("max", times.max_ns as f64),
                ("p50", quantile(0.5)),
                ("p99", quantile(0.99)),
            ] {
                figures.insert(format!("{}_{name}", call.name()), nanoseconds / 1e9);
            }
        }
        figures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_a_known_series_in_seconds_and_merged() {
        let (mut a, mut b) = (Calls::default(), Calls::default());
        for us in 1..=500_u64 {
            a.record(Call::Creat, us * 1000);
            b.record(Call::Creat, (us + 500) * 1000);
        }
        b.record(Call::Unlink, 7);
        // An hour: the histogram grows.
        b.record(Call::Sync, 3_600_000_000_000);
        a.merge(&b);
        assert_eq!((a.count(Call::Creat), a.count(Call::Fsync)), (1000, 0));
        assert_eq!(a.inside_loop_ns(), 500_500_000 + 3_600_000_000_000);
        let figures = a.figures();
        assert_eq!((figures["creat_min"], figures["creat_max"]), (1e-6, 1e-3));
        assert!((figures["creat_avg"] - 500.5e-6).abs() < 1e-12);
        assert!((figures["creat_p50"] - 500e-6).abs() < 1e-6);
        assert!((figures["creat_p99"] - 990e-6).abs() < 2e-6);
        assert_eq!((figures["sync_p50"], figures["sync_max"]), (3600.0, 3600.0));
        assert!(!figures.contains_key("fsync_avg"));
        assert_eq!(figures["unlink_min"], 7e-9);
    }
}
