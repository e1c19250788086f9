//! One workload alone, in a directory that is there: `fslab bench`.

use std::io;
use std::path::Path;
use std::sync::Mutex;

use record::Usage;
use workload::{Observer, Outcome, PhaseReport, Progress, age, fill, stream, throughput, tree};

use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::observer::cold;
use crate::open_phases::Open;
use crate::watch::Watcher;
use crate::{preflight, usage};

/// What a workload measured.
#[derive(Debug)]
pub struct Measured {
    /// Its report; of a workload that failed, the phases that were measured before.
    pub outcome: Outcome,
    /// What each undivided phase used, with the phase's name.
    pub usages: Vec<(String, Usage)>,
    /// Why it ended early.
    pub error: Option<Error>,
}

struct BenchObserver<'a> {
    dir: &'a Path,
    watcher: &'a dyn Watcher,
    interrupt: &'a Interrupt,
    open: Open<(u64, usage::Reading)>,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    phases: Vec<PhaseReport>,
    usages: Vec<(String, Usage)>,
}

impl Observer for BenchObserver<'_> {
    fn phase_started(&self, name: &str) {
        self.watcher.phase(name);
        self.open
            .begin(name, || (workload::clock::now_ns(), usage::Reading::now()));
    }

    fn phase_finished(&self, phase: &PhaseReport) {
        let end_ns = workload::clock::now_ns();
        let begun = self.open.end(&phase.name).filter(|begun| begun.alone);
        let usage = begun.map(|begun| {
            let (begin_ns, used) = begun.reading;
            used.until_now(phase, workload::clock::seconds(begin_ns, end_ns))
        });
        if let Ok(mut seen) = self.seen.lock() {
            seen.usages
                .extend(usage.map(|usage| (phase.name.clone(), usage)));
            seen.phases.push(phase.clone());
        }
    }

    fn progress(&self, progress: &Progress) {
        self.watcher.progress(progress);
    }

    fn drop_caches(&self, files: &[&Path]) -> io::Result<workload::Evidence> {
        rig::cache::drop_and_prove(self.dir, files, &[])
            .map(|proof| cold(&proof))
            .map_err(io::Error::other)
    }

    fn cancelled(&self) -> bool {
        self.interrupt.is_raised()
    }
}

/// Runs `work` under an observer. A workload that fails after it has measured something gives that
/// with its error.
fn observed(
    dir: &Path,
    name: &str,
    watcher: &dyn Watcher,
    interrupt: &Interrupt,
    work: impl FnOnce(&dyn Observer) -> Result<Outcome, workload::Error>,
) -> Result<Measured, Error> {
    let observer = BenchObserver {
        dir,
        watcher,
        interrupt,
        open: Open::default(),
        seen: Mutex::default(),
    };
    let result = work(&observer);
    let seen = observer.seen.into_inner().unwrap_or_default();
    match result {
        Ok(outcome) => Ok(Measured {
            outcome,
            usages: seen.usages,
            error: None,
        }),
        Err(error) if seen.phases.is_empty() => Err(error.into()),
        Err(error) => Ok(Measured {
            outcome: Outcome {
                workload: name.to_owned(),
                phases: seen.phases,
                warnings: vec!["it ended early: these are the phases until then".into()],
                ..Outcome::default()
            },
            usages: seen.usages,
            error: Some(error.into()),
        }),
    }
}

/// Runs `throughput`.
///
/// # Errors
/// Options that cannot be used, and whatever stops the workload.
pub fn throughput(
    options: &throughput::Options,
    watcher: &dyn Watcher,
    interrupt: &Interrupt,
) -> Result<Measured, Error> {
    preflight::directory(&options.dir)?;
    observed(&options.dir, "throughput", watcher, interrupt, |observer| {
        throughput::run(options, observer)
    })
}

/// Runs `tree`.
///
/// # Errors
/// Options that cannot be used, and whatever stops the workload.
pub fn tree(
    options: &tree::Options,
    watcher: &dyn Watcher,
    interrupt: &Interrupt,
) -> Result<Measured, Error> {
    preflight::directory(&options.dir)?;
    observed(&options.dir, "tree", watcher, interrupt, |observer| {
        tree::run(options, observer)
    })
}

/// Runs `stream`. A directory that is only read need not be writable.
///
/// # Errors
/// Options that cannot be used, and whatever stops the workload.
pub fn stream(
    options: &stream::Options,
    watcher: &dyn Watcher,
    interrupt: &Interrupt,
) -> Result<Measured, Error> {
    if options.test.writes() {
        preflight::directory(&options.dir)?;
    } else {
        preflight::present(&options.dir)?;
    }
    observed(&options.dir, "stream", watcher, interrupt, |observer| {
        stream::run(options, observer)
    })
}

/// Runs `fill`. Its base directories must be there: a mistyped one must not be made and filled.
///
/// # Errors
/// Options that cannot be used, and whatever stops the workload before it has measured anything.
pub fn fill(
    options: &fill::Options,
    watcher: &dyn Watcher,
    interrupt: &Interrupt,
) -> Result<Measured, Error> {
    for base in &options.bases {
        preflight::directory(base)?;
    }
    let dir = options.bases.first().map_or(Path::new("."), |base| base);
    observed(dir, "fill", watcher, interrupt, |observer| {
        fill::run(options, observer)
    })
}

/// Runs `age`.
///
/// # Errors
/// Options that cannot be used, and whatever stops the workload.
pub fn age(
    options: &age::Options,
    watcher: &dyn Watcher,
    interrupt: &Interrupt,
) -> Result<Measured, Error> {
    preflight::directory(&options.dir)?;
    observed(&options.dir, "age", watcher, interrupt, |observer| {
        age::run(options, observer)
    })
}
