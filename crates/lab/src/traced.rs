//! A block trace of a trial: recorded while its workload and check run, explained when it is over.
//!
//! What is traced is the device that the filesystem is on. Below a loop image the host's disk is traced as
//! well, for there a reader finds what became of the image's requests; whatever else that disk did is in
//! its trace too, the writing of the trace among it. The figures that become samples are those of the
//! filesystem's device.
//!
//! Tracing changes settings of the whole machine, so the run's undo journal knows of it before it begins,
//! as of a mount: after a kill -9 `fslab clean` finds it there. A trial that was to be traced and cannot be
//! is no trial: its cell fails, because an untraced run under the name of a traced one would make the
//! cost of tracing look like nothing.
//!
//! Traces are kept, and a long trial at many requests a second writes much. So a trace has a bound: a
//! quarter of what is free in the run's folder, at most [`MOST`]. What reaches it is stopped and marked;
//! the trial goes on.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use blktrace::analysis::window::{self, Figures, Places, Window};
use probe::capture::{self, BUFFER, Changes, Mask, Options, Plan, Recording, Summary};
use record::{Event, Evidence, RunFolder, Sample};
use rig::Prepared;
use rig::host::Host;
use rig::undo::{Journal, Step};
use study::Clock;
use workload::clock::now_ns;

/// The most bytes that the traces of one trial may take.
const MOST: u64 = 16 << 30;
/// How often their size is looked at.
const LOOK: Duration = Duration::from_millis(250);
/// Name of the figures of a whole trace among those of phases.
const WHOLE: &str = "trial";

/// A device to be traced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Subject {
    /// Its node.
    pub(crate) node: PathBuf,
    /// What it is to the filesystem.
    pub(crate) role: &'static str,
}

impl Subject {
    /// A device by its kernel name.
    pub(crate) fn named(name: &str, role: &'static str) -> Subject {
        Subject {
            // sysfs writes a slash as an exclamation mark (cciss!c0d0).
            node: Path::new("/dev").join(name.replace('!', "/")),
            role,
        }
    }
}

/// The devices of a trial, the filesystem's first. `disk` is the one under the run's folder.
///
/// # Errors
/// One line: a directory that lies on no block device.
pub(crate) fn subjects(prepared: &Prepared, disk: Option<&str>) -> Result<Vec<Subject>, String> {
    if let Some(node) = prepared.device_node() {
        let mut all = vec![Subject {
            node: node.to_path_buf(),
            role: "the filesystem's device",
        }];
        let name = prepared.block_name().unwrap_or_default();
        let disk = disk.filter(|_| name.starts_with("loop"));
        all.extend(disk.map(|disk| Subject::named(disk, "the disk under the image")));
        return Ok(all);
    }
    let host = Host::default();
    let root = prepared.mount_point();
    let names = host.device_below(root);
    let name = names.first().map(|name| host.disk_of(name));
    let name = name.ok_or_else(|| {
        format!(
            "{}: it lies on {}, which has no block device; name a directory on a disk, or take \
             trace = true away",
            root.display(),
            prepared.facts().mounted_type
        )
    })?;
    Ok(vec![Subject::named(&name, "the disk under the directory")])
}

/// A recording that runs.
pub(crate) struct Traced {
    shared: Arc<Shared>,
    watcher: Option<JoinHandle<()>>,
    journal: Arc<Journal>,
    step: u64,
    changes: Changes,
    subjects: Vec<Subject>,
    /// Folder of the files, and the same within the run's.
    out: PathBuf,
    below: String,
    begin_ns: u64,
    notes: Vec<String>,
    closed: bool,
}

struct Shared {
    out: PathBuf,
    bound: u64,
    state: Mutex<State>,
}

enum State {
    Runs(Box<Recording>),
    /// It reached the bound, and this came of it.
    Full(Result<Vec<Summary>, capture::Error>),
    Over,
}

/// What was recorded.
pub(crate) struct Recorded {
    traces: Vec<(Summary, &'static str)>,
    out: PathBuf,
    below: String,
    whole: Window,
    notes: Vec<String>,
    /// It was stopped at its bound.
    full: Option<u64>,
}

impl Traced {
    /// Starts. The first of `subjects` must be traced; the others are left out, and it is noted why,
    /// when they cannot be.
    ///
    /// # Errors
    /// One line: what keeps the first from being traced.
    pub(crate) fn start(
        journal: &Arc<Journal>,
        folder: &Path,
        trial: u32,
        mut subjects: Vec<Subject>,
    ) -> Result<Traced, String> {
        let below = RunFolder::traces_of(trial);
        let out = folder.join(&below);
        // An earlier attempt at this trial.
        let _ = fs::remove_dir_all(&out);
        let failed = |error: std::io::Error| format!("{}: {error}", out.display());
        fs::create_dir_all(&out).map_err(failed)?;
        let mut notes = Vec::new();
        let mut plan = plan(&subjects, &out);
        if let (Err(error), true) = (&plan, subjects.len() > 1) {
            notes.push(format!("{} is not traced: {error}", subjects[1].role));
            subjects.truncate(1);
            plan = self::plan(&subjects, &out);
        }
        let plan = plan.map_err(|error| error.to_string())?;
        let changes = plan.changes().clone();
        let made = journal.will_make(Step::Trace {
            changes: changes.clone(),
        });
        let step = made.map_err(|error| error.to_string())?;
        let recording = match plan.start() {
            Ok(recording) => recording,
            Err(error) => {
                close(journal, step, &changes);
                return Err(error.to_string());
            }
        };
        let shared = Arc::new(Shared {
            bound: bound(&out),
            out: out.clone(),
            state: Mutex::new(State::Runs(Box::new(recording))),
        });
        let theirs = Arc::clone(&shared);
        let watcher = Builder::new().name("fslab-trace-size".into());
        Ok(Traced {
            // Without a thread there is no bound; the trace is as good.
            watcher: watcher.spawn(move || theirs.watch()).ok(),
            shared,
            journal: Arc::clone(journal),
            step,
            changes,
            subjects,
            out,
            below,
            begin_ns: now_ns(),
            notes,
            closed: false,
        })
    }

    /// Ends it and takes everything back.
    ///
    /// # Errors
    /// One line: what could not be written or restored.
    pub(crate) fn finish(mut self) -> Result<Recorded, String> {
        let end_ns = now_ns();
        let mut full = None;
        let summaries = match self.shared.end() {
            State::Runs(recording) => recording.finish(),
            State::Full(summaries) => {
                full = Some(self.shared.bound);
                summaries
            }
            State::Over => Ok(Vec::new()),
        };
        self.close();
        let summaries = summaries.map_err(|error| error.to_string())?;
        let roles = self.subjects.iter().map(|subject| subject.role);
        Ok(Recorded {
            traces: summaries.into_iter().zip(roles).collect(),
            out: std::mem::take(&mut self.out),
            below: std::mem::take(&mut self.below),
            whole: Window {
                begin_ns: self.begin_ns,
                end_ns,
            },
            notes: std::mem::take(&mut self.notes),
            full,
        })
    }

    fn close(&mut self) {
        if let Some(watcher) = self.watcher.take() {
            watcher.thread().unpark();
            // It has nothing to tell.
            let _ = watcher.join();
        }
        if !self.closed {
            self.closed = true;
            close(&self.journal, self.step, &self.changes);
        }
    }
}

impl Drop for Traced {
    /// A trial that failed: its trace goes back with everything else.
    fn drop(&mut self) {
        drop(self.shared.end());
        self.close();
    }
}

fn plan(subjects: &[Subject], out: &Path) -> Result<Plan, capture::Error> {
    Plan::new(&Options {
        devices: subjects
            .iter()
            .map(|subject| subject.node.clone())
            .collect(),
        out: out.to_owned(),
        mask: Mask::default(),
        buffer: BUFFER,
    })
}

/// What was changed is changed back; else the step stays for `fslab clean`.
fn close(journal: &Journal, step: u64, changes: &Changes) {
    if !changes.in_force() {
        // A line that is missing makes `clean` look once more.
        let _ = journal.undone(step);
    }
}

fn bound(out: &Path) -> u64 {
    let free = rustix::fs::statvfs(out).map(|stat| stat.f_bavail.saturating_mul(stat.f_frsize));
    free.map_or(MOST, |free| (free / 4).min(MOST))
}

impl Shared {
    fn end(&self) -> State {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *state, State::Over)
    }

    /// Stops the recording when its files have become too large.
    fn watch(&self) {
        loop {
            std::thread::park_timeout(LOOK);
            let size = size(&self.out);
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            match std::mem::replace(&mut *state, State::Over) {
                State::Runs(recording) if size < self.bound => *state = State::Runs(recording),
                State::Runs(recording) => *state = State::Full(recording.finish()),
                other => {
                    *state = other;
                    return;
                }
            }
        }
    }
}

/// Bytes of the files in a folder.
fn size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.filter_map(|entry| Some(entry.metadata().ok()?.len()));
    sizes.sum()
}

/// When the phases of a trial ran, as its events tell.
#[derive(Debug, Default)]
pub(crate) struct Spans(Vec<(String, Window)>);

impl Spans {
    /// Takes note of an event. A phase without counters of its own lies between the operations of
    /// others: what was traced meanwhile was not done for it alone. A check's passes follow each other.
    pub(crate) fn note(&mut self, event: &Event) {
        if let Event::PhaseFinished {
            phase,
            begin_ns,
            end_ns,
            usage,
            ..
        } = event
            && (usage.is_some() || phase.starts_with("check_"))
        {
            let window = Window {
                begin_ns: *begin_ns,
                end_ns: *end_ns,
            };
            self.0.push((phase.clone(), window));
        }
    }
}

/// What a trial's traces give to its record.
#[derive(Default)]
pub(crate) struct Explained {
    pub(crate) traces: Vec<record::Trace>,
    pub(crate) samples: Vec<Sample>,
    pub(crate) evidence: Vec<Evidence>,
    pub(crate) warnings: Vec<String>,
}

impl Recorded {
    /// Explains the traces by phase. `places` says what lies where on the first device.
    pub(crate) fn explain(&self, spans: &Spans, places: &Places) -> Explained {
        let mut explained = Explained::default();
        let nowhere = Places::default();
        for (at, (summary, role)) in self.traces.iter().enumerate() {
            let places = if at == 0 { places } else { &nowhere };
            let (trace, samples) = self.one(summary, role, spans, places);
            if at == 0 {
                explained.samples = samples;
            }
            explained.traces.push(trace);
        }
        let (evidence, warning) = self.complete();
        explained.evidence.push(evidence);
        explained.warnings.extend(warning);
        explained
    }

    /// A device's trace, and the samples it gives.
    fn one(
        &self,
        summary: &Summary,
        role: &str,
        spans: &Spans,
        places: &Places,
    ) -> (record::Trace, Vec<Sample>) {
        let mut trace = record::Trace {
            base: format!("{}/{}", self.below, summary.device),
            device: format!("{} ({role})", summary.device),
            events: summary.events,
            lost: summary.lost,
            bytes: summary.bytes,
            figures: BTreeMap::new(),
            notes: self.notes.clone(),
        };
        if summary.lost_is_shared {
            trace
                .notes
                .push("events were lost of all traced devices together".into());
        }
        if summary.traces_itself {
            trace
                .notes
                .push("the trace was written to this disk, and is part of it".into());
        }
        let windows: Vec<Window> = spans.0.iter().map(|(_, window)| *window).collect();
        let windows = [&windows[..], &[self.whole]].concat();
        let figures = blktrace::Trace::open(&self.out.join(&summary.device))
            .and_then(|mut trace| window::figures(&mut trace, &windows, places));
        let figures = match figures {
            Ok(figures) => figures,
            // A device that had nothing to do.
            Err(blktrace::Error::Empty { .. }) => Vec::new(),
            Err(error) => {
                trace.notes.push(format!("not analysed: {error}"));
                Vec::new()
            }
        };
        let names = spans.0.iter().map(|(phase, _)| phase.as_str());
        let mut samples = Vec::new();
        for (phase, figures) in names.chain([WHOLE]).zip(figures) {
            let named = named(figures, summary.lost);
            if phase != WHOLE {
                samples.extend(
                    named
                        .iter()
                        .map(|(name, value)| sample(phase, name, *value)),
                );
            }
            trace.figures.insert(phase.to_owned(), named);
        }
        (trace, samples)
    }

    /// Whether nothing is missing.
    fn complete(&self) -> (Evidence, Option<String>) {
        let lost: u64 = self
            .traces
            .iter()
            .map(|(summary, _)| summary.lost)
            .max()
            .unwrap_or(0);
        let events: u64 = self.traces.iter().map(|(summary, _)| summary.events).sum();
        let bytes: u64 = self.traces.iter().map(|(summary, _)| summary.bytes).sum();
        let broken = self.traces.iter().any(|(summary, _)| summary.degraded);
        let mut detail = format!("{events} events in {bytes} bytes, {lost} lost");
        let mut warning = broken.then(|| {
            format!("{lost} events of the block trace were lost: its figures are too low")
        });
        if let Some(bound) = self.full {
            detail.push_str("; stopped at its bound");
            warning = Some(format!(
                "the block trace was stopped at {} MiB, its bound: its figures are of a part of the \
                 trial; a shorter trial, or more free space for the run's folder, is traced whole",
                bound >> 20
            ));
        }
        let evidence = Evidence {
            phase: None,
            name: "trace_complete".into(),
            holds: Some(warning.is_none()),
            detail,
        };
        (evidence, warning)
    }
}

/// Figures with the losses, which nobody can date and so count for every phase.
fn named(figures: Figures, lost: u64) -> BTreeMap<String, f64> {
    let lost = ("trace_lost", lost as f64);
    let all = figures.into_iter().chain([lost]);
    all.map(|(name, value)| (name.to_owned(), value)).collect()
}

fn sample(phase: &str, name: &str, value: f64) -> Sample {
    Sample {
        phase: phase.to_owned(),
        metric: name.to_owned(),
        clock: Clock::Original,
        value,
        unit: unit(name).into(),
    }
}

/// The unit of a figure of a trace.
fn unit(name: &str) -> &'static str {
    match name {
        "trace_bio_mean" | "trace_request_mean" | "trace_seek_mean" => "bytes",
        "trace_merge_ratio" | "trace_sequential" | "trace_busy" => "ratio",
        "trace_depth" => "count",
        _ if name.ends_with("_bytes") => "bytes",
        _ if name.ends_with("_share") => "ratio",
        _ if name.contains("2c_") => "s",
        _ => "count",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(device: &str, lost: u64) -> Summary {
        Summary {
            format: capture::FORMAT,
            device: device.into(),
            number: "8:0".into(),
            way: "blk tracer".into(),
            clock: "mono".into(),
            kernel: "6.18.0".into(),
            seconds: 1.0,
            actions: "all".into(),
            buffer: BUFFER,
            cpus: Vec::new(),
            events: 10,
            bytes: 480,
            lost,
            lost_is_shared: false,
            broken_pages: 0,
            degraded: lost > 0,
            traces_itself: false,
        }
    }

    fn recorded(out: &Path, lost: u64) -> Recorded {
        Recorded {
            traces: vec![(summary("sda", lost), "the filesystem's device")],
            out: out.to_owned(),
            below: "traces/trial-0001".into(),
            whole: Window {
                begin_ns: 0,
                end_ns: u64::MAX,
            },
            notes: Vec::new(),
            full: None,
        }
    }

    fn spans() -> Spans {
        let mut spans = Spans::default();
        for (phase, usage) in [
            ("write", Some(record::Usage::default())),
            ("patch", None),
            ("check_pass_1", None),
        ] {
            spans.note(&Event::PhaseFinished {
                trial: 0,
                phase: phase.into(),
                begin_ns: 0,
                end_ns: u64::MAX,
                detail: serde_json::Value::Null,
                usage,
                memory: None,
                middle: None,
            });
        }
        spans
    }

    #[test]
    fn a_trace_gives_figures_of_each_phase_that_ran_alone() {
        let folder = tempfile::tempdir().unwrap();
        let forged = blktrace::forge::Forge::plain(1, 200);
        forged.write(folder.path(), "sda").unwrap();
        let explained = recorded(folder.path(), 0).explain(&spans(), &Places::default());
        let trace = &explained.traces[0];
        let phases: Vec<&String> = trace.figures.keys().collect();
        assert_eq!(phases, ["check_pass_1", "trial", "write"]);
        assert_eq!(trace.base, "traces/trial-0001/sda");
        assert_eq!(trace.device, "sda (the filesystem's device)");
        assert_eq!(trace.figures["write"]["trace_lost"], 0.0);
        assert_eq!(trace.figures["write"], trace.figures["trial"]);
        let bios = explained.samples.iter().find(|s| s.metric == "trace_bios");
        assert_eq!(bios.unwrap().value, trace.figures["write"]["trace_bios"]);
        assert!(explained.samples.iter().all(|s| s.phase != "trial"));
        assert_eq!(explained.evidence[0].holds, Some(true));
        assert_eq!(explained.warnings, [""; 0]);
        // Every figure is a metric that studies may name.
        let known = study::names::METRICS;
        assert!(
            explained
                .samples
                .iter()
                .all(|s| known.contains(&s.metric.as_str()))
        );
    }

    #[test]
    fn losses_and_a_bound_that_was_reached_are_marked() {
        let folder = tempfile::tempdir().unwrap();
        let explained = recorded(folder.path(), 7).explain(&spans(), &Places::default());
        assert_eq!(explained.evidence[0].name, "trace_complete");
        assert_eq!(explained.evidence[0].holds, Some(false));
        assert!(
            explained.warnings[0].contains("7 events"),
            "{:?}",
            explained.warnings
        );
        let notes = &explained.traces[0].notes;
        assert!(notes[0].starts_with("not analysed: "), "{notes:?}");
        let mut full = recorded(folder.path(), 0);
        full.full = Some(5 << 20);
        let explained = full.explain(&spans(), &Places::default());
        assert_eq!(explained.evidence[0].holds, Some(false));
        assert!(
            explained.warnings[0].contains("stopped at 5 MiB"),
            "{:?}",
            explained.warnings
        );
    }

    #[test]
    fn units_of_all_figures() {
        let of = |wanted: &str| {
            let names = study::names::METRICS.iter();
            let traced = names.filter(|name| name.starts_with("trace_"));
            traced.filter(|name| unit(name) == wanted).count()
        };
        assert_eq!(
            (of("bytes"), of("ratio"), of("s"), of("count")),
            (6, 5, 4, 8)
        );
        assert_eq!(
            Subject::named("cciss!c0d0", "x").node,
            Path::new("/dev/cciss/c0d0")
        );
    }
}
