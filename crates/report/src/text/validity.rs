//! What speaks against the numbers: the last part of a text report before its legend.

use std::collections::BTreeSet;

use super::wrap;
use crate::Report;
use crate::labels::Labels;
use crate::model::Mark;
use crate::run_wide::RunWide;
use crate::sentences::{meaning, trials_of};
use crate::validity::{Doubt, Group};

/// Doubts of one kind that have a line each.
const LISTED: usize = 4;

/// Evidence, warnings and trials that are missing.
pub(super) fn print(report: &Report<'_>, width: usize) -> String {
    let mut out = String::from("Evidence\n");
    if report.validity.tally.is_empty() {
        out.push_str("  none was recorded: nothing shows that these numbers are valid\n");
    }
    for (name, tally) in &report.validity.tally {
        let mut text = format!("holds {}", tally.holds);
        if tally.fails > 0 {
            text.push_str(&format!(", DOES NOT HOLD {}", tally.fails));
        }
        if tally.unchecked > 0 {
            text.push_str(&format!(", not checked {}", tally.unchecked));
            text.push_str(&beyond(report, name));
        }
        out.push_str(&wrap(&format!("  {name:22} "), 6, &text, width));
    }
    let groups = report.validity.groups();
    if groups.is_empty() {
        let text = "no failed trial, no evidence that does not hold, nothing to mark";
        out.push_str(&wrap("  ", 2, text, width));
    } else {
        out.push_str("\nDoubts (the marks after the numbers)\n");
    }
    for doubt in merged(&groups) {
        out.push_str(&print_merged(report, &doubt, width));
    }
    out.push_str(&notes(report, width));
    out
}

/// Why evidence could not be checked in any trial of a kind.
fn beyond(report: &Report<'_>, name: &str) -> String {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    let of_name = |g: &&RunWide| g.mark == Mark::Unchecked && g.name == name;
    for general in report.validity.run_wide.iter().filter(of_name) {
        let phase = general
            .phase
            .as_ref()
            .map_or(String::new(), |p| format!(", {p}"));
        let of = format!("{}{phase}", general.of);
        match reasons.iter_mut().find(|(text, _)| *text == general.text) {
            Some((_, all)) => all.push(of),
            None => reasons.push((&general.text, vec![of])),
        }
    }
    let reasons = reasons
        .iter()
        .map(|(text, of)| format!("; never in {}: {text}", of.join(", ")));
    reasons.collect()
}

/// What is true of every trial of a workload, and of the report itself: marks no number.
fn notes(report: &Report<'_>, width: usize) -> String {
    let mut of_text: Vec<(&str, Vec<&str>)> = Vec::new();
    for general in report
        .validity
        .run_wide
        .iter()
        .filter(|g| g.mark == Mark::Warning)
    {
        match of_text.iter_mut().find(|(text, _)| *text == general.text) {
            Some((_, all)) => all.push(&general.of),
            None => of_text.push((&general.text, vec![&general.of])),
        }
    }
    if of_text.is_empty() && report.notes.is_empty() {
        return String::new();
    }
    let mut out = wrap(
        "\n",
        2,
        "Notes (true of all trials of a workload alike, so no number is marked)",
        width,
    );
    for (text, of) in of_text {
        let of: Vec<&str> = of
            .iter()
            .map(|of| of.trim_start_matches("workload "))
            .collect();
        out.push_str(&wrap("  ", 4, &format!("{}: {text}", of.join(", ")), width));
    }
    for note in &report.notes {
        out.push_str(&wrap("  # ", 6, note, width));
    }
    out
}

/// Doubts of one kind: of evidence, those of all phases together.
struct Merged<'a> {
    first: &'a Group<'a>,
    phases: Vec<&'a str>,
    doubts: Vec<&'a Doubt>,
}

/// Groups that differ only in their phase are printed as one.
fn merged<'a>(groups: &'a [Group<'a>]) -> Vec<Merged<'a>> {
    let mut all: Vec<Merged<'a>> = Vec::new();
    for group in groups {
        let same = |t: &&mut Merged<'_>| {
            group.mark != Mark::Warning && t.first.mark == group.mark && t.first.name == group.name
        };
        if let Some(known) = all.iter_mut().find(same) {
            known.phases.extend(group.phase);
            known.doubts.extend(&group.doubts);
        } else {
            all.push(Merged {
                first: group,
                phases: group.phase.into_iter().collect(),
                doubts: group.doubts.clone(),
            });
        }
    }
    all
}

fn print_merged(report: &Report<'_>, merged: &Merged<'_>, width: usize) -> String {
    let group = merged.first;
    let phase = match (group.mark, merged.phases.as_slice()) {
        // A warning of a phase begins with its name.
        (Mark::Warning, _) | (_, []) => String::new(),
        (_, phases) => format!(" in {}", phases.join(", ")),
    };
    let trials: BTreeSet<u32> = merged.doubts.iter().map(|d| d.trial).collect();
    let why = meaning(group.name)
        .filter(|_| matches!(group.mark, Mark::Fails | Mark::Busy))
        .map_or(String::new(), |why| format!(": {why}"));
    let mut out = wrap(
        &format!("{} ", group.mark.sign()),
        4,
        &format!(
            "{}{phase}: {} ({} of {}){why}",
            group.name,
            group.text(),
            trials.len(),
            trials_of(report.run.trials.len())
        ),
        width,
    );
    let mut details: Vec<(&str, Vec<&Doubt>)> = Vec::new();
    for doubt in &merged.doubts {
        match details
            .iter_mut()
            .find(|(detail, _)| *detail == doubt.detail)
        {
            Some((_, same)) => same.push(doubt),
            None => details.push((&doubt.detail, vec![doubt])),
        }
    }
    let mut before = String::new();
    for (detail, doubts) in details.iter().take(LISTED) {
        let place = places(report, doubts);
        let phase = doubts.first().and_then(|d| d.phase.as_ref());
        let detail = match phase.filter(|_| merged.phases.len() > 1) {
            Some(phase) => format!("{phase}: {detail}"),
            None => (*detail).to_owned(),
        };
        let text = match group.mark {
            Mark::Warning => place.clone(),
            _ if place == before => detail,
            _ => format!("{place}: {detail}"),
        };
        let indent = if place == before { "      " } else { "    " };
        out.push_str(&wrap(indent, 6, &text, width));
        before = place;
    }
    if details.len() > LISTED {
        let more = details.len() - LISTED;
        let text =
            format!("and {more} more that differ in their numbers: see --format html or json");
        out.push_str(&wrap("    ", 6, &text, width));
    }
    out
}

/// Which cells and blocks: `ext4 iozone (block 1, 3)`.
fn places(report: &Report<'_>, doubts: &[&Doubt]) -> String {
    let mut cells: Vec<(u32, Vec<u32>)> = Vec::new();
    for doubt in doubts {
        match cells.iter_mut().find(|(cell, _)| *cell == doubt.cell) {
            Some((_, blocks)) if blocks.contains(&(doubt.block + 1)) => {}
            Some((_, blocks)) => blocks.push(doubt.block + 1),
            None => cells.push((doubt.cell, vec![doubt.block + 1])),
        }
    }
    let total = report.run.plan.blocks as usize;
    if cells.len() > 3 {
        return format!("{} cells", cells.len());
    }
    let plan = &report.run.plan;
    let labels = Labels::of(plan, &plan.cells.iter().collect::<Vec<_>>());
    let texts: Vec<String> = cells
        .iter_mut()
        .map(|(cell, blocks)| {
            blocks.sort_unstable();
            let cell = plan.cells.iter().find(|c| c.id == *cell);
            let label = cell.map_or_else(String::new, |cell| labels.of_cell(cell));
            if blocks.len() == total && total > 1 {
                return format!("{label} (every block)");
            }
            let numbers: Vec<String> = blocks.iter().map(ToString::to_string).collect();
            format!("{label} (block {})", numbers.join(", "))
        })
        .collect();
    texts.join("; ")
}
