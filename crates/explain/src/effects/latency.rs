//! Which latencies are compared: one quantile of one kind of call for each phase.
//!
//! A phase makes several kinds of calls, each with seven figures; all of them would bury the speeds. So
//! each phase that the study prints has one row: the kind of call in which most of its time went, in the
//! 99th percentile. Of fewer than 100 calls that is the longest one, which chance decides, so the median takes
//! its place; of fewer than 10 calls no quantile says anything.

use record::{Run, Status};
use study::names::{CALL_FIGURES, CALLS};
use study::{Cell, Clock, RowSpec};

use crate::tables::is_measured;

/// Calls of a trial from which on a percentile is not the longest call.
const FOR_P99: u64 = 100;
/// Calls of a trial from which on the median says something.
const FOR_P50: u64 = 10;

/// What the trials recorded of one kind of call in a phase.
struct Calls {
    operation: String,
    /// Time in these calls, s, of all trials and threads.
    total: f64,
    /// Number of calls of the trial that made the fewest.
    least: u64,
}

/// The latencies that are compared beside these rows of a workload; none for a phase that has a latency among them.
pub(super) fn rows_of(
    run: &Run,
    workload: &str,
    rows: &[RowSpec],
    cells: &[&Cell],
) -> Vec<RowSpec> {
    let mut found: Vec<RowSpec> = Vec::new();
    for row in rows {
        let own = |r: &&RowSpec| r.phase == row.phase;
        let has_one = rows.iter().filter(own).any(|r| is_of_call(&r.metric));
        if has_one || found.iter().any(|r| r.phase == row.phase) {
            continue;
        }
        let Some(metric) = main(run, &row.phase, cells) else {
            continue;
        };
        let latency = RowSpec {
            metric,
            clock: Clock::Original,
            unit: "ms".to_owned(),
            published: None,
            ..row.clone()
        };
        found.extend(is_measured(run, workload, &latency).then_some(latency));
    }
    found
}

/// Whether a metric is a figure of a call: `fsync_p99`.
fn is_of_call(metric: &str) -> bool {
    let parts = metric.split_once('_');
    parts.is_some_and(|(call, figure)| CALLS.contains(&call) && CALL_FIGURES.contains(&figure))
}

/// The metric that says how long the phase's main calls took.
fn main(run: &Run, phase: &str, cells: &[&Cell]) -> Option<String> {
    let mut calls: Vec<Calls> = Vec::new();
    let slots = run.plan.slots.iter();
    let slots = slots.filter(|slot| cells.iter().any(|cell| cell.id == slot.cell));
    let trials = slots.filter_map(|slot| run.trials.get(slot.trial as usize));
    let trials = trials.filter(|trial| trial.status == Status::Finished);
    for report in trials
        .flat_map(|trial| &trial.phases)
        .filter(|report| report.name == phase)
    {
        let recorded = report.detail.get("latency").and_then(|l| l.as_array());
        for one in recorded.into_iter().flatten() {
            let number = |name: &str| one.get(name).and_then(serde_json::Value::as_f64);
            let (Some(operation), Some(count), Some(mean)) = (
                one.get("operation").and_then(|o| o.as_str()),
                one.get("count").and_then(serde_json::Value::as_u64),
                number("mean"),
            ) else {
                continue;
            };
            let total = mean * count as f64;
            match calls.iter_mut().find(|known| known.operation == operation) {
                Some(known) => {
                    known.total += total;
                    known.least = known.least.min(count);
                }
                None => calls.push(Calls {
                    operation: operation.to_owned(),
                    total,
                    least: count,
                }),
            }
        }
    }
    let most = calls.iter().max_by(|a, b| a.total.total_cmp(&b.total))?;
    let figure = match most.least {
        FOR_P99.. => "p99",
        FOR_P50.. => "p50",
        _ => return None,
    };
    Some(format!("{}_{figure}", most.operation))
}
