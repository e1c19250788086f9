//! In what the machines, kernels and settings of the sides differ: the first thing to know of a comparison.

use probe::context::{ContextRecord, difference};
use record::Run;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeSet;

use crate::side::Side;

/// An item of the context that is not the same in all runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ContextChange {
    /// Name of the item.
    pub name: String,
    /// Its number in the list of items (docs/context.md).
    pub number: u8,
    /// Its different values on each side, in the order of the sides and their runs; null where it could not be read.
    pub values: Vec<Vec<Value>>,
    /// Whether it separates the sides: the runs of each side agree, and two sides differ. Otherwise it varies
    /// within a side.
    pub separates: bool,
}

/// The contexts of the sides.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Contexts {
    /// Items that are not the same everywhere, by number.
    pub changes: Vec<ContextChange>,
    /// Items that are the same in all runs.
    pub same: usize,
    /// Runs without a readable record.
    pub missing: Vec<String>,
}

/// Items that name the run itself: they differ between any two runs.
const OWN: [&str; 3] = ["run.command_line", "run.seeds", "run.choice"];

/// Compares the contexts of all runs.
pub fn contexts(sides: &[Side]) -> Contexts {
    let mut found = Contexts::default();
    let mut records: Vec<(usize, ContextRecord)> = Vec::new();
    for (at, side) in sides.iter().enumerate() {
        for one in &side.runs {
            match record_of(&one.run) {
                Some(record) => records.push((at, record)),
                None => found.missing.push(one.from.clone()),
            }
        }
    }
    let Some(((_, first), others)) = records.split_first() else {
        return found;
    };
    let mut changed: BTreeSet<(u8, String)> = BTreeSet::new();
    for (_, other) in others {
        for change in difference(first, other) {
            if !OWN.contains(&change.name.as_str()) {
                changed.insert((change.number, change.name));
            }
        }
    }
    let compared = first.items.values().filter(|item| !item.volatile).count();
    found.same = compared.saturating_sub(changed.len());
    for (number, name) in changed {
        let mut values: Vec<Vec<Value>> = vec![Vec::new(); sides.len()];
        for (side, record) in &records {
            let value = record.value(&name).cloned().unwrap_or(Value::Null);
            if !values[*side].contains(&value) {
                values[*side].push(value);
            }
        }
        let separates = values.iter().all(|of_side| of_side.len() <= 1);
        found.changes.push(ContextChange {
            name,
            number,
            values,
            separates,
        });
    }
    found
}

/// The context in which a run's trials ran: its guest kernel's, where it has one alone, else that of the start.
fn document(run: &Run) -> Option<&Value> {
    let mut kernels = run
        .contexts
        .iter()
        .filter(|(when, _)| when.starts_with("kernel "));
    match (kernels.next(), kernels.next()) {
        (Some((_, only)), None) => Some(only),
        _ => run.contexts.get("start"),
    }
}

/// As the probe's own type. The documents of old logs lack fields that are not compared, and those of tests have only items.
fn record_of(run: &Run) -> Option<ContextRecord> {
    let mut document = document(run)?.clone();
    let map = document.as_object_mut()?;
    for (name, value) in [
        ("taken_at", Value::from("1970-01-01T00:00:00Z")),
        ("monotonic_ns", 0.into()),
        ("took_ms", 0.0.into()),
        ("observed_idle_ms", 0.0.into()),
    ] {
        map.entry(name).or_insert(value);
    }
    for item in map.get_mut("items")?.as_object_mut()?.values_mut() {
        let item = item.as_object_mut()?;
        item.entry("number").or_insert(0.into());
        item.entry("value").or_insert(Value::Null);
        item.entry("source").or_insert("".into());
    }
    serde_json::from_value(document).ok()
}

fn item(run: &Run, names: &[&str]) -> Option<String> {
    let items = document(run)?.get("items")?;
    let value = names
        .iter()
        .find_map(|name| items.get(*name)?.get("value")?.as_str());
    value.map(str::to_owned)
}

/// Release of the kernel that the trials ran in.
pub fn kernel(run: &Run) -> Option<String> {
    item(run, &["system.kernel.release", "kernel_release"])
}

/// Processor model.
pub fn machine(run: &Run) -> Option<String> {
    item(run, &["cpu.model", "cpu_model"])
}

/// Whose times a run has. Those of different clocks are never compared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(tag = "times", content = "by", rename_all = "snake_case")]
pub enum Times {
    /// Of hardware; also of logs that do not say.
    Real,
    /// Of modelled disks.
    Modelled(String),
    /// Of an emulator.
    Emulated(String),
    /// Of a clock that counts instructions.
    Virtual(String),
}

impl Times {
    /// The times of a run.
    pub fn of(run: &Run) -> Times {
        let by = || {
            let value = |name| item(run, &[name]);
            let executor = value("run.executor").unwrap_or_else(|| "an emulator".to_owned());
            let mut by = vec![executor];
            by.extend(value("run.accelerator"));
            let disks = run.modelled_disks();
            if !disks.is_empty() {
                by.push(format!("modelled disks {disks}"));
            }
            by.join(", ")
        };
        // The start says how the run's guests keep time, also where each kernel has a context of its own.
        match run
            .context_item("run.timing")
            .or_else(|| item(run, &["run.timing"]))
            .as_deref()
        {
            Some("modelled") => Times::Modelled(run.modelled_disks()),
            Some("emulated") => Times::Emulated(by()),
            Some("virtual") => Times::Virtual(by()),
            _ => Times::Real,
        }
    }
}

/// Whose times these runs have, for a heading; none where all are of hardware.
pub(crate) fn times_of<'r>(runs: impl Iterator<Item = &'r Run>) -> Option<String> {
    let all: BTreeSet<Times> = runs.map(Times::of).collect();
    if all.iter().all(|times| *times == Times::Real) {
        return None;
    }
    let names: Vec<String> = all.iter().map(ToString::to_string).collect();
    Some(names.join(" and "))
}

impl std::fmt::Display for Times {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Times::Real => f.write_str("times of hardware"),
            Times::Modelled(by) => write!(f, "times of modelled disks ({by})"),
            Times::Emulated(by) => write!(f, "emulated times ({by})"),
            Times::Virtual(by) => write!(f, "virtual times ({by})"),
        }
    }
}
