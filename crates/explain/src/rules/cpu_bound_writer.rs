//! Bound by one CPU: the task that does the work uses all of its CPU time, however fast the disk is.
//!
//! It holds when the slower side's workload uses at least 95 % of a CPU for each of its threads, or one
//! kernel task of its I/O does (journal, writeback, loop and filesystem threads), and it spends at
//! least 5 % more CPU time on the same work. 95 % is the usual reading of top (dd with nodelalloc used
//! 98 % in 2010, and 89 % on XFS, where the disk was the limit); the rest is scheduling. CPU time is of
//! the whole process; its share under clock (a) is capped at 100 %. A machine that waits for I/O half
//! of the time is evidence against it.

use crate::comparison::CellComparison;
use crate::rule::{Grounds, Judgement, Rule};
use crate::value::{Row, Unit, digits, print};

/// Share of a CPU from which a task is bound by it.
const BOUND: f64 = 0.95;
/// Least ratio of CPU seconds.
const MORE: f64 = 1.05;
/// Share of time waiting for I/O that speaks against it.
const WAITING: f64 = 0.5;

/// See the module.
pub(crate) struct CpuBoundWriter;

impl Rule for CpuBoundWriter {
    fn id(&self) -> &'static str {
        "cpu_bound_writer"
    }

    fn title(&self) -> &'static str {
        "bound by one CPU"
    }

    fn judge(&self, pair: &CellComparison<'_>) -> Option<Judgement> {
        let name = match pair.clock {
            study::Clock::Original => "cpu_share",
            _ => "cpu_share_all",
        };
        let Some(share) = pair.slower.median(name) else {
            return Judgement::not_judged(
                "needs the CPU time of the phase, which this workload does not report",
            );
        };
        let task = pair.slower.median("busiest_task").unwrap_or(0.0);
        let mut grounds = Grounds::of(pair, &[name, "cpu_seconds", "busiest_task"]);
        if let Some(who) = pair.slower.facts.get("busiest_task") {
            let theirs = pair.faster.facts.get("busiest_task");
            grounds = grounds.row(Row::words(
                "busiest_task",
                "busiest task",
                &who.join(" or "),
                &theirs.map_or(String::new(), |names| names.join(" or ")),
                "telemetry",
            ));
        }
        if share < BOUND && task < BOUND {
            return grounds.denied(format!(
                "the workload uses {} of a CPU with {}",
                print(share.max(task), Unit::Share),
                pair.sides()[0]
            ));
        }
        let Some([slower, faster]) = pair.for_the_same_work("cpu_seconds") else {
            return Judgement::not_judged("needs the CPU time of the phase in both cells");
        };
        // The seconds of another task at its limit are not among the workload's own.
        let own = share >= BOUND;
        if own && slower < MORE * faster {
            return grounds.denied(format!(
                "the workload uses {} of a CPU with {}, but no more CPU time than with {}",
                print(share, Unit::Share),
                pair.sides()[0],
                pair.sides()[1]
            ));
        }
        let waits = pair
            .slower
            .median("psi_io_some")
            .filter(|share| *share >= WAITING);
        grounds
            .carries(if own { slower / faster } else { 1.0 })
            .apart("cpu_seconds")
            .against(waits.and_then(|_| pair.row("psi_io_some")))
            .holds(
                format!(
                    "{} of a CPU with {}; CPU time {}",
                    print(share.max(task), Unit::Share),
                    pair.sides()[0],
                    pair.against(
                        format_args!("{} s", digits(slower)),
                        format_args!("{} s", digits(faster))
                    )
                ),
                experiment(pair),
            )
    }
}

/// A device slow enough for the CPU to wait for it.
fn experiment(pair: &CellComparison<'_>) -> String {
    let rates = ["throughput.syncfs", "throughput.original"];
    let rate = rates.iter().find_map(|name| pair.slower.median(name));
    let half = rate.map_or(50.0, |rate| (rate / 2.0 / 1_048_576.0).max(1.0));
    format!("--set device.limit={half:.0}m: with a slower disk the CPU is no longer the limit")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::{Confidence, Verdict};
    use crate::testing::ComparisonBuilder;

    fn sides(share: f64, cpu: [f64; 2]) -> ComparisonBuilder {
        // The figures vary by half a percent: a share at 1 would be cut.
        ComparisonBuilder::new("write")
            .both("cpu_share", share, 0.6)
            .both("cpu_seconds", cpu[0], cpu[1])
            .slow("throughput.original", 209_715_200.0)
    }

    #[test]
    fn twice_the_cpu_time_at_98_percent_holds() {
        let answer = CpuBoundWriter
            .judge(&sides(0.98, [29.0, 15.0]).pair(2.0))
            .unwrap();
        assert_eq!(answer.confidence(), Some(Confidence::High), "{answer:?}");
        assert!(answer.experiment.unwrap().contains("device.limit=100m"));
    }

    #[test]
    fn a_task_with_time_left_or_no_more_work_denies_it() {
        for (share, cpu) in [(0.89, [29.0, 15.0]), (0.98, [15.0, 15.0])] {
            let answer = CpuBoundWriter.judge(&sides(share, cpu).pair(2.0)).unwrap();
            assert_eq!(answer.verdict, Verdict::Denied, "{answer:?}");
        }
    }

    #[test]
    fn another_task_at_its_limit_is_found_and_waiting_speaks_against_it() {
        let other = sides(0.3, [3.0, 3.0])
            .both("busiest_task", 0.99, 0.4)
            .facts("busiest_task", "jbd2/loop0-8", "fslab");
        let answer = CpuBoundWriter.judge(&other.pair(2.0)).unwrap();
        assert!(answer.confidence().is_some(), "{answer:?}");
        let waits = sides(0.98, [29.0, 15.0]).slow("psi_io_some", 0.7);
        let answer = CpuBoundWriter.judge(&waits.pair(2.0)).unwrap();
        assert_eq!(answer.confidence(), Some(Confidence::Medium), "{answer:?}");
    }

    #[test]
    fn without_cpu_time_it_is_open() {
        let answer = CpuBoundWriter
            .judge(&ComparisonBuilder::new("write").pair(2.0))
            .unwrap();
        assert!(matches!(answer.verdict, Verdict::NotJudged { .. }));
    }
}
