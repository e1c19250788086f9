//! A histogram of times: log-linear buckets in a fixed piece of memory.
//!
//! As in HdrHistogram (Gil Tene), each power of two is cut into equal buckets, here 256, so that a
//! bucket is at most 1/256 of its values wide and the middle of a bucket is within 0.2 % of them. What
//! is different: the range is fixed (below 512 ns each nanosecond has a bucket of its own; 73 minutes
//! and more share the last one), so counting is a shift, an addition and a store, without a branch
//! that depends on the range, and the memory (70 KiB) does not depend on what is measured.

/// Bits of a time that are kept.
const BITS: u32 = 9;
/// Times below this have a bucket each.
const SUB: u64 = 1 << BITS;
/// Times of 2^42 ns, 73 minutes, and more count in the last bucket.
const MOST: u64 = (1 << 42) - 1;
/// Number of buckets.
const LEN: usize = bucket(MOST) + 1;

/// The bucket of a time.
const fn bucket(ns: u64) -> usize {
    let shift = (ns | (SUB - 1)).ilog2() - (BITS - 1);
    // `ns >> shift` is below SUB; of a shifted value it is at least SUB / 2, so the lower half of the
    // row of each shift but the first would stay empty: rows overlap by it.
    (shift as u64 * (SUB / 2) + (ns >> shift)) as usize
}

/// Least time of a bucket.
const fn low(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < SUB {
        return bucket;
    }
    let shift = bucket / (SUB / 2) - 1;
    (bucket - shift * (SUB / 2)) << shift
}

/// Counts of times, in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Histogram {
    counts: Box<[u64]>,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram {
            counts: vec![0; LEN].into_boxed_slice(),
        }
    }
}

impl Histogram {
    /// Counts a time.
    #[inline]
    pub(super) fn record(&mut self, ns: u64) {
        // The bound is for the compiler: a time is never above the last bucket.
        if let Some(count) = self.counts.get_mut(bucket(ns.min(MOST))) {
            *count += 1;
        }
    }

    /// Adds the counts of another.
    pub(super) fn merge(&mut self, other: &Histogram) {
        for (mine, other) in self.counts.iter_mut().zip(&other.counts) {
            *mine += other;
        }
    }

    /// Buckets that are not empty, as their distance from the one before and their count, each a number of 7 bits a byte,
    /// least first (LEB128, as HdrHistogram's encoding has it).
    pub(super) fn pack(&self, bytes: &mut Vec<u8>) {
        let mut last = 0;
        for (at, &count) in self.counts.iter().enumerate().filter(|(_, n)| **n > 0) {
            put(bytes, (at - last) as u64);
            put(bytes, count);
            last = at;
        }
    }

    /// What [`Histogram::pack`] wrote; none: it did not.
    pub(super) fn unpack(mut bytes: &[u8]) -> Option<Histogram> {
        let mut histogram = Histogram::default();
        let mut at = 0_usize;
        while !bytes.is_empty() {
            at = at.checked_add(usize::try_from(take(&mut bytes)?).ok()?)?;
            let count = histogram.counts.get_mut(at)?;
            *count = count.checked_add(take(&mut bytes)?)?;
        }
        Some(histogram)
    }

    /// Number of times.
    pub(super) fn len(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The times of which a share `q` is not above, nearest rank: the middle of the rank's bucket. 0
    /// without a time.
    pub(super) fn quantiles<const N: usize>(&self, shares: [f64; N]) -> [u64; N] {
        let len = self.len();
        shares.map(|share| {
            let rank = ((share * len as f64).ceil() as u64).clamp(1, len.max(1));
            let mut passed = 0;
            let found = self.counts.iter().position(|count| {
                passed += count;
                passed >= rank
            });
            found.map_or(0, |at| u64::midpoint(low(at), low(at + 1) - 1))
        })
    }

    /// Standard deviation of a sample of these times, from the middles of their buckets.
    pub(super) fn deviation(&self) -> f64 {
        // Welford's method with weights: no sum of squares that loses its digits.
        let (mut count, mut mean, mut squares) = (0.0, 0.0, 0.0);
        for (at, &times) in self.counts.iter().enumerate().filter(|(_, n)| **n > 0) {
            let value = u64::midpoint(low(at), low(at + 1) - 1) as f64;
            let times = times as f64;
            count += times;
            let delta: f64 = value - mean;
            mean += delta * times / count;
            squares += times * delta * (value - mean);
        }
        if count > 1.0 {
            (squares / (count - 1.0)).sqrt()
        } else {
            0.0
        }
    }

    /// Counts below the first of these ascending bounds, from each to the next, and from the last on. A
    /// bucket counts where its least time is.
    pub(super) fn ranges(&self, bounds: &[u64]) -> Vec<u64> {
        let mut ranges = vec![0; bounds.len() + 1];
        for (at, count) in self.counts.iter().enumerate().filter(|(_, n)| **n > 0) {
            let range = bounds.partition_point(|bound| *bound <= low(at));
            ranges[range] += count;
        }
        ranges
    }

    /// Counts of ranges that are each a quarter of a power of two, as least time, end and count;
    /// empty ranges are left out.
    pub(super) fn quarters(&self) -> Vec<(u64, u64, u64)> {
        let mut ranges: Vec<(u64, u64, u64)> = Vec::new();
        for (at, &count) in self.counts.iter().enumerate().filter(|(_, n)| **n > 0) {
            let (from, to) = quarter(low(at));
            match ranges.last_mut() {
                Some(last) if last.0 == from => last.2 += count,
                _ => ranges.push((from, to, count)),
            }
        }
        ranges
    }
}

/// Appends a number in as few bytes as it needs.
pub(super) fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Takes such a number off the beginning.
pub(super) fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..64_u32).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let part = u64::from(byte & 0x7f);
        if part.leading_zeros() < shift {
            return None;
        }
        number |= part << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

/// The quarter of a power of two that a time is in: its least time and its end.
const fn quarter(ns: u64) -> (u64, u64) {
    if ns < 4 {
        return (ns, ns + 1);
    }
    let shift = 61 - ns.leading_zeros();
    let from = ns >> shift << shift;
    (from, from + (1 << shift))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn buckets_follow_one_another_without_a_gap() {
        assert_eq!(
            (bucket(0), bucket(511), bucket(512), bucket(513)),
            (0, 511, 512, 512)
        );
        assert_eq!(bucket(MOST), LEN - 1);
        for at in 0..LEN {
            assert_eq!(bucket(low(at)), at);
            assert!(low(at) < low(at + 1));
            assert_eq!(bucket(low(at + 1) - 1), at);
        }
        const { assert!(LEN * 8 < 72 << 10) };
    }

    #[test]
    fn nothing_counted_has_no_quantile_and_the_longest_are_not_lost() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.quantiles([0.5, 1.0]), [0, 0]);
        histogram.record(u64::MAX);
        assert_eq!(histogram.len(), 1);
        assert!(histogram.quantiles([0.5])[0] > MOST - MOST / 100);
    }

    #[test]
    fn quarters_hold_everything_once() {
        let mut histogram = Histogram::default();
        for ns in [0, 1, 3, 4, 5, 7, 1000, 1023, 1024, 1_000_000] {
            histogram.record(ns);
        }
        let quarters = histogram.quarters();
        assert_eq!(quarters.iter().map(|q| q.2).sum::<u64>(), 10);
        assert!(quarters.contains(&(896, 1024, 2)), "{quarters:?}");
        assert!(quarters.contains(&(1024, 1280, 1)), "{quarters:?}");
        assert!(quarters.is_sorted());
    }

    #[test]
    fn deviation_and_ranges_of_a_known_series() {
        let mut histogram = Histogram::default();
        assert_eq!(
            (histogram.deviation(), histogram.ranges(&[])),
            (0.0, vec![0])
        );
        for ns in [2, 4, 4, 4, 5, 5, 7, 9] {
            histogram.record(ns);
        }
        assert!((histogram.deviation() - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12);
        assert_eq!(histogram.ranges(&[4, 5, 9]), [1, 3, 3, 1]);
        assert_eq!(histogram.ranges(&[]), [8]);
    }

    proptest! {
        #[test]
        fn a_quantile_is_within_half_a_percent(
            mut times in prop::collection::vec(0_u64..1 << 41, 1..200),
            share in 0.0_f64..=1.0,
        ) {
            let mut histogram = Histogram::default();
            for ns in &times {
                histogram.record(*ns);
            }
            times.sort_unstable();
            let rank = ((share * times.len() as f64).ceil() as usize).clamp(1, times.len());
            let exact = times[rank - 1];
            let [found] = histogram.quantiles([share]);
            prop_assert!(found.abs_diff(exact) * 200 <= exact, "{found} {exact}");
        }

        #[test]
        fn what_is_packed_is_unpacked(times in prop::collection::vec(0_u64..1 << 50, 0..200)) {
            let mut histogram = Histogram::default();
            for ns in &times {
                histogram.record(*ns);
            }
            let mut bytes = Vec::new();
            histogram.pack(&mut bytes);
            prop_assert!(bytes.len() <= 4 * times.len());
            prop_assert_eq!(Histogram::unpack(&bytes).unwrap().counts, histogram.counts);
        }

        #[test]
        fn garbage_is_refused_or_a_histogram(bytes in prop::collection::vec(0_u8.., 0..60)) {
            if let Some(histogram) = Histogram::unpack(&bytes) {
                let mut again = Vec::new();
                histogram.pack(&mut again);
                prop_assert_eq!(Histogram::unpack(&again).unwrap().counts, histogram.counts);
            }
        }

        #[test]
        fn merged_is_as_if_counted_together(
            a in prop::collection::vec(0_u64..1 << 50, 0..50),
            b in prop::collection::vec(0_u64..1 << 50, 0..50),
        ) {
            let count = |times: &[u64]| {
                let mut histogram = Histogram::default();
                for ns in times {
                    histogram.record(*ns);
                }
                histogram
            };
            let mut merged = count(&a);
            merged.merge(&count(&b));
            prop_assert_eq!(merged.counts, count(&[a, b].concat()).counts);
        }
    }
}
