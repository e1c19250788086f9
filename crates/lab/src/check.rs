//! The check that follows a workload: the filesystem is unmounted and its own checker timed.
//!
//! The rig runs the program and knows its passes; here each pass becomes a phase of the trial like
//! any other, with the counters of memory management and iostat's and top's rows. The program
//! never waits for either: its passes are known from its output, and another thread looks.
//!
//! All that the program printed is kept in the run's folder, of every check: a mail about a slow or
//! failing check is answered with that output. A check that finds errors, crashes or runs out of
//! time makes its trial invalid, because the workload before it should have left a clean filesystem.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use progress::{Progress, Step};
use record::{Event, MemoryPressure, Usage};
use rig::Prepared;
use rig::fsck::{self, Verdict};
use rundir::RunDir;
use study::{CheckSpec, Checker, FilesystemKind};
use workload::PhaseReport;

use crate::checked::Checked;
use crate::interrupt::Interrupt;
use crate::midphase_stats::{MidphaseSampler, Pace};
use crate::watch::Watcher;
use crate::{convert, estimate, pressure};

/// Name of the folder of kept outputs in a run's folder.
const FOLDER: &str = "checks";

/// A check to run.
pub(crate) struct Job<'a> {
    /// Number of the trial.
    pub(crate) trial: u32,
    /// What to check: unmounted already.
    pub(crate) prepared: &'a Prepared,
    pub(crate) kind: FilesystemKind,
    pub(crate) spec: &'a CheckSpec,
    /// Bytes of memory that it may lock; none: any number.
    pub(crate) locked: Option<u64>,
    /// The trial's limit of memory, bytes.
    pub(crate) memory: Option<u64>,
    /// Whether `fslab check` records its requests.
    pub(crate) recorded: bool,
    /// The run's folder.
    pub(crate) folder: &'a RunDir,
    pub(crate) watcher: &'a dyn Watcher,
    pub(crate) interrupt: &'a Interrupt,
}

/// Runs it.
///
/// # Errors
/// What keeps the program from running at all; an interrupt.
pub(crate) fn run(job: &Job<'_>, device: &Path) -> rig::Result<Checked> {
    let request = fsck::Request {
        fslab: job.spec.checker == Checker::Fslab,
        kind: job.kind.name().into(),
        device: device.to_owned(),
        block_name: job.prepared.block_name().map(str::to_owned),
        extra: arguments(job),
        timeout: Duration::from_secs_f64(job.spec.timeout_seconds),
        locked: job.locked,
    };
    let observer = Passes {
        prepared: job.prepared,
        watcher: job.watcher,
        interrupt: job.interrupt,
        boundaries: Mutex::default(),
    };
    let looks = MidphaseSampler::below(job.prepared.block_name(), Pace::Even);
    observer.boundary("check");
    looks.begin();
    let report = fsck::run(&request, &observer)?;
    looks.rest();
    observer.boundary("");
    let boundaries = Boundaries(observer.boundaries.into_inner().unwrap_or_default());
    let kept = keep(job.folder, job.trial, &report);
    let failure = failure(&report, &kept);
    let (mut events, mut samples) = (Vec::new(), convert::samples(&report.phases));
    for phase in &report.phases {
        let memory = boundaries.pressure(&phase.name);
        samples.extend(
            memory
                .iter()
                .flat_map(|m| pressure::samples(&phase.name, m)),
        );
        let (begin_ns, end_ns) = span(&report, &phase.name);
        events.push(Event::PhaseFinished {
            trial: job.trial,
            phase: phase.name.clone(),
            begin_ns,
            end_ns,
            detail: detail(phase, &report),
            usage: (phase.name == "check").then(|| usage(&report)),
            memory,
            middle: looks.of(begin_ns, end_ns),
        });
    }
    let evidence = report.phases.iter().flat_map(convert::phase_evidence);
    Ok(Checked {
        evidence: evidence.collect(),
        events,
        samples,
        failure,
    })
}

/// Arguments beyond those that are always given.
fn arguments(job: &Job<'_>) -> Vec<String> {
    let mut extra = extra(job.spec, job.kind, job.memory);
    if job.recorded && job.spec.checker == Checker::Fslab {
        let file = estimate::file(job.folder, job.trial, "check");
        // Without the folder the program says what it cannot write.
        let _ = job.folder.make_folder(estimate::FOLDER);
        extra.extend(["--record".to_owned(), file.display().to_string()]);
    }
    extra
}

/// Arguments of the study, and of the trial's limit of memory. A checker that plans its caches by the machine's memory gets three quarters of the trial's
/// limit, the share that xfs_repair takes of a machine's, unless the study says otherwise.
fn extra(spec: &CheckSpec, kind: FilesystemKind, memory: Option<u64>) -> Vec<String> {
    let mut extra = spec.extra(kind).to_vec();
    let option = kind.properties().checker.memory_option;
    let given = |option: &str| extra.iter().any(|word| word.starts_with(option));
    if spec.checker == Checker::Own
        && let (Some(option), Some(limit)) = (option, memory)
        && !given(option)
    {
        extra.extend([option.to_owned(), ((limit / 4 * 3) >> 20).to_string()]);
    }
    extra
}

/// The phase as JSON; with the whole check goes what the program is and counted.
fn detail(phase: &PhaseReport, report: &fsck::Report) -> serde_json::Value {
    let mut value = serde_json::to_value(phase).unwrap_or_default();
    if phase.name == "check"
        && let Some(map) = value.as_object_mut()
    {
        map.insert("argv".into(), report.argv.clone().into());
        map.insert("version".into(), report.version.clone().into());
        map.insert("explanation".into(), report.explanation.clone().into());
        let inventory = serde_json::to_value(report.inventory).unwrap_or_default();
        map.insert("inventory".into(), inventory);
    }
    value
}

/// When a phase ran, from the beginning of its first span to the end of its last.
fn span(report: &fsck::Report, phase: &str) -> (u64, u64) {
    let spans = || report.spans.iter().filter(|span| span.name == phase);
    (
        spans().map(|span| span.begin_ns).min().unwrap_or_default(),
        spans().map(|span| span.end_ns).max().unwrap_or_default(),
    )
}

/// What the program used, by wait4(2).
pub(crate) fn usage(report: &fsck::Report) -> Usage {
    let used = report.usage;
    Usage {
        of: program(report),
        elapsed: used.elapsed,
        user: used.user,
        system: used.system,
        max_rss: used.max_rss,
        inputs: used.inputs,
        outputs: used.outputs,
        major_faults: used.major_faults,
        minor_faults: used.minor_faults,
        voluntary_switches: used.voluntary_switches,
        involuntary_switches: used.involuntary_switches,
    }
}

/// Keeps what the program printed; where, or why not.
fn keep(run: &RunDir, trial: u32, report: &fsck::Report) -> Result<PathBuf, String> {
    let name = format!("{FOLDER}/trial-{:04}.txt", trial + 1);
    let text = format!(
        "# {}\n# {}\n# {}\n{}",
        report.argv.join(" "),
        report.version,
        report.explanation,
        report.output
    );
    run.replace(&name, text.as_bytes())
        .map_err(|error| error.to_string())?;
    Ok(run.path().join(name))
}

/// The program's name, without its path.
fn program(report: &fsck::Report) -> String {
    let path = report.argv.first().map(Path::new);
    path.and_then(Path::file_name)
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// What is wrong with a check, in a few words; none when it found the filesystem clean.
pub(crate) fn fault(report: &fsck::Report) -> Option<String> {
    let next = match report.verdict {
        Verdict::Clean => return None,
        Verdict::Errors => "the filesystem is damaged",
        Verdict::Operational => "the check did not do its work",
        Verdict::Crashed(_) => "the check did not end by itself",
        Verdict::TimedOut => {
            "allow it more seconds (check.timeout_seconds, or --timeout), or give it fewer files"
        }
    };
    let mut fault = format!("{}: {}: {next}", program(report), report.explanation);
    if report.verdict == Verdict::Operational {
        // The reason is in its last line.
        let mut lines = report.output.lines().map(str::trim);
        let last = lines.rfind(|line| !line.is_empty());
        fault.extend(last.map(|line| format!(" (it printed: {line})")));
    }
    Some(fault)
}

fn failure(report: &fsck::Report, kept: &Result<PathBuf, String>) -> Option<String> {
    let fault = fault(report)?;
    let output = match kept {
        Ok(path) => format!("its whole output is in {}", path.display()),
        Err(why) => format!("its output could not be kept: {why}"),
    };
    Some(format!("check: {fault}; {output}"))
}

/// What memory management had counted when a pass began.
struct Boundary {
    phase: String,
    reading: pressure::Reading,
}

/// The boundaries of a check, in order; the last is its end.
struct Boundaries(Vec<Boundary>);

impl Boundaries {
    /// What happened in a phase: from its first beginning to the beginning of what came after it.
    fn pressure(&self, phase: &str) -> Option<MemoryPressure> {
        let (first, last) = (self.0.first()?, self.0.last()?);
        if phase == "check" {
            return Some(first.reading.until(&last.reading));
        }
        let begin = self.0.iter().position(|found| found.phase == phase)?;
        let end = self.0.iter().rposition(|found| found.phase == phase)? + 1;
        Some(self.0[begin].reading.until(&self.0.get(end)?.reading))
    }
}

struct Passes<'a> {
    prepared: &'a Prepared,
    watcher: &'a dyn Watcher,
    interrupt: &'a Interrupt,
    boundaries: Mutex<Vec<Boundary>>,
}

impl Passes<'_> {
    fn boundary(&self, phase: &str) {
        if let Ok(mut all) = self.boundaries.lock() {
            all.push(Boundary {
                phase: phase.to_owned(),
                reading: pressure::Reading::now(self.prepared),
            });
        }
    }
}

impl Progress for Passes<'_> {
    fn inner(&self) -> &dyn Progress {
        self.watcher
    }

    /// The step of a pass has the name of its phase.
    fn begin(&self, step: Step) {
        let new = self
            .boundaries
            .lock()
            .is_ok_and(|all| all.last().is_none_or(|last| last.phase != step.name));
        if new {
            self.boundary(&step.name);
        }
        self.watcher.begin(step);
    }

    fn cancelled(&self) -> bool {
        self.interrupt.is_raised()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xfs_repair_gets_the_limit_of_memory() {
        let limit = Some(2048 << 20);
        let mut spec = CheckSpec::default();
        let of = |spec: &CheckSpec, kind, memory| extra(spec, kind, memory).join(" ");
        assert_eq!(of(&spec, FilesystemKind::Xfs, limit), "-m 1536");
        assert_eq!(of(&spec, FilesystemKind::Xfs, None), "");
        assert_eq!(of(&spec, FilesystemKind::Ext4, limit), "");
        spec.xfs_repair = vec!["-m".into(), "700".into()];
        assert_eq!(of(&spec, FilesystemKind::Xfs, limit), "-m 700");
        spec.xfs_repair.clear();
        spec.checker = Checker::Fslab;
        assert_eq!(of(&spec, FilesystemKind::Xfs, limit), "");
    }
}
