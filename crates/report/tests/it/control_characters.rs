//! A run's log may come from anyone: what is printed of it cannot steer a terminal.

use std::collections::BTreeMap;

use record::{Entry, Run};
use report::{Format, Options, render};
use serde_json::Value;

/// Clears the screen, rings, returns to the start of the line, and begins a sequence by a C1 character.
const CONTROLS: &str = "\u{1b}[2J\u{7}\r\u{9b}31m\u{85}\u{7f}";

/// Parts into which the texts of a log are divided: with one part poisoned, names in the others still
/// match, so that no section is left out for want of data.
const PARTS: usize = 6;

/// Paths of texts in an entry, with `*` in place of positions in lists.
fn texts(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::String(_) => found.push(path.to_owned()),
        Value::Array(values) => values
            .iter()
            .for_each(|v| texts(v, &format!("{path}/*"), found)),
        Value::Object(values) => values
            .iter()
            .for_each(|(name, v)| texts(v, &format!("{path}/{name}"), found)),
        _ => {}
    }
}

/// Appends the control characters to the texts at the paths that `wanted` accepts.
fn poison(value: &mut Value, path: &str, wanted: &dyn Fn(&str) -> bool) {
    match value {
        Value::String(text) if wanted(path) => text.push_str(CONTROLS),
        Value::Array(values) => {
            for value in values {
                poison(value, &format!("{path}/*"), wanted);
            }
        }
        Value::Object(values) => values
            .iter_mut()
            .for_each(|(name, v)| poison(v, &format!("{path}/{name}"), wanted)),
        _ => {}
    }
}

fn poisoned(entry: &Value, wanted: &dyn Fn(&str) -> bool) -> Option<Entry> {
    let kind = entry["event"].as_str().unwrap_or_default().to_owned();
    let mut entry = entry.clone();
    poison(&mut entry, &kind, wanted);
    serde_json::from_value(entry).ok()
}

/// The paths whose texts are free: an entry with other text there is still an entry.
fn free(entries: &[Value]) -> Vec<String> {
    let mut paths: BTreeMap<String, bool> = BTreeMap::new();
    for entry in entries {
        let mut found = Vec::new();
        texts(
            entry,
            entry["event"].as_str().unwrap_or_default(),
            &mut found,
        );
        for path in found {
            paths
                .entry(path.clone())
                .or_insert_with(|| poisoned(entry, &|at| at == path).is_some());
        }
    }
    { paths.into_iter() }
        .filter(|(_, free)| *free)
        .map(|(path, _)| path)
        .collect()
}

fn assert_harmless(what: &str, text: &str) {
    let obeyed = |c: char| c.is_control() && c != '\n' && c != '\t';
    if let Some(at) = text.find(obeyed) {
        let before: String = text[..at].chars().rev().take(60).collect();
        let before: String = before.chars().rev().collect();
        panic!("{what}: {:?} after {before:?}", text[at..].chars().next());
    }
}

#[test]
fn texts_of_a_log_steer_no_terminal_in_any_format() {
    let entries = fixtures::example::entries();
    let entries: Vec<Value> = { entries.iter() }
        .map(|entry| serde_json::to_value(entry).unwrap())
        .collect();
    let free = free(&entries);
    for path in [
        "run_started/plan/title",
        "run_started/plan/study",
        "filesystem_ready/mounted/mkfs/*",
        "filesystem_ready/mounted/options/*",
        "trial_failed/message",
        "trial_finished/warnings/*",
    ] {
        let known = free.iter().any(|known| known.starts_with(path));
        assert!(known, "{path} is none of {free:#?}");
    }
    let mut shown = 0;
    for part in 0..=PARTS {
        // The last round poisons them all.
        let wanted = |at: &str| {
            let position = free.iter().position(|path| path == at);
            position.is_some_and(|position| part == PARTS || position % PARTS == part)
        };
        let read = entries
            .iter()
            .map(|entry| poisoned(entry, &wanted).unwrap());
        let Some(run) = Run::fold(&read.collect::<Vec<Entry>>()) else {
            continue;
        };
        assert_harmless("show", &record::show::render(&run));
        for format in [Format::Text, Format::Md, Format::Html] {
            let options = Options {
                format,
                ..Options::default()
            };
            // A name that matches nothing any more may be refused.
            let Ok(text) = render(&run, None, &options) else {
                continue;
            };
            shown += usize::from(text.contains("\\u{1b}[2J"));
            assert_harmless(&format!("part {part}, {format:?}"), &text);
        }
    }
    assert!(
        shown > 2 * PARTS,
        "the texts are printed in {shown} reports only"
    );
}
