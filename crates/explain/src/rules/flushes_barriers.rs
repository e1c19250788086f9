//! Flushes: the slower side makes the device empty its cache more often.
//!
//! A barrier is a cache flush that the filesystem waits for. The rule holds when the slower side sends at
//! least 1.5 times as many flushes as the faster and at least five more, and the device spent at least
//! 5 % of the phase in flushes, where their time was counted. The difference of that time is compared
//! with the extra time. A write-through device gets no flushes, which denies it. diskstats counts the
//! flushes that the block layer sends, whatever the disk does with them.

use crate::comparison::{CellComparison, Direction};
use crate::rule::{Grounds, Judgement, Rule};
use crate::value::{Row, Unit, print};

const MORE: f64 = 1.5;
const LEAST: f64 = 5.0;
const SHARE: f64 = 0.05;

/// See the module.
pub(crate) struct FlushesBarriers;

impl Rule for FlushesBarriers {
    fn id(&self) -> &'static str {
        "flushes_barriers"
    }

    fn title(&self) -> &'static str {
        "cache flushes (barriers)"
    }

    fn judge(&self, pair: &CellComparison<'_>) -> Option<Judgement> {
        if pair.direction() == Direction::Read {
            return None;
        }
        let name = if pair.both("trace_flushes").is_some() {
            "trace_flushes"
        } else {
            "flushes"
        };
        let Some([slower, faster]) = pair.for_the_same_work(name) else {
            return Judgement::not_judged(pair.needs_telemetry());
        };
        let mut grounds = Grounds::of(pair, &[name, "flush_seconds"]);
        for (fact, label) in [
            ("barriers", "barriers"),
            ("device.write_cache", "device cache"),
        ] {
            if let Some([s, f]) = pair.facts(fact) {
                grounds = grounds.row(Row::words(fact, label, s, f, "mount and sysfs"));
            }
        }
        if pair.slower.fact("device.write_cache") == Some("write through") {
            return grounds.denied("the device is write-through: no flushes are sent to it");
        }
        if slower < MORE * faster || slower < faster + LEAST {
            return grounds.denied(format!(
                "flushes: {}",
                pair.against(print(slower, Unit::Count), print(faster, Unit::Count))
            ));
        }
        let time = pair.slower.median("flush_seconds");
        let share = time
            .zip(pair.slower.median("elapsed").filter(|all| *all > 0.0))
            .map(|(time, all)| time / all);
        if let Some(share) = share.filter(|share| *share < SHARE) {
            return grounds.denied(format!(
                "{} flushes took {} of the phase with {}",
                print(slower, Unit::Count),
                print(share, Unit::Share),
                pair.sides()[0]
            ));
        }
        let theirs = pair
            .for_the_same_work("flush_seconds")
            .map_or(0.0, |[_, faster]| faster);
        grounds
            .takes(time.map(|time| time - theirs))
            .bounded()
            .apart(name)
            .holds(
                format!(
                    "cache flushes: {}{}",
                    pair.against(print(slower, Unit::Count), print(faster, Unit::Count)),
                    share.map_or(String::new(), |share| format!(
                        ", {} of the phase",
                        print(share, Unit::Share)
                    ))
                ),
                "mount = [\"\", \"barrier=0\"] (ext): not the same durability, but the same bytes",
            )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::{Confidence, Verdict};
    use crate::testing::ComparisonBuilder;

    fn sides(flushes: [f64; 2], seconds: [f64; 2]) -> ComparisonBuilder {
        ComparisonBuilder::new("fill")
            .both("flushes", flushes[0], flushes[1])
            .both("flush_seconds", seconds[0], seconds[1])
            .both("elapsed", 10.0, 5.0)
            .slow("seconds.original", 10.0)
    }

    #[test]
    fn flushes_that_take_the_extra_time_hold() {
        let answer = FlushesBarriers
            .judge(&sides([1000.0, 10.0], [4.5, 0.1]).pair(2.0))
            .unwrap();
        assert_eq!(answer.confidence(), Some(Confidence::High), "{answer:?}");
    }

    #[test]
    fn as_many_cheap_or_dropped_flushes_deny_it() {
        for sides in [
            sides([100.0, 90.0], [4.0, 0.1]),
            sides([4.0, 1.0], [4.0, 0.1]),
            sides([1000.0, 10.0], [0.2, 0.1]),
            sides([1000.0, 10.0], [4.5, 0.1]).facts(
                "device.write_cache",
                "write through",
                "write through",
            ),
        ] {
            let answer = FlushesBarriers.judge(&sides.pair(2.0)).unwrap();
            assert_eq!(answer.verdict, Verdict::Denied, "{answer:?}");
        }
    }

    #[test]
    fn a_count_without_time_is_not_shown_to_carry_it() {
        let sides = ComparisonBuilder::new("write").both("trace_flushes", 1000.0, 10.0);
        let answer = FlushesBarriers.judge(&sides.pair(2.0)).unwrap();
        assert_eq!(answer.confidence(), Some(Confidence::Medium), "{answer:?}");
        let answer = FlushesBarriers
            .judge(&ComparisonBuilder::new("write").pair(2.0))
            .unwrap();
        assert!(matches!(answer.verdict, Verdict::NotJudged { .. }));
        assert!(
            FlushesBarriers
                .judge(&ComparisonBuilder::new("read").pair(2.0))
                .is_none()
        );
    }
}
