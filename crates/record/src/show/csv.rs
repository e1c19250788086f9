//! The trials of a run as CSV: the table of `fslab show`, with what its lists have of each trial.

use words::csv_record;

use super::word;
use crate::run::{Run, Status, TrialRecord};

/// Columns after those of the factors.
const COLUMNS: [&str; 9] = [
    "status",
    "seconds",
    "phases",
    "holds",
    "fails",
    "unchecked",
    "warnings",
    "message",
    "timing",
];

/// One row for each trial in running order: its place (from 0, as in the log), the levels of its cell, its status, the seconds it took
/// (empty where it has not run), the number of its phases, how much of its evidence holds, fails and could not be
/// checked, the number of its warnings, why it failed, and whose times these are.
pub fn csv(run: &Run) -> String {
    let factors = factors(run);
    let head = ["run", "trial", "block"].into_iter();
    let head = head.chain(factors.iter().map(String::as_str));
    let mut out = csv_record(head.chain(COLUMNS));
    let timing = run.timing().unwrap_or_default();
    for (slot, record) in run.plan.slots.iter().zip(&run.trials) {
        let cell = run.plan.cells.get(slot.cell as usize);
        let level = |factor: &String| cell.and_then(|cell| cell.levels.get(factor).cloned());
        let place = [
            run.name.clone(),
            slot.trial.to_string(),
            slot.block.to_string(),
        ];
        let levels = factors
            .iter()
            .map(|factor| level(factor).unwrap_or_default());
        out.push_str(&csv_record(
            place
                .into_iter()
                .chain(levels)
                .chain(of_trial(record, &timing)),
        ));
    }
    out
}

/// Names of all factors, in the study's order.
fn factors(run: &Run) -> Vec<String> {
    let mut names: Vec<String> = run
        .plan
        .factors
        .iter()
        .map(|(name, _)| name.clone())
        .collect();
    for name in run.plan.cells.iter().flat_map(|cell| cell.levels.keys()) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}

fn of_trial(record: &TrialRecord, timing: &str) -> [String; COLUMNS.len()] {
    let evidence = |holds| {
        record
            .evidence
            .iter()
            .filter(|item| item.holds == holds)
            .count()
    };
    let message = match &record.status {
        Status::Failed(_, message) => message.as_str(),
        _ => "",
    };
    let seconds = match record.status {
        Status::Pending => String::new(),
        _ => record.ledger.total.to_string(),
    };
    [
        word(record).to_owned(),
        seconds,
        record.phases.len().to_string(),
        evidence(Some(true)).to_string(),
        evidence(Some(false)).to_string(),
        evidence(None).to_string(),
        record.warnings.len().to_string(),
        message.to_owned(),
        timing.to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::FailureKind;

    #[test]
    fn a_row_for_each_trial_with_the_levels_of_its_cell() {
        let mut run = Run::fold(&crate::example::entries()).unwrap();
        run.trials[0].status = Status::Failed(FailureKind::Trial, "no space, \"full\"".to_owned());
        let text = csv(&run);
        let lines: Vec<&str> = text.split("\r\n").filter(|line| !line.is_empty()).collect();
        assert_eq!(lines.len(), 1 + run.trials.len());
        let factors = factors(&run).join(",");
        let head = format!("run,trial,block,{factors},{}", COLUMNS.join(","));
        assert_eq!(lines[0], head);
        let first = &run.plan.cells[run.plan.slots[0].cell as usize];
        for level in first.levels.values() {
            assert!(lines[1].contains(level.as_str()), "{}", lines[1]);
        }
        assert!(lines[1].contains(",failed,"), "{}", lines[1]);
        assert!(
            lines[1].ends_with("\"no space, \"\"full\"\"\","),
            "{}",
            lines[1]
        );
        // A trial that did not run took no time, which is not 0 s.
        run.trials[1] = TrialRecord::default();
        let row = csv(&run).split("\r\n").nth(2).unwrap().to_owned();
        assert!(row.contains(",to run,,0,"), "{row}");
        let items = serde_json::json!({"items": {"run.timing": {"value": "modelled"}}});
        run.contexts.insert("start".into(), items);
        let row = csv(&run).split("\r\n").nth(2).unwrap().to_owned();
        assert!(row.ends_with(",modelled"), "{row}");
    }
}
