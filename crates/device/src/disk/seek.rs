//! How long the head takes to move.

use std::sync::Arc;

/// Mean of d^0.3 over random pairs of radii, whose distances have the density 2(1 - d).
const MEAN_OF_POWER: f64 = 2.0 / 1.3 - 2.0 / 2.3;
/// Mean of d itself.
const MEAN_OF_DISTANCE: f64 = 1.0 / 3.0;
/// Entries of the table. They are even over the square root of the distance, since the curve is steep at 0.
const ENTRIES: usize = 4096;

/// Entries of the table of least times, which are even over the distance.
const STEPS: usize = 256;

/// Seek times over distance, as a table.
///
/// Published are the seek to the next track, the average and the full stroke. Between them the curve
/// is `s1 + (sf - s1) * (w * d^0.3 + (1 - w) * d)`, with `w` chosen so that the mean over random pairs is
/// the published average. The exponent was chosen on curves extracted from ten drives.
#[derive(Clone, Debug)]
pub struct SeekCurve {
    /// Times in ns at distances (i / ENTRIES)^2; the same for all drives of an array.
    table: Arc<[f64]>,
    /// Times at distances i / STEPS: what a move over more takes at least, without a root.
    least: Arc<[f64]>,
    /// Distances below this are within a cylinder and cost nothing.
    cylinder: f64,
    /// Added for writes, ns.
    settle: f64,
}

/// Share of the steep part in the curve through three points, ns; `None` where no such curve exists.
pub fn share_of_power(track: f64, average: f64, full: f64) -> Option<f64> {
    let f = (average - track) / (full - track);
    let w = (f - MEAN_OF_DISTANCE) / (MEAN_OF_POWER - MEAN_OF_DISTANCE);
    (full > track && track >= 0.0 && (0.0..=1.0).contains(&w)).then_some(w)
}

impl SeekCurve {
    /// Through track-to-track, average and full-stroke seek, ns. Where [`share_of_power`] has no
    /// answer the nearest curve is taken.
    pub fn three_points(track: f64, average: f64, full: f64, cylinders: f64) -> SeekCurve {
        let span = full - track;
        let w = if span > 0.0 {
            let f = (average - track) / span;
            ((f - MEAN_OF_DISTANCE) / (MEAN_OF_POWER - MEAN_OF_DISTANCE)).clamp(0.0, 1.0)
        } else {
            0.0
        };
        SeekCurve::of(cylinders, |d| {
            track + span * (w * d.powf(0.3) + (1.0 - w) * d)
        })
    }

    /// Through measured points (distance in cylinders, ns), in ascending order.
    pub fn measured(points: &[(f64, f64)], cylinders: f64) -> SeekCurve {
        SeekCurve::of(cylinders, |d| {
            let distance = d * cylinders;
            let after = points.partition_point(|point| point.0 <= distance);
            match (
                after.checked_sub(1).and_then(|i| points.get(i)),
                points.get(after),
            ) {
                (Some(a), Some(b)) => a.1 + (distance - a.0) * (b.1 - a.1) / (b.0 - a.0),
                (Some(only), None) | (None, Some(only)) => only.1,
                (None, None) => 0.0,
            }
        })
    }

    fn of(cylinders: f64, time: impl Fn(f64) -> f64) -> SeekCurve {
        let at = |i: usize| (i as f64 / ENTRIES as f64).powi(2);
        let mut curve = SeekCurve {
            table: (0..=ENTRIES).map(|i| time(at(i))).collect(),
            least: Arc::new([]),
            cylinder: 1.0 / cylinders.max(1.0),
            settle: 0.0,
        };
        let step = |i: usize| i as f64 / STEPS as f64;
        curve.least = (0..=STEPS).map(|i| curve.time(step(i), false)).collect();
        curve
    }

    /// What a move over a share of the radius takes at least, ns: for what is out of the question by that alone.
    #[inline]
    pub fn at_least(&self, distance: f64) -> f64 {
        let step = (distance * STEPS as f64) as usize;
        self.least.get(step).copied().unwrap_or(0.0)
    }

    /// The same curve with time added for writes, ns.
    #[must_use]
    pub fn with_write_settle(mut self, settle: f64) -> SeekCurve {
        self.settle = settle;
        self
    }

    /// The time of a move over a share of the radius, ns.
    #[inline]
    pub fn time(&self, distance: f64, write: bool) -> f64 {
        if distance < self.cylinder {
            return 0.0;
        }
        let at = distance.min(1.0).sqrt() * ENTRIES as f64;
        let below = (at as usize).min(ENTRIES - 1);
        let (from, to) = (self.table[below], self.table[below + 1]);
        let settle = if write { self.settle } else { 0.0 };
        from + (to - from) * (at - below as f64) + settle
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: f64 = 1e6;

    #[test]
    fn the_mean_over_random_pairs_is_the_published_average() {
        for (track, average, full) in [(0.2, 3.5, 7.4), (0.8, 8.5, 17.0), (0.3, 4.3, 9.5)] {
            let curve = SeekCurve::three_points(track * MS, average * MS, full * MS, 1e9);
            let n = 200_000;
            let mean: f64 = (0..n)
                .map(|i| (f64::from(i) + 0.5) / f64::from(n))
                .map(|d| 2.0 * (1.0 - d) * curve.time(d, false) / f64::from(n))
                .sum();
            assert!((mean / MS - average).abs() < 0.002, "{average}: {mean}");
            assert!((curve.time(1.0, false) - full * MS).abs() < 1.0);
        }
    }

    #[test]
    fn averages_that_no_curve_has_are_seen() {
        assert!(share_of_power(0.2, 3.5, 7.4).is_some());
        assert!(share_of_power(0.2, 2.0, 7.4).is_none(), "below a third");
        assert!(share_of_power(0.2, 6.0, 7.4).is_none(), "above 0.669");
        assert!(share_of_power(5.0, 4.0, 3.0).is_none());
    }

    #[test]
    fn writes_settle_and_a_cylinder_costs_nothing() {
        let curve = SeekCurve::three_points(MS, 8.0 * MS, 16.0 * MS, 1000.0).with_write_settle(MS);
        assert_eq!(curve.time(0.0005, true), 0.0);
        let read = curve.time(0.5, false);
        assert_eq!(curve.time(0.5, true), read + MS);
    }

    #[test]
    fn a_measured_table_is_followed() {
        let curve =
            SeekCurve::measured(&[(1.0, MS), (500.0, 5.0 * MS), (1000.0, 9.0 * MS)], 1000.0);
        assert!((curve.time(0.5, false) / MS - 5.0).abs() < 0.001);
        assert!((curve.time(0.75, false) / MS - 7.0).abs() < 0.001);
    }

    proptest::proptest! {
        #[test]
        fn farther_is_never_faster(
            track in 0.1_f64..2.0, f in 0.334_f64..0.668, span in 1.0_f64..20.0, a in 0.0_f64..1.0, b in 0.0_f64..1.0,
        ) {
            let average = track + f * span;
            let curve = SeekCurve::three_points(track * MS, average * MS, (track + span) * MS, 50_000.0);
            let (near, far) = if a < b { (a, b) } else { (b, a) };
            proptest::prop_assert!(curve.time(near, false) <= curve.time(far, false) + 1e-6);
            proptest::prop_assert!(curve.at_least(near) <= curve.time(near, true));
        }
    }
}
