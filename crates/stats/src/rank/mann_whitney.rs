//! The Mann-Whitney (Wilcoxon rank-sum) test for two independent samples.

use serde::{Deserialize, Serialize};

use super::midranks::{Midranks, midranks};
use super::{EXACT_COST, two_sided};
use crate::dist::normal_two_sided;
use crate::error::{Error, check_finite};

/// The result of [`mann_whitney`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MannWhitney {
    /// U of the first sample: pairs `(x of a, y of b)` with `x > y`, tied pairs counted half.
    pub u: f64,
    /// Two-sided p of "a value of a is as likely above a value of b as below".
    pub p_two_sided: f64,
    /// Whether p is exact; else it is the normal approximation.
    pub exact: bool,
    /// The smallest p these sizes and ties can give, where p is exact: 0.0079 for 5 against 5.
    pub smallest_p: Option<f64>,
    /// Common-language effect size `U / (n m)`: the chance that a run of a is above a run of b,
    /// ties counted half. McGraw and Wong, Psychological Bulletin 111 (1992), 361-365; with ties,
    /// Vargha and Delaney's A, J. Educational and Behavioral Statistics 25 (2000), 101-132.
    pub superiority: f64,
    /// Cliff's delta, `2 superiority - 1`, from -1 (all of a below b) to 1 (all above). Cliff,
    /// Psychological Bulletin 114 (1993), 494-509.
    pub cliffs_delta: f64,
}

/// The Mann-Whitney test of `a` against `b`.
///
/// Mann and Whitney, Annals of Mathematical Statistics 18 (1947), 50-60. The exact p counts, by
/// dynamic programming over doubled midranks, all ways of dealing the ranks seen to the two samples
/// whose U lies at least as far from `n m / 2` as this one: the permutation distribution given the
/// ties (Lehmann, Nonparametrics, 1975, section 1.4). Where that would cost too much (beyond about
/// 28 against 28), the normal approximation with Lehmann's tie correction and a
/// continuity correction of one half.
///
/// # Errors
/// An empty sample, or a value that is not finite.
pub fn mann_whitney(a: &[f64], b: &[f64]) -> Result<MannWhitney, Error> {
    check_finite(a)?;
    check_finite(b)?;
    let all: Vec<f64> = a.iter().chain(b).copied().collect();
    let ranks = midranks(&all);
    let doubled_sum: usize = ranks.doubled[..a.len()].iter().sum();
    // U = R - n(n+1)/2; both terms are doubled here.
    let u = (doubled_sum - a.len() * (a.len() + 1)) as f64 / 2.0;
    let superiority = u / (a.len() as f64 * b.len() as f64);
    let exact = exact_p(&ranks, a.len(), b.len(), doubled_sum);
    let p_two_sided = exact.map_or_else(
        || approximate_p(&ranks, a.len() as f64, b.len() as f64, u),
        |(counted, _)| counted,
    );
    Ok(MannWhitney {
        u,
        p_two_sided,
        exact: exact.is_some(),
        smallest_p: exact.map(|(_, smallest)| smallest),
        superiority,
        cliffs_delta: 2.0 * superiority - 1.0,
    })
}

/// The exact p and the smallest one there can be, or `None` where counting costs too much.
fn exact_p(ranks: &Midranks, n: usize, m: usize, doubled_sum: usize) -> Option<(f64, f64)> {
    let all = n + m;
    // Dealing to the smaller sample is cheaper; the larger one's sum follows from it.
    let (k, seen) = if n <= m {
        (n, doubled_sum)
    } else {
        (m, all * (all + 1) - doubled_sum)
    };
    let max_sum = largest_sum(&ranks.doubled, k);
    if all.saturating_mul(k).saturating_mul(max_sum) > EXACT_COST {
        return None;
    }
    let width = max_sum + 1;
    // ways[j * width + s]: choices of j of the ranks so far that sum to s. Doubles hold every count
    // exactly up to 2^53, and beyond it only positive terms are added.
    let mut ways = vec![0.0_f64; (k + 1) * width];
    ways[0] = 1.0;
    for &rank in &ranks.doubled {
        for j in (1..=k).rev() {
            for s in (rank..width).rev() {
                ways[j * width + s] += ways[(j - 1) * width + s - rank];
            }
        }
    }
    let counts = ways[k * width..].iter().copied().enumerate();
    Some(two_sided(counts, k * (all + 1), seen))
}

/// The largest sum of `k` of the ranks.
fn largest_sum(ranks: &[usize], k: usize) -> usize {
    let mut ranks = ranks.to_vec();
    ranks.sort_unstable_by(|a, b| b.cmp(a));
    ranks[..k].iter().sum()
}

/// p by the normal approximation; 1 where all values are tied.
fn approximate_p(ranks: &Midranks, n: f64, m: f64, u: f64) -> f64 {
    let all = n + m;
    let variance = n * m / 12.0 * (all + 1.0 - ranks.tie_sum() / (all * (all - 1.0)));
    if variance <= 0.0 {
        return 1.0;
    }
    let distance = ((u - n * m / 2.0).abs() - 0.5).max(0.0);
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

    /// scipy 1.10.1: `mannwhitneyu(a, b, method="exact")`: statistic and pvalue.
    #[test]
    fn untied_as_in_scipy() {
        let a = [19.0, 22.0, 16.0, 29.0, 24.0];
        let b = [20.0, 11.0, 17.0, 12.0];
        let r = mann_whitney(&a, &b).unwrap();
        assert!(r.exact);
        assert_eq!(r.u, 17.0);
        close(r.p_two_sided, 0.1111111111111111);
        // 7 against 11 values: a = [i*i for i in 1..8], b = [i*i + 7.5 for i in range(11)]
        let a: Vec<f64> = (1..8).map(|i| f64::from(i * i)).collect();
        let b: Vec<f64> = (0..11).map(|i| f64::from(i * i) + 7.5).collect();
        let r = mann_whitney(&a, &b).unwrap();
        assert_eq!(r.u, 23.0);
        close(r.p_two_sided, 0.17911010558069382);
    }

    /// The smallest p of 5 against 5 is 2 / C(10, 5).
    #[test]
    fn five_against_five_apart() {
        let r = mann_whitney(&[1.0, 2.0, 3.0, 4.0, 5.0], &[6.0, 7.0, 8.0, 9.0, 10.0]).unwrap();
        close(r.p_two_sided, 2.0 / 252.0);
        close(r.smallest_p.unwrap(), 2.0 / 252.0);
        assert_eq!((r.u, r.superiority, r.cliffs_delta), (0.0, 0.0, -1.0));
    }

    /// scipy 1.10.1: `permutation_test((a, b), lambda x, y: abs(rankdata(np.r_[x,
    /// y])[:len(x)].sum() - len(x) * (len(x) + len(y) + 1) / 2), permutation_type="independent",
    /// alternative="greater", n_resamples=inf, vectorized=False)`, exact because all arrangements
    /// are taken.
    #[test]
    fn tied_as_in_scipys_exact_permutation_test() {
        let a = [1.0, 2.0, 2.0, 3.0, 3.0];
        let b = [2.0, 3.0, 4.0, 4.0];
        let r = mann_whitney(&a, &b).unwrap();
        assert_eq!(r.u, 4.0);
        close(r.p_two_sided, 0.19047619047619047);
    }

    /// scipy 1.10.1: `mannwhitneyu(a, b, method="asymptotic", use_continuity=True)` with
    /// a = [(i * 37) % 101 for i in range(60)], b = [(i * 53) % 97 + 12 for i in range(50)].
    #[test]
    fn large_and_tied_as_in_scipy() {
        let a: Vec<f64> = (0..60).map(|i| f64::from((i * 37) % 101)).collect();
        let b: Vec<f64> = (0..50).map(|i| f64::from((i * 53) % 97 + 12)).collect();
        let r = mann_whitney(&a, &b).unwrap();
        assert!(!r.exact && r.smallest_p.is_none());
        assert_eq!(r.u, 1276.0);
        close(r.p_two_sided, 0.17967326076919798);
    }

    #[test]
    fn all_equal_says_nothing() {
        let r = mann_whitney(&[5.0; 4], &[5.0; 6]).unwrap();
        assert_eq!(
            (r.p_two_sided, r.superiority, r.smallest_p),
            (1.0, 0.5, Some(1.0))
        );
        let r = mann_whitney(&[5.0; 200], &[5.0; 200]).unwrap();
        assert_eq!((r.p_two_sided, r.exact), (1.0, false));
    }

    #[test]
    fn refuses_what_cannot_be_ranked() {
        assert_eq!(mann_whitney(&[], &[1.0]), Err(Error::Empty));
        assert!(mann_whitney(&[1.0], &[f64::NAN]).is_err());
    }

    /// p by listing every way of dealing the values to the two samples, comparing pair by pair.
    fn brute_force(a: &[f64], b: &[f64]) -> f64 {
        let all: Vec<f64> = a.iter().chain(b).copied().collect();
        // Twice the distance of U from n m / 2, from its definition.
        let distance = |chosen: u32| {
            let mut d = 0_i64;
            for (_, x) in all.iter().enumerate().filter(|(i, _)| chosen >> i & 1 == 1) {
                for (_, y) in all.iter().enumerate().filter(|(j, _)| chosen >> j & 1 == 0) {
                    d += i64::from(*x > *y) - i64::from(*x < *y);
                }
            }
            d.abs()
        };
        let seen = distance((1 << a.len()) - 1);
        let deals = (0_u32..1 << all.len()).filter(|c| c.count_ones() as usize == a.len());
        let (mut total, mut beyond) = (0.0, 0.0);
        for chosen in deals {
            total += 1.0;
            if distance(chosen) >= seen {
                beyond += 1.0;
            }
        }
        beyond / total
    }

    fn tied(max: usize) -> impl Strategy<Value = Vec<f64>> {
        prop::collection::vec((0_u8..6).prop_map(f64::from), 1..max)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn exact_p_is_what_counting_gives(a in tied(6), b in tied(6)) {
            let r = mann_whitney(&a, &b).unwrap();
            prop_assert!(r.exact);
            prop_assert!((r.p_two_sided - brute_force(&a, &b)).abs() < 1e-12);
        }

        #[test]
        fn swapping_keeps_p_and_turns_the_effect(a in tied(12), b in tied(12)) {
            let (ab, ba) = (mann_whitney(&a, &b).unwrap(), mann_whitney(&b, &a).unwrap());
            prop_assert!((ab.p_two_sided - ba.p_two_sided).abs() < 1e-12);
            prop_assert_eq!(ab.u + ba.u, (a.len() * b.len()) as f64);
            prop_assert!((ab.cliffs_delta + ba.cliffs_delta).abs() < 1e-12);
        }

        #[test]
        fn only_the_order_counts(
            a in prop::collection::vec(-20.0..20.0, 1..12),
            b in prop::collection::vec(-20.0..20.0, 1..12),
        ) {
            let map = |x: &[f64]| x.iter().map(|v: &f64| v.exp()).collect::<Vec<_>>();
            prop_assert_eq!(mann_whitney(&a, &b), mann_whitney(&map(&a), &map(&b)));
        }

        #[test]
        fn p_is_a_probability_above_the_smallest(a in tied(30), b in tied(30)) {
            let r = mann_whitney(&a, &b).unwrap();
            prop_assert!(r.p_two_sided > 0.0 && r.p_two_sided <= 1.0);
            prop_assert!(r.smallest_p.is_none_or(|least| least <= r.p_two_sided));
        }
    }

    /// Where both can be had, the approximation is near the exact p.
    #[test]
    fn the_approximation_meets_the_exact_p() {
        let a: Vec<f64> = (0..20).map(f64::from).collect();
        let b: Vec<f64> = (0..20).map(|i| f64::from(i) + 4.5).collect();
        let r = mann_whitney(&a, &b).unwrap();
        let all: Vec<f64> = a.iter().chain(&b).copied().collect();
        let near = approximate_p(&midranks(&all), 20.0, 20.0, r.u);
        assert!(
            r.exact && (r.p_two_sided - near).abs() < 0.002,
            "{} {near}",
            r.p_two_sided
        );
    }
}
