//! What a bench measured as CSV: the samples of a run without its trials.

use report::model::clock_name;
use words::csv_record;
use workload::PhaseReport;

/// One row for each phase, metric and clock, in the stored unit of samples.
pub(super) fn table(workload: &str, phases: &[PhaseReport]) -> String {
    let mut table = csv_record(["workload", "phase", "metric", "clock", "value", "unit"]);
    for sample in lab::convert::samples(phases) {
        table.push_str(&csv_record([
            workload,
            &sample.phase,
            &sample.metric,
            clock_name(sample.clock),
            &sample.value.to_string(),
            &sample.unit,
        ]));
    }
    table
}
