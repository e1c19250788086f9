//! Allocator fragmentation: the slower side's files lie in more pieces than metadata makes necessary.
//!
//! A gap where a backup superblock or a group's tables lie is no fragmentation: every file of that size
//! has it (the 12 extents of 2010 were all such). What counts are the gaps that no metadata explains. It
//! holds when the slower side has more than 1.5 times the faster's, and what they cost can matter: their
//! number times the raw device's random read is at least 2 % of the phase (the practical band). Where no
//! raw device was measured, runs must be at most 4 MiB on average: at 100 MB/s a seek of 10 ms is a fifth
//! of such a run. It is denied where the device moves as many bytes a second for both. A trace that shows as many requests going on where the last ended speaks against it.

use crate::comparison::Pair;
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

    fn judge(&self, pair: &Pair<'_>) -> Option<Judgement> {
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
                "{} gaps that metadata does not explain, {} on the faster side",
                print(slower, Unit::Count),
                print(faster, Unit::Count)
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
                .denied("more gaps, but the device moves as many bytes a second");
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
                    "{} gaps that metadata does not explain instead of {}, in runs of {}",
                    print(slower, Unit::Count),
                    print(faster, Unit::Count),
                    print(runs[0], Unit::Bytes)
                ),
                "the same file preallocated (fallocate) or written by one thread on a fresh \
                 filesystem: one run, and the difference goes",
            )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::{Confidence, Verdict};
    use crate::testing::Sides;

    fn sides(gaps: [f64; 2], run: f64) -> Sides {
        Sides::new("read")
            .both("layout_avoidable", gaps[0], gaps[1])
            .both("layout_weighted_run", run, 1e9)
            .both("elapsed", 20.0, 10.0)
            .both("seconds.original", 20.0, 10.0)
    }

    #[test]
    fn gaps_that_cost_the_extra_time_hold() {
        let sides = sides([900.0, 0.0], 1e6).both("raw_random_read", 0.01, 0.01);
        let said = AllocatorFragmentation.judge(&sides.pair(2.0)).unwrap();
        assert_eq!(
            said.confidence(),
            Some(Confidence::High),
            "9 of 10 s: {said:?}"
        );
    }

    #[test]
    fn a_trace_as_sequential_speaks_against_it() {
        let sides = sides([900.0, 0.0], 1e6)
            .both("raw_random_read", 0.01, 0.01)
            .both("trace_sequential", 0.99, 0.98);
        let said = AllocatorFragmentation.judge(&sides.pair(2.0)).unwrap();
        assert_eq!(said.confidence(), Some(Confidence::Medium), "{said:?}");
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
            let said = AllocatorFragmentation.judge(&sides.pair(2.0)).unwrap();
            assert_eq!(said.verdict, Verdict::Denied, "{said:?}");
        }
    }

    #[test]
    fn without_a_raw_device_short_runs_are_inferred_and_without_a_layout_it_is_open() {
        let said = AllocatorFragmentation
            .judge(&sides([900.0, 0.0], 65536.0).pair(2.0))
            .unwrap();
        assert_eq!(said.confidence(), Some(Confidence::Low), "{said:?}");
        let said = AllocatorFragmentation
            .judge(&Sides::new("read").pair(2.0))
            .unwrap();
        let Verdict::NotJudged { needs } = said.verdict else {
            panic!("it judged without a layout");
        };
        assert!(needs.contains("layout.enabled=true"));
    }
}
