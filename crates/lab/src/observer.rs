//! What a running workload sees of the lab: a log for its phases, proof of cold caches, a flag.
//!
//! Each phase is bracketed by readings of counters, outside every clock: the device's, so that the
//! bytes a phase says it moved can be compared with the bytes the device moved; the process's and the
//! memory management's, which no report could reconstruct later. A phase that comes between the
//! operations of others (compilebench averages over runs of a kind) has no such readings of its own,
//! and gets none.

use std::io;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use blktrace::analysis::window::Places;
use probe::noise::SHORTEST;
use progress::Progress;
use record::{Event, Evidence, Sample};
use rig::Prepared;
use workload::{Observer, PhaseReport};

use crate::block_map;
use crate::crash::cut::Cutter;
use crate::executor::Emit;
use crate::interrupt::Interrupt;
use crate::layout::LayoutProbe;
use crate::midphase_stats::{MidphaseSampler, Pace};
use crate::noise::{self, NoiseMeter};
use crate::open_phases::{Begun, Open};
use crate::watch::Watcher;
use crate::{io_crosscheck, members, partial_result, pressure, usage};

/// What a phase began with.
struct Begin {
    at_ns: u64,
    disk: Option<io_crosscheck::Reading>,
    members: Vec<Option<io_crosscheck::Reading>>,
    used: usage::Reading,
    pressure: pressure::Reading,
    noise: Option<probe::noise::Reading>,
}

pub(crate) struct TrialObserver<'a> {
    trial: u32,
    device: Option<String>,
    prepared: &'a Prepared,
    interrupt: &'a Interrupt,
    watcher: &'a dyn Watcher,
    emit: Mutex<&'a mut Emit<'a>>,
    unrecorded: AtomicBool,
    /// What a phase wrote is still there when it ends.
    kept: bool,
    /// Cuts the power, where the study asks for it.
    cutter: Option<Cutter>,
    open: Open<Begin>,
    looks: MidphaseSampler,
    /// Reads the extents of the files, where the study asks for it.
    looker: Option<LayoutProbe>,
    /// Whether a trace needs the block map.
    traced: Option<Traced>,
    /// Reads what others do on the machine; none in a guest, whose host does.
    noise: Option<NoiseMeter>,
    seen: Mutex<Observations>,
}

/// How much is known of the files of a trial that is traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Traced {
    /// What a phase has written stays where it is: everything else is the filesystem's own.
    Whole,
    /// Files come and go.
    InPart,
}

/// What was observed besides what the workload itself reports.
#[derive(Default)]
pub(crate) struct Observations {
    pub(crate) evidence: Vec<Evidence>,
    pub(crate) samples: Vec<Sample>,
    /// The block map of the device.
    pub(crate) places: Places,
    /// The phases that were finished, where the power is cut: the workload then does not report them.
    pub(crate) finished: Vec<PhaseReport>,
}

/// What is observed and done besides reading counters.
pub(crate) struct ObserverOptions {
    pub(crate) cutter: Option<Cutter>,
    pub(crate) looker: Option<LayoutProbe>,
    pub(crate) traced: Option<Traced>,
    /// What a phase wrote is still there when it ends.
    pub(crate) kept: bool,
    pub(crate) noise: Option<NoiseMeter>,
}

impl<'a> TrialObserver<'a> {
    pub(crate) fn new(
        trial: u32,
        asked: ObserverOptions,
        prepared: &'a Prepared,
        interrupt: &'a Interrupt,
        watcher: &'a dyn Watcher,
        emit: &'a mut Emit<'a>,
    ) -> Self {
        let device = prepared.block_name().map(str::to_owned);
        TrialObserver {
            trial,
            looks: MidphaseSampler::below(device.as_deref(), Pace::Growing),
            device,
            prepared,
            interrupt,
            watcher,
            emit: Mutex::new(emit),
            unrecorded: AtomicBool::new(false),
            kept: asked.kept,
            cutter: asked.cutter,
            looker: asked.looker,
            traced: asked.traced,
            noise: asked.noise,
            open: Open::default(),
            seen: Mutex::default(),
        }
    }

    /// The power cut, and whether the workload was stopped for it.
    pub(crate) fn cutter(&self) -> Option<&Cutter> {
        self.cutter.as_ref()
    }

    pub(crate) fn into_seen(self) -> Observations {
        self.seen.into_inner().unwrap_or_default()
    }

    fn begin(&self) -> Begin {
        // The device last: the reading nearest to the phase should contain the least of the lab's own work.
        Begin {
            noise: self.noise.as_ref().map(NoiseMeter::read),
            pressure: pressure::Reading::now(self.prepared),
            used: usage::Reading::now(),
            members: members::now(self.prepared.members()),
            disk: io_crosscheck::now(self.device.as_deref()),
            at_ns: workload::clock::now_ns(),
        }
    }

    /// A phase has ended and is reported: the extents of its files are read outside any clock.
    fn look(&self, phase: &str) {
        if self.cancelled() {
            return;
        }
        let others = self.open.any();
        let found = self.looker.as_ref();
        if let Some(found) = found.and_then(|looker| looker.finished(phase, others)) {
            self.emit(Event::Layout {
                trial: self.trial,
                layout: found.layout,
            });
            if let Ok(mut seen) = self.seen.lock() {
                seen.samples.extend(found.samples);
            }
        }
        if let Some(traced) = self.traced.filter(|_| !others) {
            let places = block_map::of(self.prepared, traced == Traced::Whole);
            if let (Ok(mut seen), Some(places)) = (self.seen.lock(), places) {
                seen.places = places;
            }
        }
    }

    fn emit(&self, event: Event) {
        let kept = self.emit.lock().is_ok_and(|mut emit| emit(event));
        if !kept {
            self.unrecorded.store(true, Ordering::Relaxed);
        }
    }

    /// The workload ended with an error: phases that it broke off are reported as far as they came.
    pub(crate) fn broken_off(&self, error: &workload::Error) {
        for mut report in partial_result::reports(error) {
            let Some(begin_ns) = self.open.of(&report.name, |begin| begin.at_ns) else {
                continue; // The workload has reported it.
            };
            if report.seconds <= 0.0 {
                let now = workload::clock::now_ns();
                report.seconds = workload::clock::seconds(begin_ns, now);
            }
            self.phase_finished(&report);
        }
    }

    /// Reports what others did during a phase that was not interleaved with another.
    fn note_noise(&self, phase: &str, before: Option<&probe::noise::Reading>) {
        let (Some(meter), Some(before)) = (&self.noise, before) else {
            return;
        };
        let after = meter.read();
        let pair = [before, &after];
        let noise = meter.between(Some(phase), pair, pair);
        let Some(noise) = noise.filter(|noise| noise.seconds >= SHORTEST) else {
            return;
        };
        if let Some(evidence) = noise::evidence(&noise) {
            self.note(evidence, std::iter::empty());
        }
        let trial = self.trial;
        self.emit(Event::Noise { trial, noise });
    }

    fn note(&self, evidence: Evidence, samples: impl Iterator<Item = Sample>) {
        if let Ok(mut seen) = self.seen.lock() {
            seen.evidence.push(evidence);
            seen.samples.extend(samples);
        }
    }
}

impl Observer for TrialObserver<'_> {
    fn phase_started(&self, name: &str) {
        if let Some(cutter) = &self.cutter {
            cutter.phase_started(name);
        }
        self.open.begin(name, || {
            self.looks.begin();
            self.begin()
        });
    }

    fn phase_finished(&self, phase: &PhaseReport) {
        let end_ns = workload::clock::now_ns();
        let disk = io_crosscheck::now(self.device.as_deref());
        let shares = members::now(self.prepared.members());
        self.looks.rest();
        let begun = self.open.end(&phase.name);
        let begin_ns = begun.as_ref().map_or(end_ns, |begun| begun.reading.at_ns);
        let (mut usage, mut memory, mut shared) = (None, None, None);
        // The counters belong to no single phase where operations of several interleave.
        if let Some(Begun { reading: begin, .. }) = begun.filter(|begun| begun.alone) {
            let elapsed = workload::clock::seconds(begin_ns, end_ns);
            usage = Some(begin.used.until_now(phase, elapsed));
            memory = Some(begin.pressure.until(&pressure::Reading::now(self.prepared)));
            let names = self.prepared.members();
            shared = members::between(&phase.name, names, &begin.members, &shares);
            let device = io_crosscheck::samples(phase, begin.disk.as_ref(), disk.as_ref());
            let evidence = io_crosscheck::evidence(phase, self.kept, begin.disk, disk);
            let pressures = memory
                .iter()
                .filter(|_| phase.operations > 0)
                .flat_map(|memory| pressure::samples(&phase.name, memory));
            let reported = device.into_iter().filter(|_| phase.operations > 0);
            self.note(evidence, pressures.chain(reported));
            self.note_noise(&phase.name, begin.noise.as_ref());
        }
        let event = Event::PhaseFinished {
            trial: self.trial,
            phase: phase.name.clone(),
            begin_ns,
            end_ns,
            detail: serde_json::to_value(phase).unwrap_or_default(),
            middle: usage.as_ref().and_then(|_| self.looks.of(begin_ns, end_ns)),
            usage,
            memory,
        };
        self.emit(event);
        if let Some(members) = shared {
            self.emit(Event::Members {
                trial: self.trial,
                members,
            });
        }
        self.look(&phase.name);
        if let Some(cutter) = &self.cutter {
            if let Ok(mut seen) = self.seen.lock() {
                seen.finished.push(phase.clone());
            }
            cutter.phase_finished(&phase.name);
        }
    }

    fn written(&self, phase: &str, files: &[&Path]) {
        if let Some(looker) = &self.looker {
            looker.written(phase, files);
        }
    }

    fn drop_caches(&self, files: &[&Path]) -> io::Result<workload::Evidence> {
        self.prepared
            .drop_caches(files)
            .map(|proof| cold(&proof))
            .map_err(io::Error::other)
    }

    fn remount(&self) -> io::Result<workload::Evidence> {
        match self.prepared.remount() {
            Ok(Some(proof)) => Ok(cold(&proof)),
            Ok(None) => Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "the filesystem of a directory that was there is not unmounted",
            )),
            Err(error) => Err(io::Error::other(error)),
        }
    }
}

impl Progress for TrialObserver<'_> {
    fn inner(&self) -> &dyn Progress {
        self.watcher
    }

    fn cancelled(&self) -> bool {
        self.interrupt.is_raised()
            || self.unrecorded.load(Ordering::Relaxed)
            || self.cutter.as_ref().is_some_and(Cutter::is_over)
    }
}

/// The rig's proof as a workload's evidence.
pub(crate) fn cold(proof: &rig::cache::ColdProof) -> workload::Evidence {
    workload::Evidence {
        name: "cold_cache".into(),
        holds: proof.holds,
        detail: proof.detail(),
    }
}
