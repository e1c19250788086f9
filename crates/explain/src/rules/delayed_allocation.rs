//! No delayed allocation: the slower side chooses blocks in every write call.
//!
//! With delayed allocation blocks are chosen at writeback, for whole extents; without it they are chosen
//! for each page, in the writer's own time, and bios are smaller. The rule holds when it is off on the
//! slower side and on on the faster, with one of its effects: at least 10 % more CPU time, requests or
//! bios at most 0.8 as large, or 1.5 times the discontiguities. It is denied where effects were measured
//! and none is present; smaller requests do not count where the device moves as many bytes per second.
//! Where none was measured it is inferred from the setting.

use crate::comparison::{CellComparison, Direction};
use crate::rule::{Grounds, Judgement, Rule};
use crate::value::{Row, digits};

/// Figures, the least ratio that shows a consequence, and whether more is worse.
const CONSEQUENCES: [(&str, f64, bool); 4] = [
    ("cpu_seconds", 1.1, true),
    ("trace_bio_mean", 1.25, false),
    ("write_request_mean", 1.25, false),
    ("layout_discontiguities", 1.5, true),
];

/// See the module.
pub(crate) struct DelayedAllocation;

impl Rule for DelayedAllocation {
    fn id(&self) -> &'static str {
        "delayed_allocation"
    }

    fn title(&self) -> &'static str {
        "no delayed allocation"
    }

    fn judge(&self, pair: &CellComparison<'_>) -> Option<Judgement> {
        if pair.direction() == Direction::Read || pair.is_direct() {
            return None;
        }
        let Some([slower, faster]) = pair.facts("delalloc") else {
            return Judgement::not_judged("needs the effective mount options of both cells");
        };
        let names = CONSEQUENCES.map(|(name, ..)| name);
        let row = Row::words(
            "delalloc",
            "delayed allocation",
            slower,
            faster,
            "mount options",
        );
        let grounds = Grounds::of(pair, &names).row(row);
        if slower != "off" || faster != "on" {
            return grounds.denied(if slower == faster {
                format!("{slower} on both sides")
            } else {
                pair.against(slower, faster)
            });
        }
        let idle = pair.device_as_fast();
        let effects: Vec<(&str, f64, bool)> = CONSEQUENCES
            .iter()
            .filter_map(|(name, least, worse)| {
                let [slower, faster] = pair.for_the_same_work(name)?;
                let [slower, faster] = if *worse {
                    [slower, faster]
                } else {
                    pair.both(name)?
                };
                // Smaller requests that do not slow the device are no effect that counts.
                let least = if *name == "cpu_seconds" || idle.is_none() {
                    *least
                } else {
                    f64::INFINITY
                };
                let effect = if *worse {
                    slower / faster
                } else {
                    faster / slower
                };
                effect
                    .is_finite()
                    .then_some((*name, effect, effect >= least))
            })
            .collect();
        let shown = effects.iter().filter(|(.., shows)| *shows);
        let Some((name, effect, _)) = shown.max_by(|a, b| a.1.total_cmp(&b.1)) else {
            if effects.is_empty() {
                return grounds.inferred(true).carries(1.0).holds(
                    format!(
                        "off with {}; its effects were not measured",
                        pair.sides()[0]
                    ),
                    EXPERIMENT,
                );
            }
            return grounds.denied("it is off, but CPU time, requests and layout show no effect");
        };
        let grounds = match *name {
            // The writer's own time, in seconds; the time that gaps cost is not known.
            "cpu_seconds" => {
                let cpu = pair.for_the_same_work(name);
                grounds.takes(cpu.map(|[slower, faster]| slower - faster))
            }
            "layout_discontiguities" => grounds.carries(1.0),
            _ => grounds.carries(*effect).bounded(),
        };
        grounds.apart(name).holds(
            format!(
                "off with {}, on with {}, with an effect: {} {} times {}",
                pair.sides()[0],
                pair.sides()[1],
                crate::evidence::describe(name).0,
                digits(*effect),
                if matches!(*name, "cpu_seconds" | "layout_discontiguities") {
                    "as much"
                } else {
                    "smaller"
                }
            ),
            EXPERIMENT,
        )
    }
}

const EXPERIMENT: &str = "mount = [\"\", \"nodelalloc\"] on one filesystem that has it (ext4)";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::{Confidence, Verdict};
    use crate::testing::ComparisonBuilder;

    fn sides() -> ComparisonBuilder {
        ComparisonBuilder::new("write").facts("delalloc", "off", "on")
    }

    #[test]
    fn a_consequence_that_carries_the_difference_holds() {
        let sides = sides()
            .both("cpu_seconds", 29.0, 16.0)
            .slow("seconds.original", 30.0);
        let answer = DelayedAllocation.judge(&sides.pair(2.0)).unwrap();
        assert_eq!(answer.confidence(), Some(Confidence::High), "{answer:?}");
        assert!(
            answer.because.contains("CPU time 1.81 times as much"),
            "{}",
            answer.because
        );
    }

    #[test]
    fn no_consequence_or_the_same_setting_denies_it() {
        let none = sides()
            .both("cpu_seconds", 16.0, 16.0)
            .both("write_request_mean", 1e5, 1e5);
        let idle = sides()
            .both("write_request_mean", 83e3, 848e3)
            .both("write_rate", 41e6, 38e6)
            .both("cpu_seconds", 1.0, 1.0);
        let same = ComparisonBuilder::new("write")
            .facts("delalloc", "on", "on")
            .both("cpu_seconds", 2.0, 1.0);
        let other = ComparisonBuilder::new("write").facts("delalloc", "on", "off");
        for sides in [none, idle, same, other] {
            let answer = DelayedAllocation.judge(&sides.pair(2.0)).unwrap();
            assert_eq!(answer.verdict, Verdict::Denied, "{answer:?}");
        }
    }

    #[test]
    fn a_bare_setting_is_inferred_and_no_setting_leaves_it_open() {
        let answer = DelayedAllocation.judge(&sides().pair(2.0)).unwrap();
        assert_eq!(answer.confidence(), Some(Confidence::Low), "{answer:?}");
        let answer = DelayedAllocation
            .judge(&ComparisonBuilder::new("write").pair(2.0))
            .unwrap();
        assert!(matches!(answer.verdict, Verdict::NotJudged { .. }));
        assert!(
            DelayedAllocation
                .judge(&ComparisonBuilder::new("read").pair(2.0))
                .is_none()
        );
    }
}
