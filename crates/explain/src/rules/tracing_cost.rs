//! The cost of tracing: the slower side was traced, the faster was its untraced twin.
//!
//! Applies only to cells that differ in the factor `trace`. Nothing else differs between such twins, and
//! blocks pair them, so the difference itself is the measurement; the events that were written are
//! printed with it. It is denied when the traced side is faster, and not judged without events.

use crate::comparison::CellComparison;
use crate::rule::{Grounds, Judgement, Rule};
use crate::value::{Unit, print};

/// See the module.
pub(crate) struct TracingCost;

impl Rule for TracingCost {
    fn id(&self) -> &'static str {
        "tracing_cost"
    }

    fn title(&self) -> &'static str {
        "the cost of tracing"
    }

    fn judge(&self, pair: &CellComparison<'_>) -> Option<Judgement> {
        if pair.factor != "trace" {
            return None;
        }
        let traced = pair
            .slower_cell
            .levels
            .get("trace")
            .is_some_and(|level| level == "true");
        let events = pair.slower.median("trace_events");
        let grounds = Grounds::of(pair, &["trace_events", "trace_lost", "cpu_seconds"]);
        if !traced {
            return grounds.denied("the traced side is faster");
        }
        let Some(events) = events.filter(|events| *events > 0.0) else {
            return Judgement::not_judged("needs the trace of the traced side: it has no events");
        };
        grounds.carries(pair.times).holds(
            format!(
                "{} events were written while it ran",
                print(events, Unit::Count)
            ),
            "the untraced twin is the counter-experiment: compare with --filter trace=false",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::{Confidence, Verdict};
    use crate::testing::ComparisonBuilder;

    fn sides(slower: &str, faster: &str) -> ComparisonBuilder {
        let mut sides = ComparisonBuilder::new("write").factor("trace");
        sides.cells[0].levels.insert("trace".into(), slower.into());
        sides.cells[1].levels.insert("trace".into(), faster.into());
        sides
    }

    #[test]
    fn a_traced_side_with_events_holds() {
        let answer = TracingCost.judge(&sides("true", "false").slow("trace_events", 1e6).pair(1.1));
        assert_eq!(answer.unwrap().confidence(), Some(Confidence::High));
    }

    #[test]
    fn a_faster_trace_denies_it_and_no_events_leave_it_open() {
        let answer = TracingCost
            .judge(&sides("false", "true").pair(1.1))
            .unwrap();
        assert_eq!(answer.verdict, Verdict::Denied);
        let answer = TracingCost
            .judge(&sides("true", "false").pair(1.1))
            .unwrap();
        assert!(matches!(answer.verdict, Verdict::NotJudged { .. }));
        assert!(
            TracingCost
                .judge(&ComparisonBuilder::new("write").pair(1.1))
                .is_none()
        );
    }
}
