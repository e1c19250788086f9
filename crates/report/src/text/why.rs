//! Why, in the mail: the causes with the differences they are behind, then what has none.

use std::collections::BTreeSet;

use super::wrap;
use crate::why::{Group, Why, pair};

/// Causes that are told.
const TOLD: usize = 16;

/// Differences of one cause that are told.
const LISTED: usize = 4;

/// Pairs without a cause that are told.
const NAMED: usize = 12;

/// The section.
pub(super) fn print(why: &Why, width: usize) -> String {
    let mut out = wrap("Why: ", 5, &format!("{}.", why.summary()), width);
    let groups = why.groups();
    for (number, group) in groups.iter().take(TOLD).enumerate() {
        out.push('\n');
        out.push_str(&of_group(number + 1, group, width));
    }
    if groups.len() > TOLD {
        let more = groups[TOLD..].iter().map(|group| group.differences.len());
        let text = format!("and {} explained differences more", more.sum::<usize>());
        out.push_str(&wrap("\n", 2, &text, width));
    }
    out.push_str(&unexplained(why, width));
    out.push_str(&needs(why, width));
    for note in why.notes() {
        out.push_str(&wrap("note: ", 2, &note, width));
    }
    if !why.explained.explanations.is_empty() {
        let text = "Every rule with its evidence, and what was denied: fslab explain.";
        out.push_str(&wrap("", 2, text, width));
    }
    out
}

/// Differences, then what is behind all of them.
fn of_group(number: usize, group: &Group<'_>, width: usize) -> String {
    let mut out = String::new();
    let mut first = format!("{number}. ");
    for difference in group.differences.iter().take(LISTED) {
        let text = format!(
            "{}: {}",
            explain::title(difference),
            explain::sentence(difference)
        );
        out.push_str(&wrap(&first, 5, &text, width));
        "   ".clone_into(&mut first);
    }
    let rest = group.differences.get(LISTED..).unwrap_or_default();
    if !rest.is_empty() {
        let pairs: BTreeSet<String> = rest.iter().map(|difference| pair(difference)).collect();
        let pairs: Vec<String> = pairs.into_iter().collect();
        let text = format!("and {} more: {}", rest.len(), pairs.join("; "));
        out.push_str(&wrap("   ", 5, &text, width));
    }
    for cause in &group.causes {
        out.push_str(&wrap("   - ", 5, cause, width));
    }
    out
}

fn unexplained(why: &Why, width: usize) -> String {
    let pairs = why.unexplained();
    if pairs.is_empty() {
        return String::new();
    }
    let text = format!(
        "{}, as no rule holds; how many times as long the slower takes, by phase and clock:",
        why.unexplained_count()
    );
    let mut out = wrap("\nNot explained: ", 2, &text, width);
    for (pair, differences) in pairs.iter().take(NAMED) {
        let text = format!("{pair}: {}", differences.join(", "));
        out.push_str(&wrap("- ", 4, &text, width));
    }
    if pairs.len() > NAMED {
        let text = format!("and {} pairs more", pairs.len() - NAMED);
        out.push_str(&wrap("- ", 4, &text, width));
    }
    out
}

/// What would let more rules judge.
fn needs(why: &Why, width: usize) -> String {
    let needs = why.needs();
    if needs.is_empty() {
        return String::new();
    }
    let needs = needs.iter().map(|(need, n)| match n {
        1 => format!("a rule {need}"),
        n => format!("{n} rules {}", need.replacen("needs ", "need ", 1)),
    });
    let needs: Vec<String> = needs.collect();
    let text = format!("{}.", needs.join("; "));
    wrap("\nTo explain more: ", 2, &text, width)
}
