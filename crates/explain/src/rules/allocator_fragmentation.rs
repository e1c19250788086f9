//! Allocator fragmentation: the slower side's files have more gaps than metadata explains.
//!
//! A gap at a backup superblock or at a group's tables is not fragmentation: every file of that size
//! has it (as all 12 extents of 2010). Only gaps that no metadata explains count. The rule holds when
//! the slower side has more than 1.5 times as many as the faster, and their cost matters: their number
//! times the raw device's random read is at least 2 % of the phase (the practical band). Where no raw
//! device was measured, runs must be at most 4 MiB on average: at 100 MB/s a seek of 10 ms is a fifth
//! of such a run. It is denied where the device is as fast for both sides. A trace in which as many
//! requests continue where the last one ended is evidence against it.

use crate::comparison::CellComparison;
use crate::rule::{Grounds, Judgement, Rule};
use crate::value::{Unit, print};

const MORE: f64 = 1.5;
const BAND: f64 = 0.02;
const SHORT_RUN: f64 = 4.0 * 1_048_576.0;

/// See the module.
pub(crate) struct AllocatorFragmentation;

impl Rule for AllocatorFragmentation {
    fn id(&self) -> &'static str {
        "allocator_fragmentation"
    }

    fn title(&self) -> &'static str {
        "allocator fragmentation"
    }

    fn judge(&self, pair: &CellComparison<'_>) -> Option<Judgement> {
        let layout = pair
            .both("layout_avoidable")
            .zip(pair.both("layout_weighted_run"));
        let Some(([slower, faster], runs)) = layout else {
            return Judgement::not_judged(
                "needs the layout of the files: --set layout.enabled=true",
            );
        };
        let names = [
            "layout_avoidable",
            "layout_discontiguities",
            "layout_weighted_run",
            "trace_sequential",
            "raw_random_read",
        ];
        let grounds = Grounds::of(pair, &names);
        if slower < MORE * faster || slower < 1.0 {
            return grounds.denied(format!(
                "gaps not explained by metadata: {}",
                pair.against(print(slower, Unit::Count), print(faster, Unit::Count))
            ));
        }
        let seek = pair.slower.median("raw_random_read");
        let cost = seek.map(|seconds| (slower - faster) * seconds);
        let elapsed = pair.slower.median("elapsed").filter(|all| *all > 0.0);
        if let Some((cost, elapsed)) = cost.zip(elapsed)
            && cost < BAND * elapsed
        {
            return grounds.denied(format!(
                "{} gaps would cost {}, {} of the phase",
                print(slower, Unit::Count),
                print(cost, Unit::Seconds),
                print(cost / elapsed, Unit::Share)
            ));
        }
        if cost.is_none() && runs[0] > SHORT_RUN {
            return grounds.denied(format!(
                "runs of {} are long enough for their gaps not to matter",
                print(runs[0], Unit::Bytes)
            ));
        }
        if let Some(row) = pair.device_as_fast() {
            return grounds
                .against(Some(row))
                .denied("more gaps, but the device moves as many bytes per second");
        }
        let sequential = pair.both("trace_sequential").filter(|[s, f]| s >= f);
        grounds
            .inferred(cost.is_none())
            .takes(cost)
            .bounded()
            .apart("layout_avoidable")
            .against(sequential.and_then(|_| pair.row("trace_sequential")))
            .holds(
                format!(
                    "gaps not explained by metadata: {}; mean run {}",
                    pair.against(print(slower, Unit::Count), print(faster, Unit::Count)),
                    pair.against(print(runs[0], Unit::Bytes), print(runs[1], Unit::Bytes))
                ),
                "preallocate the file (fallocate), or write it with one thread on a fresh filesystem: \
                 with one run the difference disappears",
            )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::{Confidence, Verdict};
    use crate::testing::ComparisonBuilder;

    fn sides(gaps: [f64; 2], run: f64) -> ComparisonBuilder {
        ComparisonBuilder::new("read")
            .both("layout_avoidable", gaps[0], gaps[1])
            .both("layout_weighted_run", run, 1e9)
            .both("elapsed", 20.0, 10.0)
            .both("seconds.original", 20.0, 10.0)
    }

    #[test]
    fn gaps_that_cost_the_extra_time_hold() {
        let sides = sides([900.0, 0.0], 1e6).both("raw_random_read", 0.01, 0.01);
        let answer = AllocatorFragmentation.judge(&sides.pair(2.0)).unwrap();
        assert_eq!(
            answer.confidence(),
            Some(Confidence::High),
            "9 of 10 s: {answer:?}"
        );
    }

    #[test]
    fn a_trace_as_sequential_speaks_against_it() {
        let sides = sides([900.0, 0.0], 1e6)
            .both("raw_random_read", 0.01, 0.01)
            .both("trace_sequential", 0.99, 0.98);
        let answer = AllocatorFragmentation.judge(&sides.pair(2.0)).unwrap();
        assert_eq!(answer.confidence(), Some(Confidence::Medium), "{answer:?}");
    }

    /// Piszcz's file: 12 gaps of which all are metadata's, in runs of a gigabyte.
    #[test]
    fn gaps_of_metadata_few_gaps_and_long_runs_deny_it() {
        for sides in [
            sides([0.0, 0.0], 1e9),
            sides([10.0, 9.0], 1e6),
            sides([12.0, 0.0], 1e9).both("raw_random_read", 0.01, 0.01),
            sides([12.0, 0.0], 1e9),
        ] {
            let answer = AllocatorFragmentation.judge(&sides.pair(2.0)).unwrap();
            assert_eq!(answer.verdict, Verdict::Denied, "{answer:?}");
        }
    }

    #[test]
    fn without_a_raw_device_short_runs_are_inferred_and_without_a_layout_it_is_open() {
        let answer = AllocatorFragmentation
            .judge(&sides([900.0, 0.0], 65536.0).pair(2.0))
            .unwrap();
        assert_eq!(answer.confidence(), Some(Confidence::Low), "{answer:?}");
        let answer = AllocatorFragmentation
            .judge(&ComparisonBuilder::new("read").pair(2.0))
            .unwrap();
        let Verdict::NotJudged { needs } = answer.verdict else {
            panic!("it judged without a layout");
        };
        assert!(needs.contains("layout.enabled=true"));
    }
}
