//! The reading of 2011: all metadata of an unmounted filesystem, once.
//!
//! The workload has filled the filesystem through the kernel; what is measured begins when it is unmounted. The reader is the
//! cell's: the `model` with the switches of 2011, or [`own`], `fslab check`, which has none and reads as it does for its other callers. Both are on
//! O_DIRECT: through the page cache, the second reading of precache would find there what the reader's own cache had lost, and
//! nothing of the experiment would be left. (e2fsck and fsck.ocfs2 are programs: `scan_program`.)
//!
//! The passes are phases of the trial like any other, with the device's counters around each: the bytes that the
//! reader asked for are compared with those.

mod evidence;
mod figures;
mod model;
mod own;
mod settle;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use ::check::strategy;
use blockio::Direct;
use record::{Event, FailureKind, Sample};
use rig::Prepared;
use study::{FilesystemKind, Reader, ScanSpec};
use workload::{Evidence, Observer, PhaseReport};

use crate::convert;
use crate::executor::Emit;
use crate::interrupt::Interrupt;
use crate::observer::{self, ObserverOptions, TrialObserver};
use crate::watch::Watcher;

pub(crate) use model::metadata;
pub(crate) use settle::settle;

/// The phase of all passes together.
const WHOLE: &str = "scan";

/// Why there is no reading in a directory.
pub(crate) const NO_DEVICE: &str = "a workload of kind \"scan\" reads the filesystem's own device; let images be made, \
     or give a disk (no --dir)";

/// A reading to do.
pub(crate) struct Job<'a> {
    /// What is unmounted.
    pub(crate) prepared: &'a Prepared,
    pub(crate) kind: FilesystemKind,
    pub(crate) spec: &'a ScanSpec,
    /// Bytes of all metadata, where they are known: the same volume was read before.
    pub(crate) metadata: Option<u64>,
    /// The trial's number.
    pub(crate) trial: u32,
    pub(crate) interrupt: &'a Interrupt,
    pub(crate) watcher: &'a dyn Watcher,
}

/// What it gives to its trial.
pub(crate) struct Scanned {
    pub(crate) samples: Vec<Sample>,
    pub(crate) evidence: Vec<record::Evidence>,
    /// Bytes of all metadata, where the reader has counted them.
    pub(crate) metadata: Option<u64>,
}

/// Why there is none.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Stop {
    /// Nothing was made that could be read.
    #[error("{}: {NO_DEVICE}", .0.display())]
    NoDevice(PathBuf),
    /// Caches could not be dropped.
    #[error(transparent)]
    Rig(#[from] rig::Error),
    /// The device cannot be read past the page cache.
    #[error(transparent)]
    Open(#[from] blockio::OpenError),
    /// It cannot be read, or holds nothing to read; or the run is interrupted.
    #[error(transparent)]
    Reading(#[from] strategy::Error),
    /// `fslab check` gave no verdict.
    #[error(transparent)]
    Check(#[from] ::check::Failure),
}

impl Stop {
    /// What it means for the trials to come.
    pub(crate) fn kind(&self, interrupt: &Interrupt) -> FailureKind {
        match self {
            _ if interrupt.is_raised() => FailureKind::Interrupted,
            // Another trial's device would refuse as well.
            Stop::NoDevice(_) | Stop::Open(_) => FailureKind::Cell,
            Stop::Rig(_) | Stop::Reading(_) | Stop::Check(_) => FailureKind::Trial,
        }
    }
}

/// Reads all metadata of what is unmounted; each pass, and all of them as the last phase.
pub(crate) fn run(job: &Job<'_>, emit: &mut Emit<'_>) -> Result<Scanned, Stop> {
    let asked = ObserverOptions {
        cutter: None,
        looker: None,
        traced: None,
        kept: true,
        // Judged with its trial.
        noise: None,
    };
    let observer = TrialObserver::new(
        job.trial,
        asked,
        job.prepared,
        job.interrupt,
        job.watcher,
        &mut *emit,
    );
    let read = read(job, &observer);
    let seen = observer.into_seen();
    let (phases, whole) = read?;
    emit(whole);
    let metadata = phases
        .last()
        .and_then(|whole| whole.figures.get("metadata_bytes"));
    let metadata = metadata.map(|bytes| *bytes as u64);
    let mut samples = convert::samples(&phases);
    samples.extend(seen.samples);
    let mut evidence: Vec<_> = phases.iter().flat_map(convert::phase_evidence).collect();
    evidence.extend(seen.evidence);
    Ok(Scanned {
        samples,
        evidence,
        metadata,
    })
}

/// Opens the device, lets the reader of the cell read it, and reports the whole: the phases, and the event of the last.
fn read(job: &Job<'_>, observer: &dyn Observer) -> Result<(Vec<PhaseReport>, Event), Stop> {
    let missing = || Stop::NoDevice(job.prepared.mount_point().to_owned());
    let device = job.prepared.device_node().ok_or_else(missing)?;
    let source = Direct::open(device)?;
    let reads = match job.spec.reader {
        Reader::Check => own::read,
        // The filesystem's own checker is never asked here.
        Reader::Model | Reader::Fsck => model::read,
    };
    let Read {
        mut phases,
        whole,
        begin_ns,
        end_ns,
    } = reads(job, &source, device, observer)?;
    let event = Event::PhaseFinished {
        trial: job.trial,
        phase: WHOLE.into(),
        begin_ns,
        end_ns,
        detail: serde_json::to_value(&whole).unwrap_or_default(),
        usage: None,
        memory: None,
        middle: None,
    };
    phases.push(whole);
    Ok((phases, event))
}

/// What a reader leaves: each pass, all of them, and when.
struct Read {
    phases: Vec<PhaseReport>,
    whole: PhaseReport,
    begin_ns: u64,
    end_ns: u64,
}

/// Turns passes into phases as they come: reports to the observer, and compares the page cache's growth with each.
struct Passes<'a> {
    device: &'a Path,
    cold: Evidence,
    observer: &'a dyn Observer,
    /// Pages of the device in the page cache when the pass began.
    resident: Result<u64, String>,
    phases: Vec<PhaseReport>,
}

impl<'a> Passes<'a> {
    /// Drops all caches of the device before the first.
    fn cold(
        job: &Job<'_>,
        device: &'a Path,
        observer: &'a dyn Observer,
    ) -> Result<Passes<'a>, Stop> {
        let cold = observer::cold(&job.prepared.drop_device_caches()?);
        Ok(Passes {
            device,
            cold,
            observer,
            resident: evidence::resident(device),
            phases: Vec::new(),
        })
    }

    /// A pass begins; its step is reported by the reader.
    fn begins(&self, pass: &str) {
        figures::forget_peak();
        self.observer.phase_started(&phase_of(pass));
    }

    fn ended(&mut self, pass: &str, costs: &figures::Costs) {
        let now = evidence::resident(self.device);
        let before = std::mem::replace(&mut self.resident, now);
        let direct = evidence::direct(&before, &self.resident, costs.disk_bytes);
        let report = costs.phase(phase_of(pass), vec![self.cold.clone(), direct]);
        self.observer.phase_finished(&report);
        self.phases.push(report);
    }
}

fn phase_of(pass: &str) -> String {
    format!("{WHOLE}_pass_{pass}")
}

fn go_on(interrupt: &Interrupt) -> ControlFlow<()> {
    if interrupt.is_raised() {
        ControlFlow::Break(())
    } else {
        ControlFlow::Continue(())
    }
}
