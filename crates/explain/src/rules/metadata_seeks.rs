//! Seeks between data and metadata: the device jumps between the file's blocks and the maps,
//! bitmaps, inodes or journal that describe it.
//!
//! Needs a trace of both cells with kinds: the number of requests that are of another kind than the one
//! before and not adjacent to it. It holds when at least one request in a hundred of the slower side
//! jumps, and it has 1.5 times as many jumps as the faster: one in a hundred requests of 512 KiB at
//! 100 MB/s is a seek every half second, the least of which a disk's 10 ms make 2 %. The number of jumps
//! times the mean service time is compared with the extra seconds. It is denied where the device is as
//! fast for both sides. A device that does not rotate is evidence against it.

use crate::comparison::CellComparison;
use crate::rule::{Grounds, Judgement, Rule};
use crate::value::{Row, Unit, print};

const LEAST_SHARE: f64 = 0.01;
const MORE: f64 = 1.5;

/// See the module.
pub(crate) struct MetadataSeeks;

impl Rule for MetadataSeeks {
    fn id(&self) -> &'static str {
        "metadata_seeks"
    }

    fn title(&self) -> &'static str {
        "seeks between data and metadata"
    }

    fn judge(&self, pair: &CellComparison<'_>) -> Option<Judgement> {
        let jumps = pair.for_the_same_work("trace_kind_switches");
        let Some(([slower, faster], share)) = jumps.zip(pair.slower.median("trace_switch_share"))
        else {
            return Judgement::not_judged(CellComparison::needs_trace());
        };
        let grounds = Grounds::of(
            pair,
            &[
                "trace_kind_switches",
                "trace_switch_share",
                "trace_seek_mean",
                "trace_sequential",
                "trace_metadata_share",
            ],
        );
        if share < LEAST_SHARE {
            return grounds.denied(format!(
                "only {} of the requests jump between data and metadata with {}",
                print(share, Unit::Share),
                pair.sides()[0]
            ));
        }
        if slower < MORE * faster {
            return grounds.denied(format!(
                "the requests jump as often with {}",
                pair.sides()[1]
            ));
        }
        if let Some(row) = pair.device_as_fast() {
            return grounds
                .against(Some(row))
                .denied("more jumps, but the device moves as many bytes per second");
        }
        let service = pair.slower.median("trace_d2c_mean");
        let still = pair.slower.fact("device.rotational") == Some("0");
        let row = still.then(|| {
            let words = "no: a jump costs a request, not a seek";
            Row::words(
                "device.rotational",
                "the device rotates",
                words,
                "",
                "sysfs",
            )
        });
        grounds
            .takes(service.map(|seconds| (slower - faster) * seconds))
            .bounded()
            .apart("trace_kind_switches")
            .against(row)
            .holds(
                format!(
                    "jumps between data and metadata: {}",
                    pair.against(print(slower, Unit::Count), print(faster, Unit::Count))
                ),
                "place metadata elsewhere or together: an external journal, a larger flex_bg (mkfs -G 64), \
                 bigalloc, or the same filesystem with the file preallocated",
            )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::{Confidence, Verdict};
    use crate::testing::ComparisonBuilder;

    fn sides(switches: [f64; 2], share: [f64; 2]) -> ComparisonBuilder {
        ComparisonBuilder::new("write")
            .both("trace_kind_switches", switches[0], switches[1])
            .both("trace_switch_share", share[0], share[1])
            .both("trace_d2c_mean", 0.008, 0.004)
            .slow("seconds.original", 20.0)
    }

    #[test]
    fn jumps_that_take_the_extra_time_hold() {
        // 1000 jumps of 8 ms are 8 s of the 10 s that the slower takes longer.
        let answer = MetadataSeeks
            .judge(&sides([1100.0, 100.0], [0.1, 0.01]).pair(2.0))
            .unwrap();
        assert_eq!(answer.confidence(), Some(Confidence::High), "{answer:?}");
    }

    #[test]
    fn a_few_jumps_do_not_carry_it_and_flash_speaks_against_it() {
        let few = sides([200.0, 100.0], [0.02, 0.01]);
        let answer = MetadataSeeks.judge(&few.pair(2.0)).unwrap();
        assert_eq!(answer.confidence(), Some(Confidence::Medium), "{answer:?}");
        let flash = few.facts("device.rotational", "0", "0");
        let answer = MetadataSeeks.judge(&flash.pair(2.0)).unwrap();
        assert_eq!(answer.confidence(), Some(Confidence::Low), "{answer:?}");
    }

    #[test]
    fn rare_or_equal_jumps_deny_it_and_no_trace_leaves_it_open() {
        for (switches, share) in [([50.0, 1.0], [0.005, 0.0]), ([500.0, 490.0], [0.1, 0.1])] {
            let answer = MetadataSeeks
                .judge(&sides(switches, share).pair(2.0))
                .unwrap();
            assert_eq!(answer.verdict, Verdict::Denied);
        }
        let answer = MetadataSeeks
            .judge(&ComparisonBuilder::new("write").pair(2.0))
            .unwrap();
        let Verdict::NotJudged { needs } = answer.verdict else {
            panic!("it judged without a trace");
        };
        assert!(needs.contains("--set trace=true"), "{needs}");
    }
}
