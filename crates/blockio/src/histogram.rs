//! Counts of sizes and distances by powers of two.
//!
//! Sizes of requests span nine orders of magnitude and distances of seeks fourteen, and a pass is
//! the difference of two snapshots. Buckets of powers of two can be subtracted exactly, take 520
//! bytes and need no range in advance; finer ones would show nothing that a reader of the
//! table could use.

use serde::ser::{Serialize, SerializeSeq, Serializer};

const BUCKETS: usize = 65;

/// Counts of values by powers of two: 0, 1, 2..=3, 4..=7 and so on.
#[derive(Clone, PartialEq, Eq)]
pub struct Histogram {
    counts: [u64; BUCKETS],
}

/// One bucket that is not empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Row {
    /// Least value of the bucket.
    pub from: u64,
    /// Largest.
    pub to: u64,
    /// Values in it.
    pub count: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram {
            counts: [0; BUCKETS],
        }
    }
}

impl std::fmt::Debug for Histogram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.rows()).finish()
    }
}

/// A list of the buckets that are not empty.
impl Serialize for Histogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        for row in self.rows() {
            list.serialize_element(&row)?;
        }
        list.end()
    }
}

impl Histogram {
    pub(crate) fn add(&mut self, value: u64) {
        self.counts[(u64::BITS - value.leading_zeros()) as usize] += 1;
    }

    /// Values counted.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Buckets that are not empty, ascending.
    pub fn rows(&self) -> impl Iterator<Item = Row> + '_ {
        let bounds = |bucket: usize| match bucket {
            0 => (0, 0),
            64 => (1 << 63, u64::MAX),
            n => (1 << (n - 1), (1 << n) - 1),
        };
        self.counts
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
            .map(move |(bucket, count)| Row {
                from: bounds(bucket).0,
                to: bounds(bucket).1,
                count: *count,
            })
    }

    /// What was counted since `earlier`, a snapshot of the same histogram.
    #[must_use]
    pub fn since(&self, earlier: &Histogram) -> Histogram {
        let mut counts = self.counts;
        for (now, then) in counts.iter_mut().zip(&earlier.counts) {
            *now = now.saturating_sub(*then);
        }
        Histogram { counts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_powers_of_two() {
        let mut histogram = Histogram::default();
        for value in [0, 1, 2, 3, 4, 4096, u64::MAX] {
            histogram.add(value);
        }
        let row = |from, to, count| Row { from, to, count };
        let rows: Vec<Row> = histogram.rows().collect();
        assert_eq!(
            rows,
            [
                row(0, 0, 1),
                row(1, 1, 1),
                row(2, 3, 2),
                row(4, 7, 1),
                row(4096, 8191, 1),
                row(1 << 63, u64::MAX, 1)
            ]
        );
        let before = histogram.clone();
        histogram.add(5000);
        let since = histogram.since(&before);
        assert_eq!(since.total(), 1);
        assert_eq!(
            serde_json::to_string(&since).unwrap(),
            r#"[{"from":4096,"to":8191,"count":1}]"#
        );
    }

    proptest::proptest! {
        #[test]
        fn every_value_is_counted_in_the_bucket_that_holds_it(value in proptest::num::u64::ANY) {
            let mut histogram = Histogram::default();
            histogram.add(value);
            let rows: Vec<Row> = histogram.rows().collect();
            proptest::prop_assert_eq!(rows.len(), 1);
            proptest::prop_assert!((rows[0].from..=rows[0].to).contains(&value));
        }
    }
}
