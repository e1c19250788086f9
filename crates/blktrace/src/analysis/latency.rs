//! Quantiles of intervals, in histograms that grow with the largest sample.

use hdrhistogram::Histogram;

use super::{Direction, IntervalSummary};
use crate::btt::average::{Average, Interval};

/// Significant digits: a histogram of some tens of KiB.
const DIGITS: u8 = 2;

/// A histogram for each interval and direction that has samples.
#[derive(Default)]
pub(super) struct Latencies {
    cells: Vec<Option<Box<Cell>>>,
}

struct Cell {
    average: Average,
    histogram: Histogram<u64>,
}

/// An hour is the largest; the constructor accepts these constants.
fn histogram() -> Option<Histogram<u64>> {
    Histogram::new_with_bounds(1, 3_600_000_000_000, DIGITS).ok()
}

/// 50, 90, 99 and 99.9 %, in seconds. The histogram rounds up inside a class; no quantile is beyond
/// the largest sample.
fn quantiles(average: &Average, histogram: &Histogram<u64>) -> [f64; 4] {
    [0.5, 0.9, 0.99, 0.999]
        .map(|share| histogram.value_at_quantile(share).min(average.max) as f64 / 1e9)
}

/// One quantity.
#[derive(Default)]
pub(super) struct Gauge {
    pub(super) average: Average,
    histogram: Option<Box<Histogram<u64>>>,
}

impl Gauge {
    pub(super) fn add(&mut self, ns: u64) {
        if self.histogram.is_none() {
            self.histogram = histogram().map(Box::new);
        }
        self.average.add(ns);
        if let Some(histogram) = &mut self.histogram {
            histogram.saturating_record(ns);
        }
    }

    /// None without samples.
    pub(super) fn quantiles(&self) -> Option<[f64; 4]> {
        Some(quantiles(&self.average, self.histogram.as_ref()?))
    }
}

impl Latencies {
    #[inline]
    pub(super) fn add(&mut self, interval: Interval, direction: Direction, ns: u64) {
        let at = interval as usize * Direction::ALL.len() + direction as usize;
        if let Some(Some(cell)) = self.cells.get_mut(at) {
            cell.average.add(ns);
            cell.histogram.saturating_record(ns);
        } else {
            self.begin(at, ns);
        }
    }

    #[cold]
    fn begin(&mut self, at: usize, ns: u64) {
        self.cells
            .resize_with(Interval::COUNT * Direction::ALL.len(), || None);
        if let Some(mut histogram) = histogram() {
            let mut average = Average::default();
            average.add(ns);
            histogram.saturating_record(ns);
            self.cells[at] = Some(Box::new(Cell { average, histogram }));
        }
    }

    pub(super) fn summaries(&self) -> Vec<IntervalSummary> {
        let mut list = Vec::new();
        for interval in Interval::ALL {
            let first = interval as usize * Direction::ALL.len();
            let cells = self.cells.get(first..first + Direction::ALL.len());
            let cells = cells.unwrap_or_default();
            let mut all: Option<(Average, Histogram<u64>)> = None;
            for (cell, direction) in cells.iter().zip(Direction::ALL) {
                let Some(cell) = cell else { continue };
                list.push(summary(
                    interval,
                    Some(direction),
                    &cell.average,
                    &cell.histogram,
                ));
                match &mut all {
                    Some((average, histogram)) => {
                        average.join(&cell.average);
                        // Both have the same bounds.
                        let _ = histogram.add(&cell.histogram);
                    }
                    None => all = Some((cell.average, cell.histogram.clone())),
                }
            }
            if let Some((average, histogram)) = all {
                list.push(summary(interval, None, &average, &histogram));
            }
        }
        list
    }
}

fn summary(
    interval: Interval,
    direction: Option<Direction>,
    average: &Average,
    histogram: &Histogram<u64>,
) -> IntervalSummary {
    let [p50, p90, p99, p999] = quantiles(average, histogram);
    IntervalSummary {
        interval,
        direction,
        average: *average,
        p50,
        p90,
        p99,
        p999,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_exact_to_a_hundredth() {
        let mut latencies = Latencies::default();
        for n in 1..=100_000_u64 {
            let direction = Direction::ALL[(n % 2) as usize];
            latencies.add(Interval::D2C, direction, n * 1000);
        }
        let list = latencies.summaries();
        assert_eq!(list.len(), 3);
        let all = list[2];
        assert_eq!((all.direction, all.average.n), (None, 100_000));
        assert_eq!((all.average.min, all.average.max), (1000, 100_000_000));
        for (found, expected) in [(all.p50, 0.05), (all.p90, 0.09), (all.p99, 0.099)] {
            assert!(
                (found / expected - 1.0).abs() < 0.01,
                "{found} for {expected}"
            );
        }
    }
}
