//! The Wilcoxon signed-rank test for paired samples.

use serde::{Deserialize, Serialize};

use super::midranks::{Midranks, midranks};
use super::{EXACT_COST, two_sided};
use crate::dist::normal_two_sided;
use crate::error::{Error, check_finite, check_paired};

/// The result of [`wilcoxon_signed_rank`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SignedRank {
    /// Sum of the ranks of positive differences.
    pub w_plus: f64,
    /// Sum of the ranks of negative differences.
    pub w_minus: f64,
    /// Differences that are not zero, which are the ones ranked.
    pub n_used: usize,
    /// Differences of zero, which are left out of the ranking.
    pub zeros: usize,
    /// Two-sided p of "the differences are symmetric about zero".
    pub p_two_sided: f64,
    /// Whether p is exact; else it is the normal approximation.
    pub exact: bool,
    /// The smallest p this many differences can give, where p is exact: 0.0625 for five.
    pub smallest_p: Option<f64>,
}

/// The signed-rank test of the differences `a[i] - b[i]`.
///
/// Wilcoxon, Biometrics Bulletin 1 (1945), 80-83. The exact p counts, by dynamic programming over
/// doubled midranks, all choices of signs for the ranks seen, ties included. Zeros are left out, as
/// Wilcoxon did; Pratt's ranking of zeros (1959) was not taken, as it can lower p by adding pairs
/// that show no difference. Beyond 158 differences the normal approximation with tie and
/// continuity corrections (Lehmann, Nonparametrics, 1975, chapter 3).
///
/// # Errors
/// Samples of different length or without values, or a value that is not finite.
pub fn wilcoxon_signed_rank(a: &[f64], b: &[f64]) -> Result<SignedRank, Error> {
    check_finite(a)?;
    check_finite(b)?;
    check_paired(a, b)?;
    let differences: Vec<f64> = a
        .iter()
        .zip(b)
        .map(|(x, y)| x - y)
        .filter(|d| *d != 0.0)
        .collect();
    let magnitudes: Vec<f64> = differences.iter().map(|d| d.abs()).collect();
    let ranks = midranks(&magnitudes);
    let n = differences.len();
    let plus: usize = ranks
        .doubled
        .iter()
        .zip(&differences)
        .filter(|(_, d)| **d > 0.0)
        .map(|(r, _)| r)
        .sum();
    let total = n * (n + 1);
    let (p_two_sided, smallest_p) = match exact_p(&ranks, plus) {
        Some((p, smallest)) => (p, Some(smallest)),
        None => (approximate_p(&ranks, plus as f64 / 2.0), None),
    };
    Ok(SignedRank {
        w_plus: plus as f64 / 2.0,
        w_minus: (total - plus) as f64 / 2.0,
        n_used: n,
        zeros: a.len() - n,
        p_two_sided,
        exact: smallest_p.is_some(),
        smallest_p,
    })
}

/// The exact p and the smallest one there can be, or `None` where counting costs too much.
fn exact_p(ranks: &Midranks, plus: usize) -> Option<(f64, f64)> {
    let n = ranks.doubled.len();
    let total = n * (n + 1);
    // 2^n arrangements must stay within a double as well.
    if n > 1000 || n.saturating_mul(total) > EXACT_COST {
        return None;
    }
    let mut ways = vec![0.0_f64; total + 1];
    ways[0] = 1.0;
    for &rank in &ranks.doubled {
        for s in (rank..=total).rev() {
            ways[s] += ways[s - rank];
        }
    }
    Some(two_sided(ways.into_iter().enumerate(), total / 2, plus))
}

/// p by the normal approximation; 1 where no difference is left.
fn approximate_p(ranks: &Midranks, w_plus: f64) -> f64 {
    let n = ranks.doubled.len() as f64;
    let variance = n * (n + 1.0) * (2.0 * n + 1.0) / 24.0 - ranks.tie_sum() / 48.0;
    if variance <= 0.0 {
        return 1.0;
    }
    let distance = ((w_plus - n * (n + 1.0) / 4.0).abs() - 0.5).max(0.0);
    normal_two_sided(distance / variance.sqrt())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn close(ours: f64, theirs: f64) {
        assert!(
            (ours - theirs).abs() <= 1e-10 * theirs.abs().max(1e-3),
            "{ours} against {theirs}"
        );
    }

    /// scipy 1.10.1: `wilcoxon(a, b, method="exact")`, which has no ties here.
    #[test]
    fn untied_as_in_scipy() {
        let a = [125.0, 115.0, 130.0, 140.0, 141.5, 115.5, 140.5, 125.25];
        let b = [110.0, 122.0, 125.0, 120.0, 140.0, 124.0, 123.0, 137.0];
        let r = wilcoxon_signed_rank(&a, &b).unwrap();
        assert!(r.exact);
        assert_eq!(r.w_plus.min(r.w_minus), 12.0);
        close(r.p_two_sided, 0.4609375);
    }

    /// Five blocks that all agree: 2 / 2^5, the smallest p five pairs can give.
    #[test]
    fn five_blocks_never_reach_five_percent() {
        let r = wilcoxon_signed_rank(&[1.0, 2.0, 3.0, 4.0, 5.0], &[0.0; 5]).unwrap();
        assert_eq!((r.w_plus, r.w_minus), (15.0, 0.0));
        close(r.p_two_sided, 0.0625);
        assert_eq!(r.smallest_p, Some(0.0625));
    }

    /// scipy 1.10.1: `wilcoxon(a, b, method="approx", correction=True)` with
    /// a = [(i * 37) % 211 for i in range(180)], b = [(i * 53) % 197 for i in range(180)].
    #[test]
    fn large_and_tied_as_in_scipy() {
        let a: Vec<f64> = (0..180).map(|i| f64::from((i * 37) % 211)).collect();
        let b: Vec<f64> = (0..180).map(|i| f64::from((i * 53) % 197)).collect();
        let r = wilcoxon_signed_rank(&a, &b).unwrap();
        assert!(!r.exact);
        assert_eq!(r.zeros, 2);
        assert_eq!(r.w_plus.min(r.w_minus), 7291.5);
        close(r.p_two_sided, 0.32792198470920275);
    }

    #[test]
    fn equal_samples_say_nothing() {
        let r = wilcoxon_signed_rank(&[5.0; 3], &[5.0; 3]).unwrap();
        assert_eq!((r.p_two_sided, r.zeros, r.n_used), (1.0, 3, 0));
    }

    #[test]
    fn refuses_unequal_lengths() {
        assert_eq!(
            wilcoxon_signed_rank(&[1.0, 2.0], &[1.0]),
            Err(Error::UnequalLengths { base: 2, other: 1 })
        );
    }

    /// p by listing every choice of signs for the midranks.
    fn brute_force(differences: &[f64]) -> f64 {
        let d: Vec<f64> = differences.iter().copied().filter(|d| *d != 0.0).collect();
        let n = d.len();
        let rank = |i: usize| {
            let below = d.iter().filter(|x| x.abs() < d[i].abs()).count() as f64;
            let equal = d.iter().filter(|x| x.abs() == d[i].abs()).count() as f64;
            below + f64::midpoint(equal, 1.0)
        };
        let ranks: Vec<f64> = (0..n).map(rank).collect();
        let distance = |signs: u32| {
            let w: f64 = (0..n)
                .filter(|i| signs >> i & 1 == 1)
                .map(|i| ranks[i])
                .sum();
            (w - (n * (n + 1)) as f64 / 4.0).abs()
        };
        let seen = distance((0..n).filter(|i| d[*i] > 0.0).fold(0, |s, i| s | 1 << i));
        let beyond = (0_u32..1 << n)
            .filter(|signs| distance(*signs) >= seen - 1e-9)
            .count();
        beyond as f64 / f64::from(1_u32 << n)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn exact_p_is_what_counting_gives(
            d in prop::collection::vec((-5_i8..6).prop_map(f64::from), 1..11),
        ) {
            let r = wilcoxon_signed_rank(&d, &vec![0.0; d.len()]).unwrap();
            prop_assert!((r.p_two_sided - brute_force(&d)).abs() < 1e-12);
        }

        #[test]
        fn swapping_keeps_p(
            a in prop::collection::vec(-1e3..1e3, 20),
            b in prop::collection::vec(-1e3..1e3, 20),
        ) {
            let (ab, ba) = (
                wilcoxon_signed_rank(&a, &b).unwrap(),
                wilcoxon_signed_rank(&b, &a).unwrap(),
            );
            prop_assert!((ab.p_two_sided - ba.p_two_sided).abs() < 1e-12);
            prop_assert_eq!(ab.w_plus, ba.w_minus);
        }
    }
}
