//! The head of a text report: what readers of such numbers ask first.

use std::collections::BTreeSet;

use super::wrap;
use crate::Report;
use crate::facts::Answer;
use crate::model::Mark;
use crate::sentences::{begun, order, trials, trials_of};
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

/// The title, underlined.
pub(super) fn title(report: &Report<'_>, width: usize) -> String {
    let title = report.title();
    let rule = title.chars().count().min(width.min(78));
    wrap("", 0, &title, width) + &format!("{}\n", "=".repeat(rule))
}

/// One line of what ran and how it went, then the facts of the machine that most change such numbers.
pub(super) fn brief(report: &Report<'_>, width: usize) -> String {
    const SHOWN: [&str; 7] = [
        "kernel",
        "CPU",
        "RAM",
        "barriers",
        "write cache",
        "device",
        "times",
    ];
    let plan = &report.run.plan;
    let mut out = String::new();
    let mut line = |name: &str, text: &str| {
        out.push_str(&wrap(&format!("{name:NAME$}"), NAME, text, width));
    };
    let text = format!("{}, {}, {}", plan.study, plan.profile, report.run.name);
    line("run", &text);
    line("trials", &format!("{}; {}", trials(report), order(report)));
    if let Some(tags) = record::tags::line(&report.run.tags) {
        line("tags", &tags);
    }
    for (name, text) in machine(report) {
        if SHOWN.contains(&name) && !text.starts_with("absent") {
            line(name, &text);
        }
    }
    out
}

/// The head without the title.
pub(super) fn print(report: &Report<'_>, width: usize) -> String {
    let run = report.run;
    let plan = &run.plan;
    let mut out = String::new();
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
    if let Some(tags) = record::tags::line(&run.tags) {
        line("tags", &tags);
    }
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
