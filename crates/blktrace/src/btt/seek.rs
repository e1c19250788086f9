//! Seek distances: how far an I/O is from the one before it.
//!
//! Distances are counted one by one up to a number of different ones. A random workload has as many
//! different distances as I/Os, so above that number the counts are thinned as Misra and Gries did
//! (1982): one is taken from each and the empty ones are dropped. Frequent distances stay, and the most
//! frequent one is exact but for the number of thinnings, which is kept. Quantiles come from a
//! histogram in constant memory, exact to 1 %, or from the counts while these are whole.

use hdrhistogram::Histogram;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// Different distances that are counted one by one.
const DISTINCT: usize = 1 << 17;

/// Distances of the I/Os of a device.
pub(crate) struct Seeks {
    counts: FxHashMap<u64, u64>,
    /// Distance 0, the most frequent one, apart.
    zeros: u64,
    histogram: Option<Histogram<u64>>,
    thinned: u64,
    count: u64,
    total: f64,
    last: (i64, i64),
}

/// Distances between I/Os, in sectors, whatever their direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SeekSummary {
    /// I/Os.
    pub count: u64,
    /// Their mean.
    pub mean: f64,
    /// The true median.
    pub median: u64,
    /// What btt prints as median: a distance that alone makes up half of all, or 0.
    pub btt_median: u64,
    /// 90 % are not farther.
    pub p90: u64,
    /// 99 % are not farther.
    pub p99: u64,
    /// The largest.
    pub max: u64,
    /// I/Os that begin where the last one ended, or touch it.
    pub sequential: u64,
    /// How often the most frequent distance occurs.
    pub mode_count: u64,
    /// The most frequent distances: those of this count, ascending, eight at most.
    pub modes: Vec<u64>,
    /// How many distances have this count.
    pub mode_ties: u64,
    /// How much each count may be too low; 0 where all was counted.
    pub mode_error: u64,
}

impl Default for Seeks {
    fn default() -> Seeks {
        Seeks {
            counts: FxHashMap::default(),
            zeros: 0,
            histogram: None,
            thinned: 0,
            count: 0,
            total: 0.0,
            last: (0, 0),
        }
    }
}

impl Seeks {
    /// Takes an I/O; its signed distance: 0 if it overlaps or touches the last one, else from its end
    /// forwards or from its beginning backwards. `absolute`: always from its end (btt -a).
    #[inline]
    pub(crate) fn add(&mut self, start: u64, end: u64, absolute: bool) -> i64 {
        let (start, end) = (start as i64, end as i64);
        let (last_start, last_end) = self.last;
        let touches = |at: i64| last_start <= at && at <= last_end;
        let distance = if absolute {
            start.wrapping_sub(last_end)
        } else if touches(start) || touches(end) {
            0
        } else if start > last_end {
            start.wrapping_sub(last_end)
        } else {
            start.wrapping_sub(last_start)
        };
        self.last = (start, end);
        self.count += 1;
        let magnitude = distance.unsigned_abs();
        if magnitude == 0 {
            self.zeros += 1;
        } else {
            self.total += magnitude as f64;
            self.tally(magnitude);
        }
        distance
    }

    fn tally(&mut self, magnitude: u64) {
        *self.counts.entry(magnitude).or_insert(0) += 1;
        if let Some(histogram) = &mut self.histogram {
            histogram.saturating_record(magnitude);
        }
        if self.counts.len() > DISTINCT {
            self.thin();
        }
    }

    #[cold]
    fn thin(&mut self) {
        if self.histogram.is_none() {
            // The precision is a constant that the constructor accepts.
            let mut histogram = Histogram::new_with_bounds(1, 1 << 55, 2).ok();
            if let Some(histogram) = &mut histogram {
                for (&distance, &count) in &self.counts {
                    histogram.saturating_record_n(distance, count);
                }
            }
            self.histogram = histogram;
        }
        self.thinned += 1;
        self.counts.retain(|_, count| {
            *count -= 1;
            *count > 0
        });
    }

    pub(crate) fn summary(&self) -> SeekSummary {
        let mut sorted: Vec<(u64, u64)> = self.counts.iter().map(|(&d, &n)| (d, n)).collect();
        if self.zeros > 0 {
            sorted.push((0, self.zeros));
        }
        sorted.sort_unstable();
        let mode_count = sorted.iter().map(|&(_, n)| n).max().unwrap_or(0);
        let modes = sorted.iter().filter(|&&(_, n)| n == mode_count);
        let half = sorted.iter().find(|&&(_, n)| n >= self.count / 2);
        let at = |share: f64| self.quantile(&sorted, share);
        SeekSummary {
            count: self.count,
            mean: if self.count > 0 {
                self.total / self.count as f64
            } else {
                0.0
            },
            median: at(0.5),
            btt_median: half.map_or(0, |&(distance, _)| distance),
            p90: at(0.9),
            p99: at(0.99),
            max: at(1.0),
            sequential: self.zeros,
            mode_count,
            mode_ties: modes.clone().count() as u64,
            modes: modes.map(|&(distance, _)| distance).take(8).collect(),
            mode_error: self.thinned,
        }
    }

    /// The least distance that so large a share of the I/Os does not exceed.
    fn quantile(&self, sorted: &[(u64, u64)], share: f64) -> u64 {
        let rank = ((share * self.count as f64).ceil() as u64).max(1);
        if let Some(histogram) = &self.histogram {
            let rest = self.count - self.zeros;
            return match rank.checked_sub(self.zeros) {
                None | Some(0) => 0,
                Some(rank) => histogram.value_at_quantile(rank as f64 / rest as f64),
            };
        }
        let mut below = 0;
        for &(distance, count) in sorted {
            below += count;
            if below >= rank {
                return distance;
            }
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_btts_and_the_median_is_true() {
        let mut seeks = Seeks::default();
        // btt's seek.c: overlap or touch is none; forwards from the end, backwards from the beginning.
        let found: Vec<i64> = [
            (2048, 2064),
            (2064, 2080),
            (2080, 2096),
            (7080, 7096),
            (6980, 6988),
        ]
        .map(|(start, end)| seeks.add(start, end, false))
        .into();
        assert_eq!(found, [2048, 0, 0, 4984, -100]);
        let summary = seeks.summary();
        assert_eq!((summary.median, summary.btt_median), (100, 0));
        assert_eq!((summary.modes, summary.mode_count), (vec![0], 2));
        assert_eq!(summary.max, 4984);
        assert_eq!(seeks.add(6988, 6990, true), 0);
    }

    #[test]
    fn a_random_workload_stays_bounded_and_keeps_its_mode() {
        let mut seeks = Seeks::default();
        let mut at = 0;
        for n in 0..400_000_u64 {
            at += if n % 3 == 0 { 1000 } else { 2000 + n };
            seeks.add(at, at + 8, false);
        }
        assert!(seeks.counts.len() <= DISTINCT + 1);
        let summary = seeks.summary();
        assert_eq!(summary.modes, [992]);
        let true_count = 133_333;
        assert!(summary.mode_count <= true_count);
        assert!(summary.mode_count + summary.mode_error >= true_count);
        let median = summary.median as f64;
        assert!((median / 101_992.0 - 1.0).abs() < 0.02, "{median}");
    }
}
