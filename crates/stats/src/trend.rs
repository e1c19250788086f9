//! Drift over the order of runs, by the Mann-Kendall test.

use serde::{Deserialize, Serialize};

use crate::dist::normal_two_sided;
use crate::error::{Error, check_finite};
use crate::rank::{Midranks, midranks};

/// Most values for which p is exact.
const EXACT: usize = 30;

/// The result of [`mann_kendall`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Trend {
    /// Pairs of runs that rise less pairs that fall.
    pub s: i64,
    /// Kendall's tau-b against the order of runs: 1 where each run is above the one before.
    pub tau: f64,
    /// Two-sided p of "the order of runs does not matter".
    pub p: f64,
    /// Whether p is exact; else it is the normal approximation.
    pub exact: bool,
}

/// The Mann-Kendall test of `values`, in the order in which they were measured.
///
/// Mann, Econometrica 13 (1945), 245-259; Kendall, Rank Correlation Methods, 4th ed. (1975), for
/// tau-b and the variance with ties. Up to 30 values p is exact, ties included: the falling pairs
/// of all orders of a multiset are counted by the Gaussian multinomial coefficient (MacMahon,
/// Combinatory Analysis, 1915). A rank test, so that one outlier does not make a drift as it does
/// with a fitted line. Needs five values to reach p < 0.05 at all (2 / 120 when each is above the
/// one before).
///
/// # Errors
/// No value, or one that is not finite.
pub fn mann_kendall(values: &[f64]) -> Result<Trend, Error> {
    check_finite(values)?;
    let ranks = midranks(values);
    let n = values.len();
    let pairs = n * (n - 1) / 2;
    let tied: usize = ranks.groups.iter().map(|t| t * (t - 1) / 2).sum();
    let untied = pairs - tied;
    let falling = falling_pairs(&ranks.doubled);
    let s = untied as i64 - 2 * falling as i64;
    if untied == 0 {
        return Ok(Trend {
            s,
            tau: 0.0,
            p: 1.0,
            exact: true,
        });
    }
    let exact = n <= EXACT;
    let p = if exact {
        exact_p(&ranks.groups, s.unsigned_abs() as usize)
    } else {
        approximate_p(&ranks, s.abs() as f64)
    };
    let tau = s as f64 / (untied as f64 * pairs as f64).sqrt();
    Ok(Trend { s, tau, p, exact })
}

/// Pairs in which the later value is lower, counted with a binary indexed tree (Fenwick 1994) over
/// the doubled ranks, 1 ..= 2 n.
fn falling_pairs(ranks: &[usize]) -> usize {
    let size = 2 * ranks.len();
    let mut tree = vec![0_usize; size + 1];
    let mut falling = 0;
    for (earlier, &rank) in ranks.iter().enumerate() {
        let mut not_above = 0;
        let mut i = rank;
        while i > 0 {
            not_above += tree[i];
            i &= i - 1;
        }
        falling += earlier - not_above;
        i = rank;
        while i <= size {
            tree[i] += 1;
            i += i & i.wrapping_neg();
        }
    }
    falling
}

/// The share of all orders of a sample with these groups of ties for which |S| is `s` or more.
fn exact_p(groups: &[usize], s: usize) -> f64 {
    let mut counts = vec![1.0];
    let mut so_far = 0;
    for &group in groups {
        so_far += group;
        counts = product(&counts, &gaussian_binomial(so_far, group));
    }
    // The count at `falling` has S = untied - 2 falling, where `untied` is the degree.
    let untied = counts.len() - 1;
    let beyond: f64 = counts
        .iter()
        .enumerate()
        .filter(|(falling, _)| untied.abs_diff(2 * falling) >= s)
        .map(|(_, count)| count)
        .sum();
    beyond / counts.iter().sum::<f64>()
}

/// Coefficients of the Gaussian binomial coefficient "n over k", by its Pascal rule
/// `[n, k] = [n-1, k-1] + q^k [n-1, k]`: only sums of positive terms.
fn gaussian_binomial(n: usize, k: usize) -> Vec<f64> {
    // rows[j] is [i, j] after i rounds, each kept at its full length.
    let mut rows: Vec<Vec<f64>> = vec![Vec::new(); k + 1];
    rows[0] = vec![1.0];
    for i in 1..=n {
        for j in (1..=k.min(i)).rev() {
            let mut next = vec![0.0; j * (i - j) + 1];
            for (to, from) in next.iter_mut().zip(&rows[j - 1]) {
                *to += from;
            }
            for (to, from) in next.iter_mut().skip(j).zip(&rows[j]) {
                *to += from;
            }
            rows[j] = next;
        }
    }
    rows.swap_remove(k)
}

/// The product of two polynomials.
fn product(a: &[f64], b: &[f64]) -> Vec<f64> {
    let mut all = vec![0.0; a.len() + b.len() - 1];
    for (i, x) in a.iter().enumerate() {
        for (j, y) in b.iter().enumerate() {
            all[i + j] += x * y;
        }
    }
    all
}

/// p by the normal approximation with Kendall's tie correction and a continuity correction.
fn approximate_p(ranks: &Midranks, s: f64) -> f64 {
    let term = |t: f64| t * (t - 1.0) * (2.0 * t + 5.0);
    let n = ranks.doubled.len() as f64;
    let ties: f64 = ranks.groups.iter().map(|&t| term(t as f64)).sum();
    let variance = (term(n) - ties) / 18.0;
    normal_two_sided((s - 1.0).max(0.0) / variance.sqrt())
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

    /// scipy 1.10.1: `kendalltau(range(n), x, method="exact")`: statistic and pvalue.
    #[test]
    fn untied_as_in_scipy() {
        let r = mann_kendall(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert_eq!((r.s, r.tau), (10, 1.0));
        close(r.p, 0.016666666666666666);
        let r = mann_kendall(&[3.0, 1.0, 4.0, 1.5, 9.0, 2.6, 5.0, 3.5, 8.0, 9.7]).unwrap();
        close(r.tau, 0.5111111111111111);
        close(r.p, 0.04662257495590829);
    }

    /// scipy 1.10.1: tau-b of `kendalltau(range(40), x)` with x = [(i * 7) % 17 + i // 4 for i in
    /// range(40)]; p in numpy by Kendall's formula, as scipy makes no continuity correction.
    #[test]
    fn large_and_tied_as_in_scipy() {
        let x: Vec<f64> = (0..40).map(|i| f64::from((i * 7) % 17 + i / 4)).collect();
        let r = mann_kendall(&x).unwrap();
        assert!(!r.exact);
        assert_eq!(r.s, 246);
        close(r.tau, 0.32206016183377123);
        close(r.p, 0.00420425767529308);
    }

    #[test]
    fn equal_values_have_no_trend() {
        let r = mann_kendall(&[2.0; 6]).unwrap();
        assert_eq!((r.s, r.tau, r.p), (0, 0.0, 1.0));
        assert_eq!(mann_kendall(&[2.0]).unwrap().p, 1.0);
        assert_eq!(mann_kendall(&[]), Err(Error::Empty));
    }

    fn s_of(x: &[f64]) -> i64 {
        let mut s = 0;
        for j in 1..x.len() {
            for i in 0..j {
                s += i64::from(x[j] > x[i]) - i64::from(x[j] < x[i]);
            }
        }
        s
    }

    /// Calls `visit` with each order of `x[at..]`, equal values counted apart.
    fn orders(x: &mut [f64], at: usize, visit: &mut impl FnMut(&[f64])) {
        if at == x.len() {
            return visit(x);
        }
        for i in at..x.len() {
            x.swap(at, i);
            orders(x, at + 1, visit);
            x.swap(at, i);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn exact_p_is_what_counting_gives(
            mut x in prop::collection::vec((0_u8..5).prop_map(f64::from), 1..8),
        ) {
            let r = mann_kendall(&x).unwrap();
            prop_assert_eq!(r.s, s_of(&x));
            let (mut beyond, mut total) = (0.0, 0.0);
            orders(&mut x, 0, &mut |order| {
                total += 1.0;
                beyond += f64::from(u8::from(s_of(order).abs() >= r.s.abs()));
            });
            prop_assert!((r.p - beyond / total).abs() < 1e-12);
        }

        #[test]
        fn reversing_turns_the_trend(x in prop::collection::vec(-1e3..1e3, 2..60)) {
            let r = mann_kendall(&x).unwrap();
            let back: Vec<f64> = x.iter().rev().copied().collect();
            let b = mann_kendall(&back).unwrap();
            prop_assert_eq!(r.s, -b.s);
            prop_assert!((r.p - b.p).abs() < 1e-12 && r.tau.abs() <= 1.0);
        }
    }
}
