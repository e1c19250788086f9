//! What speaks against the numbers: the last part of a text report before its legend.

use super::wrap;
use crate::Report;
use crate::model::Mark;
use crate::trust::{Doubt, Group};

/// Doubts of one kind that are told with their own line each.
const TOLD: usize = 4;

/// Evidence, warnings and trials that are missing.
pub(super) fn print(report: &Report<'_>, width: usize) -> String {
    let mut out = String::from("Evidence\n");
    if report.trust.tally.is_empty() {
        out.push_str("  none was recorded: nothing shows that these numbers are valid\n");
    }
    for (name, tally) in &report.trust.tally {
        let mut text = format!("holds {}", tally.holds);
        if tally.fails > 0 {
            text.push_str(&format!(", DOES NOT HOLD {}", tally.fails));
        }
        if tally.unchecked > 0 {
            text.push_str(&format!(", not checked {}", tally.unchecked));
        }
        out.push_str(&wrap(&format!("  {name:22} "), 6, &text, width));
    }
    let groups = report.trust.groups();
    if groups.is_empty() {
        out.push_str("  no failed trial, no warning, no evidence that does not hold\n");
        return out;
    }
    out.push_str("\nDoubts (the marks behind the numbers)\n");
    for group in &groups {
        out.push_str(&print_group(report, group, width));
    }
    for note in &report.notes {
        out.push_str(&wrap("  # ", 6, note, width));
    }
    out
}

fn print_group(report: &Report<'_>, group: &Group<'_>, width: usize) -> String {
    let phase = match (group.mark, group.phase) {
        // A warning of a phase begins with its name.
        (Mark::Warning, _) | (_, None) => String::new(),
        (_, Some(phase)) => format!(" in {phase}"),
    };
    let count = group.doubts.len();
    let mut out = wrap(
        &format!("{} ", group.mark.sign()),
        4,
        &format!(
            "{}{phase}: {} ({count} of {} trials)",
            group.name,
            group.says(),
            report.run.trials.len()
        ),
        width,
    );
    let mut told: Vec<(&str, Vec<&Doubt>)> = Vec::new();
    for doubt in &group.doubts {
        match told.iter_mut().find(|(detail, _)| *detail == doubt.detail) {
            Some((_, same)) => same.push(doubt),
            None => told.push((&doubt.detail, vec![doubt])),
        }
    }
    for (detail, doubts) in told.iter().take(TOLD) {
        out.push_str(&wrap(
            "    ",
            6,
            &match group.mark {
                Mark::Warning => places(report, doubts),
                _ => format!("{}: {detail}", places(report, doubts)),
            },
            width,
        ));
    }
    if told.len() > TOLD {
        out.push_str(&wrap(
            "    ",
            6,
            &format!(
                "and {} more that differ in their numbers: see --format html or json",
                told.len() - TOLD
            ),
            width,
        ));
    }
    out
}

/// Which cells and blocks: `filesystem=ext4 workload=iozone (blocks 1, 3)`.
fn places(report: &Report<'_>, doubts: &[&Doubt]) -> String {
    let mut cells: Vec<(u32, Vec<u32>)> = Vec::new();
    for doubt in doubts {
        match cells.iter_mut().find(|(cell, _)| *cell == doubt.cell) {
            Some((_, blocks)) => blocks.push(doubt.block + 1),
            None => cells.push((doubt.cell, vec![doubt.block + 1])),
        }
    }
    let total = report.run.plan.blocks as usize;
    if cells.len() > 3 {
        return format!("{} cells", cells.len());
    }
    let texts: Vec<String> = cells
        .iter_mut()
        .map(|(cell, blocks)| {
            blocks.sort_unstable();
            let label = report
                .run
                .plan
                .cells
                .get(*cell as usize)
                .map_or_else(|| format!("cell {cell}"), study::Cell::label);
            if blocks.len() == total && total > 1 {
                return format!("{label} (every block)");
            }
            let numbers: Vec<String> = blocks.iter().map(ToString::to_string).collect();
            format!("{label} (block {})", numbers.join(", "))
        })
        .collect();
    texts.join("; ")
}
