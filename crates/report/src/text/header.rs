//! The head of a text report: what readers of such numbers ask first.

use std::collections::BTreeSet;

use record::Status;
use study::Order;

use super::wrap;
use crate::Report;
use crate::facts::Answer;
use crate::model::Mark;
use crate::validity::Doubt;
use crate::variants::Variant;

/// Width of the names.
const NAME: usize = 14;
/// Facts that share the line of another, and the words before them. They are left out when they
/// are not known, as few ask for them; the page and JSON keep them.
const JOINED: [(&str, &str, &str); 4] = [
    ("distribution", "kernel", ""),
    ("virtualised", "kernel", "under "),
    ("CPU frequency", "CPU", "frequency "),
    ("working set", "RAM", "working set "),
];

/// The head.
pub(super) fn print(report: &Report<'_>, width: usize) -> String {
    let run = report.run;
    let plan = &run.plan;
    let mut out = wrap("", 0, &plan.title, width);
    let rule = plan.title.chars().count().min(width.min(78));
    out.push_str(&format!("{}\n", "=".repeat(rule)));
    let mut line = |name: &str, text: &str| {
        out.push_str(&wrap(&format!("{name:NAME$}"), NAME, text, width));
    };
    line(
        "study",
        &format!("{}, profile {}", plan.study, plan.profile),
    );
    line("question", &plan.question);
    if let Some(document) = report.published {
        line("repeats", &document.document.citation());
    }
    line("run", &format!("{}, begun {}", run.name, begun(report)));
    line("trials", &trials(report));
    line("order", &order(report));
    line("tool", &format!("{}: {}", run.tool, run.command.join(" ")));
    line("target", &run.target);
    for (name, text) in machine(report) {
        line(name, &text);
    }
    if let Some(text) = in_doubt(report) {
        line("IN DOUBT", &text);
    }
    for note in plan.notes.iter().chain(&run.notes) {
        line("note", note);
    }
    out.push('\n');
    out.push_str(&wrap(
        "",
        0,
        "Filesystems as made and mounted (effective options, from mountinfo):",
        width,
    ));
    for variant in &report.variants {
        out.push_str(&print_variant(variant, width));
    }
    out
}

/// The facts of the machine as lines.
fn machine<'a>(report: &'a Report<'_>) -> Vec<(&'a str, String)> {
    let mut lines: Vec<(&str, String)> = Vec::new();
    let joined = |name: &str| JOINED.iter().find(|(fact, ..)| *fact == name);
    for fact in report.machine.iter().filter(|f| joined(f.name).is_none()) {
        let text = match &fact.answer {
            Answer::Known(text, _) => text.clone(),
            Answer::Absent(reason) => format!("absent: {reason}"),
        };
        lines.push((fact.name, text));
    }
    for fact in &report.machine {
        let (Some((_, to, words)), Answer::Known(text, _)) = (joined(fact.name), &fact.answer)
        else {
            continue;
        };
        if let Some((_, line)) = lines.iter_mut().find(|(name, _)| name == to) {
            line.push_str(&format!("; {words}{text}"));
        }
    }
    lines
}

/// Evidence that does not hold, each kind once: what a reader must see before any number.
fn in_doubt(report: &Report<'_>) -> Option<String> {
    let mut kinds: Vec<(&str, BTreeSet<u32>)> = Vec::new();
    let fails = |d: &&Doubt| d.mark == Mark::Fails;
    for doubt in report.validity.doubts.iter().filter(fails) {
        match kinds.iter_mut().find(|(name, _)| *name == doubt.name) {
            Some((_, trials)) => {
                trials.insert(doubt.trial);
            }
            None => kinds.push((&doubt.name, BTreeSet::from([doubt.trial]))),
        }
    }
    let texts: Vec<String> = kinds
        .iter()
        .map(|(name, trials)| format!("{name} fails in {}", trials_of(trials.len())))
        .collect();
    (!texts.is_empty()).then(|| format!("{} (marked !, see Doubts)", texts.join("; ")))
}

/// `2026-01-02 03:04:05 UTC`.
pub(crate) fn begun(report: &Report<'_>) -> String {
    report
        .run
        .started_at
        .strftime("%Y-%m-%d %H:%M:%S UTC")
        .to_string()
}

/// `12 planned: 11 finished, 1 failed`.
pub(crate) fn trials(report: &Report<'_>) -> String {
    let count = |test: fn(&Status) -> bool| {
        report
            .run
            .trials
            .iter()
            .filter(|trial| test(&trial.status))
            .count()
    };
    let finished = count(|s| matches!(s, Status::Finished));
    let failed = count(|s| matches!(s, Status::Failed(..)));
    let pending = count(|s| matches!(s, Status::Pending));
    let mut text = format!("{} planned: {finished} finished", report.run.trials.len());
    if failed > 0 {
        text.push_str(&format!(", {failed} failed"));
    }
    if pending > 0 {
        text.push_str(&format!(", {pending} not run"));
    }
    if report.run.closing.is_none() {
        text.push_str("; the run is incomplete");
    }
    if report.run.resumed > 0 {
        let times = match report.run.resumed {
            1 => "once".to_owned(),
            n => format!("{n} times"),
        };
        text.push_str(&format!("; resumed {times}"));
    }
    text
}

/// `1 trial`, `12 trials`.
pub(crate) fn trials_of(n: usize) -> String {
    match n {
        1 => "1 trial".to_owned(),
        n => format!("{n} trials"),
    }
}

/// `5 blocks, interleaved in a seeded random order (seed 2009)`.
pub(crate) fn order(report: &Report<'_>) -> String {
    let plan = &report.run.plan;
    let few = if plan.blocks < 5 {
        ": fewer than 5"
    } else {
        ""
    };
    let blocks = match plan.blocks {
        1 => "1 block".to_owned(),
        n => format!("{n} blocks"),
    };
    match plan.order {
        Order::Blocked => format!("{blocks}{few}, interleaved at random, seed {}", plan.seed),
        Order::Sequential => {
            format!("{blocks}{few}, sequential as the original ran: drift looks like a difference")
        }
    }
}

fn print_variant(variant: &Variant, width: usize) -> String {
    let indent = 2;
    if variant.seen.is_empty() {
        return wrap(
            &format!("  {}: ", variant.name),
            indent + 2,
            "not recorded: no trial of it was mounted",
            width,
        );
    }
    let many = variant.seen.len() > 1;
    variant
        .seen
        .iter()
        .map(|(served, trials)| {
            let count = if many {
                format!(" ({})", trials_of(*trials))
            } else {
                String::new()
            };
            let mkfs = match served.mkfs.as_str() {
                "" => "was there before the run".to_owned(),
                mkfs => format!("{} ({})", program(mkfs), served.mkfs_version),
            };
            let options = match served.options.as_str() {
                "" => "not recorded",
                options => options,
            };
            let asked = match served.asked.as_str() {
                "" => String::new(),
                asked => format!("; asked for -o {asked}"),
            };
            wrap(
                &format!("  {}: ", variant.name),
                indent + 2,
                &format!(
                    "driver {}{count}{asked}; options {options}; {mkfs}",
                    served.driver
                ),
                width,
            )
        })
        .collect()
}

/// The command without the folder of its program.
fn program(command: &str) -> &str {
    let end = command.find(' ').unwrap_or(command.len());
    let slash = command[..end].rfind('/');
    slash.map_or(command, |at| &command[at + 1..])
}
