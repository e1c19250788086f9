//! iozone's figures of one test, from what its children did.

use std::collections::BTreeMap;

/// The resolution of CLOCK_MONOTONIC, seconds: iozone's `time_res` (1e-6 there, gettimeofday).
const RESOLUTION: f64 = 1e-9;

/// A time as iozone uses it: less the clock's resolution, and never below it.
pub(super) fn effective_seconds(seconds: f64) -> f64 {
    (seconds - RESOLUTION).max(RESOLUTION)
}

/// What one child brought: bytes counted and effective seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Share {
    /// `k_i`, in bytes.
    pub(super) bytes: u64,
    /// `t_i`.
    pub(super) seconds: f64,
}

impl Share {
    /// `x_i`, bytes a second.
    pub(super) fn rate(&self) -> f64 {
        self.bytes as f64 / self.seconds
    }
}

/// `children`, `parent`, `min`, `max`, `avg` in bytes a second and `min_xfer` in bytes.
///
/// * children = sum of the children's own rates: overstates when they end at different times;
/// * parent = all counted bytes / the parent's time from release until all have exited;
/// * min, max, avg over the children's rates; min_xfer = least bytes of a child.
///
/// iozone takes a minimum of 0 for one not yet set, so a child that counted nothing does not show
/// in `min` and `min_xfer` unless it is the last: reproduced, because `min` is a published row.
pub(super) fn figures(shares: &[Share], parent_seconds: f64) -> BTreeMap<String, f64> {
    let rates: Vec<f64> = shares.iter().map(Share::rate).collect();
    let children: f64 = rates.iter().sum();
    let counted: u64 = shares.iter().map(|s| s.bytes).sum();
    [
        ("children", children),
        ("parent", counted as f64 / effective_seconds(parent_seconds)),
        ("min", minimum(rates.iter().copied())),
        ("max", rates.iter().copied().fold(0.0, f64::max)),
        ("avg", children / shares.len().max(1) as f64),
        ("min_xfer", minimum(shares.iter().map(|s| s.bytes as f64))),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value))
    .collect()
}

/// iozone's loop: `if (!min) min = x; if (x < min) min = x;`.
fn minimum(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, |min, x| {
        let min = if min == 0.0 { x } else { min };
        if x < min { x } else { min }
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn share(bytes: u64, seconds: f64) -> Share {
        Share { bytes, seconds }
    }

    #[test]
    fn figures_of_two_children_by_hand() {
        let figures = figures(&[share(1000, 2.0), share(600, 2.0)], 2.5 + RESOLUTION);
        assert_eq!(figures["children"], 800.0);
        assert!((figures["parent"] - 640.0).abs() < 1e-6);
        assert_eq!((figures["min"], figures["max"]), (300.0, 500.0));
        assert_eq!((figures["avg"], figures["min_xfer"]), (400.0, 600.0));
    }

    #[test]
    fn zero_is_iozones_unset_minimum() {
        assert_eq!(minimum([5.0, 0.0, 7.0].into_iter()), 7.0);
        assert_eq!(minimum([5.0, 0.0].into_iter()), 0.0);
        assert_eq!(minimum([0.0, 5.0].into_iter()), 5.0);
        assert_eq!(minimum([].into_iter()), 0.0);
    }

    #[test]
    fn times_below_the_resolution_are_the_resolution() {
        assert_eq!(effective_seconds(0.0), RESOLUTION);
        assert_eq!(effective_seconds(1.0), 1.0 - RESOLUTION);
    }

    proptest! {
        #[test]
        fn children_at_least_parent_and_min_avg_max_in_order(
            shares in prop::collection::vec((1_u64..1 << 40, 1e-3_f64..1e3), 1..64),
            extra in 0.0_f64..10.0,
        ) {
            let shares: Vec<Share> = shares.iter().map(|&(b, s)| share(b, s)).collect();
            let slowest = shares.iter().map(|s| s.seconds).fold(0.0, f64::max);
            let f = figures(&shares, slowest + extra + RESOLUTION);
            let slack = 1.0 + 1e-9;
            prop_assert!(f["children"] * slack >= f["parent"]);
            prop_assert!(f["min"] <= f["avg"] * slack && f["avg"] <= f["max"] * slack);
            prop_assert!(shares.iter().all(|s| f["min_xfer"] <= s.bytes as f64));
            if shares.len() == 1 {
                prop_assert_eq!(f["children"], f["max"]);
                prop_assert_eq!(f["min"], f["avg"]);
            }
        }
    }
}
