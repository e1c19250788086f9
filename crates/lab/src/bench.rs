//! One workload alone, in an existing directory: `fslab bench`.

use std::io;
use std::path::Path;
use std::sync::Mutex;

use progress::Progress;
use record::Usage;
use workload::{Observer, Outcome, PhaseReport, Workload};

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
    seen: Mutex<BenchRecord>,
}

#[derive(Default)]
struct BenchRecord {
    phases: Vec<PhaseReport>,
    usages: Vec<(String, Usage)>,
}

impl Observer for BenchObserver<'_> {
    fn phase_started(&self, name: &str) {
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

    fn drop_caches(&self, files: &[&Path]) -> io::Result<workload::Evidence> {
        rig::cache::drop_and_prove(self.dir, files, &[])
            .map(|proof| cold(&proof))
            .map_err(io::Error::other)
    }
}

impl Progress for BenchObserver<'_> {
    fn inner(&self) -> &dyn Progress {
        self.watcher
    }

    fn cancelled(&self) -> bool {
        self.interrupt.is_raised()
    }
}

/// Runs a workload in existing directories. One that fails after it has measured something gives
/// that with its error.
///
/// # Errors
/// Directories that do not exist, or are not writable where the workload writes; parameters that
/// cannot be used; everything that stops the workload before it has measured anything.
pub fn run(
    workload: &dyn Workload,
    watcher: &dyn Watcher,
    interrupt: &Interrupt,
) -> Result<Measured, Error> {
    let dirs = workload.dirs();
    for dir in &dirs {
        if workload.writes() {
            // A mistyped directory must not be created and filled.
            preflight::directory(dir)?;
        } else {
            preflight::present(dir)?;
        }
    }
    let observer = BenchObserver {
        dir: dirs.first().copied().unwrap_or(Path::new(".")),
        watcher,
        interrupt,
        open: Open::default(),
        seen: Mutex::default(),
    };
    let result = workload.run(&observer);
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
                workload: workload.kind().to_owned(),
                phases: seen.phases,
                warnings: vec!["the workload ended early; these are the phases until then".into()],
                ..Outcome::default()
            },
            usages: seen.usages,
            error: Some(error.into()),
        }),
    }
}
