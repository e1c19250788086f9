//! Throttled in writeback: the writer is put to sleep because too much data is dirty.
//!
//! The kernel lets a buffered writer run at the speed of memory up to half way between the background
//! and the dirty threshold, then pauses it so that dirty data stays below the threshold
//! (mm/page-writeback.c, balance_dirty_pages). It holds when the slower side's dirty data (with what is
//! being written) reaches 70 % of the threshold, tasks wait for I/O at least a fifth of the time, and
//! the faster side does not do both. Where both are throttled the pause explains nothing: the speed
//! of writeback does. Direct I/O is never throttled this way.

use crate::comparison::{CellComparison, Direction};
use crate::rule::{Grounds, Judgement, Rule};
use crate::value::{Unit, print};

/// Share of the threshold: above half way from the background threshold, half of it by default.
const NEAR: f64 = 0.7;
/// Share of time that tasks wait for I/O.
const WAITING: f64 = 0.2;

/// See the module.
pub(crate) struct WritebackThrottled;

impl Rule for WritebackThrottled {
    fn id(&self) -> &'static str {
        "writeback_throttled"
    }

    fn title(&self) -> &'static str {
        "throttled in writeback"
    }

    fn judge(&self, pair: &CellComparison<'_>) -> Option<Judgement> {
        if pair.direction() == Direction::Read || pair.is_direct() {
            return None;
        }
        let (Some(near), Some(waiting)) = (pair.both("dirty_near"), pair.both("psi_io_some"))
        else {
            return Judgement::not_judged(pair.needs_telemetry());
        };
        let grounds = Grounds::of(
            pair,
            &[
                "dirty_max",
                "dirty_threshold",
                "dirty_near",
                "psi_io_some",
                "psi_io_full",
                "cpu_share",
            ],
        );
        if near[0] < NEAR {
            return grounds.denied(format!(
                "dirty data reaches only {} of the threshold",
                print(near[0], Unit::Share)
            ));
        }
        if waiting[0] < WAITING {
            return grounds.denied(format!(
                "tasks wait for I/O only {} of the time",
                print(waiting[0], Unit::Share)
            ));
        }
        if near[1] >= NEAR && waiting[1] >= 0.8 * waiting[0] {
            return grounds.denied("both sides are throttled equally");
        }
        grounds
            .takes(
                pair.slower
                    .median("elapsed")
                    .map(|s| s * (waiting[0] - waiting[1])),
            )
            .apart("psi_io_some")
            .holds(
                format!(
                    "with {} dirty data reaches {} of the threshold, and tasks wait for I/O {} of the time",
                    pair.sides()[0],
                    print(near[0], Unit::Share),
                    print(waiting[0], Unit::Share)
                ),
                "a file below vm.dirty_background_ratio of memory, or vm.dirty_ratio raised: the \
                 difference at clock (a) goes; compare clock (c) for what the disk does",
            )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::{Confidence, Verdict};
    use crate::testing::ComparisonBuilder;

    fn sides(near: [f64; 2], waiting: [f64; 2]) -> ComparisonBuilder {
        ComparisonBuilder::new("write")
            .both("dirty_near", near[0], near[1])
            .both("psi_io_some", waiting[0], waiting[1])
            .both("elapsed", 20.0, 10.0)
            .both("seconds.original", 20.0, 10.0)
    }

    #[test]
    fn a_writer_at_the_threshold_that_sleeps_holds() {
        let answer = WritebackThrottled
            .judge(&sides([0.95, 0.4], [0.8, 0.1]).pair(2.0))
            .unwrap();
        assert_eq!(answer.confidence(), Some(Confidence::High), "{answer:?}");
    }

    #[test]
    fn room_left_no_waiting_or_both_alike_deny_it() {
        for (near, waiting) in [
            ([0.4, 0.1], [0.8, 0.1]),
            ([0.9, 0.1], [0.1, 0.1]),
            ([0.9, 0.9], [0.8, 0.8]),
        ] {
            let answer = WritebackThrottled
                .judge(&sides(near, waiting).pair(2.0))
                .unwrap();
            assert_eq!(answer.verdict, Verdict::Denied, "{answer:?}");
        }
    }

    #[test]
    fn it_needs_telemetry_and_speaks_of_buffered_writes_alone() {
        let mut short = ComparisonBuilder::new("write");
        short
            .slower
            .absent
            .insert("telemetry", "the phase was too short".into());
        let answer = WritebackThrottled.judge(&short.pair(2.0)).unwrap();
        let Verdict::NotJudged { needs } = answer.verdict else {
            panic!("it judged without telemetry");
        };
        assert!(needs.contains("too short"), "{needs}");
        assert!(
            WritebackThrottled
                .judge(&ComparisonBuilder::new("read").pair(2.0))
                .is_none()
        );
        if let study::WorkloadSpec::Throughput(spec) = &mut short.cells[0].workload {
            spec.direct = true;
        }
        assert!(WritebackThrottled.judge(&short.pair(2.0)).is_none());
    }
}
