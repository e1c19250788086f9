//! Trials in this process: rig, sampler, workload, evidence, and the rig again.
//!
//! Each part times its own work. The rig times mkfs and mount, the workload times its
//! own phases, and this module only adds up a ledger, so that the lab's own time is what is left.

mod crash;
mod estimate;
mod findings;
mod forged;
mod reading;
mod served;
mod variants;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use probe::context::{ContextRecord, Subject};
use probe::sampler::Sampler;
use ranks::Launched;
use record::{Event, FailureKind, Ledger, Mounted, Reference, RunFolder};
use rig::{Prepared, Rig};
use rundir::RunDir;
use study::{Bytes, Cell, Measured, Plan, Trial, WorkloadSpec};
use workload::{Outcome, Workload};

use self::findings::{Findings, Stopped, trace_failure};
use self::served::in_time;
use crate::error::Error;
use crate::executor::{Emit, Executor, Failure, KernelContext, Surroundings};
use crate::interrupt::Interrupt;
use crate::layout::LayoutProbe;
use crate::noise::{self, NoiseMeter, Recent, RunQueue};
use crate::observer::{self, Observations, ObserverOptions, TrialObserver};
use crate::target::Target;
use crate::trial_trace::{self, Spans, Traced};
use crate::watch::Watcher;
use crate::{convert, reference, scan, stack, telemetry};

/// The step in which the filesystem goes.
pub(crate) const UNMOUNTING: &str = "unmounting";

/// Runs trials in this process.
pub struct LocalExecutor<'a> {
    rig: Rig,
    target: Target,
    folder: Arc<RunDir>,
    images: PathBuf,
    host_disk: Option<String>,
    /// The run's own context: a trial's holds what differs from it.
    context: Option<ContextRecord>,
    /// Whether the caller judges logs of writes.
    leaves_logs: bool,
    /// Where readings of the machine's noise come from; none in a guest, whose host takes them.
    noise: Option<Arc<dyn noise::Source>>,
    recent: Recent,
    /// The volume that was written for the last trial, where one was.
    forged: Option<forged::Image>,
    watcher: &'a dyn Watcher,
    interrupt: &'a Interrupt,
}

impl<'a> LocalExecutor<'a> {
    /// Opens the target; a real device passes the safety gate here.
    ///
    /// # Errors
    /// When the gate refuses or the target cannot be had.
    pub fn open(
        target: &Target,
        folder: &RunFolder,
        watcher: &'a dyn Watcher,
        interrupt: &'a Interrupt,
    ) -> Result<Self, Error> {
        Ok(LocalExecutor {
            rig: Rig::open(rig_target(target, folder)?, folder.dir())?,
            target: target.clone(),
            folder: Arc::new(folder.opened().try_clone().map_err(record::Error::from)?),
            images: folder.images(),
            host_disk: host_disk(folder.dir()),
            context: None,
            leaves_logs: false,
            noise: None,
            recent: Recent::default(),
            forged: None,
            watcher,
            interrupt,
        })
    }

    /// Has modelled disks keep their bytes on this persistent memory: for guests.
    pub(crate) fn store_on(&mut self, device: PathBuf) {
        self.rig.store_on(device);
    }

    /// Judges the noise of the machine, from these readings.
    #[must_use]
    pub fn listening(mut self, noise: Arc<dyn noise::Source>) -> Self {
        self.recent.keep(noise.read(&[]));
        self.noise = Some(noise);
        self
    }

    /// Takes the noise of one trial. A disk of its own is used by no one else.
    fn noise_meter(&self) -> Option<NoiseMeter> {
        let on_images = matches!(self.target, Target::LoopImages);
        let disk = self.host_disk.clone().filter(|_| on_images);
        let disk = disk.map(|disk| (disk, self.images.clone()));
        Some(NoiseMeter::new(Arc::clone(self.noise.as_ref()?), disk))
    }

    /// Prepares a cell; its device may be of a devices file with this text.
    fn prepare(&mut self, cell: &Cell, devices_file: Option<&str>) -> Result<Prepared, rig::Error> {
        let progress = self.interrupt.with(self.watcher);
        let request = Self::request(cell, devices_file);
        self.rig.prepare(&request, &progress)
    }

    /// What a cell asks of the rig.
    fn request(cell: &Cell, devices_file: Option<&str>) -> rig::Request {
        rig::Request {
            image_size: cell.device.size.get(),
            readahead_sectors: cell.device.readahead,
            discard: cell.device.discard,
            kind: cell.filesystem.kind.name().into(),
            mkfs: cell.filesystem.mkfs.clone(),
            mount: cell.filesystem.mount.clone(),
            limit: cell.device.limit.map(convert::limits),
            memory: cell.memory.map(Bytes::get),
            stack: stack::stacking(&cell.device, devices_file),
        }
    }

    /// Samples the device, its members, the disk below it and the machine, through workload and check.
    fn sample(
        &self,
        trial: &Trial,
        prepared: &Prepared,
        queue: Option<RunQueue>,
    ) -> Result<Sampler, String> {
        let mut devices: Vec<String> = prepared
            .block_name()
            .map(str::to_owned)
            .into_iter()
            .collect();
        devices.extend(prepared.members().iter().cloned());
        devices.extend(
            self.host_disk
                .clone()
                .filter(|disk| !devices.contains(disk)),
        );
        let name = RunFolder::telemetry_of(trial.slot.trial);
        telemetry::start(&self.folder, &name, devices, queue)
    }

    /// The workload on the prepared filesystem.
    fn load(
        &self,
        trial: &Trial,
        prepared: &Prepared,
        noise: Option<NoiseMeter>,
        emit: &mut Emit<'_>,
    ) -> Result<(Outcome, Observations), Stopped> {
        let (dir, seed) = (prepared.mount_point(), trial.slot.seed);
        let workload = self.placed(trial, dir, seed);
        let observer = TrialObserver::new(
            trial.slot.trial,
            self.asked(trial, prepared, noise)?,
            prepared,
            self.interrupt,
            self.watcher,
            emit,
        );
        let ran = workload.run(&observer);
        if observer.cutter().is_some() && !self.interrupt.is_raised() {
            return self.without_power(trial, observer, ran);
        }
        let outcome = ran.map_err(|error| {
            observer.broken_off(&error);
            Self::workload_failure(&error)
        })?;
        Ok((outcome, observer.into_seen()))
    }

    /// The workload where it runs: in this process, or on ranks.
    fn placed(&self, trial: &Trial, dir: &Path, seed: u64) -> Box<dyn Workload + '_> {
        let spec = trial.cell.workload.placed(dir, seed);
        match &self.target {
            Target::Ranks { launcher, .. } => Box::new(Launched { launcher, spec }),
            _ => Box::new(spec),
        }
    }

    /// What is looked at besides the counters.
    fn asked(
        &self,
        trial: &Trial,
        prepared: &Prepared,
        noise: Option<NoiseMeter>,
    ) -> Result<ObserverOptions, Stopped> {
        let (cell, number) = (&trial.cell, trial.slot.trial);
        let root = prepared.mount_point();
        let looker = |spec| LayoutProbe::new(spec, number, &self.folder, root);
        let whole = match cell.workload {
            WorkloadSpec::Stream(_) => observer::Traced::Whole,
            _ => observer::Traced::InPart,
        };
        Ok(ObserverOptions {
            cutter: Self::cutter(trial, prepared)?,
            looker: cell.layout.map(looker),
            traced: cell.trace.then_some(whole),
            kept: cell.workload.parameters().keeps_files(),
            noise,
        })
    }

    /// Starts the block trace that the study asks for, if it does.
    fn trace(&self, trial: &Trial, prepared: &Prepared) -> Result<Option<Traced>, Stopped> {
        if !trial.cell.trace {
            return Ok(None);
        }
        self.watcher.activity(trial, "starting the block trace");
        let subjects = trial_trace::subjects(prepared, self.host_disk.as_deref());
        let started = subjects.and_then(|subjects| {
            Traced::start(self.rig.journal(), &self.folder, trial.slot.trial, subjects)
        });
        started.map(Some).map_err(|why| Stopped {
            kind: FailureKind::Cell,
            message: format!("block trace: {why}"),
            fatal: None,
        })
    }

    fn attempt(
        &mut self,
        trial: &Trial,
        emit: &mut Emit<'_>,
        ledger: &mut Ledger,
    ) -> Result<Event, Stopped> {
        self.watcher.activity(trial, "preparing");
        let mut meter = self.noise_meter();
        let begun = meter.as_ref().map(NoiseMeter::read);
        let mut prepared = if trial.cell.volume.is_forged() {
            self.prepare_forged(trial, ledger)?
        } else {
            let prepared = self.prepare(&trial.cell, trial.devices_file.as_deref());
            prepared.map_err(|error| self.rig_failure(error))?
        };
        let timings = prepared.timings();
        ledger.device = timings.device;
        ledger.mkfs += timings.mkfs;
        ledger.mount = timings.mount;
        ledger.wait = timings.wait;
        emit(Event::FilesystemReady {
            trial: trial.slot.trial,
            mounted: mounted(&prepared),
        });
        emit(self.trial_context(trial, &prepared));
        self.mark_mounted(trial, &prepared)?;

        let traced = self.trace(trial, &prepared)?;
        if let Some(meter) = &mut meter {
            meter.devices_made();
        }
        let ready = meter.as_ref().map(NoiseMeter::read);
        let sampler = self.sample(trial, &prepared, meter.as_ref().map(NoiseMeter::queue));
        let mut spans = Spans::default();
        let listening = meter.clone();
        let measured = self.measure(trial, &mut prepared, listening, ledger, &mut |event| {
            spans.note(&event);
            emit(event)
        });
        let done = meter.as_ref().map(NoiseMeter::read);
        let sampled = telemetry::stop(sampler);

        // After the sampler, whose rows show what the tracer cost; before the device goes.
        let recorded = traced.filter(|_| measured.is_ok()).map(Traced::finish);

        self.watcher.activity(trial, UNMOUNTING);
        let mut settled = prepared
            .evidence()
            .iter()
            .map(|e| convert::evidence(e, None))
            .collect::<Vec<_>>();
        let served = prepared.served();
        // A disk whose server is gone fails, and so does what uses it.
        let measured = match (&served, measured) {
            (Some(Err(why)), Err(stopped)) => Err(stopped.because(why)),
            (_, measured) => measured,
        };
        settled.extend(served.map(in_time));
        let mut warnings = prepared.warnings().to_vec();
        let finished = self.finish(trial, prepared, measured.is_ok(), ledger);
        let mut findings = measured?;
        let judged = finished?;
        let recorded = recorded.transpose().map_err(|why| trace_failure(&why))?;
        if let Some(recorded) = &recorded {
            self.watcher.activity(trial, "analysing the block trace");
            let explained = recorded.explain(&spans, &findings.places);
            findings.take(explained, trial.slot.trial, emit);
        }
        let requests = std::mem::take(&mut findings.requests);
        self.estimate(trial, requests, recorded.as_ref(), &spans, emit);

        warnings.append(&mut findings.warnings);
        let mut evidence = settled;
        evidence.append(&mut findings.evidence);
        evidence.push(sampled);
        if let (Some(meter), Some(begun), Some(ready), Some(done)) = (meter, begun, ready, done) {
            let whole = meter.read();
            self.recent.keep(begun);
            let begin = self.recent.window_to(&whole);
            let noise =
                begin.and_then(|begin| meter.between(None, [begin, &whole], [&ready, &done]));
            evidence.extend(noise.as_ref().and_then(noise::evidence));
            let trial = trial.slot.trial;
            if let Some(noise) = noise {
                emit(Event::Noise { trial, noise });
            }
        }
        let mut event = Event::TrialFinished {
            trial: trial.slot.trial,
            samples: findings.samples,
            evidence,
            warnings,
            ledger: Ledger::default(),
        };
        if let Some(reported) = judged {
            reported.report(emit, &mut event);
        }
        Ok(event)
    }

    /// The workload, and the check after it.
    fn measure(
        &self,
        trial: &Trial,
        prepared: &mut Prepared,
        noise: Option<NoiseMeter>,
        ledger: &mut Ledger,
        emit: &mut Emit<'_>,
    ) -> Result<Findings, Stopped> {
        self.watcher.activity(trial, &trial.cell.workload_name);
        if trial.cell.volume.is_forged() {
            return self.measure_forged(trial, prepared, ledger, emit);
        }
        let begun = Instant::now();
        let loaded = self.load(trial, prepared, noise, emit);
        ledger.workload = begun.elapsed().as_secs_f64();
        let (outcome, seen) = loaded?;
        let mut findings = Findings {
            samples: convert::samples(&outcome.phases),
            evidence: seen.evidence,
            warnings: outcome.warnings,
            places: seen.places,
            requests: Vec::new(),
        };
        findings.samples.extend(seen.samples);
        let own = outcome.phases.iter().flat_map(convert::phase_evidence);
        findings.evidence.extend(own);
        if let WorkloadSpec::Scan(spec) = &trial.cell.workload {
            scan::settle(trial.cell.filesystem.kind, prepared.mount_point()).map_err(|why| {
                Stopped {
                    kind: FailureKind::Trial,
                    message: why.to_string(),
                    fatal: None,
                }
            })?;
            self.read_metadata(trial, spec, prepared, &mut findings, ledger, emit)?;
        }
        self.check(trial, prepared, &mut findings, ledger, emit)?;
        Ok(findings)
    }

    /// What a trial's context adds to the run's: the measured filesystem and its device, and
    /// regardless of changes on the machine since.
    fn trial_context(&self, trial: &Trial, prepared: &Prepared) -> Event {
        let subject = Subject {
            mount_point: Some(prepared.mount_point()).filter(|_| trial.cell.volume.is_filled()),
            device: prepared.device_node(),
            target_folder: Some(self.folder.path()),
            ..Subject::default()
        };
        let now = probe::context::take(&subject);
        let changed: BTreeMap<_, _> = now
            .items
            .iter()
            .filter(|(name, item)| {
                !item.volatile
                    && !item.value.is_null()
                    && self
                        .context
                        .as_ref()
                        .and_then(|context| context.items.get(*name))
                        .is_none_or(|known| known.value != item.value)
            })
            .collect();
        Event::Context {
            when: format!("trial {}", trial.slot.trial + 1),
            context: serde_json::json!({ "taken_at": now.taken_at, "items": changed }),
        }
    }
}

impl Executor for LocalExecutor<'_> {
    fn contexts(&mut self, around: &Surroundings) -> Result<Vec<KernelContext>, Error> {
        let (kernel, record) = (None, around.take());
        Ok(vec![KernelContext { kernel, record }])
    }

    fn compare_with(&mut self, contexts: Vec<KernelContext>) {
        self.context = contexts.into_iter().next().map(|taken| taken.record);
    }

    fn try_variants(&mut self, plan: &Plan) -> Result<Option<Measured>, Error> {
        let filled = plan.cells.iter().any(|cell| cell.volume.is_filled());
        filled.then(|| self.tried(plan)).transpose()
    }

    /// See [`crate::reference`].
    fn references(&mut self, plan: &Plan) -> Vec<Result<Reference, String>> {
        let progress = self.interrupt.with(self.watcher);
        let disk = self.host_disk.as_deref();
        let (target, images) = (&self.target, &self.images);
        reference::measure(plan, target, &mut self.rig, images, disk, &progress)
    }

    fn run(&mut self, trial: &Trial, emit: &mut Emit<'_>) -> Result<(), Failure> {
        let begun = Instant::now();
        let mut ledger = Ledger::default();
        let outcome = self.attempt(trial, emit, &mut ledger);
        ledger.total = begun.elapsed().as_secs_f64();
        match outcome {
            Ok(mut event) => {
                if let Event::TrialFinished { ledger: slot, .. } = &mut event {
                    *slot = ledger;
                }
                emit(event);
                Ok(())
            }
            Err(Stopped {
                kind,
                message,
                fatal,
            }) => Err(Failure {
                kind,
                message,
                ledger,
                fatal,
            }),
        }
    }
}

fn rig_target(target: &Target, folder: &RunFolder) -> Result<rig::Target, Error> {
    match target {
        Target::LoopImages => Ok(rig::Target::LoopImages {
            folder: folder.images(),
        }),
        Target::Directory(path) | Target::Ranks { dir: path, .. } => {
            Ok(rig::Target::Directory { path: path.clone() })
        }
        Target::Device { path, serial } => Ok(rig::Target::Block {
            device: path.clone(),
            serial: Some(serial.clone()),
        }),
        Target::Disks(disks) => Ok(rig::Target::Disks {
            disks: disks.clone(),
        }),
        Target::Guest(_) => Err(Error::Preflight(format!(
            "{target}: its trials run in a guest kernel, not in this process"
        ))),
    }
}

fn mounted(prepared: &Prepared) -> Mounted {
    let facts = prepared.facts();
    Mounted {
        device: prepared
            .device_node()
            .unwrap_or(prepared.mount_point())
            .display()
            .to_string(),
        mount_point: if facts.mounted_type.is_empty() {
            "not mounted".to_owned()
        } else {
            prepared.mount_point().display().to_string()
        },
        mkfs: facts.mkfs.clone(),
        mkfs_version: facts.mkfs_version.clone(),
        asked_type: facts.asked_type.clone(),
        mounted_type: facts.mounted_type.clone(),
        driver: facts.driver.clone(),
        options: facts.options.clone(),
        superblock: facts.superblock.clone(),
        device_facts: facts.device.clone(),
    }
}

/// The disk under the run's folder: what loop images are written to in the end.
fn host_disk(folder: &Path) -> Option<String> {
    let host = rig::host::Host::default();
    host.device_below(folder)
        .first()
        .map(|name| host.disk_of(name))
}
