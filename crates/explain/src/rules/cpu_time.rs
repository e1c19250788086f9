//! More CPU time: the slower side computes longer for the same work, and that is most of the difference.
//!
//! It needs less than [`super::cpu_bound_writer`]: no task has to be at its limit. A checker that reads
//! a little, computes, and reads again waits for the disk and for the CPU in turn, and each second of
//! either is a second of its time. The extra CPU seconds of the workload are compared with the extra
//! seconds under the clock of the difference. They are the cause when they are at least half of it.
//!
//! CPU time that overlaps the I/O of other threads costs no wall time; so it is divided by the number of
//! threads, and a slower side whose device is busy nine tenths of the time is evidence against it.

use crate::comparison::CellComparison;
use crate::rule::{Grounds, Judgement, Rule};
use crate::value::{Unit, digits, print};

/// Share of the extra time from which the CPU is the cause.
const MOST: f64 = 0.5;
/// Share of time with a request at the device that speaks against it.
const BUSY: f64 = 0.9;

/// See the module.
pub(crate) struct CpuTime;

impl Rule for CpuTime {
    fn id(&self) -> &'static str {
        "cpu_time"
    }

    fn title(&self) -> &'static str {
        "more CPU time"
    }

    fn judge(&self, pair: &CellComparison<'_>) -> Option<Judgement> {
        let Some((more, share)) = pair.more_cpu() else {
            return Judgement::not_judged("needs the CPU time under this clock in both cells");
        };
        let grounds = Grounds::of(pair, &["user_seconds", "system_seconds", "cpu_seconds"]);
        if share < MOST {
            return grounds.denied(if more > 0.0 {
                format!(
                    "{} s more CPU time is only {} of the extra time",
                    digits(more),
                    print(share, Unit::Share)
                )
            } else {
                format!("no more CPU time is used with {}", pair.sides()[0])
            });
        }
        let grown = |name: &str| pair.both(name).map_or(0.0, |[s, f]| s - f);
        let parts = ["user_seconds", "system_seconds", "cpu_seconds"];
        let most = parts
            .into_iter()
            .max_by(|a, b| grown(a).total_cmp(&grown(b)))
            .unwrap_or("cpu_seconds");
        let busy = pair.slower.median("device_busy").filter(|b| *b >= BUSY);
        grounds
            .takes(Some(more))
            .apart(most)
            .against(busy.and_then(|_| pair.row("device_busy")))
            .holds(
                format!(
                    "{} s more CPU time with {} than with {}, {} of the extra time",
                    digits(more),
                    pair.sides()[0],
                    pair.sides()[1],
                    print(share.min(1.0), Unit::Share)
                ),
                "--set device.limit=20m: with a slower disk the CPU's part shrinks; perf record shows \
                 where the time goes",
            )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::{Confidence, Verdict};
    use crate::testing::ComparisonBuilder;

    fn check(system: [f64; 2]) -> ComparisonBuilder {
        ComparisonBuilder::new("check")
            .both("elapsed", 0.031, 0.008)
            .both("user_seconds", 0.001, 0.001)
            .both("system_seconds", system[0], system[1])
    }

    #[test]
    fn a_checker_that_computes_longer_holds() {
        let answer = CpuTime.judge(&check([0.0256, 0.0044]).pair(3.9)).unwrap();
        assert_eq!(answer.confidence(), Some(Confidence::High), "{answer:?}");
    }

    #[test]
    fn too_little_more_or_less_of_it_denies() {
        for system in [[0.012, 0.0044], [0.002, 0.0044]] {
            let answer = CpuTime.judge(&check(system).pair(3.9)).unwrap();
            assert_eq!(answer.verdict, Verdict::Denied, "{answer:?}");
        }
    }

    #[test]
    fn a_device_that_is_busy_all_the_time_speaks_against_it() {
        let busy = check([0.0256, 0.0044]).both("device_busy", 0.95, 0.5);
        let answer = CpuTime.judge(&busy.pair(3.9)).unwrap();
        assert_eq!(answer.confidence(), Some(Confidence::Medium), "{answer:?}");
    }

    #[test]
    fn at_clock_a_the_time_to_the_end_of_c_is_not_taken_for_it() {
        let fill = ComparisonBuilder::new("fill")
            .both("seconds.original", 20.0, 10.0)
            .both("cpu_seconds", 15.0, 5.0);
        let answer = CpuTime.judge(&fill.pair(2.0)).unwrap();
        assert!(
            matches!(answer.verdict, Verdict::NotJudged { .. }),
            "{answer:?}"
        );
    }

    #[test]
    fn threads_compute_beside_each_other() {
        let read = ComparisonBuilder::new("read")
            .both("seconds.original", 20.0, 10.0)
            .both("threads", 8.0, 8.0)
            .both("user_seconds", 1.0, 1.0)
            .both("system_seconds", 16.0, 8.0);
        let answer = CpuTime.judge(&read.pair(2.0)).unwrap();
        assert_eq!(answer.verdict, Verdict::Denied, "{answer:?}");
    }
}
