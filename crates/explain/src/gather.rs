//! From a run to the [`CellEvidence`]s of its cells: every source of evidence under one name each.
//!
//! A counter that exists twice is taken from where it is exact: samples at the phase's own begin and
//! end before telemetry rows around them. A cell that was not traced takes the figures of its
//! traced twin, the cell that differs in the factor `trace` alone; they come from another trial, so
//! they say how the filesystem asks, not how long this trial took.

mod context;
mod facts;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use record::telemetry::{Reader, Table};
use record::{Phase, Run, TrialRecord};
use study::{Cell, Clock, Limit};

use crate::comparison::Direction;
use crate::evidence::CellEvidence;
use crate::telemetry::{self, Window};

/// Gathers sides, each once; a trial's telemetry is read once, when its first phase is asked for.
pub(crate) struct Gatherer<'a> {
    run: &'a Run,
    dir: Option<&'a Path>,
    windows: BTreeMap<u32, Vec<Result<Window, String>>>,
    sides: BTreeMap<(u32, String), CellEvidence>,
    /// Items of the context that a trial recorded for itself.
    recorded: BTreeSet<String>,
}

impl<'a> Gatherer<'a> {
    pub(crate) fn new(run: &'a Run, dir: Option<&'a Path>) -> Self {
        Gatherer {
            run,
            dir,
            windows: BTreeMap::new(),
            sides: BTreeMap::new(),
            recorded: context::recorded(run),
        }
    }

    /// Gathers what a cell showed in a phase; [`Gatherer::side`] then has it.
    pub(crate) fn gather(&mut self, cell: &Cell, phase: &str) {
        let key = (cell.id, phase.to_owned());
        if self.sides.contains_key(&key) {
            return;
        }
        let mut side = CellEvidence {
            cell: cell.id,
            ..CellEvidence::default()
        };
        for (slot, record) in self.run.finished(cell.id) {
            let trial = slot.trial;
            let Some(at) = record.phases.iter().position(|p| p.name == phase) else {
                continue;
            };
            side.trials += 1;
            let of_trial = OfTrial {
                cell,
                record,
                phase: &record.phases[at],
            };
            let window = self
                .windows
                .entry(trial)
                .or_insert_with(|| windows(self.dir, record))
                .get(at);
            of_trial.add(window, &mut side);
            context::add(self.run, cell, trial, &self.recorded, &mut side);
        }
        self.of_plan(cell, &mut side);
        self.of_trace(cell, phase, &mut side);
        if !side.figures.keys().any(|name| name.starts_with("layout_")) {
            let why = "--set layout.enabled=true".to_owned();
            side.absent.insert("layout", why);
        }
        self.sides.insert(key, side);
    }

    /// What was gathered.
    pub(crate) fn side(&self, cell: &Cell, phase: &str) -> Option<&CellEvidence> {
        self.sides.get(&(cell.id, phase.to_owned()))
    }

    /// What the plan and the references say, once for each cell.
    fn of_plan(&self, cell: &Cell, side: &mut CellEvidence) {
        let limit = cell.device.limit.unwrap_or_default();
        let figures = [
            ("memory_limit", cell.memory.map(|b| b.get() as f64)),
            ("read_limit", limit.read.map(|b| b.get() as f64)),
            ("write_limit", limit.write.map(|b| b.get() as f64)),
            ("read_iops_limit", limit.read_iops.map(|n| n as f64)),
            ("write_iops_limit", limit.write_iops.map(|n| n as f64)),
            (
                "raw_sequential",
                raw(self.run, limit, |r| {
                    let passes = [&r.sequential, &r.sequential_direct];
                    passes
                        .into_iter()
                        .filter_map(|p| median(p))
                        .reduce(f64::max)
                }),
            ),
            (
                "raw_random_read",
                raw(self.run, limit, |r| {
                    (r.random_reads_per_s > 0.0).then_some(r.random_read_us[0] / 1e6)
                }),
            ),
            ("dirty_threshold", threshold(self.run)),
        ];
        for (name, value) in figures {
            if let Some(value) = value {
                side.add(name, value);
            }
        }
        if let Some([threshold, most]) = side
            .median("dirty_threshold")
            .zip(side.median("dirty_max"))
            .map(|(a, b)| [a, b])
            .filter(|[threshold, _]| *threshold > 0.0)
        {
            side.add("dirty_near", most / threshold);
        }
    }

    /// Figures of the traced twin, where the cell itself has none.
    fn of_trace(&self, cell: &Cell, phase: &str, side: &mut CellEvidence) {
        if side.figures.contains_key("trace_requests") {
            return;
        }
        let twin = self.run.plan.cells.iter().find(|other| {
            other.id != cell.id
                && other
                    .levels
                    .get("trace")
                    .is_some_and(|level| level == "true")
                && cell.levels.len() == other.levels.len()
                && cell.levels.iter().all(|(factor, level)| {
                    factor == "trace" || other.levels.get(factor) == Some(level)
                })
        });
        for (_, record) in twin.into_iter().flat_map(|twin| self.run.finished(twin.id)) {
            traced(record, phase, side);
        }
        if side.figures.contains_key("trace_requests") {
            side.add_fact("trace.of", "the traced twin");
        } else {
            let why = "--set trace=true".to_owned();
            side.absent.insert("trace", why);
        }
    }
}

/// The telemetry of each phase of a trial.
fn windows(dir: Option<&Path>, record: &TrialRecord) -> Vec<Result<Window, String>> {
    let table: Result<Table, String> = match (dir, &record.telemetry) {
        (Some(dir), Some(file)) => Reader::read_in(dir, file).map_err(|error| match error {
            // The path says nothing that the reader of a mail could use.
            record::Error::Io { .. } => format!("{file} cannot be read"),
            other => other.to_string(),
        }),
        _ => Err("the run's folder has no telemetry of this trial".to_owned()),
    };
    let device = device(record);
    let of_phase = |phase: &Phase| match &table {
        Ok(table) => {
            let device = device.as_deref().or_else(|| only_disk(table));
            telemetry::of(table, device, phase.begin_ns, phase.end_ns)
        }
        Err(why) => Err(why.clone()),
    };
    record.phases.iter().map(of_phase).collect()
}

/// Kernel name of the device that a trial measured.
fn device(record: &TrialRecord) -> Option<String> {
    let mounted = record.mounted.as_ref()?;
    let known = mounted.device_facts.get("block_device").cloned();
    known.or_else(|| mounted.device.strip_prefix("/dev/").map(str::to_owned))
}

/// The disk of a directory, where telemetry followed just one.
fn only_disk(table: &Table) -> Option<&str> {
    let mut disks = table
        .columns
        .iter()
        .filter_map(|c| c.name.strip_prefix("disk.")?.strip_suffix(".reads"));
    let first = disks.next();
    first.filter(|_| disks.next().is_none())
}

fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    (n > 0).then(|| f64::midpoint(sorted[(n - 1) / 2], sorted[n / 2]))
}

/// A figure of the references under a cell's limit: the largest.
fn raw(run: &Run, limit: Limit, of: impl Fn(&record::Reference) -> Option<f64>) -> Option<f64> {
    let alike = run.references.iter().filter(|reference| {
        let held = reference
            .limit
            .as_ref()
            .map_or(Ok(Limit::default()), |l| l.parse());
        held.is_ok_and(|held| held == limit)
    });
    alike.filter_map(of).reduce(f64::max)
}

/// Bytes of dirty data at which writers are throttled. The record has pages of 4 KiB.
fn threshold(run: &Run) -> Option<f64> {
    let item = item(
        run.contexts.get("start")?,
        "vm.effective_dirty_threshold_pages",
    )?;
    Some(item.as_f64()? * 4096.0)
}

/// A value of a context record, wrapped in `items` or not.
fn item<'v>(context: &'v serde_json::Value, name: &str) -> Option<&'v serde_json::Value> {
    let items = context.get("items").unwrap_or(context);
    items
        .get(name)?
        .get("value")
        .filter(|value| !value.is_null())
}

/// Trace figures of a trial's phase: samples first, else those of its traces.
fn traced(record: &TrialRecord, phase: &str, side: &mut CellEvidence) {
    let mut figures: BTreeMap<&str, f64> = record
        .traces
        .iter()
        .filter_map(|trace| trace.figures.get(phase))
        // The measured device is traced first; the devices below it must not be added.
        .take(1)
        .flatten()
        .map(|(name, value)| (name.as_str(), *value))
        .collect();
    for sample in record.samples.iter().filter(|s| s.phase == phase) {
        if sample.metric.starts_with("trace_") {
            figures.insert(&sample.metric, sample.value);
        }
    }
    for (name, value) in &figures {
        side.add(name, *value);
    }
    let of = |name| figures.get(name).copied();
    if let (Some(switches), Some(requests)) = (of("trace_kind_switches"), of("trace_requests"))
        && requests > 0.0
    {
        side.add("trace_switch_share", switches / requests);
    }
}

/// One phase of one trial.
struct OfTrial<'a> {
    cell: &'a Cell,
    record: &'a TrialRecord,
    phase: &'a Phase,
}

impl OfTrial<'_> {
    fn add(&self, window: Option<&Result<Window, String>>, side: &mut CellEvidence) {
        let mut figures = self.samples(side);
        match window {
            Some(Ok(window)) => {
                for (name, value) in &window.figures {
                    figures.entry((*name).to_owned()).or_insert(*value);
                }
                let tasks = [
                    ("busiest_task", &window.busiest),
                    ("foreign_task", &window.foreign),
                ];
                for (name, task) in tasks {
                    if let Some(task) = task {
                        side.add_fact(name, task);
                    }
                }
            }
            Some(Err(why)) => {
                side.absent.insert("telemetry", why.clone());
            }
            None => {}
        }
        if !figures.contains_key("device_read") && !figures.contains_key("device_written") {
            let why = match window {
                Some(Err(why)) => why.clone(),
                _ => "the trial had no block device of its own".to_owned(),
            };
            side.absent.insert("diskstats", why);
        }
        self.workload(&mut figures);
        derive(&mut figures, Direction::of(&self.phase.name));
        for (name, value) in figures {
            side.add(&name, value);
        }
        traced(self.record, &self.phase.name, side);
        self.layout(side);
        self.mounted(side);
        self.evidence(side);
        side.add_fact("workload", &self.cell.workload_name);
    }

    /// The phase's samples; those that exist under several clocks by `metric.clock`.
    fn samples(&self, side: &mut CellEvidence) -> BTreeMap<String, f64> {
        let mut figures = BTreeMap::new();
        for sample in &self.record.samples {
            if sample.phase != self.phase.name || sample.metric.starts_with("trace_") {
                continue;
            }
            if matches!(sample.metric.as_str(), "throughput" | "seconds" | "files") {
                let clock = match sample.clock {
                    Clock::Original => "original",
                    Clock::Fsync => "fsync",
                    Clock::Syncfs => "syncfs",
                };
                side.add(&format!("{}.{clock}", sample.metric), sample.value);
            } else {
                figures.insert(sample.metric.clone(), sample.value);
            }
        }
        figures
    }

    /// What the workload and the process say of themselves.
    fn workload(&self, figures: &mut BTreeMap<String, f64>) {
        let detail = &self.phase.detail;
        let number = |key: &str| detail.get(key).and_then(serde_json::Value::as_f64);
        let threads = detail
            .get("threads")
            .and_then(serde_json::Value::as_array)
            .map_or(1.0, |threads| threads.len().max(1) as f64);
        let elapsed = self.phase.end_ns.saturating_sub(self.phase.begin_ns) as f64 / 1e9;
        let mut put = |name: &str, value: Option<f64>| {
            if let Some(value) = value {
                figures.insert(name.to_owned(), value);
            }
        };
        put("elapsed", Some(elapsed).filter(|seconds| *seconds > 0.0));
        put("bytes", number("bytes_transferred").filter(|b| *b > 0.0));
        put("operations", number("operations"));
        put("threads", Some(threads));
        let Some(usage) = &self.phase.usage else {
            return;
        };
        let cpu = usage.user + usage.system;
        put("cpu_seconds", Some(cpu));
        let share = |seconds: Option<f64>| {
            let seconds = seconds.filter(|s| *s > 0.0)?;
            Some((cpu / threads / seconds).min(1.0))
        };
        put("cpu_share_all", share(Some(usage.elapsed)));
        put(
            "cpu_share",
            share(number("seconds")).or_else(|| share(Some(usage.elapsed))),
        );
    }

    /// The layout of the files: as this phase left them, or else the last one before it.
    fn layout(&self, side: &mut CellEvidence) {
        let mine = |name: &str| name == self.phase.name;
        if self
            .record
            .samples
            .iter()
            .any(|s| mine(&s.phase) && s.metric.starts_with("layout_"))
        {
            return;
        }
        let before: Vec<&str> = self
            .record
            .phases
            .iter()
            .take_while(|phase| !mine(&phase.name))
            .map(|phase| phase.name.as_str())
            .chain([self.phase.name.as_str()])
            .collect();
        let last = self
            .record
            .layouts
            .iter()
            .rfind(|layout| before.contains(&layout.phase.as_str()));
        for (name, value) in last.into_iter().flat_map(|layout| &layout.figures) {
            side.add(name, *value);
        }
    }

    fn mounted(&self, side: &mut CellEvidence) {
        let Some(mounted) = &self.record.mounted else {
            return;
        };
        side.add_fact("driver", &mounted.driver);
        side.add_fact("mkfs.version", &mounted.mkfs_version);
        for (name, value) in &mounted.superblock {
            side.add_fact(&format!("fs.{name}"), value);
        }
        for (name, value) in &mounted.device_facts {
            side.add_fact(&format!("device.{name}"), value);
        }
        for (name, value) in facts::of_options(mounted) {
            side.add_fact(name, value);
        }
        let number = |name: &str, facts: &BTreeMap<String, String>| -> Option<f64> {
            facts.get(name)?.parse().ok()
        };
        if let Some(kib) = number("read_ahead_kb", &mounted.device_facts) {
            side.add("readahead", kib * 1024.0);
        }
        let width = number("stripe_width_blocks", &mounted.superblock)
            .zip(number("block_size", &mounted.superblock));
        if let Some((blocks, size)) = width.filter(|(blocks, _)| *blocks > 0.0) {
            side.add("stripe_width", blocks * size);
        }
    }

    fn evidence(&self, side: &mut CellEvidence) {
        let mine = |phase: &Option<String>| phase.as_ref().is_none_or(|p| *p == self.phase.name);
        for found in self.record.evidence.iter().filter(|e| mine(&e.phase)) {
            let holds = match found.holds {
                Some(true) => "yes",
                Some(false) => "no",
                None => "not known",
            };
            side.add_fact(&format!("evidence.{}", found.name), holds);
            side.add_fact(&format!("detail.{}", found.name), &found.detail);
        }
    }
}

/// Figures that follow from others.
fn derive(figures: &mut BTreeMap<String, f64>, direction: Direction) {
    let of = |figures: &BTreeMap<String, f64>, name: &str| figures.get(name).copied();
    let ratios = [
        ("read_request_mean", "device_read", "read_requests"),
        ("write_request_mean", "device_written", "write_requests"),
        ("read_rate", "device_read", "elapsed"),
        ("write_rate", "device_written", "elapsed"),
        ("reads_per_s", "read_requests", "elapsed"),
        ("writes_per_s", "write_requests", "elapsed"),
    ];
    for (name, above, below) in ratios {
        if let (Some(above), Some(below)) = (of(figures, above), of(figures, below))
            && below > 0.0
        {
            figures.insert(name.to_owned(), above / below);
        }
    }
    let (ratio, device) = match direction {
        Direction::Read => ("read_ratio", "device_read"),
        Direction::Write => ("written_ratio", "device_written"),
    };
    if let (Some(moved), Some(bytes)) = (of(figures, device), of(figures, "bytes"))
        && bytes > 0.0
    {
        figures.insert(ratio.to_owned(), moved / bytes);
    }
}

#[cfg(test)]
mod tests;
