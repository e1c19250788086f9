//! The page's values of what power cuts would have left.

use record::Crash;
use serde_json::{Value, json};

use crate::Report;
use crate::crash::{TITLE, damage_lines, each, facts, unlisted};

/// Null without.
pub(super) fn value(report: &Report<'_>) -> Value {
    let trials: Vec<Value> = each(report).map(trial).collect();
    if trials.is_empty() {
        return Value::Null;
    }
    json!({"title": TITLE, "trials": trials})
}

fn trial((heading, crash): (String, &Crash)) -> Value {
    let facts = facts(crash).into_iter();
    let facts: Vec<Value> = facts
        .map(|(name, value)| json!({"name": name, "value": value}))
        .collect();
    let damages: Vec<Value> = crash
        .damages
        .iter()
        .map(|damage| {
            let lines = damage_lines(crash, damage);
            let (head, said) = lines.split_first().unzip();
            json!({"head": head, "said": said})
        })
        .collect();
    json!({"heading": heading, "facts": facts, "damages": damages, "unlisted": unlisted(crash)})
}
