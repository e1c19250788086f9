//! One run as text, for `fslab show`: what ran, its state, and what a reader must doubt.
//!
//! Numbers of samples are the report's business; this is the run's logbook.

mod csv;

use std::collections::BTreeMap;
use std::fmt::Write;

use words::plural;

use crate::event::{FailureKind, Ledger};
use crate::run::{Run, Status, TrialRecord};
use crate::text::{WIDTH, left, utc, wrap};

pub use csv::csv;

/// The run in lines of at most 78 columns. Control characters of the log are escaped.
pub fn render(run: &Run) -> String {
    let mut out = String::new();
    head(&mut out, run);
    trials(&mut out, run);
    failures(&mut out, run);
    evidence(&mut out, run);
    warnings(&mut out, run);
    ledger(&mut out, run);
    let repeats = run.repeat_notes();
    if !run.notes.is_empty() || !repeats.is_empty() {
        out.push_str("\nNotes\n");
        for note in run.notes.iter().chain(&repeats) {
            wrap(&mut out, "  ", note, 4);
        }
    }
    // Labels and names outside of wrapped text come from the log as well.
    words::printable_lines(&out).into_owned()
}

fn head(out: &mut String, run: &Run) {
    let plan = &run.plan;
    let resumed = match run.resumed {
        0 => String::new(),
        1 => ", resumed once".to_owned(),
        n => format!(", resumed {n} times"),
    };
    let order = format!(
        "{:?}, {} of {}, seed {}",
        plan.order,
        plural(u64::from(plan.blocks), "block"),
        plural(plan.cells.len() as u64, "cell"),
        plan.seed
    );
    for (label, text) in [
        ("Run", run.name.clone()),
        ("Id", run.id.clone()),
        (
            "Study",
            format!("{} ({}): {}", plan.study, plan.profile, plan.title),
        ),
        ("Order", order.to_lowercase()),
        ("Target", run.target.clone()),
        ("Command", run.command.join(" ")),
        ("Tool", run.tool.clone()),
        ("Times", times(run)),
        ("Tags", tags(run)),
        ("Begun", format!("{} UTC{resumed}", utc(run.started_at))),
        ("State", state(run)),
    ] {
        if !text.is_empty() {
            wrap(out, &left(label, 9), &text, 9);
        }
    }
}

/// Whose times these are, where they are not of hardware.
fn times(run: &Run) -> String {
    let Some(timing) = run.timing().filter(|timing| timing != "real") else {
        return String::new();
    };
    match run.modelled_disks() {
        disks if disks.is_empty() => timing,
        disks => format!("{timing} ({disks})"),
    }
}

fn tags(run: &Run) -> String {
    let pairs: Vec<String> = run
        .tags
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    pairs.join(", ")
}

fn state(run: &Run) -> String {
    let remaining = run.remaining().len();
    match &run.closing {
        Some(end) if remaining == 0 => format!(
            "whole: {} finished, {} failed, {} skipped; the last process took {:.1} s and {:.1} MiB \
             at its peak; ended {} UTC",
            end.finished,
            end.failed,
            end.skipped,
            end.seconds,
            end.peak_rss as f64 / 1_048_576.0,
            utc(end.at)
        ),
        _ => format!(
            "not whole: {remaining} of {} still to run",
            plural(run.trials.len() as u64, "trial")
        ),
    }
}

fn trials(out: &mut String, run: &Run) {
    out.push_str("\nTrial Block Status      Seconds Phases  Cell\n");
    for (slot, record) in run.plan.slots.iter().zip(&run.trials) {
        let seconds = match record.status {
            Status::Pending => "-".to_owned(),
            _ => format!("{:.2}", record.ledger.total),
        };
        let lead = format!(
            "{:>5} {:>5} {:<11} {seconds:>7} {:>6}  ",
            slot.trial + 1,
            slot.block + 1,
            word(record),
            record.phases.len(),
        );
        let indent = lead.chars().count().min(WIDTH / 2);
        wrap(
            out,
            &lead,
            &run.plan.cells[slot.cell as usize].label(),
            indent,
        );
    }
}

/// Trials with the numbers that people see: from 1, in running order.
fn numbered(run: &Run) -> impl Iterator<Item = (usize, &TrialRecord)> {
    (1..).zip(&run.trials)
}

const fn word(record: &TrialRecord) -> &'static str {
    match record.status {
        Status::Pending if record.started_at.is_some() => "torn off",
        Status::Pending => "to run",
        Status::Finished => "finished",
        Status::Failed(FailureKind::Cell, _) => "cannot run",
        Status::Failed(FailureKind::Trial, _) => "failed",
        Status::Failed(FailureKind::Interrupted, _) => "interrupted",
        Status::Replaced { .. } => "replaced",
    }
}

fn failures(out: &mut String, run: &Run) {
    let mut title = "\nFailures\n";
    for (trial, record) in numbered(run) {
        if let Status::Failed(_, message) = &record.status {
            out.push_str(std::mem::take(&mut title));
            wrap(
                out,
                "  ",
                &format!("trial {trial} ({}): {message}", word(record)),
                4,
            );
        }
    }
}

fn evidence(out: &mut String, run: &Run) {
    let all: Vec<_> = numbered(run)
        .flat_map(|(trial, record)| record.evidence.iter().map(move |item| (trial, item)))
        .collect();
    let count = |holds| all.iter().filter(|(_, item)| item.holds == holds).count();
    let summary = format!(
        "{} items hold, {} do not, {} could not be checked",
        count(Some(true)),
        count(Some(false)),
        count(None)
    );
    wrap(out, "\nEvidence: ", &summary, 2);
    for (trial, item) in all.iter().filter(|(_, item)| item.holds == Some(false)) {
        let phase = item
            .phase
            .as_ref()
            .map_or_else(String::new, |phase| format!(", {phase}"));
        let text = format!(
            "trial {trial}{phase}: {} does not hold: {}",
            item.name, item.detail
        );
        wrap(out, "  ", &text, 4);
    }
}

fn warnings(out: &mut String, run: &Run) {
    let mut trials: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (trial, record) in numbered(run) {
        for warning in &record.warnings {
            trials.entry(warning).or_default().push(trial.to_string());
        }
    }
    if !trials.is_empty() {
        out.push_str("\nWarnings\n");
    }
    for (warning, trials) in trials {
        wrap(
            out,
            "  ",
            &format!("{warning} (trials {})", trials.join(", ")),
            4,
        );
    }
}

/// Where the time of all trials that ended went, in seconds.
pub fn spent(run: &Run) -> Ledger {
    let mut sum = Ledger::default();
    for record in &run.trials {
        let spent = &record.ledger;
        sum.device += spent.device;
        sum.mkfs += spent.mkfs;
        sum.mount += spent.mount;
        sum.wait += spent.wait;
        sum.workload += spent.workload;
        sum.umount += spent.umount;
        sum.total += spent.total;
    }
    sum
}

fn ledger(out: &mut String, run: &Run) {
    let sum = spent(run);
    if sum.total <= 0.0 {
        return;
    }
    out.push_str("\nWhere the time went (all trials that ended)\n");
    // The device is a part of the lab's own.
    for (label, seconds) in [
        ("mkfs", sum.mkfs),
        ("mount", sum.mount),
        ("lazy init", sum.wait),
        ("workload", sum.workload),
        ("umount", sum.umount),
        ("fslab's own", sum.own()),
        ("  device", sum.device),
        ("total", sum.total),
    ] {
        let share = 100.0 * seconds / sum.total;
        let _ = writeln!(out, "  {label:<11} {seconds:>10.2} s {share:>6.1} %");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Event;
    use crate::example;

    fn fits(text: &str) {
        let long: Vec<&str> = text.lines().filter(|l| l.chars().count() > WIDTH).collect();
        assert!(long.is_empty(), "{long:?}");
    }

    #[test]
    fn a_whole_run() {
        let text = render(&example::run());
        fits(&text);
        insta::assert_snapshot!(text);
    }

    #[test]
    fn nothing_of_a_log_steers_the_terminal() {
        let mut run = example::run();
        let foreign = "\u{1b}[2J\u{9b}31m\u{1b}]0;title\u{7}\r";
        run.target = foreign.into();
        run.name = foreign.into();
        run.notes = vec![foreign.into()];
        run.trials[0].warnings = vec![foreign.into()];
        run.trials[1].status = Status::Failed(FailureKind::Trial, foreign.into());
        run.plan.cells[0].levels = run.plan.cells[0]
            .levels
            .keys()
            .map(|factor| (factor.clone(), foreign.to_owned()))
            .collect();
        let text = render(&run);
        fits(&text);
        assert!(text.contains("\\u{1b}[2J\\u{9b}31m"), "{text}");
        assert!(
            !text.chars().any(|c| c.is_control() && c != '\n'),
            "{text:?}"
        );
    }

    #[test]
    fn a_run_killed_in_mid_trial_and_resumed() {
        let mut entries = example::entries();
        entries.truncate(60);
        let at = entries[59].at;
        entries.push(crate::Entry {
            seq: 60,
            at,
            event: Event::Resumed {
                tool: "fslab".into(),
            },
        });
        let text = render(&Run::fold(&entries).unwrap());
        fits(&text);
        insta::assert_snapshot!(text);
    }
}
