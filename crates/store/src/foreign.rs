//! Results of other programs as runs, so that reports, statistics and stores serve them too.
//!
//! A run is made of one or several files. Each repetition in them is a block, and what the program calls a job or a test is a
//! cell, whose parameters are the program's own. The cells of all repetitions must be the same. What a file does not say is
//! not invented: such a run has no context but the program and the files, no evidence, and no mount.
//!
//! fio: `--output-format=json` (tests read files of fio 3.33). IOR and mdtest: their text, as the documents and sources of
//! version 4.1 describe it.

mod fio;
mod ior;
mod mdtest;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use record::{Entry, Event, FORMAT, FailureKind, Ledger, RunFolder, Sample};
use serde_json::json;
use study::{
    Cell, Clock, DeviceSpec, FilesystemKind, FilesystemVariant, ForeignSpec, NeedsSpec, Order,
    Plan, RowSpec, Slot, TableSpec, WorkloadSpec, directory,
};

use crate::error::Error;

/// Longest file of results, in bytes: fio's JSON of a thousand jobs has 10 MB.
const LONGEST: u64 = 64 << 20;
/// Most jobs, tests or repetitions of a file.
const MOST_MEASURED: usize = 4096;
/// Longest name of a job, in bytes.
const LONGEST_NAME: usize = 255;
/// Most bytes of the parameters of a job, names and values.
const LONGEST_PARAMETERS: usize = 16 << 10;

/// A program whose results can be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// fio, `--output-format=json`.
    Fio,
    /// IOR, its text.
    Ior,
    /// mdtest, its text.
    Mdtest,
}

impl Program {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Program::Fio => "fio",
            Program::Ior => "ior",
            Program::Mdtest => "mdtest",
        }
    }

    fn read(self, text: &str) -> Result<Results, String> {
        match self {
            Program::Fio => fio::read(text),
            Program::Ior => ior::read(text),
            Program::Mdtest => mdtest::read(text),
        }
    }
}

/// What is to become a run.
#[derive(Clone, Debug)]
pub struct ForeignRun<'r> {
    /// The program.
    pub program: Program,
    /// Its files, a repetition or more in each.
    pub files: &'r [PathBuf],
    /// The new run's folder, which must not exist.
    pub out: &'r Path,
    /// Version and commit of this program.
    pub tool: String,
    /// The command line.
    pub command: Vec<String>,
    /// The user's tags.
    pub tags: record::Tags,
}

/// The results of a file.
#[derive(Clone, Debug, Default, PartialEq)]
struct Results {
    /// `fio-3.33`.
    version: String,
    /// When they were measured, if the file says so.
    at: Option<Timestamp>,
    /// One for each job or test and repetition, in the file's order.
    measured: Vec<Measured>,
}

/// What one job or test measured once.
#[derive(Clone, Debug, Default, PartialEq)]
struct Measured {
    /// The name of its cell.
    label: String,
    parameters: BTreeMap<String, String>,
    samples: Vec<Sample>,
    /// Why it failed.
    failure: Option<String>,
    /// How long it took.
    seconds: f64,
}

/// A sample without a clock of its own kind: (a), as the program computes it.
fn sample(phase: &str, metric: &str, unit: &str, value: f64) -> Sample {
    Sample {
        phase: phase.into(),
        metric: metric.into(),
        clock: Clock::Original,
        value,
        unit: unit.into(),
    }
}

/// Writes a run from the results of another program; returns the number of its trials.
///
/// # Errors
/// [`Error::Foreign`] for a file that cannot be read or does not fit the others, [`Error::Record`] for the folder.
pub fn write(of: &ForeignRun<'_>) -> Result<usize, Error> {
    let mut files = Vec::new();
    for path in of.files {
        let wrong = |why: String| Error::Foreign {
            path: path.clone(),
            why,
        };
        let text = text(path)?;
        let mut results = of.program.read(&text).map_err(wrong)?;
        bounded(&results).map_err(wrong)?;
        if results.measured.is_empty() {
            return Err(wrong(format!("it has no results of {}", of.program.name())));
        }
        if results.at.is_none() {
            let changed = fs::metadata(path).and_then(|file| file.modified()).ok();
            results.at = changed.and_then(|at| at.try_into().ok());
        }
        files.push((path.as_path(), results));
    }
    // Oldest first, in whatever order they were named.
    files.sort_by_key(|(_, results)| results.at);
    let (plan, trials) = plan(of.program, &files)?;
    let entries = entries(of, &files, plan, trials.as_slice());
    let folder = RunFolder::create(of.out)?;
    save(&folder, &entries)?;
    Ok(trials.len())
}

/// Whether a run can be made of results: every reader of it keeps names and parameters in memory.
fn bounded(results: &Results) -> Result<(), String> {
    if results.measured.len() > MOST_MEASURED {
        return Err(format!(
            "it has {} results, and a run takes {MOST_MEASURED} of a file; split it",
            results.measured.len()
        ));
    }
    for measured in &results.measured {
        if measured.label.len() > LONGEST_NAME {
            return Err(format!(
                "the name {} has {} bytes; a run takes {LONGEST_NAME}",
                words::quoted(&measured.label),
                measured.label.len()
            ));
        }
        let parameters = measured.parameters.iter();
        let bytes: usize = parameters
            .map(|(name, value)| name.len() + value.len())
            .sum();
        if bytes > LONGEST_PARAMETERS {
            return Err(too_long_parameters());
        }
    }
    if results.version.len() > LONGEST_NAME {
        return Err(
            "the version that it names is too long; give the output file of the program".into(),
        );
    }
    Ok(())
}

fn too_long_parameters() -> String {
    format!(
        "the options of a job have more than {LONGEST_PARAMETERS} bytes, the most that a run takes"
    )
}

fn text(path: &Path) -> Result<String, Error> {
    input::text(path, LONGEST).map_err(|error| match error {
        input::Error::Io(cause) => record::Error::io("read", path, cause).into(),
        other => Error::Foreign {
            path: path.to_owned(),
            why: format!("{other}; give the output file of the program"),
        },
    })
}

/// A trial and what it measured.
type Trial<'t> = (Slot, &'t Measured);

/// The plan of the repetitions, and its trials in order.
fn plan<'f>(
    program: Program,
    files: &'f [(&Path, Results)],
) -> Result<(Plan, Vec<Trial<'f>>), Error> {
    let mut labels: Vec<&'f Measured> = Vec::new();
    let mut repetitions: Vec<u32> = Vec::new();
    let mut trials: Vec<Trial<'f>> = Vec::new();
    for (path, results) in files {
        for measured in &results.measured {
            let known = labels
                .iter()
                .position(|first| first.label == measured.label);
            let cell = known.unwrap_or(labels.len());
            if known.is_none() {
                labels.push(measured);
                repetitions.push(0);
            }
            if labels[cell].parameters != measured.parameters {
                return Err(Error::Foreign {
                    path: (*path).to_owned(),
                    why: differs(labels[cell], measured),
                });
            }
            let slot = Slot {
                trial: trials.len() as u32,
                block: repetitions[cell],
                cell: cell as u32,
                seed: 0,
            };
            repetitions[cell] += 1;
            trials.push((slot, measured));
        }
    }
    let blocks = repetitions.iter().copied().max().unwrap_or(0);
    if let Some(cell) = repetitions.iter().position(|count| *count != blocks) {
        let (path, _) = files[files.len() - 1];
        return Err(Error::Foreign {
            path: path.to_owned(),
            why: format!(
                "{:?} was measured {} times and others {blocks} times; import files with the same jobs",
                labels[cell].label, repetitions[cell]
            ),
        });
    }
    let slots = trials.iter().map(|(slot, _)| *slot).collect();
    Ok((plan_of(program, &labels, blocks, slots), trials))
}

/// How a repetition differs from the first.
fn differs(first: &Measured, measured: &Measured) -> String {
    let keys = first.parameters.keys().chain(measured.parameters.keys());
    let shown = |of: &Measured, key: &String| {
        of.parameters
            .get(key)
            .map_or("nothing", String::as_str)
            .to_owned()
    };
    let mut found = keys.filter(|key| first.parameters.get(*key) != measured.parameters.get(*key));
    let key = found.next().cloned().unwrap_or_default();
    format!(
        "{:?} has {key} = {} here and {} before; repetitions have the same parameters, import others as another run",
        measured.label,
        shown(measured, &key),
        shown(first, &key)
    )
}

fn plan_of(program: Program, labels: &[&Measured], blocks: u32, slots: Vec<Slot>) -> Plan {
    let variant = FilesystemVariant {
        kind: FilesystemKind::Ext4,
        mkfs: Vec::new(),
        mount: Vec::new(),
        about: "not known: the results do not name the filesystem".into(),
    };
    let cells = labels.iter().zip(0..).map(|(measured, id)| Cell {
        id,
        levels: BTreeMap::from([
            ("filesystem".to_owned(), directory::AS_FOUND.to_owned()),
            ("workload".to_owned(), measured.label.clone()),
        ]),
        filesystem: variant.clone(),
        device: DeviceSpec::default(),
        workload_name: measured.label.clone(),
        workload: WorkloadSpec::Foreign(ForeignSpec {
            program: program.name().into(),
            parameters: measured.parameters.clone(),
        }),
        memory: None,
        check: None,
        layout: None,
        crash: None,
        estimate: None,
        trace: false,
        kernel: None,
        volume: study::Volume::Filled,
    });
    let names = labels
        .iter()
        .map(|measured| measured.label.clone())
        .collect();
    Plan {
        study: program.name().into(),
        title: format!("Results of {}", program.name()),
        question: format!("What did {} measure?", program.name()),
        repeats: None,
        profile: "imported".into(),
        seed: 0,
        order: Order::Sequential,
        blocks,
        band: 0.02,
        filesystems: BTreeMap::from([(directory::AS_FOUND.to_owned(), variant.clone())]),
        factors: vec![
            ("filesystem".into(), vec![directory::AS_FOUND.into()]),
            ("workload".into(), names),
        ],
        cells: cells.collect(),
        slots,
        tables: tables(program, labels),
        grids: Vec::new(),
        growth: Vec::new(),
        reference_seconds: 0.0,
        rerun_doubtful: 0,
        measured: None,
        fleet: study::FleetSpec::default(),
        needs: NeedsSpec::default(),
        devices_file: None,
        notes: vec![format!(
            "measured by {}, not by fslab: no context of the machine, no evidence",
            program.name()
        )],
    }
}

/// One table: a column for each job, a row for each rate that any of them has.
fn tables(program: Program, labels: &[&Measured]) -> Vec<TableSpec> {
    let mut rows: Vec<RowSpec> = Vec::new();
    for sample in labels.iter().flat_map(|measured| &measured.samples) {
        let unit = match sample.unit.as_str() {
            "bytes_per_s" => "MB/s",
            "files_per_s" => "files/s",
            "ops_per_s" => "IOPS",
            _ => continue,
        };
        let known = |row: &RowSpec| row.phase == sample.phase && row.metric == sample.metric;
        if !rows.iter().any(known) {
            rows.push(RowSpec {
                phase: sample.phase.clone(),
                metric: sample.metric.clone(),
                clock: Clock::Original,
                label: format!("{} {}", sample.phase, sample.metric).replace('_', " "),
                unit: unit.into(),
                published: None,
            });
        }
    }
    vec![TableSpec {
        title: format!("{}, by job", program.name()),
        subtitle: String::new(),
        filter: BTreeMap::new(),
        columns: "workload".into(),
        rows,
        published_columns: BTreeMap::new(),
        published_table: None,
    }]
}

/// The log of the run.
fn entries(
    of: &ForeignRun<'_>,
    files: &[(&Path, Results)],
    plan: Plan,
    trials: &[Trial<'_>],
) -> Vec<Entry> {
    let begin = files.first().and_then(|(_, results)| results.at);
    let mut log = Script {
        at: begin.unwrap_or_else(Timestamp::now),
        entries: Vec::new(),
    };
    let run = of
        .out
        .file_name()
        .unwrap_or(of.out.as_os_str())
        .to_string_lossy();
    let notes = plan.notes.clone();
    log.push(Event::RunStarted {
        part: None,
        format: FORMAT,
        run: run.chars().filter(|c| !c.is_control()).collect(),
        tool: of.tool.clone(),
        command: of.command.clone(),
        target: format!("results of {}", of.program.name()),
        tags: of.tags.clone(),
        plan: Box::new(plan),
    });
    let versions: Vec<&str> = files
        .iter()
        .map(|(_, results)| results.version.as_str())
        .collect();
    let names: Vec<String> = files
        .iter()
        .map(|(path, _)| path.display().to_string())
        .collect();
    let of_files = json!({ "value": versions.join(", "), "source": names.join(", ") });
    log.push(Event::Context {
        when: "start".into(),
        context: json!({ "items": { "run.imported_from": of_files } }),
    });
    for message in notes {
        log.push(Event::Note { message });
    }
    for (slot, measured) in trials {
        log.trial(*slot, measured);
    }
    let failed = trials
        .iter()
        .filter(|(_, measured)| measured.failure.is_some())
        .count() as u32;
    log.push(Event::RunFinished {
        finished: trials.len() as u32 - failed,
        failed,
        skipped: 0,
        seconds: trials.iter().map(|(_, measured)| measured.seconds).sum(),
        peak_rss: 0,
    });
    log.entries
}

/// The log being written.
struct Script {
    at: Timestamp,
    entries: Vec<Entry>,
}

impl Script {
    fn push(&mut self, event: Event) {
        self.entries.push(Entry {
            seq: self.entries.len() as u64,
            at: self.at,
            event,
        });
    }

    fn trial(&mut self, slot: Slot, measured: &Measured) {
        self.push(Event::TrialStarted {
            node: None,
            slot,
            telemetry: None,
        });
        let took = SignedDuration::try_from_secs_f64(measured.seconds).unwrap_or_default();
        self.at = self.at.checked_add(took).unwrap_or(self.at);
        let ledger = Ledger {
            workload: measured.seconds,
            total: measured.seconds,
            ..Ledger::default()
        };
        let trial = slot.trial;
        self.push(match &measured.failure {
            Some(message) => Event::TrialFailed {
                trial,
                kind: FailureKind::Trial,
                message: message.clone(),
                ledger,
            },
            None => Event::TrialFinished {
                trial,
                samples: measured.samples.clone(),
                evidence: Vec::new(),
                warnings: Vec::new(),
                ledger,
            },
        });
    }
}

fn save(folder: &RunFolder, entries: &[Entry]) -> Result<(), Error> {
    let path = folder.events();
    let failed = |cause: std::io::Error| record::Error::io("write", &path, cause);
    let created = folder.opened().create_new(record::folder::EVENTS);
    let mut file = created.map_err(record::Error::from)?;
    for entry in entries {
        let mut line = serde_json::to_vec(entry).map_err(|error| failed(error.into()))?;
        line.push(b'\n');
        file.write_all(&line).map_err(failed)?;
    }
    file.sync_all().map_err(failed)?;
    Ok(())
}
