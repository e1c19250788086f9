//! Trials in this process: rig, sampler, workload, evidence, and the rig again.
//!
//! What is timed by whom is kept apart here. The rig times mkfs and mount, the workload times its
//! own phases, and this module only adds up a ledger, so that the lab's own time is what is left.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use probe::context::{ContextRecord, Subject};
use record::{Event, Evidence, FailureKind, Ledger, Mounted, RunFolder};
use rig::{Class, Prepared, Rig};
use study::{FilesystemKind, Trial, WorkloadSpec};
use workload::{Outcome, throughput, tree};

use crate::convert;
use crate::error::Error;
use crate::executor::{Emit, Executor, Failure};
use crate::interrupt::Interrupt;
use crate::observer::TrialObserver;
use crate::target::Target;
use crate::telemetry;
use crate::watch::Watcher;

/// Runs trials in this process.
pub struct LocalExecutor<'a> {
    rig: Rig,
    folder: PathBuf,
    host_disk: Option<String>,
    /// The run's own context: a trial's holds what differs from it.
    context: ContextRecord,
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
        context: ContextRecord,
        watcher: &'a dyn Watcher,
        interrupt: &'a Interrupt,
    ) -> Result<Self, Error> {
        Ok(LocalExecutor {
            rig: Rig::open(rig_target(target, folder), folder.dir())?,
            folder: folder.dir().to_owned(),
            host_disk: host_disk(folder.dir()),
            context,
            watcher,
            interrupt,
        })
    }

    fn prepare(&mut self, trial: &Trial) -> Result<Prepared, rig::Error> {
        let cell = &trial.cell;
        let request = rig::Request {
            image_size: cell.device.size.get(),
            readahead_sectors: cell.device.readahead,
            discard: cell.device.discard,
            kind: kind_name(cell.filesystem.kind).into(),
            mkfs: cell.filesystem.mkfs.clone(),
            mount: cell.filesystem.mount.clone(),
        };
        let interrupt = self.interrupt;
        self.rig.prepare(&request, &|| interrupt.is_raised())
    }

    /// The workload on the prepared filesystem, watched by the sampler.
    fn load(
        &self,
        trial: &Trial,
        prepared: &Prepared,
        emit: &mut Emit<'_>,
    ) -> Result<(Outcome, Vec<Evidence>), workload::Error> {
        let mut devices: Vec<String> = prepared
            .block_name()
            .map(str::to_owned)
            .into_iter()
            .collect();
        devices.extend(
            self.host_disk
                .clone()
                .filter(|disk| !devices.contains(disk)),
        );
        let file = self.folder.join(RunFolder::telemetry_of(trial.slot.trial));
        let sampler = telemetry::start(&file, devices);
        let observer = TrialObserver::new(
            trial.slot.trial,
            prepared,
            self.interrupt,
            self.watcher,
            emit,
        );
        let outcome = run_workload(&trial.cell.workload, prepared.mount_point(), &observer);
        let mut evidence = observer.into_evidence();
        evidence.push(telemetry::stop(sampler));
        outcome.map(|outcome| (outcome, evidence))
    }

    fn attempt(
        &mut self,
        trial: &Trial,
        emit: &mut Emit<'_>,
        ledger: &mut Ledger,
    ) -> Result<Event, Stopped> {
        self.watcher.step(trial, "making the filesystem");
        let prepared = self
            .prepare(trial)
            .map_err(|error| self.rig_failure(error))?;
        let timings = prepared.timings();
        ledger.device = timings.device;
        ledger.mkfs = timings.mkfs;
        ledger.mount = timings.mount;
        ledger.wait = timings.wait;
        emit(Event::FilesystemReady {
            trial: trial.slot.trial,
            mounted: mounted(&prepared),
        });

        emit(self.trial_context(trial, &prepared));

        self.watcher.step(trial, &trial.cell.workload_name);
        let begun = Instant::now();
        let loaded = self.load(trial, &prepared, emit);
        ledger.workload = begun.elapsed().as_secs_f64();

        self.watcher.step(trial, "unmounting");
        let mut evidence = prepared
            .evidence()
            .iter()
            .map(|e| convert::evidence(e, None))
            .collect::<Vec<_>>();
        let mut warnings = prepared.warnings().to_vec();
        let begun = Instant::now();
        let finished = prepared.finish();
        ledger.umount = begun.elapsed().as_secs_f64();
        let (outcome, seen) = loaded.map_err(|error| Self::workload_failure(&error))?;
        finished.map_err(|error| self.rig_failure(error))?;

        evidence.extend(seen);
        evidence.extend(outcome.phases.iter().flat_map(convert::phase_evidence));
        warnings.extend(outcome.warnings.iter().cloned());
        Ok(Event::TrialFinished {
            trial: trial.slot.trial,
            samples: convert::samples(&outcome),
            evidence,
            warnings,
            ledger: Ledger::default(),
        })
    }

    /// What a trial's context adds to the run's: the measured filesystem and its device, and
    /// whatever changed on the machine since.
    fn trial_context(&self, trial: &Trial, prepared: &Prepared) -> Event {
        let subject = Subject {
            mount_point: Some(prepared.mount_point()),
            device: prepared.device_node(),
            target_folder: Some(&self.folder),
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
                        .items
                        .get(*name)
                        .is_none_or(|known| known.value != item.value)
            })
            .collect();
        Event::Context {
            when: format!("trial {}", trial.slot.trial + 1),
            context: serde_json::json!({ "taken_at": now.taken_at, "items": changed }),
        }
    }

    fn rig_failure(&self, error: rig::Error) -> Stopped {
        let message = error.to_string();
        let (kind, fatal) = match error.class() {
            _ if self.interrupt.is_raised() => (FailureKind::Interrupted, None),
            Class::Interrupted => (FailureKind::Interrupted, None),
            Class::Cell => (FailureKind::Cell, None),
            Class::Trial => (FailureKind::Trial, None),
            // Not this trial's fault: it runs again when the run is resumed.
            Class::Safety | Class::Target => (FailureKind::Interrupted, Some(Box::new(error))),
        };
        Stopped {
            kind,
            message,
            fatal,
        }
    }

    fn workload_failure(error: &workload::Error) -> Stopped {
        let kind = match error {
            workload::Error::Interrupted { .. } => FailureKind::Interrupted,
            workload::Error::BadOption { .. } | workload::Error::Unsupported { .. } => {
                FailureKind::Cell
            }
            _ => FailureKind::Trial,
        };
        Stopped {
            kind,
            message: error.to_string(),
            fatal: None,
        }
    }
}

/// Why an attempt ended early.
struct Stopped {
    kind: FailureKind,
    message: String,
    fatal: Option<Box<rig::Error>>,
}

impl Executor for LocalExecutor<'_> {
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

/// Runs a workload in `dir`.
pub(crate) fn run_workload(
    spec: &WorkloadSpec,
    dir: &Path,
    observer: &dyn workload::Observer,
) -> Result<Outcome, workload::Error> {
    match spec {
        WorkloadSpec::Throughput(spec) => {
            throughput::run(&convert::throughput_options(spec, dir), observer)
        }
        WorkloadSpec::Tree(spec) => tree::run(&convert::tree_options(spec, dir), observer),
        WorkloadSpec::Stream(_) | WorkloadSpec::Fill(_) | WorkloadSpec::Age(_) => {
            Err(workload::Error::Unsupported {
                what: spec.kind(),
                path: dir.to_owned(),
                reason: "this build has no such workload".into(),
            })
        }
    }
}

/// The name by which the rig knows a family.
pub(crate) const fn kind_name(kind: FilesystemKind) -> &'static str {
    match kind {
        FilesystemKind::Ext2 => "ext2",
        FilesystemKind::Ext3 => "ext3",
        FilesystemKind::Ext4 => "ext4",
        FilesystemKind::Xfs => "xfs",
        FilesystemKind::Btrfs => "btrfs",
    }
}

fn rig_target(target: &Target, folder: &RunFolder) -> rig::Target {
    match target {
        Target::LoopImages => rig::Target::LoopImages {
            folder: folder.images(),
        },
        Target::Directory(path) => rig::Target::Directory { path: path.clone() },
        Target::Device { path, serial } => rig::Target::Block {
            device: path.clone(),
            serial: Some(serial.clone()),
        },
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
        mount_point: prepared.mount_point().display().to_string(),
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
