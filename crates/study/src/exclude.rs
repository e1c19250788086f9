//! Combinations that are excluded from a plan.
//!
//! A study whose factors do not all combine (mount options that only one filesystem has, a readahead
//! that is varied at only one set of options) lists the exceptions in `exclude`, and the plan prints how
//! many cells each of them excludes. Filters choose cells for one run; exclusions belong to the study.

use std::collections::BTreeSet;

use crate::error::{Problem, quote};
use crate::factor::plain;
use crate::model::Cell;
use crate::node::{Node, Table};
use crate::placed::Placed;
use crate::skipped::Skipped;

/// Key of a rule that is no factor.
const WHY: &str = "why";

/// A rule: every factor with its levels.
struct Rule<'a> {
    levels: Vec<(&'a str, Vec<String>)>,
    why: Option<&'a str>,
}

impl<'a> Rule<'a> {
    fn read(table: &'a Table) -> Rule<'a> {
        let factors = table.iter().filter(|(key, _)| *key != WHY);
        Rule {
            levels: factors.map(|(key, node)| (key, levels(node))).collect(),
            why: table.get(WHY).and_then(Node::as_text),
        }
    }

    fn holds(&self, cell: &Cell) -> bool {
        let one_of = |(factor, levels): &(&str, Vec<String>)| {
            let level = cell.levels.get(*factor);
            level.is_some_and(|level| levels.contains(level))
        };
        !self.levels.is_empty() && self.levels.iter().all(one_of)
    }

    /// `filesystem=xfs with mount=nodelalloc`.
    fn text(&self) -> String {
        let pair = |(factor, levels): &(&str, Vec<String>)| {
            let levels = levels.join(" or ");
            format!("{factor}={levels}")
        };
        let pairs: Vec<String> = self.levels.iter().map(pair).collect();
        pairs.join(" with ")
    }
}

fn levels(node: &Node) -> Vec<String> {
    match node.as_list() {
        Some(list) => list.iter().map(plain).collect(),
        None => vec![plain(node)],
    }
}

fn rules(node: Option<&Node>) -> impl Iterator<Item = (&Node, &Table)> {
    let list = node.and_then(Node::as_list).unwrap_or_default();
    list.iter()
        .filter_map(|rule| Some((rule, rule.as_table()?)))
}

/// Takes the cells out that a rule names, each rule's with its reason.
pub(crate) fn apply(node: Option<&Node>, cells: &mut Vec<Placed>) -> Result<Vec<Skipped>, Problem> {
    let mut all = Vec::new();
    for (_, table) in rules(node) {
        let rule = Rule::read(table);
        let why = rule.why.map_or(String::new(), |why| format!(": {why}"));
        let words = format!("excluded ({}){why}", rule.text());
        all.extend(Skipped::take(
            cells,
            |placed| !rule.holds(&placed.cell),
            words,
        ));
    }
    match node {
        Some(node) if cells.is_empty() => Err(Problem::new(
            &node.at,
            "no cell is left (exclude fewer combinations)",
        )),
        _ => Ok(all),
    }
}

/// Factors and levels of rules that no profile has.
pub(crate) fn problems(node: Option<&Node>, factors: &[(String, Vec<String>)]) -> Vec<Problem> {
    let names: BTreeSet<&str> = factors.iter().map(|(name, _)| name.as_str()).collect();
    let names: Vec<&str> = names.into_iter().collect();
    let mut problems = Vec::new();
    for (rule, table) in rules(node) {
        if table.keys().all(|key| key == WHY) {
            problems.push(Problem::new(&rule.at, "this names no factor"));
        }
        for (key, node) in table.iter().filter(|(key, _)| *key != WHY) {
            let known = factors.iter().filter(|(name, _)| name == key);
            let known: BTreeSet<&str> = known
                .flat_map(|(_, levels)| levels.iter().map(String::as_str))
                .collect();
            if known.is_empty() {
                let message = format!("no such factor ({})", names.join(", "));
                problems.push(Problem::new(&node.at, message));
                continue;
            }
            let unknown = levels(node);
            let unknown = unknown.iter().find(|level| !known.contains(level.as_str()));
            if let Some(level) = unknown {
                let known: Vec<&str> = known.into_iter().collect();
                let (level, known) = (quote(level), known.join(", "));
                let message = format!("{level} is not a level of {key} ({known})");
                problems.push(Problem::new(&node.at, message));
            }
        }
    }
    problems
}
