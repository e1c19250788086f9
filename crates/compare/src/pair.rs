//! How two cells are compared: the one place for reports and explanations, so that what a table
//! marks as different is what gets explained.
//!
//! Blocks were interleaved so that what slows a whole block slows both sides: where the run is in
//! blocks, only blocks that both sides finished are compared, block by block. A sequential run, as
//! the originals were, has no such pairs.

use std::collections::BTreeMap;

use stats::Comparison;
use study::{Order, Plan};

/// Compares two cells' values of one figure, each with its block.
///
/// `unit` may be as stored (`bytes_per_s`) or as printed (`MB/s`); it decides which direction is better.
///
/// # Errors
/// As [`stats::compare()`]; too few values among them.
pub fn cells(
    plan: &Plan,
    level: f64,
    unit: &str,
    base: &[(u32, f64)],
    other: &[(u32, f64)],
) -> Result<Comparison, stats::Error> {
    let paired = plan.order == Order::Blocked;
    let (base, other) = if paired {
        common_blocks(base, other)
    } else {
        let values = |points: &[(u32, f64)]| points.iter().map(|(_, value)| *value).collect();
        (values(base), values(other))
    };
    stats::compare(
        &base,
        &other,
        stats::Options {
            level,
            band: plan.band,
            paired,
            seed: plan.seed,
            higher_is_better: higher_is_better(unit).unwrap_or(true),
        },
    )
}

/// The values of the blocks that both have, in the order of `other`.
fn common_blocks(base: &[(u32, f64)], other: &[(u32, f64)]) -> (Vec<f64>, Vec<f64>) {
    let by_block: BTreeMap<u32, f64> = base.iter().copied().collect();
    other
        .iter()
        .filter_map(|(block, value)| Some((*by_block.get(block)?, *value)))
        .unzip()
}

/// Whether more is better: true for rates, false for times; `None` when it is neither.
pub fn higher_is_better(unit: &str) -> Option<bool> {
    match unit {
        "secs" | "sec" | "s" | "seconds" | "ms" | "us" => Some(false),
        "IOPS" => Some(true),
        unit if unit.ends_with("/s") || unit.ends_with("_s") => Some(true),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_common_blocks_are_paired() {
        let base = [(0, 1.0), (1, 2.0), (2, 3.0)];
        let other = [(2, 30.0), (0, 10.0), (3, 40.0)];
        assert_eq!(
            common_blocks(&base, &other),
            (vec![3.0, 1.0], vec![30.0, 10.0])
        );
    }

    #[test]
    fn times_are_better_small_and_counts_neither() {
        for (unit, better) in [
            ("MB_s", Some(true)),
            ("bytes_per_s", Some(true)),
            ("files_per_s", Some(true)),
            ("ops_per_s", Some(true)),
            ("IOPS", Some(true)),
            ("secs", Some(false)),
            ("s", Some(false)),
            ("count", None),
            ("bytes", None),
        ] {
            assert_eq!(higher_is_better(unit), better, "{unit}");
        }
    }

    #[test]
    fn a_sequential_run_has_no_pairs() {
        let mut plan = fixtures::example::plan();
        plan.order = Order::Sequential;
        let base = [(0, 100.0), (0, 101.0), (0, 99.0)];
        let other = [(1, 200.0), (1, 201.0), (1, 199.0)];
        let found = cells(&plan, 0.95, "MB/s", &base, &other).unwrap();
        assert_eq!(found.n, (3, 3));
        assert!((found.ratio - 2.0).abs() < 0.02, "{}", found.ratio);
        plan.order = Order::Blocked;
        assert!(cells(&plan, 0.95, "MB/s", &base[..1], &other[..1]).is_err());
    }
}
