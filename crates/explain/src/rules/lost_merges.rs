//! Lost merges: bios that the block layer would have joined into one request went out one by one.
//!
//! A filesystem that writes block by block (ext2 and ext3 map one block at a time) relies on the plug
//! to merge neighbours. When other I/O comes between them, or a scheduler or `nomerges` prevents it, the
//! device gets each bio as a request. That is not the same as small requests of an application, which
//! have no neighbours to merge with.
//!
//! Needs the bios in a request, from a trace or, inferred, from diskstats' merges. It holds when the
//! slower side's requests hold at most 0.67 of the faster's bios and are at most 0.8 as large: fewer
//! bios in requests of the same size are merely larger bios. A slower side whose bios are at least twice
//! as large has less to merge, which denies it, as does a device that moves as many bytes a second for both.

use crate::comparison::CellComparison;
use crate::rule::{Grounds, Judgement, Rule};
use crate::value::digits;

const FEWER: f64 = 0.67;
const SMALLER: f64 = 0.8;
const LARGER_BIOS: f64 = 2.0;

/// See the module.
pub(crate) struct LostMerges;

impl Rule for LostMerges {
    fn id(&self) -> &'static str {
        "lost_merges"
    }

    fn title(&self) -> &'static str {
        "lost merges"
    }

    fn judge(&self, pair: &CellComparison<'_>) -> Option<Judgement> {
        let verb = pair.verb();
        let traced = pair
            .both("trace_merge_ratio")
            .zip(pair.both("trace_request_mean"));
        let share = format!("{verb}_merge_share");
        let mean = format!("{verb}_request_mean");
        let (ratios, sizes, decisive, shown): (_, _, &str, [&str; 3]) = match traced {
            Some((ratios, sizes)) => (
                ratios,
                sizes,
                "trace_merge_ratio",
                ["trace_merge_ratio", "trace_bio_mean", "trace_request_mean"],
            ),
            None => match pair.both(&share).zip(pair.both(&mean)) {
                // Merged of all: a request holds 1 / (1 - share) bios.
                Some((shares, sizes)) => (
                    shares.map(|share| 1.0 / (1.0 - share.min(0.999))),
                    sizes,
                    &share,
                    [&share, &mean, "device_queue"],
                ),
                None => return Judgement::not_judged(CellComparison::needs_trace()),
            },
        };
        let grounds = Grounds::of(pair, &shown).inferred(traced.is_none());
        if ratios[0] > FEWER * ratios[1] {
            return grounds.denied(format!(
                "bios merged into a request: {}",
                pair.against(digits(ratios[0]), digits(ratios[1]))
            ));
        }
        if sizes[0] > SMALLER * sizes[1] {
            return grounds.denied("its requests are as large nevertheless");
        }
        if let Some([slower, faster]) = pair.both("trace_bio_mean")
            && slower >= LARGER_BIOS * faster
        {
            return grounds.denied("its bios are larger to begin with: there was less to merge");
        }
        if let Some(row) = pair.device_as_fast() {
            return grounds
                .against(Some(row))
                .denied("fewer merges, but the device moves as many bytes per second");
        }
        grounds
            .carries(sizes[1] / sizes[0])
            .bounded()
            .apart(decisive)
            .holds(
                format!(
                    "bios in a request: {}",
                    pair.against(digits(ratios[0]), digits(ratios[1]))
                ),
                "the same with an I/O scheduler that merges (mq-deadline) and queue/nomerges 0; \
                 with delayed allocation the filesystem sends whole extents",
            )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::{Confidence, Verdict};
    use crate::testing::ComparisonBuilder;

    fn traced(ratio: [f64; 2], bio: [f64; 2]) -> ComparisonBuilder {
        ComparisonBuilder::new("write")
            .both("trace_merge_ratio", ratio[0], ratio[1])
            .both("trace_bio_mean", bio[0], bio[1])
            .both("trace_request_mean", ratio[0] * bio[0], ratio[1] * bio[1])
    }

    #[test]
    fn unmerged_blocks_hold() {
        let sides = traced([2.0, 32.0], [4096.0, 4096.0]);
        let answer = LostMerges.judge(&sides.pair(3.0)).unwrap();
        assert_eq!(answer.confidence(), Some(Confidence::High), "{answer:?}");
    }

    #[test]
    fn as_many_merges_equal_requests_or_larger_bios_deny_it() {
        for sides in [
            traced([32.0, 32.0], [4096.0, 4096.0]),
            // Bios of 128 KiB that need no merge.
            traced([1.0, 32.0], [131_072.0, 4096.0]),
            traced([1.0, 32.0], [16_384.0, 4096.0]),
        ] {
            let answer = LostMerges.judge(&sides.pair(3.0)).unwrap();
            assert_eq!(answer.verdict, Verdict::Denied, "{answer:?}");
        }
    }

    #[test]
    fn diskstats_infer_what_a_trace_shows() {
        let sides = ComparisonBuilder::new("write")
            .both("write_merge_share", 0.5, 0.96)
            .both("write_request_mean", 8192.0, 102_400.0);
        let answer = LostMerges.judge(&sides.pair(3.0)).unwrap();
        assert_eq!(answer.confidence(), Some(Confidence::Medium), "{answer:?}");
        let nothing = ComparisonBuilder::new("write").pair(3.0).slower.clone();
        assert_eq!(nothing.trials, 5);
        let answer = LostMerges
            .judge(&ComparisonBuilder::new("write").pair(3.0))
            .unwrap();
        assert!(matches!(answer.verdict, Verdict::NotJudged { .. }));
    }
}
