//! From published percentiles back to a list of whole numbers with the published sum.
//!
//! Sizes and widths spread over orders of magnitude, so the curve between two percentiles `a` and
//! `b` is geometric, and every stretch of it is bent alike, `a (b/a)^(s^g)`, with the one `g` that
//! gives the published sum: monotone for every `g`, and both ends stay. What rounding leaves is
//! spread one by one. (Straight lines between the percentiles of directory widths overshoot the
//! published number of files by a fifth.)

use std::collections::BTreeMap;
use std::ops::Range;

use super::shapes::Shape;

/// (position in the sorted list, value), ascending.
pub(super) type Knots = Vec<(f64, f64)>;

/// Percentiles of a list of `n` as knots.
pub(super) fn knots(percentiles: &[(f64, u64)], n: usize) -> Knots {
    let last = n.saturating_sub(1) as f64;
    percentiles
        .iter()
        .map(|&(percent, value)| (percent / 100.0 * last, value as f64))
        .collect()
}

/// The positions beside each point, with its value. Where the curve is steep a percentile says
/// little about the values beside it, so they take it as it is.
pub(super) fn pinned(percentiles: &[(f64, u64)], n: usize) -> BTreeMap<usize, u64> {
    let mut pinned = BTreeMap::new();
    for &(percent, value) in percentiles {
        let at = percent / 100.0 * n.saturating_sub(1) as f64;
        pinned.extend([(at.floor() as usize, value), (at.ceil() as usize, value)]);
    }
    pinned
}

/// Where a position lies between its knots: their values and the way from one to the other.
fn between(knots: &Knots, at: f64) -> (f64, f64, f64) {
    let above = knots.partition_point(|k| k.0 < at);
    let Some(&(right, b)) = knots.get(above) else {
        let last = knots.last().map_or(0.0, |k| k.1);
        return (last, last, 0.0);
    };
    if above == 0 || right <= at {
        return (b, b, 0.0);
    }
    let (left, a) = knots[above - 1];
    (a, b, (at - left) / (right - left))
}

/// The curve between two knots, bent by `g`; from 0 it can only be a power.
fn bent((a, b, s): (f64, f64, f64), g: f64) -> f64 {
    let s = s.powf(g);
    if a > 0.0 { a * (b / a).powf(s) } else { b * s }
}

/// A stretch of a sorted list that has to have a sum.
pub(super) struct Stretch<'a> {
    /// The curve to follow.
    pub(super) knots: &'a Knots,
    /// Positions of the list.
    pub(super) range: Range<usize>,
    /// Least and greatest value.
    pub(super) bounds: (u64, u64),
    /// Values known exactly, by position.
    pub(super) known: &'a dyn Fn(usize) -> Option<u64>,
    /// What the values have to sum to.
    pub(super) total: u64,
}

impl Stretch<'_> {
    /// The values, ascending.
    pub(super) fn solve(&self) -> Vec<u64> {
        let (low, high) = (self.bounds.0 as f64, self.bounds.1 as f64);
        let places: Vec<(f64, f64, f64)> = self
            .range
            .clone()
            .map(|at| match (self.known)(at) {
                Some(value) => (value as f64, value as f64, 0.0),
                None => between(self.knots, at as f64),
            })
            .collect();
        let value = |place: &(f64, f64, f64), g: f64| bent(*place, g).clamp(low, high);
        let sum = |g: f64| places.iter().map(|p| value(p, g)).sum::<f64>();
        // The sum falls as g grows: halve the interval of its logarithm.
        let (mut least, mut most) = (-4.0_f64, 4.0_f64);
        for _ in 0..40 {
            let middle = f64::midpoint(least, most);
            if sum(middle.exp()) > self.total as f64 {
                least = middle;
            } else {
                most = middle;
            }
        }
        let g = most.exp();
        let mut values: Vec<u64> = places.iter().map(|p| value(p, g).round() as u64).collect();
        let known: Vec<bool> = self
            .range
            .clone()
            .map(|at| (self.known)(at).is_some())
            .collect();
        self.settle(&mut values, &known);
        // A stretch of known values only, rounded as they were published, can miss its sum.
        self.settle(&mut values, &vec![false; known.len()]);
        values.sort_unstable();
        values
    }

    /// Makes the sum exact: in proportion to the room that each value has, then one by one, evenly
    /// over the stretch. Gives up only where the bounds leave no room at all.
    fn settle(&self, values: &mut [u64], known: &[bool]) {
        let free: Vec<usize> = (0..values.len()).filter(|&i| !known[i]).collect();
        for _ in 0..64 {
            let missing = self.total as i64 - values.iter().sum::<u64>() as i64;
            let room = |values: &[u64], i: usize| {
                if missing > 0 {
                    self.bounds.1 - values[i]
                } else {
                    values[i] - self.bounds.0
                }
            };
            let open: Vec<usize> = free
                .iter()
                .copied()
                .filter(|&i| room(values, i) > 0)
                .collect();
            if missing == 0 || open.is_empty() {
                return;
            }
            let all: u64 = open.iter().map(|&i| room(values, i)).sum();
            let wanted = missing.unsigned_abs();
            let single = wanted < open.len() as u64;
            let steps = if single { wanted as usize } else { open.len() };
            for k in 0..steps {
                let i = open[k * open.len() / steps];
                let share = u128::from(wanted) * u128::from(room(values, i)) / u128::from(all);
                let by = if single {
                    1
                } else {
                    (share as u64).clamp(1, room(values, i))
                };
                if missing > 0 {
                    values[i] += by;
                } else {
                    values[i] -= by;
                }
            }
        }
    }
}

/// All sizes of a set, ascending: exact in number, sum, number and sum by power of two, and in its
/// twenty largest; between the percentiles, interpolated.
pub(super) fn sizes(shape: &Shape) -> Vec<u64> {
    let n = shape.files;
    let first_top = n - shape.top.len();
    let percents = shape.quantiles.iter().enumerate();
    let mut points: Vec<(f64, u64)> = percents.map(|(q, &size)| (q as f64, size)).collect();
    points.extend(&shape.tail);
    let mut pinned = pinned(&points, n);
    pinned.extend((first_top..n).map(|at| (at, shape.top[n - 1 - at])));
    let known = |at: usize| pinned.get(&at).copied();
    let mut knots = knots(&points, n);
    knots.retain(|k| k.0 < first_top as f64);
    knots.extend((first_top..n).map(|at| (at as f64, shape.top[n - 1 - at] as f64)));
    knots.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut sizes = Vec::with_capacity(n);
    for &(bits, files, bytes) in &shape.log2 {
        let bounds = match bits {
            0 => (0, 0),
            _ => (1 << (bits - 1), (1 << bits) - 1),
        };
        let stretch = Stretch {
            knots: &knots,
            range: sizes.len()..sizes.len() + files,
            bounds,
            known: &known,
            total: bytes,
        };
        sizes.extend(stretch.solve());
    }
    sizes
}

/// `n` values with the shape of `sorted`: the means of `n` equal slices of it, so the sum shrinks
/// with the number, and the few huge values shrink with it. The whole list when `n` is its length.
pub(super) fn thin(sorted: &[u64], n: usize) -> Vec<u64> {
    let mut sums = Vec::with_capacity(sorted.len() + 1);
    let mut sum = 0_u64;
    sums.push(0_u64);
    for value in sorted {
        sum += value;
        sums.push(sum);
    }
    let ratio = n as f64 / sorted.len() as f64;
    let upto = |i: usize| {
        let at = i as f64 / ratio;
        let whole = (at as usize).min(sorted.len());
        let part = sorted
            .get(whole)
            .map_or(0.0, |v| (at - whole as f64) * *v as f64);
        ((sums[whole] as f64 + part) * ratio).round() as u64
    };
    let mut few: Vec<u64> = (0..n).map(|i| upto(i + 1) - upto(i)).collect();
    few.sort_unstable(); // rounding can swap neighbours that differ by one
    few
}

/// Shrinks `counts` to a sum of `n`, each in proportion (largest remainders).
pub(super) fn shrink(counts: &[usize], n: usize) -> Vec<usize> {
    let total: usize = counts.iter().sum();
    if total == 0 {
        return counts.to_vec();
    }
    let mut shrunk: Vec<usize> = counts.iter().map(|c| c * n / total).collect();
    let mut by_rest: Vec<usize> = (0..counts.len()).collect();
    by_rest.sort_by_key(|&i| std::cmp::Reverse(counts[i] * n % total));
    let missing = n - shrunk.iter().sum::<usize>();
    for &i in by_rest.iter().take(missing) {
        shrunk[i] += 1;
    }
    shrunk
}

/// The linearly interpolated percentile of a sorted list, as the published figures compute it.
#[cfg(test)]
pub(super) fn percentile(sorted: &[u64], percent: f64) -> f64 {
    let at = percent / 100.0 * (sorted.len() - 1) as f64;
    let (low, part) = (sorted[at as usize] as f64, at.fract());
    let high = sorted[(at as usize + 1).min(sorted.len() - 1)] as f64;
    low + (high - low) * part
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::dataset::shapes::{Sets, published};

    fn all() -> Vec<Shape> {
        let Sets {
            unpatched,
            patch,
            compile,
            compile_patched,
        } = published().sets;
        vec![unpatched, patch, compile, compile_patched]
    }

    #[test]
    fn sizes_have_the_published_shape() {
        for shape in all() {
            let sizes = sizes(&shape);
            assert_eq!(sizes.len(), shape.files);
            assert_eq!(sizes.iter().sum::<u64>(), shape.bytes);
            assert!(sizes.is_sorted());
            assert_eq!(sizes.iter().filter(|s| **s == 0).count(), shape.empty);
            let top: Vec<u64> = sizes.iter().rev().take(shape.top.len()).copied().collect();
            assert_eq!(top, shape.top);
            for &(bits, files, bytes) in &shape.log2 {
                let of: Vec<u64> = sizes
                    .iter()
                    .copied()
                    .filter(|s| 64 - s.leading_zeros() == bits)
                    .collect();
                assert_eq!((of.len(), of.iter().sum()), (files, bytes), "{bits} bits");
            }
            let percents = shape
                .quantiles
                .iter()
                .enumerate()
                .map(|(q, &v)| (q as f64, v));
            for (q, published) in percents.chain(shape.tail.iter().copied()) {
                let (ours, published) = (percentile(&sizes, q), published as f64);
                assert!(
                    (ours - published).abs() <= 2.0_f64.max(published * 0.05),
                    "percentile {q}: {ours} for {published}"
                );
            }
        }
    }

    #[test]
    fn thinning_keeps_the_mean_and_shrinks_the_giants() {
        for shape in all() {
            let full = sizes(&shape);
            assert_eq!(thin(&full, full.len()), full);
            for n in [7, 100, 1500] {
                let few = thin(&full, n);
                let expected = shape.bytes as f64 * n as f64 / full.len() as f64;
                assert!((few.iter().sum::<u64>() as f64 - expected).abs() <= 1.0);
                assert!(few.last() <= full.last() && few.is_sorted());
            }
        }
    }

    #[test]
    fn shrinking_keeps_proportions_and_the_sum() {
        assert_eq!(
            shrink(&[8, 570, 9006, 9241, 2103, 331, 21], 100),
            [0, 3, 42, 43, 10, 2, 0]
        );
        assert_eq!(shrink(&[3, 3], 6), [3, 3]);
        assert_eq!(shrink(&[0, 0], 0), [0, 0]);
    }

    #[test]
    fn a_stretch_without_room_keeps_its_bounds() {
        let knots = knots(&[(0.0, 1), (100.0, 3)], 3);
        let stretch = Stretch {
            knots: &knots,
            range: 0..3,
            bounds: (1, 3),
            known: &|_| None,
            total: 100,
        };
        assert_eq!(stretch.solve(), [3, 3, 3]);
    }
}
