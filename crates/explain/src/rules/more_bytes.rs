//! More bytes: the device moves more bytes for the same work of the slower side.
//!
//! A checker reads all metadata, so a format with more of it takes longer; a writer's journal, copies
//! and tables go to the device with its data. The bytes are those of the device's counters. The slower
//! side's must be a tenth more: a few blocks of metadata make less.
//!
//! It is denied where one side's bytes did not reach the device: data that stays in memory is an effect
//! of the cache ([`super::cache_served`]), not of the format. Extra CPU time that carries at least half
//! of the difference is evidence against it.

use crate::comparison::{CellComparison, Direction, reads_metadata};
use crate::rule::{Grounds, Judgement, Rule};
use crate::value::{Unit, digits, print};

/// Least ratio of bytes.
const MORE: f64 = 1.1;
/// Share of the workload's bytes that must have reached the device.
const REACHED: f64 = 0.95;

/// See the module.
pub(crate) struct MoreBytes;

impl Rule for MoreBytes {
    fn id(&self) -> &'static str {
        "more_bytes"
    }

    fn title(&self) -> &'static str {
        "more bytes"
    }

    fn judge(&self, pair: &CellComparison<'_>) -> Option<Judgement> {
        let name = match pair.direction() {
            Direction::Read => "device_read",
            Direction::Write => "device_written",
        };
        let is_check = reads_metadata(pair.phase);
        let moved = if is_check {
            pair.both(name)
        } else {
            pair.for_the_same_work(name)
        };
        let Some([slower, faster]) = moved else {
            return Judgement::not_judged(pair.needs_counters());
        };
        let grounds = Grounds::of(pair, &[name, "bytes"]);
        if !is_check && !reached(pair, name) {
            return grounds.denied("not all bytes of one side reached the device in this time");
        }
        if slower <= MORE * faster {
            return grounds.denied(format!(
                "the device moves no more bytes with {}",
                pair.sides()[0]
            ));
        }
        grounds
            .carries(slower / faster)
            .apart(name)
            .unless_cpu()
            .holds(
                because(pair, slower, faster),
                if matches!(pair.slower_cell.workload, study::WorkloadSpec::Scan(_)) {
                    "a larger cache, so that nothing is read twice, or precache=false"
                } else if is_check {
                    "mkfs with fewer inodes or larger groups for the slower cell: less metadata to \
                     read"
                } else {
                    "--set trace=true --set layout.enabled=true show which bytes these are; without a \
                     journal (-O ^has_journal) the journal's share disappears"
                },
            )
    }
}

fn because(pair: &CellComparison<'_>, slower: f64, faster: f64) -> String {
    let (more, less) = (print(slower, Unit::Bytes), print(faster, Unit::Bytes));
    let does = format!("the device {}s {}", pair.verb(), pair.against(more, less));
    if faster > 0.0 {
        format!("{does}, {} times as much", digits(slower / faster))
    } else {
        does
    }
}

/// Whether both sides' bytes reached the device.
fn reached(pair: &CellComparison<'_>, name: &str) -> bool {
    [pair.slower, pair.faster].into_iter().all(|side| {
        let moved = side.median(name).unwrap_or(0.0);
        side.median("bytes")
            .is_some_and(|asked| moved >= REACHED * asked)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::{Confidence, Verdict};
    use crate::testing::ComparisonBuilder;

    #[test]
    fn a_check_that_reads_more_holds_unless_the_cpu_takes_the_time() {
        let check = || ComparisonBuilder::new("check").both("device_read", 19e6, 0.8e6);
        let answer = MoreBytes.judge(&check().pair(3.3)).unwrap();
        assert_eq!(answer.confidence(), Some(Confidence::High), "{answer:?}");
        let computing = check()
            .both("elapsed", 0.030, 0.008)
            .both("user_seconds", 0.009, 0.004)
            .both("system_seconds", 0.011, 0.001);
        let answer = MoreBytes.judge(&computing.pair(3.3)).unwrap();
        assert_eq!(answer.confidence(), Some(Confidence::Low), "{answer:?}");
    }

    #[test]
    fn a_writer_whose_data_are_written_twice_holds() {
        let twice = ComparisonBuilder::new("write")
            .both("bytes", 1e9, 1e9)
            .both("device_written", 2.02e9, 1.0e9);
        let answer = MoreBytes.judge(&twice.pair(2.0)).unwrap();
        assert_eq!(answer.confidence(), Some(Confidence::High), "{answer:?}");
    }

    #[test]
    fn as_many_or_bytes_that_stay_in_memory_deny_it() {
        for (slower, faster) in [(1.05e9, 1.0e9), (0.9e9, 1.0e9), (1.2e9, 0.1e9)] {
            let sides = ComparisonBuilder::new("write")
                .both("bytes", 1e9, 1e9)
                .both("device_written", slower, faster);
            let answer = MoreBytes.judge(&sides.pair(2.0)).unwrap();
            assert_eq!(answer.verdict, Verdict::Denied, "{answer:?}");
        }
    }

    #[test]
    fn without_counters_it_is_open() {
        let answer = MoreBytes
            .judge(&ComparisonBuilder::new("read").pair(2.0))
            .unwrap();
        assert!(matches!(answer.verdict, Verdict::NotJudged { .. }));
    }
}
