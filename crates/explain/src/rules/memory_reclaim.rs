//! Memory reclaim: the slower side stalls to free pages.
//!
//! It holds when the slower side's phase hit its memory limit, swapped, or had allocations in direct
//! reclaim, at least twice as often as the faster side, and at least ten times (any group that ever
//! filled its limit hits it now and then). The kernel counts the time that tasks lost as memory
//! pressure; that time is compared with the extra time. A phase without any of these denies it.

use crate::comparison::CellComparison;
use crate::rule::{Grounds, Judgement, Rule};
use crate::value::{Unit, print};

const OFTEN: f64 = 10.0;
const MORE: f64 = 2.0;

/// See the module.
pub(crate) struct MemoryReclaim;

const SIGNS: [&str; 4] = ["limit_met", "allocation_stalls", "swap_ins", "swap_outs"];

impl Rule for MemoryReclaim {
    fn id(&self) -> &'static str {
        "memory_reclaim"
    }

    fn title(&self) -> &'static str {
        "memory reclaim"
    }

    fn judge(&self, pair: &CellComparison<'_>) -> Option<Judgement> {
        if SIGNS.iter().all(|sign| pair.slower.median(sign).is_none()) {
            return Judgement::not_judged(
                "needs memory counters of this phase, which were not recorded",
            );
        }
        let names = [
            "memory_limit",
            "limit_met",
            "allocation_stalls",
            "pages_scanned",
            "swap_ins",
            "psi_memory_some",
        ];
        let grounds = Grounds::of(pair, &names);
        let worst = SIGNS
            .iter()
            .filter_map(|sign| {
                let slower = pair.slower.median(sign)?;
                // A group without a limit never hits it.
                let faster = pair.faster.median(sign).unwrap_or(0.0);
                (slower >= OFTEN && slower >= MORE * faster).then_some((*sign, slower))
            })
            .max_by(|a, b| a.1.total_cmp(&b.1));
        let Some((sign, count)) = worst else {
            return grounds.denied(format!(
                "no more memory was reclaimed with {}",
                pair.sides()[0]
            ));
        };
        let waiting = pair.slower.median("psi_memory_some");
        let theirs = pair.faster.median("psi_memory_some").unwrap_or(0.0);
        let elapsed = pair.slower.median("elapsed");
        grounds
            .takes(
                waiting
                    .zip(elapsed)
                    .map(|(share, seconds)| (share - theirs) * seconds),
            )
            .apart(sign)
            .holds(
                format!(
                    "{} {} times in the phase with {}",
                    crate::evidence::describe(sign).0,
                    print(count, Unit::Count),
                    pair.sides()[0]
                ),
                "run with all memory (--set memory=none), or with a smaller working set",
            )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::{Confidence, Verdict};
    use crate::testing::ComparisonBuilder;

    #[test]
    fn a_limit_that_costs_the_extra_time_holds() {
        let sides = ComparisonBuilder::new("read")
            .both("limit_met", 5000.0, 0.0)
            .both("psi_memory_some", 0.7, 0.0)
            .both("elapsed", 10.0, 5.0)
            .slow("seconds.original", 10.0);
        let answer = MemoryReclaim.judge(&sides.pair(2.0)).unwrap();
        // The faster side never met it: 0 does not vary, so nothing overlaps.
        assert_eq!(answer.confidence(), Some(Confidence::High), "{answer:?}");
    }

    #[test]
    fn a_side_without_a_group_is_one_that_met_none() {
        let sides = ComparisonBuilder::new("read").slow("limit_met", 5000.0);
        let answer = MemoryReclaim.judge(&sides.pair(2.0)).unwrap();
        assert_eq!(answer.confidence(), Some(Confidence::Low), "{answer:?}");
    }

    #[test]
    fn no_reclaim_or_as_much_denies_it() {
        for (slow, fast) in [(0.0, 0.0), (5.0, 0.0), (900.0, 800.0)] {
            let sides = ComparisonBuilder::new("read").both("limit_met", slow, fast);
            let answer = MemoryReclaim.judge(&sides.pair(2.0)).unwrap();
            assert_eq!(answer.verdict, Verdict::Denied, "{answer:?}");
        }
        let answer = MemoryReclaim
            .judge(&ComparisonBuilder::new("read").pair(2.0))
            .unwrap();
        assert!(matches!(answer.verdict, Verdict::NotJudged { .. }));
    }
}
