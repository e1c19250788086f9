//! One side against another, and a family of such comparisons under one error rate.
//!
//! Five blocks are the default, so the test that decides must be able to decide at five, after a
//! correction for some thirty comparisons. That rules the rank tests out as judges: exact
//! Mann-Whitney gives at best p = 0.0079 for 5 against 5, which times 30 is 0.24 for a lone true
//! difference, and exact signed ranks at best 0.0625 for five blocks, which never counts. A t test
//! on logarithms has no such floor, holds its error rate on skewed and heavy-tailed runs (measured:
//! the table in the crate's essay), and gives p and interval from one model, so that the two cannot
//! contradict each other. It is paired where the runs are in blocks, Welch's where they do not.
//!
//! The rank test is done beside it and its p reported; where it does not support the verdict, a
//! warning says so. The ratio of medians with its bootstrap interval is printed as well, for the
//! table that prints medians.
//!
//! Rejected: a bootstrap as judge (its 95 % interval covers 75 to 96 % below ten values, and 2000
//! resamples give no p below 0.0005); a permutation test of the t statistic (the floor again); one
//! pooled analysis of variance over all cells, which would gain degrees of freedom but assumes that
//! a filesystem that stalls varies no more than one that does not.

use serde::{Deserialize, Serialize};

use crate::PRACTICAL_BAND;
use crate::error::Error;
use crate::interval::Interval;
use crate::log_ratio::{LogRatio, logs};
use crate::method::Method;
use crate::moments::no_log_spread;
use crate::multiple::benjamini_hochberg;
use crate::rank::{mann_whitney, wilcoxon_signed_rank};
use crate::ratio::{Ratio, paired_ratio, ratio_of_medians};
use crate::verdict::{Verdict, judge};
use crate::warning::Warning;
use crate::{paired, summary, welch};

/// How to compare.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Options {
    /// Confidence level of intervals; one less it is the rate of false differences. 0.95.
    pub level: f64,
    /// The practical band: a ratio within `1 - band ..= 1 + band` does not matter. 0.02.
    pub band: f64,
    /// Whether `base[i]` and `other[i]` come from the same block.
    pub paired: bool,
    /// Seed of the bootstrap.
    pub seed: u64,
    /// Whether a larger value is the better one (throughput) or the worse (seconds).
    pub higher_is_better: bool,
}

impl Default for Options {
    /// 95 %, 2 %, blocks, higher is better.
    fn default() -> Self {
        Self {
            level: summary::LEVEL,
            band: PRACTICAL_BAND,
            paired: true,
            seed: 0,
            higher_is_better: true,
        }
    }
}

/// The rank test beside the main one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RankCheck {
    /// [`Method::SignedRank`] for blocks, else [`Method::MannWhitney`].
    pub method: Method,
    /// Its two-sided p.
    pub p: f64,
    /// The smallest p it could have given at this size, where it is exact.
    pub smallest_p: Option<f64>,
}

/// `other` against `base`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Values of the base and of the other side.
    pub n: (usize, usize),
    /// Geometric mean ratio, other over base.
    pub ratio: f64,
    /// Its interval.
    pub interval: Interval,
    /// Degrees of freedom of the interval; none where there is no spread.
    #[serde(default)]
    pub df: Option<f64>,
    /// Two-sided p of "the ratio is 1".
    pub p: f64,
    /// `p` corrected for the family by [`family`]; until then `p` itself.
    pub adjusted_p: f64,
    /// What gave `p`: a t test on logarithms, or the rank test where nothing varies.
    pub method: Method,
    /// The rank test.
    pub check: RankCheck,
    /// The chance that a run of the other side is above one of the base, ties counted half.
    pub superiority: f64,
    /// The ratio of medians, or for blocks the median ratio, with its bootstrap interval.
    pub medians: Ratio,
    /// Whether a ratio above 1 is an improvement.
    pub higher_is_better: bool,
    /// The verdict, in a family of one until [`family`] is called.
    pub verdict: Verdict,
    /// What to know before trusting it.
    pub warnings: Vec<Warning>,
}

/// Compares `other` with `base`; positive values only.
///
/// Where nothing varies on either side (counts of blocks, say) there is no t test. The ratio is
/// then what it is, its interval a point, and p the rank test's; for blocks too the unpaired one,
/// as samples that do not vary show that blocks do not matter.
///
/// # Errors
/// Fewer than two values on a side, a value that is not positive and finite, samples of different
/// length if paired, a level outside (0, 1), a band outside [0, 1).
pub fn compare(base: &[f64], other: &[f64], options: Options) -> Result<Comparison, Error> {
    let Options {
        level,
        band,
        paired,
        seed,
        higher_is_better,
    } = options;
    check_band(band)?;
    let main = if paired {
        paired::log_ratio(base, other, level)?
    } else {
        welch::log_ratio(base, other, level)?
    };
    let medians = if paired {
        paired_ratio
    } else {
        ratio_of_medians
    }(base, other, level, seed)?;
    let ranks = mann_whitney(other, base)?;
    let unpaired = RankCheck {
        method: Method::MannWhitney,
        p: ranks.p_two_sided,
        smallest_p: ranks.smallest_p,
    };
    let constant = no_log_spread(&logs(base)) && no_log_spread(&logs(other));
    let check = if paired && !constant {
        signed_rank(base, other)?
    } else {
        unpaired
    };
    let LogRatio {
        ratio,
        interval,
        df,
        p,
        method,
        mut warnings,
        ..
    } = main;
    let (p, method) = p.map_or((check.p, check.method), |p| (p, method));
    warnings.extend(disagreement(p, 1.0 - level, check));
    Ok(Comparison {
        n: (base.len(), other.len()),
        ratio,
        interval,
        df,
        p,
        adjusted_p: p,
        method,
        check,
        superiority: ranks.superiority,
        medians,
        higher_is_better,
        verdict: judge(&interval, band, p <= 1.0 - level, higher_is_better),
        warnings,
    })
}

/// The signed-rank test of the logarithms of within-block ratios.
fn signed_rank(base: &[f64], other: &[f64]) -> Result<RankCheck, Error> {
    let test = wilcoxon_signed_rank(&logs(other), &logs(base))?;
    Ok(RankCheck {
        method: Method::SignedRank,
        p: test.p_two_sided,
        smallest_p: test.smallest_p,
    })
}

/// A warning where the two tests fall on different sides of `alpha`.
///
/// A rank test that cannot reach `alpha` at this size supports a difference with the smallest p
/// that it can give, which is to say when all blocks agree.
fn disagreement(p: f64, alpha: f64, check: RankCheck) -> Option<Warning> {
    let reachable = alpha.max(check.smallest_p.unwrap_or(0.0));
    // A hair of room: the exact p is a quotient of sums.
    let supports = check.p <= reachable * (1.0 + 1e-9);
    let disagree = if p <= alpha {
        !supports
    } else {
        check.p <= alpha
    };
    disagree.then_some(Warning::TestsDisagree {
        p,
        check: check.method,
        check_p: check.p,
    })
}

/// Judges comparisons as one family: corrects their p-values ([`benjamini_hochberg`]), stores
/// `adjusted_p` and `verdict` in each, and returns the verdicts in the same order.
///
/// One table is one family. The level is that of each comparison's interval.
///
/// # Errors
/// A band outside [0, 1), or a p-value that is no probability.
pub fn family(comparisons: &mut [Comparison], band: f64) -> Result<Vec<Verdict>, Error> {
    check_band(band)?;
    let p: Vec<f64> = comparisons.iter().map(|c| c.p).collect();
    let adjusted = benjamini_hochberg(&p)?;
    for (comparison, adjusted) in comparisons.iter_mut().zip(adjusted) {
        comparison.adjusted_p = adjusted;
        let significant = adjusted <= 1.0 - comparison.interval.level;
        comparison.verdict = judge(
            &comparison.interval,
            band,
            significant,
            comparison.higher_is_better,
        );
    }
    Ok(comparisons.iter().map(|c| c.verdict).collect())
}

fn check_band(band: f64) -> Result<(), Error> {
    if (0.0..1.0).contains(&band) {
        Ok(())
    } else {
        Err(Error::Band(band))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BASE: [f64; 5] = [101.2, 90.8, 113.4, 97.6, 85.9];

    fn times(factors: [f64; 5]) -> Vec<f64> {
        BASE.iter().zip(factors).map(|(v, f)| v * f).collect()
    }

    fn unpaired() -> Options {
        Options {
            paired: false,
            ..Options::default()
        }
    }

    #[test]
    fn pairing_sees_through_block_noise() {
        let other = times([1.10, 1.09, 1.11, 1.105, 1.095]);
        let paired = compare(&BASE, &other, Options::default()).unwrap();
        assert_eq!(
            (paired.verdict, paired.method),
            (Verdict::Better, Method::PairedLog)
        );
        assert!(paired.interval.low > 1.08 && paired.p < 1e-4, "{paired:?}");
        assert_eq!(paired.check.smallest_p, Some(0.0625));
        assert_eq!(paired.warnings, []);
        let apart = compare(&BASE, &other, unpaired()).unwrap();
        assert_eq!(
            (apart.verdict, apart.method),
            (Verdict::Unclear, Method::WelchLog)
        );
    }

    #[test]
    fn lower_is_better_turns_the_verdict() {
        let other = times([1.10, 1.09, 1.11, 1.105, 1.095]);
        let options = Options {
            higher_is_better: false,
            ..Options::default()
        };
        assert_eq!(
            compare(&BASE, &other, options).unwrap().verdict,
            Verdict::Worse
        );
        assert_eq!(
            compare(&other, &BASE, options).unwrap().verdict,
            Verdict::Better
        );
    }

    #[test]
    fn a_significant_trifle_is_the_same() {
        let other = times([1.005, 1.0051, 1.0049, 1.0052, 1.0048]);
        let c = compare(&BASE, &other, Options::default()).unwrap();
        assert!(c.p < 1e-4);
        assert_eq!(c.verdict, Verdict::Same);
    }

    /// Why the t test judges: one true difference of 10 % among 30 comparisons of five blocks is
    /// found, and the best that Mann-Whitney can give would not be.
    #[test]
    fn one_difference_among_thirty_is_found_at_five_blocks() {
        let quiet = times([1.01, 0.99, 1.005, 0.995, 1.0]);
        let other = times([1.10, 1.09, 1.11, 1.105, 1.095]);
        let mut all = vec![compare(&BASE, &quiet, Options::default()).unwrap(); 29];
        all.push(compare(&BASE, &other, Options::default()).unwrap());
        let verdicts = family(&mut all, 0.02).unwrap();
        assert_eq!(verdicts[29], Verdict::Better);
        assert!(
            verdicts[..29].iter().all(|v| *v == Verdict::Same),
            "{verdicts:?}"
        );
        assert!(all[29].adjusted_p > all[29].p && all[29].adjusted_p < 0.05);
        let mut p = vec![0.9; 29];
        p.push(2.0 / 252.0);
        assert!(benjamini_hochberg(&p).unwrap()[29] > 0.2);
    }

    #[test]
    fn the_family_can_take_a_difference_back() {
        let weak = times([1.06, 1.03, 1.10, 1.05, 1.09]);
        let mut all = vec![compare(&BASE, &weak, Options::default()).unwrap()];
        assert_eq!(all[0].verdict, Verdict::Better);
        let quiet = times([1.1, 0.9, 1.05, 0.95, 1.001]);
        all.extend(vec![
            compare(&BASE, &quiet, Options::default()).unwrap();
            29
        ]);
        assert_eq!(family(&mut all, 0.02).unwrap()[0], Verdict::Unclear);
    }

    #[test]
    fn samples_without_spread_are_judged_by_ranks() {
        let c = compare(&[1000.0; 5], &[1100.0; 5], Options::default()).unwrap();
        assert_eq!(
            (c.method, c.verdict),
            (Method::MannWhitney, Verdict::Better)
        );
        assert!((c.p - 2.0 / 252.0).abs() < 1e-12 && (c.ratio - 1.1).abs() < 1e-12);
        assert!(c.warnings.contains(&Warning::NoSpread));
        let same = compare(&[1000.0; 5], &[1000.0; 5], Options::default()).unwrap();
        assert_eq!((same.p, same.verdict), (1.0, Verdict::Same));
        // Three constant values against three can never reach p = 0.05.
        let few = compare(&[1000.0; 3], &[1100.0; 3], Options::default()).unwrap();
        assert_eq!(few.verdict, Verdict::Unclear);
    }

    #[test]
    fn tests_that_disagree_say_so() {
        // Ranks part cleanly, but one wild value takes the t test's confidence away.
        let base = [100.0, 101.0, 102.0, 103.0, 104.0];
        let other = [105.0, 106.0, 107.0, 108.0, 900.0];
        let c = compare(&base, &other, unpaired()).unwrap();
        assert!(c.p > 0.05 && c.check.p < 0.01, "{c:?}");
        assert!(matches!(
            c.warnings[..],
            [Warning::TestsDisagree {
                check: Method::MannWhitney,
                ..
            }]
        ));
        assert_eq!(c.superiority, 1.0);
    }

    #[test]
    fn refuses_bad_settings_and_zeros() {
        let band = |band| {
            compare(
                &BASE,
                &BASE,
                Options {
                    band,
                    ..Options::default()
                },
            )
        };
        assert_eq!(band(2.0), Err(Error::Band(2.0)));
        assert!(matches!(band(f64::NAN), Err(Error::Band(_))));
        assert!(matches!(family(&mut [], -0.1), Err(Error::Band(_))));
        assert_eq!(family(&mut [], 0.02), Ok(vec![]));
        assert!(matches!(
            compare(&[0.0, 1.0], &[1.0, 1.0], Options::default()),
            Err(Error::NotPositive { .. })
        ));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn swapping_turns_the_verdict(
            pairs in prop::collection::vec((90.0..110.0, 80.0..140.0), 3..8),
            paired in any::<bool>(),
        ) {
            let base: Vec<f64> = pairs.iter().map(|p| p.0).collect();
            let other: Vec<f64> = pairs.iter().map(|p| p.1).collect();
            // Without a band: 1 - band and 1 + band are not each other's inverse.
            let options = Options { paired, band: 0.0, ..Options::default() };
            let (there, back) = (
                compare(&base, &other, options).unwrap(),
                compare(&other, &base, options).unwrap(),
            );
            prop_assert!((there.p - back.p).abs() < 1e-9);
            prop_assert!((there.ratio * back.ratio - 1.0).abs() < 1e-9);
            let turned = match there.verdict {
                Verdict::Better => Verdict::Worse,
                Verdict::Worse => Verdict::Better,
                v => v,
            };
            prop_assert_eq!(back.verdict, turned);
            prop_assert!(there.interval.contains(there.ratio));
        }

        #[test]
        fn survives_json(
            pairs in prop::collection::vec((90.0..110.0, 80.0..140.0), 2..8),
            same in any::<bool>(),
        ) {
            let base: Vec<f64> = pairs.iter().map(|p| p.0).collect();
            let other: Vec<f64> = pairs.iter().map(|p| if same { p.0 } else { p.1 }).collect();
            let c = compare(&base, &other, Options::default()).unwrap();
            let json = serde_json::to_string(&c).unwrap();
            prop_assert_eq!(serde_json::from_str::<Comparison>(&json).unwrap(), c);
        }
    }
}
