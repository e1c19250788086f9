//! What is counted in a window, and its figures.

use hdrhistogram::Histogram;

use super::super::Kind;
use super::{Figures, Window};

/// Samples of an interval.
#[derive(Default)]
pub(super) struct Interval {
    n: u64,
    sum: u128,
    histogram: Option<Histogram<u64>>,
}

impl Interval {
    pub(super) fn add(&mut self, ns: u64) {
        self.n += 1;
        self.sum += u128::from(ns);
        // An hour is the largest; the constructor accepts these constants.
        let made = || Histogram::new_with_bounds(1, 3_600_000_000_000, 2).ok();
        if self.histogram.is_none() {
            self.histogram = made();
        }
        if let Some(histogram) = &mut self.histogram {
            histogram.saturating_record(ns.max(1));
        }
    }

    fn mean(&self) -> Option<f64> {
        ratio(self.sum as f64 / 1e9, self.n as f64)
    }

    fn p99(&self) -> Option<f64> {
        let histogram = self.histogram.as_ref()?;
        Some(histogram.value_at_quantile(0.99).min(histogram.max()) as f64 / 1e9)
    }
}

fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

/// What was counted in a window.
pub(super) struct Tally {
    pub(super) window: Window,
    pub(super) events: u64,
    pub(super) bios: u64,
    pub(super) requests: u64,
    pub(super) request_bytes: u64,
    pub(super) merges: u64,
    pub(super) flushes: u64,
    /// Bytes queued by kind.
    pub(super) kinds: [u64; 3],
    /// Requests that follow another one of the window.
    pub(super) pairs: u64,
    /// Their distances, bytes.
    pub(super) sought: f64,
    pub(super) touching: u64,
    pub(super) switches: u64,
    pub(super) q2c: Interval,
    pub(super) d2c: Interval,
    pub(super) busy_ns: u64,
    pub(super) depth_ns: u128,
}

impl Tally {
    pub(super) fn new(window: Window) -> Tally {
        Tally {
            window,
            events: 0,
            bios: 0,
            requests: 0,
            request_bytes: 0,
            merges: 0,
            flushes: 0,
            kinds: [0; 3],
            pairs: 0,
            sought: 0.0,
            touching: 0,
            switches: 0,
            q2c: Interval::default(),
            d2c: Interval::default(),
            busy_ns: 0,
            depth_ns: 0,
        }
    }

    pub(super) fn figures(&self) -> Figures {
        let ns = self.window.share(0, u64::MAX) as f64;
        let bytes: u64 = self.kinds.iter().sum();
        let of = |kind: Kind| self.kinds[kind as usize] as f64;
        let (bios, requests, pairs) = (self.bios as f64, self.requests as f64, self.pairs as f64);
        let all = [
            ("trace_events", Some(self.events as f64)),
            ("trace_bios", Some(bios)),
            ("trace_bio_mean", ratio(bytes as f64, bios)),
            ("trace_requests", Some(requests)),
            (
                "trace_request_mean",
                ratio(self.request_bytes as f64, requests),
            ),
            ("trace_merges", Some(self.merges as f64)),
            ("trace_merge_ratio", ratio(bios, requests)),
            ("trace_seek_mean", ratio(self.sought, pairs)),
            ("trace_sequential", ratio(self.touching as f64, pairs)),
            ("trace_q2c_mean", self.q2c.mean()),
            ("trace_q2c_p99", self.q2c.p99()),
            ("trace_d2c_mean", self.d2c.mean()),
            ("trace_d2c_p99", self.d2c.p99()),
            ("trace_depth", ratio(self.depth_ns as f64, ns)),
            ("trace_busy", ratio(self.busy_ns as f64, ns)),
            ("trace_data_bytes", Some(of(Kind::Data))),
            ("trace_metadata_bytes", Some(of(Kind::Metadata))),
            ("trace_journal_bytes", Some(of(Kind::Journal))),
            (
                "trace_metadata_share",
                ratio(of(Kind::Metadata), bytes as f64),
            ),
            (
                "trace_journal_share",
                ratio(of(Kind::Journal), bytes as f64),
            ),
            ("trace_flushes", Some(self.flushes as f64)),
            ("trace_kind_switches", Some(self.switches as f64)),
        ];
        let there = all.into_iter();
        there
            .filter_map(|(name, value)| Some((name, value?)))
            .collect()
    }
}
