//! `--only` in JSON: the keys of one part, with those that every part needs to be read.

use serde_json::Value;

use crate::options::Part;

/// The keys that every part has: which run it is of, and what clocks and units mean.
const ALWAYS: [&str; 8] = [
    "format", "run", "study", "repeats", "clocks", "units", "level", "notes",
];

/// The keys of a part.
fn keys(part: Part) -> &'static [&'static str] {
    match part {
        Part::Full | Part::First => &[],
        Part::Summary => &["summary"],
        Part::Tables => &[
            "tables",
            "by_factor",
            "grids",
            "growth",
            "memory",
            "scan",
            "list",
            "original",
            "references",
            "samples",
        ],
        Part::Why => &[
            "why",
            "latency",
            "members",
            "layouts",
            "traces",
            "cost_of_tracing",
            "modelled",
            "estimates",
        ],
        Part::Evidence => &["machine", "contexts", "trials", "doubts", "general"],
        Part::GnuTime => &["trials"],
    }
}

/// Keeps the keys of a part; of all of a report every key.
pub(super) fn keep(document: &mut Value, part: Part) {
    if matches!(part, Part::Full | Part::First) {
        return;
    }
    let own = keys(part);
    retain(document, |key| ALWAYS.contains(&key) || own.contains(&key));
    let trials = document.get_mut("trials").and_then(Value::as_array_mut);
    if part == Part::GnuTime {
        trials.into_iter().flatten().for_each(gnu_time);
    }
}

/// A trial with what its phases used, and nothing else.
fn gnu_time(trial: &mut Value) {
    const OF_TRIAL: [&str; 6] = ["trial", "block", "cell", "levels", "status", "phases"];
    const OF_PHASE: [&str; 3] = ["name", "usage", "gnu_time"];
    retain(trial, |key| OF_TRIAL.contains(&key));
    let phases = trial.get_mut("phases").and_then(Value::as_array_mut);
    for phase in phases.into_iter().flatten() {
        retain(phase, |key| OF_PHASE.contains(&key));
    }
}

fn retain(value: &mut Value, keep: impl Fn(&str) -> bool) {
    if let Some(map) = value.as_object_mut() {
        map.retain(|key, _| keep(key));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A key that no part has would be missing wherever parts are asked for.
    #[test]
    fn every_key_is_in_a_part() {
        let run = fixtures::example::run();
        let options = crate::Options {
            format: crate::Format::Json,
            ..crate::Options::default()
        };
        let report = crate::Report::new(&run, None, &options).unwrap();
        let document: Value = serde_json::from_str(&super::super::print(&report).unwrap()).unwrap();
        for key in document.as_object().unwrap().keys() {
            let known = Part::NAMES
                .iter()
                .any(|(_, part)| keys(*part).contains(&key.as_str()));
            assert!(known || ALWAYS.contains(&key.as_str()), "{key}");
        }
    }
}
