//! A trial's context as facts.
//!
//! The log keeps of a trial's context what differs from the run's. A setting that changed on one side alone
//! would be on that side only and compared with nothing. Each item that any trial recorded for
//! itself is therefore a fact of every trial: its own value, else the one of its kernel's context.

use std::collections::BTreeSet;

use record::Run;
use serde_json::{Map, Value};
use study::Cell;

use super::item;
use crate::evidence::CellEvidence;

/// Items that say nothing of a comparison's fairness: devices and the measured filesystem, of which the mounted
/// facts tell; how large the workload is; what was typed where (a resumed run has two commands).
const ASIDE: [&str; 5] = [
    "block.",
    "filesystem.measured.",
    "memory.working_set",
    "run.command_line",
    "run.working_folder",
];

/// Names of the items that a trial of this run recorded for itself.
pub(super) fn recorded(run: &Run) -> BTreeSet<String> {
    let of_trials = run.contexts.iter().filter(|(w, _)| w.starts_with("trial "));
    of_trials
        .filter_map(|(_, context)| items(context))
        .flat_map(Map::keys)
        .filter(|name| !ASIDE.iter().any(|aside| name.starts_with(aside)))
        .cloned()
        .collect()
}

/// Adds these items of a trial, as `context.NAME`; a trial without its own context has none.
pub(super) fn add(
    run: &Run,
    cell: &Cell,
    trial: u32,
    names: &BTreeSet<String>,
    side: &mut CellEvidence,
) {
    let Some(own) = run.contexts.get(&format!("trial {}", trial + 1)) else {
        return;
    };
    let of_run = run.context_of(cell);
    for name in names {
        let value = item(own, name).or_else(|| item(of_run?, name));
        if let Some(value) = value {
            side.add_fact(&format!("context.{name}"), &text(value));
        }
    }
}

fn items(context: &Value) -> Option<&Map<String, Value>> {
    context.get("items").unwrap_or(context).as_object()
}

fn text(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}
