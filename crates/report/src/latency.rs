//! How long the operations of each phase took: quantiles over the trials, and a histogram.
//!
//! Workloads record the latency of each system call and write it into the log with the report of
//! their phase. Logs of older versions have none, and their reports have no such section.

use std::collections::BTreeMap;

use record::{Run, Status, TrialRecord};
use serde::{Deserialize, Serialize};
use study::Cell;

use crate::fill::Sources;
use crate::labels::Labels;

/// What a phase's report has of one kind of operation. Seconds.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Recorded {
    operation: String,
    count: u64,
    mean: f64,
    p50: f64,
    p90: f64,
    p99: f64,
    p999: f64,
    max: f64,
    histogram: Vec<Bucket>,
}

/// Number of operations that took from `from` to `to` seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Bucket {
    /// Least time.
    pub(crate) from: f64,
    /// The time at which the next range begins.
    pub(crate) to: f64,
    /// Number of operations, of all trials.
    pub(crate) count: u64,
}

/// One kind of operation in a phase of a cell. Times are seconds: medians over the trials, but for
/// the largest.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Row {
    /// The cell, by the levels in which the cells differ.
    #[serde(rename = "cell")]
    pub(crate) label: String,
    /// Name of the phase, in snake case.
    pub(crate) phase: String,
    /// The system call.
    pub(crate) operation: String,
    /// Number of finished trials that recorded it.
    pub(crate) n: usize,
    /// Number of operations, of all trials.
    pub(crate) operations: u64,
    /// Median of the trials' medians.
    pub(crate) p50: f64,
    /// Median of the trials' 90th percentiles.
    pub(crate) p90: f64,
    /// Median of the trials' 99th percentiles.
    pub(crate) p99: f64,
    /// Median of the trials' 99.9th percentiles.
    pub(crate) p999: f64,
    /// The longest of all trials.
    pub(crate) max: f64,
    /// Time in these operations, of all trials and threads.
    pub(crate) total: f64,
    /// Of all trials, ascending; empty ranges are left out.
    pub(crate) histogram: Vec<Bucket>,
}

impl Row {
    /// Of what the trials recorded; at least one did.
    fn new(label: &str, phase: &str, recorded: &[Recorded]) -> Row {
        let of = |figure: fn(&Recorded) -> f64| median(recorded.iter().map(figure).collect());
        Row {
            label: label.to_owned(),
            phase: phase.to_owned(),
            operation: recorded
                .first()
                .map_or_else(String::new, |r| r.operation.clone()),
            n: recorded.len(),
            operations: recorded.iter().map(|r| r.count).sum(),
            p50: of(|r| r.p50),
            p90: of(|r| r.p90),
            p99: of(|r| r.p99),
            p999: of(|r| r.p999),
            max: recorded.iter().map(|r| r.max).fold(0.0, f64::max),
            total: recorded.iter().map(|r| r.mean * r.count as f64).sum(),
            histogram: together(recorded),
        }
    }

    /// The cell and the phase.
    pub(crate) fn name(&self) -> String {
        format!("{}, {}", self.label, self.phase)
    }
}

/// All that was recorded.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Latencies {
    /// In the order of phases, cells and operations.
    pub(crate) rows: Vec<Row>,
}

impl Latencies {
    /// For each phase and cell the kind of operation in which most of the time went.
    pub(crate) fn main(&self) -> Vec<&Row> {
        let mut main: Vec<&Row> = Vec::new();
        for row in &self.rows {
            match main.last_mut() {
                Some(last) if (&last.phase, &last.label) == (&row.phase, &row.label) => {
                    if row.total > last.total {
                        *last = row;
                    }
                }
                _ => main.push(row),
            }
        }
        main
    }
}

/// Latencies of the report's finished trials; none where no trial recorded any.
pub(crate) fn of(sources: &Sources<'_>) -> Option<Latencies> {
    let run: &Run = sources.run;
    let trials: Vec<_> = sources
        .slots()
        .filter(|(_, trial)| trial.status == Status::Finished)
        .collect();
    let has_trials = |cell: &&Cell| trials.iter().any(|(slot, _)| slot.cell == cell.id);
    let cells: Vec<&Cell> = run.plan.cells.iter().filter(has_trials).collect();
    let labels = Labels::of(&run.plan, &cells);
    let mut phases: Vec<&str> = Vec::new();
    for phase in trials.iter().flat_map(|(_, trial)| &trial.phases) {
        if !phases.contains(&phase.name.as_str()) {
            phases.push(&phase.name);
        }
    }
    let mut rows = Vec::new();
    for phase in phases {
        for cell in &cells {
            let here = trials.iter().filter(|(slot, _)| slot.cell == cell.id);
            let here: Vec<&TrialRecord> = here.map(|(_, trial)| *trial).collect();
            rows.extend(rows_of(&labels.of_cell(cell), phase, &here));
        }
    }
    (!rows.is_empty()).then_some(Latencies { rows })
}

/// A row for each kind of operation in a phase of these trials.
fn rows_of(label: &str, phase: &str, trials: &[&TrialRecord]) -> Vec<Row> {
    let mut names: Vec<String> = Vec::new();
    let mut kinds: BTreeMap<String, Vec<Recorded>> = BTreeMap::new();
    let found = trials.iter().flat_map(|trial| &trial.phases);
    for found in found.filter(|found| found.name == phase) {
        let recorded = found.detail.get("latency").cloned().unwrap_or_default();
        // What cannot be read is of a later version, and is left out.
        let recorded: Vec<Recorded> = serde_json::from_value(recorded).unwrap_or_default();
        for recorded in recorded.into_iter().filter(|r| r.count > 0) {
            if !names.contains(&recorded.operation) {
                names.push(recorded.operation.clone());
            }
            kinds
                .entry(recorded.operation.clone())
                .or_default()
                .push(recorded);
        }
    }
    let rows = names.iter().filter_map(|name| kinds.get(name));
    rows.map(|recorded| Row::new(label, phase, recorded))
        .collect()
}

/// The counts of all trials by range.
fn together(recorded: &[Recorded]) -> Vec<Bucket> {
    let mut all: Vec<Bucket> = recorded.iter().flat_map(|r| r.histogram.clone()).collect();
    all.sort_by(|a, b| a.from.total_cmp(&b.from));
    let mut sum: Vec<Bucket> = Vec::new();
    for bucket in all {
        match sum.last_mut() {
            Some(last) if last.from.total_cmp(&bucket.from).is_eq() => last.count += bucket.count,
            _ => sum.push(bucket),
        }
    }
    sum
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let n = values.len();
    match (values.get(n.saturating_sub(1) / 2), values.get(n / 2)) {
        (Some(low), Some(high)) => f64::midpoint(*low, *high),
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use record::Phase;
    use serde_json::{Value, json};

    use super::*;

    fn trial(latency: &Value) -> TrialRecord {
        TrialRecord {
            phases: vec![Phase {
                name: "read".into(),
                begin_ns: 0,
                end_ns: 1,
                detail: json!({ "latency": latency }),
                usage: None,
                memory: None,
                middle: None,
            }],
            ..TrialRecord::default()
        }
    }

    fn read(p50: f64, bucket: f64) -> Value {
        json!([
            {"operation": "read", "count": 10, "min": p50, "mean": p50, "p50": p50, "p90": p50 * 2.0,
             "p99": p50 * 3.0, "p999": p50 * 4.0, "max": p50 * 5.0,
             "histogram": [{"from": bucket, "to": bucket * 1.25, "count": 10}]},
            {"operation": "close", "count": 1, "p50": 1e-6, "mean": 1e-6, "max": 1e-6},
        ])
    }

    #[test]
    fn quantiles_are_medians_over_trials_and_histograms_are_added() {
        let trials = [
            trial(&read(1e-3, 5e-4)),
            trial(&read(3e-3, 5e-4)),
            trial(&read(2e-3, 1e-3)),
        ];
        let all: Vec<&TrialRecord> = trials.iter().collect();
        let rows = rows_of("ext4", "read", &all);
        assert_eq!(rows.len(), 2);
        let row = &rows[0];
        assert_eq!(
            (row.operation.as_str(), row.n, row.operations),
            ("read", 3, 30)
        );
        assert_eq!((row.p50, row.p90, row.max), (2e-3, 4e-3, 15e-3));
        let counts: Vec<u64> = row.histogram.iter().map(|b| b.count).collect();
        assert_eq!(counts, [20, 10]);
        let latencies = Latencies { rows: rows.clone() };
        let main: Vec<&str> = latencies
            .main()
            .iter()
            .map(|r| r.operation.as_str())
            .collect();
        assert_eq!(main, ["read"]);
        assert!(rows_of("ext4", "write", &all).is_empty());
    }

    #[test]
    fn a_log_without_latencies_or_with_others_has_no_rows() {
        for latency in [
            Value::Null,
            json!([]),
            json!("later"),
            json!([{"operation": "read"}]),
        ] {
            let old = trial(&latency);
            assert!(rows_of("ext4", "read", &[&old]).is_empty());
        }
    }
}
