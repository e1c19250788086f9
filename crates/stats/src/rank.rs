//! Rank tests: they assume no distribution, only that runs are exchangeable under the hypothesis.
//!
//! Both tests count the arrangements of the ranks that were really seen, ties included, instead of
//! looking p up for untied ranks: benchmark values that were rounded do tie, and the usual normal
//! approximation is off by a factor of two at n = 5. The price is that a tiny sample has a smallest
//! p it can give at all (`smallest_p`), which is reported so that "not significant" can be distinguished
//! from "could not have been".

mod mann_whitney;
mod midranks;
mod signed_rank;

pub use mann_whitney::{MannWhitney, mann_whitney};
pub use signed_rank::{SignedRank, wilcoxon_signed_rank};

pub(crate) use midranks::{Midranks, midranks};

/// Additions that an exact distribution may cost; beyond, the normal approximation is used. Four
/// million take some milliseconds, and are not reached below 29 against 29 values.
const EXACT_COST: usize = 4_000_000;

/// The two-sided p of a whole-number statistic from its null distribution: the share of
/// arrangements at least as far from `centre` as `seen`, and the smallest such share there is.
fn two_sided(counts: impl Iterator<Item = (usize, f64)>, centre: usize, seen: usize) -> (f64, f64) {
    let distance = seen.abs_diff(centre);
    let (mut total, mut beyond) = (0.0, 0.0);
    let (mut farthest, mut at_farthest) = (0, 0.0);
    for (value, count) in counts.filter(|(_, count)| *count > 0.0) {
        let d = value.abs_diff(centre);
        total += count;
        if d >= distance {
            beyond += count;
        }
        if d > farthest {
            (farthest, at_farthest) = (d, 0.0);
        }
        if d == farthest {
            at_farthest += count;
        }
    }
    (beyond / total, at_farthest / total)
}
