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
mod recorder;
mod settle;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use ::check::strategy;
use blockio::{BlockSource, Direct};
use modelled::checker::Record;
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
use recorder::Recorder;
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
    /// Whether its requests are recorded.
    pub(crate) recorded: bool,
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
    /// Its requests, where they were recorded; or why they could not be kept.
    pub(crate) record: Option<Result<Record, String>>,
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
    let (phases, whole, record) = read?;
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
        record,
    })
}

/// The phases, the event of the last, and the requests.
type Reading = (Vec<PhaseReport>, Event, Option<Result<Record, String>>);

/// Opens the device, lets the reader of the cell read it, and reports the whole.
fn read(job: &Job<'_>, observer: &dyn Observer) -> Result<Reading, Stop> {
    let missing = || Stop::NoDevice(job.prepared.mount_point().to_owned());
    let device = job.prepared.device_node().ok_or_else(missing)?;
    let source = Direct::open(device)?;
    let reads = match job.spec.reader {
        Reader::Check => own::read,
        // The filesystem's own checker is never asked here.
        Reader::Model | Reader::Fsck => model::read,
    };
    let from = Source {
        device,
        direct: &source,
        recorder: job.recorded.then(|| Recorder::new(&source)),
    };
    let Read {
        mut phases,
        whole,
        begin_ns,
        end_ns,
    } = reads(job, &from, observer)?;
    let record = from.recorder.map(Recorder::finish);
    let record = record.map(|record| record.map_err(|error| error.to_string()));
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
    Ok((phases, event, record))
}

/// What is read.
struct Source<'a> {
    device: &'a Path,
    direct: &'a Direct,
    /// Records the passes, where they are recorded.
    recorder: Option<Recorder<'a>>,
}

impl Source<'_> {
    /// What the passes read from.
    fn measured(&self) -> &dyn BlockSource {
        match &self.recorder {
            Some(recorder) => recorder.source(),
            None => self.direct,
        }
    }
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
    recorder: Option<&'a Recorder<'a>>,
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
        from: &'a Source<'a>,
        observer: &'a dyn Observer,
    ) -> Result<Passes<'a>, Stop> {
        let cold = observer::cold(&job.prepared.drop_device_caches()?);
        let resident = evidence::resident(from.device);
        let recorder = from.recorder.as_ref();
        // The superblock, which is read before the first pass, belongs to it.
        recorder.into_iter().for_each(Recorder::resume);
        Ok(Passes {
            device: from.device,
            recorder,
            cold,
            observer,
            resident,
            phases: Vec::new(),
        })
    }

    /// A pass begins; its step is reported by the reader.
    fn begins(&self, pass: &str) {
        self.recorder.into_iter().for_each(Recorder::pause);
        figures::forget_peak();
        self.observer.phase_started(&phase_of(pass));
        if let Some(recorder) = self.recorder {
            recorder.begins(pass);
        }
    }

    fn ended(&mut self, pass: &str, costs: &figures::Costs) {
        self.recorder.into_iter().for_each(Recorder::pause);
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
