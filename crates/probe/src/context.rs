//! The context record: sixty items that a reviewer asks for, each with its source.
//!
//! A difference of 5 % between two runs means nothing until it is known that nothing else changed.
//! So a run stores this record at its start and end, and every comparison begins with
//! [`difference`]. The items are numbered 1 to 60; [`catalogue`] lists them all, and the guide's
//! table is printed from it. Simple items (one file, one value) are rows of the catalogue and are
//! read by one generic routine; the rest is computed by the module of its part.
//!
//! An item that cannot be read has the value null and a reason. Items of a trial (what was timed,
//! whether caches were dropped) are listed with the reason that they are recorded with each trial, so that
//! a reader sees all sixty numbers. Items that change by themselves (load, free memory, time) are
//! marked volatile and left out of the difference unless asked for.
//!
//! Privacy: no host name, no serial number in clear (SHA-256, first 16 digits), environment
//! variables from an allow-list, and values of secret-looking kernel parameters are masked.

mod block;
mod catalogue;
mod cgroup;
mod collect;
mod cpu;
mod entry;
mod filesystem;
mod memory;
mod run;
mod stack;
mod system;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Roots;
pub use catalogue::{catalogue, document};
pub(crate) use cgroup::own_unified as own_unified_cgroup;
use collect::Collector;
pub use entry::Entry;
pub use run::{OF_PROCESS, binary_is, binary_sha256, file_sha256, of_process};

/// The subject of the run. Everything is optional: a record can be taken of a bare machine.
#[derive(Clone, Debug, Default)]
pub struct Subject<'a> {
    /// Mount point of the measured filesystem.
    pub mount_point: Option<&'a Path>,
    /// Its block device, also when not mounted.
    pub device: Option<&'a Path>,
    /// The folder where the run lives, or the directory that is measured.
    pub target_folder: Option<&'a Path>,
    /// Bytes that the workload touches.
    pub working_set_bytes: Option<u64>,
    /// Values that are in no file (controller cache, tool version), by item name.
    pub manual: BTreeMap<String, String>,
}

/// How a record is taken.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Where the machine's files are.
    pub roots: Roots,
    /// How long to watch the disks for I/O of others; zero does not watch.
    pub observe_idle: Duration,
}

/// One item.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Item {
    /// Number of the item in the list of sixty.
    pub number: u8,
    /// The value; null when it could not be read.
    pub value: Value,
    /// File or system call it came from.
    pub source: String,
    /// Why the value is null.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Changes by itself: not compared unless asked for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub volatile: bool,
}

/// A record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ContextRecord {
    /// Wall clock.
    pub taken_at: jiff::Timestamp,
    /// CLOCK_MONOTONIC, nanoseconds: the telemetry's clock.
    pub monotonic_ns: u64,
    /// How long it took, milliseconds, the watching included.
    pub took_ms: f64,
    /// How long the disks were watched for I/O of others, milliseconds.
    pub observed_idle_ms: f64,
    /// The items by dotted name.
    pub items: BTreeMap<String, Item>,
}

impl ContextRecord {
    /// The value of an item, unless it is null or unknown.
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.items
            .get(name)
            .map(|item| &item.value)
            .filter(|v| !v.is_null())
    }
}

/// Takes a record of this machine without watching for idle I/O.
pub fn take(subject: &Subject<'_>) -> ContextRecord {
    take_with(subject, &Options::default())
}

/// Takes a record. Never fails: an item that cannot be read has the reason.
pub fn take_with(subject: &Subject<'_>, options: &Options) -> ContextRecord {
    let begin = Instant::now();
    let taken_at = jiff::Timestamp::now();
    let monotonic_ns = clock::monotonic_ns();
    let mut collector = Collector::new(subject, options, catalogue());
    let stacks = stack::Stacks::of(&collector);
    system::collect(&mut collector);
    cpu::collect(&mut collector);
    memory::collect(&mut collector);
    cgroup::collect(&mut collector);
    filesystem::collect(&mut collector, &stacks);
    block::collect(&mut collector, &stacks);
    run::collect(&mut collector);
    let observed = system::observe_idle(&mut collector);
    ContextRecord {
        taken_at,
        monotonic_ns,
        items: collector.finish(),
        took_ms: begin.elapsed().as_secs_f64() * 1e3,
        observed_idle_ms: observed.as_secs_f64() * 1e3,
    }
}

/// Kernel names of the block devices under a subject, from the top, each once: what to sample.
/// For a loop image on a partition: `loop3`, `sda1`, `sda`.
pub fn devices(subject: &Subject<'_>) -> Vec<String> {
    let options = Options::default();
    let collector = Collector::new(subject, &options, catalogue());
    stack::Stacks::of(&collector).devices
}

/// One item that is not the same in two records.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// Name of the item.
    pub name: String,
    /// Its number.
    pub number: u8,
    /// Value in the first record; null when unreadable or absent.
    pub before: Value,
    /// Value in the second record.
    pub after: Value,
}

/// What changed between two records, by item number and name; volatile items are left out.
pub fn difference(before: &ContextRecord, after: &ContextRecord) -> Vec<Change> {
    changes(before, after, false)
}

/// As [`difference`], with the volatile items.
pub fn difference_all(before: &ContextRecord, after: &ContextRecord) -> Vec<Change> {
    changes(before, after, true)
}

fn changes(before: &ContextRecord, after: &ContextRecord, volatile: bool) -> Vec<Change> {
    let mut names: Vec<&String> = before.items.keys().chain(after.items.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let mut out: Vec<Change> = names
        .into_iter()
        .filter_map(|name| {
            let (b, a) = (before.items.get(name), after.items.get(name));
            let known = b.or(a)?;
            let value = |item: Option<&Item>| item.map_or(Value::Null, |i| i.value.clone());
            let (b, a) = (value(b), value(a));
            ((volatile || !known.volatile) && b != a).then(|| Change {
                name: name.clone(),
                number: known.number,
                before: b,
                after: a,
            })
        })
        .collect();
    out.sort_by(|x, y| (x.number, &x.name).cmp(&(y.number, &y.name)));
    out
}
