//! How long each operation took, by kind of system call: one recorder for all workloads.
//!
//! A time is the difference of two readings of CLOCK_MONOTONIC in the vDSO, 25 to 40 ns each; a
//! loop over one call reads it once a call (the end of one is the beginning of the next). Counting takes
//! another few nanoseconds. docs/metrics.md has the cost as measured by `benches latency_cost`.
//!
//! `fill` reads the clock once between two calls, where fs_mark reads it twice for each. Counting
//! happens after the close, outside every call and therefore inside "App Overhead", where fs_mark's
//! own bookkeeping is too. Only where a file takes several writes does a write's time include the
//! counting of the one before it, about 10 ns.

mod histogram;
pub(crate) mod packed;

use std::collections::BTreeMap;

use histogram::Histogram;

use crate::phase::{Bucket, LatencyReport, Recorded};

/// The calls that are timed.
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
    /// open of a file, which it may create.
    Open,
    /// read.
    Read,
    /// stat and lstat.
    Stat,
    /// mkdir.
    Mkdir,
    /// rmdir.
    Rmdir,
}

impl Call {
    /// The calls that fs_mark times, in its columns' order.
    pub(crate) const FS_MARK: [Call; 6] = [
        Call::Creat,
        Call::Write,
        Call::Fsync,
        Call::Sync,
        Call::Close,
        Call::Unlink,
    ];

    /// All, in the order of a file's life.
    pub(crate) const ALL: [Call; 11] = [
        Call::Creat,
        Call::Open,
        Call::Read,
        Call::Write,
        Call::Fsync,
        Call::Sync,
        Call::Close,
        Call::Stat,
        Call::Unlink,
        Call::Mkdir,
        Call::Rmdir,
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
            Call::Open => "open",
            Call::Read => "read",
            Call::Stat => "stat",
            Call::Mkdir => "mkdir",
            Call::Rmdir => "rmdir",
        }
    }
}

/// The end of a figure's name, and the figure, for each figure of a kind of call.
type Figures = [(&'static str, f64); 7];

/// Times of one kind of call: exact total, least and most, and a histogram.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Times {
    total_ns: u64,
    min_ns: u64,
    max_ns: u64,
    histogram: Histogram,
}

/// Of times in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Moments {
    pub(crate) min: u64,
    pub(crate) max: u64,
    pub(crate) mean: f64,
    /// Of the sample: divided by one less than the count.
    pub(crate) deviation: f64,
    pub(crate) count: u64,
}

impl Default for Times {
    fn default() -> Self {
        Times {
            total_ns: 0,
            min_ns: u64::MAX,
            max_ns: 0,
            histogram: Histogram::default(),
        }
    }
}

impl Times {
    /// A call took this long.
    #[inline]
    pub(crate) fn record(&mut self, nanoseconds: u64) {
        self.total_ns += nanoseconds;
        self.min_ns = self.min_ns.min(nanoseconds);
        self.max_ns = self.max_ns.max(nanoseconds);
        self.histogram.record(nanoseconds);
    }

    /// Adds another thread's.
    pub(crate) fn merge(&mut self, other: &Times) {
        self.total_ns += other.total_ns;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.histogram.merge(&other.histogram);
    }

    /// Number of calls.
    pub(crate) fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// Least, largest, mean and standard deviation, ns; 0 without a call. The deviation is that of the
    /// histogram, within 0.2 % of each time.
    pub(crate) fn moments(&self) -> Moments {
        let count = self.count();
        if count == 0 {
            return Moments::default();
        }
        let mean = self.total_ns as f64 / count as f64;
        Moments {
            min: self.min_ns,
            max: self.max_ns,
            mean,
            deviation: self.histogram.deviation(),
            count,
        }
    }

    /// The times of which these shares (0 to 1) are not above, ns, nearest rank.
    pub(crate) fn quantiles<const N: usize>(&self, shares: [f64; N]) -> [u64; N] {
        let most = self.max_ns;
        let least = self.min_ns.min(most);
        self.histogram
            .quantiles(shares)
            .map(|ns| ns.clamp(least, most))
    }

    /// How many times are in each range: below the first bound, then from each bound to the next, and
    /// from the last. Times next to a bound count within 0.4 %.
    pub(crate) fn ranges(&self, bounds: &[u64]) -> Vec<u64> {
        self.histogram.ranges(bounds)
    }

    /// In seconds. There is at least one call.
    fn figures(&self) -> Figures {
        // The middle of the outermost buckets may be beyond the least and the most.
        let quantiles = self.histogram.quantiles([0.5, 0.9, 0.99, 0.999]);
        let [p50, p90, p99, p999] =
            quantiles.map(|ns| ns.clamp(self.min_ns, self.max_ns) as f64 / 1e9);
        let mean = self.total_ns as f64 / self.count().max(1) as f64 / 1e9;
        [
            ("min", self.min_ns as f64 / 1e9),
            ("avg", mean),
            ("p50", p50),
            ("p90", p90),
            ("p99", p99),
            ("p999", p999),
            ("max", self.max_ns as f64 / 1e9),
        ]
    }

    fn report(&self, call: Call) -> LatencyReport {
        let [min, mean, p50, p90, p99, p999, max] = self.figures().map(|(_, seconds)| seconds);
        let buckets = self.histogram.quarters().into_iter();
        LatencyReport {
            operation: call.name().to_owned(),
            count: self.count(),
            min,
            mean,
            p50,
            p90,
            p99,
            p999,
            max,
            histogram: buckets
                .map(|(from, to, count)| Bucket {
                    from: from as f64 / 1e9,
                    to: to as f64 / 1e9,
                    count,
                })
                .collect(),
            times: Recorded(Some(Box::new(self.clone()))),
        }
    }
}

impl LatencyReport {
    /// Adds the calls that it was made of, where those are known.
    pub(crate) fn add_to(&self, calls: &mut Calls) {
        let call = Call::ALL
            .into_iter()
            .find(|call| call.name() == self.operation);
        if let (Some(call), Some(times)) = (call, &self.times.0) {
            calls.of(call).merge(times);
        }
    }
}

/// Times of all kinds of calls. Memory does not depend on their number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Calls([Option<Box<Times>>; Call::ALL.len()]);

impl Calls {
    /// A call took this long.
    #[inline]
    pub(crate) fn record(&mut self, call: Call, nanoseconds: u64) {
        self.of(call).record(nanoseconds);
    }

    /// The times of a kind of call, to add to.
    pub(crate) fn of(&mut self, call: Call) -> &mut Times {
        self.0[call as usize].get_or_insert_default()
    }

    /// Adds another thread's.
    pub(crate) fn merge(&mut self, other: &Calls) {
        for (mine, other) in self.0.iter_mut().zip(&other.0) {
            if let Some(other) = other {
                mine.get_or_insert_default().merge(other);
            }
        }
    }

    /// Number of calls.
    pub(crate) fn count(&self, call: Call) -> u64 {
        self.0[call as usize]
            .as_ref()
            .map_or(0, |times| times.count())
    }

    /// Time in the calls that fs_mark takes out of its loop's time to get "App Overhead": all but
    /// unlink.
    pub(crate) fn inside_loop_ns(&self) -> u64 {
        let all = Call::FS_MARK.iter().filter(|call| **call != Call::Unlink);
        all.filter_map(|call| self.0[*call as usize].as_ref())
            .map(|times| times.total_ns)
            .sum()
    }

    /// The kinds of which there was a call, with their times.
    fn made(&self) -> impl Iterator<Item = (Call, &Times)> {
        Call::ALL
            .into_iter()
            .filter_map(|call| Some((call, self.0[call as usize].as_deref()?)))
            .filter(|(_, times)| times.max_ns >= times.min_ns)
    }

    /// `<call>_min`, `_avg`, `_p50`, `_p90`, `_p99`, `_p999`, `_max` in seconds, of the calls that were
    /// made.
    pub(crate) fn figures(&self) -> BTreeMap<String, f64> {
        let named = |(call, times): (Call, &Times)| {
            let figures = times.figures();
            figures.map(|(figure, seconds)| (format!("{}_{figure}", call.name()), seconds))
        };
        self.made().flat_map(named).collect()
    }

    /// [`Calls::figures`] without the quantiles: of a single run of many, which keeps no histogram.
    pub(crate) fn means(&self) -> BTreeMap<String, f64> {
        let mut figures = self.figures();
        figures.retain(|name, _| !name.contains("_p"));
        figures
    }

    /// The same with histograms, for a phase's report.
    pub(crate) fn reports(&self) -> Vec<LatencyReport> {
        self.made()
            .map(|(call, times)| times.report(call))
            .collect()
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
        // An hour.
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
        assert!((figures["creat_p999"] - 999e-6).abs() < 2e-6);
        assert!(!a.means().contains_key("creat_p90"));
        assert_eq!(a.means()["creat_max"], 1e-3);
    }

    #[test]
    fn a_report_has_each_call_once_in_its_histogram() {
        let mut calls = Calls::default();
        (1..=100).for_each(|us| calls.record(Call::Read, us * 1000));
        calls.record(Call::Close, 0);
        let reports = calls.reports();
        let [read, close] = reports.as_slice() else {
            panic!("{reports:?}");
        };
        assert_eq!((read.operation.as_str(), read.count), ("read", 100));
        assert_eq!(read.histogram.iter().map(|b| b.count).sum::<u64>(), 100);
        assert!(read.histogram.is_sorted_by(|a, b| a.to <= b.from));
        let ends = read.histogram.first().zip(read.histogram.last()).unwrap();
        assert!(ends.0.from <= read.min && read.max < ends.1.to);
        let quantiles = [read.min, read.p50, read.p90, read.p99, read.p999, read.max];
        assert!(quantiles.is_sorted(), "{quantiles:?}");
        assert_eq!((close.count, close.max), (1, 0.0));
    }
}
