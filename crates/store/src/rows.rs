//! A run as rows, without SQL: what its log says, trial by trial.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use record::{Run, Status, TrialRecord};
use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};
use study::{Cell, Plan, Slot};

use crate::error::Error;
use crate::index::context;

/// Longest text of an indexed column, in bytes: PostgreSQL takes about 2,700 in an index.
const LONGEST: usize = 1000;

/// The head of a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RunRow {
    pub(crate) id: [u8; 32],
    pub(crate) name: String,
    pub(crate) study: String,
    pub(crate) profile: String,
    pub(crate) seed: u64,
    pub(crate) tool: String,
    pub(crate) commit: Option<String>,
    pub(crate) target: String,
    pub(crate) machine: Option<String>,
    /// Whether a tag names the machine.
    pub(crate) machine_named: bool,
    pub(crate) kernel: Option<String>,
    pub(crate) started_at: Timestamp,
    pub(crate) ended_at: Option<Timestamp>,
    /// Trials finished, failed and skipped; none while the run is not whole.
    pub(crate) counts: Option<[u32; 3]>,
    pub(crate) tags: Json,
    pub(crate) plan_sha: [u8; 32],
    /// The plan without seed, slots and what was measured before the first trial: runs of the same study share it.
    pub(crate) plan: String,
    /// `at`, to the nanosecond, and `command` of the log's first line.
    pub(crate) head: Json,
}

impl RunRow {
    /// The hash by which runs share a plan.
    pub(crate) fn shared_plan(&self) -> [u8; 32] {
        Sha256::digest(&self.plan).into()
    }
}

/// A cell, and its parameters as a series.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CellRow {
    pub(crate) cell: u32,
    pub(crate) sha: [u8; 32],
    pub(crate) label: String,
    pub(crate) filesystem: String,
    pub(crate) workload: String,
    pub(crate) levels: Json,
    pub(crate) kernel: Option<String>,
    /// The cell of the plan.
    pub(crate) parameters: Json,
    /// The phases of its samples, in the order of the log.
    pub(crate) phases: Json,
}

/// A trial with its samples and evidence.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TrialRow {
    pub(crate) slot: Slot,
    pub(crate) status: &'static str,
    pub(crate) failure: Option<String>,
    pub(crate) message: Option<String>,
    pub(crate) started_at: Option<Timestamp>,
    pub(crate) total_s: Option<f64>,
    pub(crate) samples: Vec<SampleRow>,
    pub(crate) evidence: Vec<record::Evidence>,
}

/// Phase, metric, clock, unit.
pub(crate) type Metric = [String; 4];

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SampleRow {
    pub(crate) metric: Metric,
    pub(crate) value: f64,
    /// Whether all evidence about its phase and its trial holds.
    pub(crate) holds: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ContextRow {
    pub(crate) moment: String,
    pub(crate) name: String,
    pub(crate) value: Option<Json>,
    pub(crate) source: Option<String>,
    pub(crate) reason: Option<String>,
    pub(crate) number: Option<i64>,
    pub(crate) volatile: bool,
}

/// Rows of a run that an import writes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rows {
    pub(crate) run: RunRow,
    pub(crate) cells: Vec<CellRow>,
    /// Those that changed.
    pub(crate) trials: Vec<TrialRow>,
    /// None: they did not change.
    pub(crate) contexts: Option<Vec<ContextRow>>,
}

impl Rows {
    /// The rows of a run: of the trials named, and of the contexts if they changed.
    pub(crate) fn of(
        run: &Run,
        id: [u8; 32],
        changed: &BTreeSet<u32>,
        contexts: bool,
    ) -> Result<Rows, Error> {
        let phases = phases(run);
        let of_cell = |cell: &Cell| {
            let phases = phases.get(&cell.id).map(Vec::as_slice);
            cell_row(run, cell, phases.unwrap_or_default())
        };
        let rows = Rows {
            run: head(run, id),
            cells: run.plan.cells.iter().map(of_cell).collect(),
            trials: (run.plan.slots.iter().zip(&run.trials))
                .filter(|(slot, _)| changed.contains(&slot.trial))
                .map(|(slot, record)| trial_row(*slot, record))
                .collect(),
            contexts: contexts.then(|| context_rows(run)),
        };
        rows.refuse_long()?;
        Ok(rows)
    }

    /// Each metric once, in order.
    pub(crate) fn metrics(&self) -> BTreeSet<&Metric> {
        let samples = self.trials.iter().flat_map(|trial| &trial.samples);
        samples.map(|sample| &sample.metric).collect()
    }

    fn refuse_long(&self) -> Result<(), Error> {
        let run = &self.run;
        let metrics = self.metrics();
        let names = [("study", &run.study)]
            .into_iter()
            .chain(run.kernel.as_ref().map(|kernel| ("kernel", kernel)))
            .chain(metrics.into_iter().flatten().map(|word| ("metric", word)));
        for (what, text) in names {
            if text.len() > LONGEST {
                return Err(Error::TooLong {
                    run: run.name.clone(),
                    what,
                    bytes: text.len(),
                    most: LONGEST,
                });
            }
        }
        Ok(())
    }
}

fn head(run: &Run, id: [u8; 32]) -> RunRow {
    let machine = Machine::of(run);
    let plan = serde_json::to_vec(&run.plan).unwrap_or_default();
    let shared = Plan {
        seed: 0,
        slots: Vec::new(),
        measured: None,
        ..run.plan.clone()
    };
    RunRow {
        id,
        name: clean(&run.name),
        study: clean(&run.plan.study),
        profile: clean(&run.plan.profile),
        seed: run.plan.seed,
        tool: clean(&run.tool),
        commit: run.commit().map(clean),
        target: clean(&run.target),
        machine_named: machine.named,
        machine: machine.text,
        kernel: item(run.contexts.get("start"), KERNEL),
        started_at: run.started_at,
        ended_at: run.closing.map(|closing| closing.at),
        counts: run
            .closing
            .map(|closing| [closing.finished, closing.failed, closing.skipped]),
        tags: clean_json(json!(run.tags)),
        plan_sha: Sha256::digest(plan).into(),
        plan: clean_json(json!(shared)).to_string(),
        head: clean_json(json!({ "at": run.started_at, "command": run.command })),
    }
}

/// The item of a context record that has the release of the kernel, and its name in old logs.
const KERNEL: [&str; 2] = ["system.kernel.release", "kernel_release"];

/// Which machine a run was measured on.
pub(crate) struct Machine {
    /// Its name, else its description.
    pub(crate) text: Option<String>,
    /// Whether a tag names it.
    pub(crate) named: bool,
}

impl Machine {
    pub(crate) fn of(run: &Run) -> Machine {
        let name = run.tags.get("machine").map(|name| clean(name));
        Machine {
            named: name.is_some(),
            text: name.or_else(|| description(run)),
        }
    }
}

/// A machine without a name, by its hardware: `MODEL, 2 CPUs, 8 GiB`.
fn description(run: &Run) -> Option<String> {
    let start = run.contexts.get("start");
    let model = item(start, ["cpu.model", "cpu_model"])?;
    let cpus = item(start, ["cpu.threads"]).map(|cpus| format!(", {cpus} CPUs"));
    let kib: Option<f64> = item(start, ["memory.total_kib"]).and_then(|kib| kib.parse().ok());
    let memory = kib.map(|kib| format!(", {:.0} GiB", kib / 1_048_576.0));
    Some(model + &cpus.unwrap_or_default() + &memory.unwrap_or_default())
}

/// The value of the first of these items that a context record has, as text.
fn item<const N: usize>(context: Option<&Json>, names: [&str; N]) -> Option<String> {
    let items = context?.get("items")?;
    let found = names.iter().find_map(|name| items.get(*name));
    match found?.get("value")? {
        Json::Null => None,
        Json::String(text) => Some(clean(text)),
        other => Some(other.to_string()),
    }
}

/// The kernel that a cell's trials ran under.
pub(crate) fn kernel_of(run: &Run, cell: &Cell) -> Option<String> {
    item(run.context_of(cell), KERNEL).or_else(|| cell.kernel.clone())
}

/// The phases of each cell's samples, in the order in which its trials first have them.
fn phases(run: &Run) -> BTreeMap<u32, Vec<String>> {
    let mut all: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for slot in &run.plan.slots {
        let known = all.entry(slot.cell).or_default();
        let trial = run.trials.get(slot.trial as usize);
        for sample in trial.iter().flat_map(|trial| &trial.samples) {
            let phase = clean(&sample.phase);
            if !known.contains(&phase) {
                known.push(phase);
            }
        }
    }
    all
}

fn cell_row(run: &Run, cell: &Cell, phases: &[String]) -> CellRow {
    let parameters = clean_json(json!(cell));
    CellRow {
        cell: cell.id,
        sha: series(&run.plan.study, &parameters),
        label: clean(&cell.label()),
        filesystem: filesystem(cell),
        workload: cell.workload.kind().to_owned(),
        levels: clean_json(json!(cell.levels)),
        kernel: kernel_of(run, cell),
        parameters,
        phases: json!(phases),
    }
}

/// The kind of filesystem; in a directory, and in results of other programs, it was not made and is not known here.
fn filesystem(cell: &Cell) -> String {
    let level = cell.levels.get("filesystem");
    match level.filter(|level| *level == study::directory::AS_FOUND) {
        Some(level) => level.clone(),
        None => cell.filesystem.kind.to_string(),
    }
}

/// The hash of what a cell measures: the study and the settled parameters, without names that do not change them. Keys of
/// JSON objects are sorted, so equal parameters have equal hashes.
fn series(study: &str, cell: &Json) -> [u8; 32] {
    let mut cell = cell.clone();
    if let Some(cell) = cell.as_object_mut() {
        for name in ["id", "levels", "workload_name"] {
            cell.remove(name);
        }
        if let Some(filesystem) = cell.get_mut("filesystem").and_then(Json::as_object_mut) {
            filesystem.remove("about");
        }
    }
    Sha256::digest(json!([study, cell]).to_string()).into()
}

fn trial_row(slot: Slot, record: &TrialRecord) -> TrialRow {
    let (status, failure, message) = match &record.status {
        Status::Pending => ("pending", None, None),
        Status::Finished => ("finished", None, None),
        Status::Failed(kind, message) => {
            let kind = json!(kind).as_str().map(str::to_owned);
            ("failed", kind, Some(clean(message)))
        }
        Status::Replaced { by } => (
            "replaced",
            None,
            Some(format!("trial {by} counts in its place")),
        ),
    };
    let total = matches!(record.status, Status::Finished | Status::Failed(..));
    TrialRow {
        slot,
        status,
        failure,
        message,
        started_at: record.started_at,
        total_s: total.then_some(record.ledger.total),
        samples: record
            .samples
            .iter()
            .map(|sample| sample_row(sample, record))
            .collect(),
        evidence: record.evidence.iter().map(clean_evidence).collect(),
    }
}

fn sample_row(sample: &record::Sample, record: &TrialRecord) -> SampleRow {
    let clock = json!(sample.clock);
    let against = |found: &record::Evidence| {
        let about = found
            .phase
            .as_ref()
            .is_none_or(|phase| *phase == sample.phase);
        about && found.holds == Some(false)
    };
    SampleRow {
        metric: [
            clean(&sample.phase),
            clean(&sample.metric),
            clock.as_str().unwrap_or_default().to_owned(),
            clean(&sample.unit),
        ],
        value: sample.value,
        holds: !record.evidence.iter().any(against),
    }
}

fn clean_evidence(found: &record::Evidence) -> record::Evidence {
    record::Evidence {
        phase: found.phase.as_deref().map(clean),
        name: clean(&found.name),
        holds: found.holds,
        detail: clean(&found.detail),
    }
}

fn context_rows(run: &Run) -> Vec<ContextRow> {
    let rows = run.contexts.iter().flat_map(|(moment, record)| {
        let record = record.get("items").unwrap_or(record);
        context::flatten(record).into_iter().map(|item| ContextRow {
            moment: clean(moment),
            name: clean(&item.name),
            value: item.json.map(clean_json),
            source: item.source.as_deref().map(clean),
            reason: item.reason.as_deref().map(clean),
            number: item.number,
            volatile: item.volatile,
        })
    });
    rows.collect()
}

/// PostgreSQL has no text with NUL, so neither store has.
fn clean(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

fn clean_json(value: Json) -> Json {
    match value {
        Json::String(text) => Json::String(clean(&text)),
        Json::Array(list) => list.into_iter().map(clean_json).collect(),
        Json::Object(map) => map
            .into_iter()
            .map(|(key, value)| (clean(&key), clean_json(value)))
            .collect(),
        other => other,
    }
}

/// The trials whose rows change when the events of `touched` are added: repeats decide together which of them counts.
pub(crate) fn with_repeats(run: &Run, touched: &BTreeSet<u32>) -> BTreeSet<u32> {
    let first_of = |trial: u32| run.repeats.get(&trial).copied().unwrap_or(trial);
    let firsts: BTreeSet<u32> = touched.iter().map(|trial| first_of(*trial)).collect();
    let repeats: BTreeMap<u32, u32> = run.repeats.clone();
    let of_firsts = repeats
        .into_iter()
        .filter(|(_, first)| firsts.contains(first))
        .map(|(repeat, _)| repeat);
    firsts.iter().copied().chain(of_firsts).collect()
}
