//! Lazy initialisation still running: ext4 fills inode tables that mkfs left unwritten.
//!
//! mke2fs leaves most inode tables to the kernel's `ext4lazyinit` thread, which writes them after the
//! first mount, possibly during a measurement. fslab waits for it, and the evidence of that wait denies
//! this rule. Where the wait could not be proven (an existing directory, a timeout), it holds when the
//! thread used CPU time in the phase, or when groups were not zeroed and the device wrote at least 5 %
//! more for each byte than for the faster side. Groups that no thread zeroes (mounted noinit_itable)
//! deny it. Only ext2, ext3 and ext4 do this.

use crate::comparison::CellComparison;
use crate::rule::{Grounds, Judgement, Rule};
use crate::value::{Row, Unit, print};

const MORE: f64 = 1.05;

/// See the module.
pub(crate) struct LazyInitRunning;

impl Rule for LazyInitRunning {
    fn id(&self) -> &'static str {
        "lazy_init_running"
    }

    fn title(&self) -> &'static str {
        "lazy initialisation still running"
    }

    fn judge(&self, pair: &CellComparison<'_>) -> Option<Judgement> {
        if !pair.slower.fact("driver")?.starts_with("ext") {
            return None;
        }
        let finished = pair.slower.fact("evidence.lazy_init_finished");
        let mut grounds = Grounds::of(pair, &["lazyinit_seconds", "written_ratio"]);
        if let Some(detail) = pair.slower.facts.get("detail.lazy_init_finished") {
            let theirs = pair.faster.facts.get("detail.lazy_init_finished");
            let theirs = theirs.and_then(|detail| detail.first());
            grounds = grounds.row(Row::words(
                "lazy_init_finished",
                "inode tables",
                detail.first().map_or("", String::as_str),
                theirs.map_or("", String::as_str),
                "group descriptors",
            ));
        }
        let thread = pair.slower.median("lazyinit_seconds");
        match (finished, thread) {
            (Some("yes"), _) => {
                return grounds.denied("it finished before the phase began");
            }
            (_, Some(seconds)) if seconds > 0.0 => {
                return grounds
                    .takes(Some(seconds))
                    .apart("lazyinit_seconds")
                    .holds(
                        format!(
                            "ext4lazyinit ran for {} in the phase",
                            print(seconds, Unit::Seconds)
                        ),
                        EXPERIMENT,
                    );
            }
            _ => {}
        }
        let Some([slower, faster]) = pair.both("written_ratio") else {
            return Judgement::not_judged(format!(
                "needs to see ext4lazyinit: {}",
                pair.why_absent("telemetry")
                    .unwrap_or("no telemetry of this phase")
            ));
        };
        if finished != Some("no") || slower < MORE * faster {
            return grounds.denied("no thread was seen writing inode tables");
        }
        grounds
            .inferred(true)
            .carries(slower / faster)
            .apart("written_ratio")
            .holds(
                "groups were not zeroed, and the device wrote more bytes than the workload",
                EXPERIMENT,
            )
    }
}

const EXPERIMENT: &str = "mkfs = [\"-E\", \"lazy_itable_init=0,lazy_journal_init=0\"]";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::{Confidence, Verdict};
    use crate::testing::ComparisonBuilder;

    fn sides(finished: &str) -> ComparisonBuilder {
        ComparisonBuilder::new("write")
            .facts("driver", "ext4", "ext4")
            .facts("evidence.lazy_init_finished", finished, "yes")
            .slow("seconds.original", 2.0)
    }

    #[test]
    fn the_thread_seen_at_work_holds() {
        let sides = sides("not known").both("lazyinit_seconds", 0.8, 0.0);
        let answer = LazyInitRunning.judge(&sides.pair(2.0)).unwrap();
        assert_eq!(
            answer.confidence(),
            Some(Confidence::High),
            "0.8 of 1 s: {answer:?}"
        );
        assert!(answer.experiment.unwrap().contains("lazy_itable_init=0"));
    }

    #[test]
    fn more_bytes_than_asked_for_are_inferred() {
        let sides = sides("no").both("written_ratio", 2.0, 1.0);
        let answer = LazyInitRunning.judge(&sides.pair(2.0)).unwrap();
        assert_eq!(answer.confidence(), Some(Confidence::Medium), "{answer:?}");
    }

    #[test]
    fn a_finished_wait_or_an_idle_thread_denies_it() {
        for sides in [
            sides("yes").both("lazyinit_seconds", 0.5, 0.0),
            sides("no")
                .both("written_ratio", 1.0, 1.0)
                .slow("lazyinit_seconds", 0.0),
        ] {
            let answer = LazyInitRunning.judge(&sides.pair(2.0)).unwrap();
            assert_eq!(answer.verdict, Verdict::Denied, "{answer:?}");
        }
    }

    #[test]
    fn it_is_open_without_evidence_and_not_asked_of_xfs() {
        let answer = LazyInitRunning
            .judge(&sides("not known").pair(2.0))
            .unwrap();
        assert!(
            matches!(answer.verdict, Verdict::NotJudged { .. }),
            "{answer:?}"
        );
        let xfs = ComparisonBuilder::new("write").facts("driver", "xfs", "xfs");
        assert!(LazyInitRunning.judge(&xfs.pair(2.0)).is_none());
    }
}
