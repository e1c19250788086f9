//! What reads a filesystem that is unmounted: its checker, and the studies of how one should read.

use std::path::Path;
use std::time::Instant;

use fskind::Family;
use record::{FailureKind, Ledger};
use rig::Prepared;
use study::{CheckSpec, Checker, Reader, ScanSpec, Trial};

use super::findings::{Findings, Stopped};
use super::{LocalExecutor, UNMOUNTING};
use crate::check;
use crate::checked::Checked;
use crate::estimate::{Of, Requests};
use crate::executor::Emit;
use crate::{convert, observer, scan, scan_program};

/// The phases of a check and of a reading.
const CHECK: &str = "check";
const SCAN: &str = "scan";

/// What a program has read, where it is estimated.
fn requests(trial: &Trial, phase: &'static str, spec: &CheckSpec) -> Option<Requests> {
    trial.cell.estimate.as_ref()?;
    let own = trial.cell.filesystem.kind.properties().checker.program;
    let (reader, of) = match spec.checker {
        Checker::Fslab => ("fslab check", Of::File),
        Checker::Own => (own, Of::Program),
    };
    Some(Requests {
        phase,
        reader: reader.to_owned(),
        of,
    })
}

impl LocalExecutor<'_> {
    /// Unmounts and runs the checker that the study asks for, if it does.
    pub(super) fn check(
        &self,
        trial: &Trial,
        prepared: &mut Prepared,
        findings: &mut Findings,
        ledger: &mut Ledger,
        emit: &mut Emit<'_>,
    ) -> Result<(), Stopped> {
        let Some(spec) = &trial.cell.check else {
            return Ok(());
        };
        let Some(device) = prepared.device_node().map(Path::to_path_buf) else {
            let why = "no check: the filesystem of a directory that was there is not unmounted";
            findings.warnings.push(why.into());
            return Ok(());
        };
        self.unmount(trial, prepared, ledger)?;

        self.watcher.activity(trial, "checking");
        let checked = self.run_check(trial, spec, None, prepared, &device, findings, ledger)?;
        findings.requests.extend(requests(trial, CHECK, spec));
        findings.checked(checked, emit)
    }

    /// Unmounts and lets the reader of the cell read all metadata.
    pub(super) fn read_metadata(
        &self,
        trial: &Trial,
        spec: &ScanSpec,
        prepared: &mut Prepared,
        findings: &mut Findings,
        ledger: &mut Ledger,
        emit: &mut Emit<'_>,
    ) -> Result<(), Stopped> {
        if scan_program::reads(&trial.cell) {
            self.scan_by_program(trial, spec, prepared, findings, ledger, emit)
        } else {
            self.scan(trial, spec, prepared, findings, ledger, emit)
        }
    }

    /// Unmounts and has the filesystem's own checker read its metadata.
    fn scan_by_program(
        &self,
        trial: &Trial,
        scan: &ScanSpec,
        prepared: &mut Prepared,
        findings: &mut Findings,
        ledger: &mut Ledger,
        emit: &mut Emit<'_>,
    ) -> Result<(), Stopped> {
        let Some(device) = prepared.device_node().map(Path::to_path_buf) else {
            return Err(Stopped {
                kind: FailureKind::Cell,
                message: format!("{}: {}", prepared.mount_point().display(), scan::NO_DEVICE),
                fatal: None,
            });
        };
        self.unmount(trial, prepared, ledger)?;
        self.watcher
            .activity(trial, "the checker reads the metadata");
        let locked = self.locked(trial, scan, &device)?;
        let spec = trial.cell.check.clone().unwrap_or_default();
        let spec = CheckSpec { cold: true, ..spec };
        let known = findings.evidence.len();
        let checked = self.run_check(trial, &spec, locked, prepared, &device, findings, ledger)?;
        let cold = findings.evidence.split_off(known);
        let cold = cold.into_iter().map(scan_program::of_reading);
        findings.evidence.extend(cold);
        findings.requests.extend(requests(trial, SCAN, &spec));
        findings.checked(scan_program::reading(checked), emit)
    }

    /// Bytes that fsck.ocfs2 may lock, so that its cache is at most the cell's share of the metadata. It takes half of what it can lock and
    /// halves that until it can, so the cache may be half of the share.
    fn locked(
        &self,
        trial: &Trial,
        scan: &ScanSpec,
        device: &Path,
    ) -> Result<Option<u64>, Stopped> {
        /// fsck.ocfs2 does without a locked cache from here on.
        const LEAST: f64 = 4_194_304.0;
        if trial.cell.filesystem.kind.family() != Family::Ocfs2 {
            return Ok(None);
        }
        let metadata = match self.known_metadata() {
            Some(known) => known,
            None => scan::metadata(trial.cell.filesystem.kind, device, self.interrupt)
                .map_err(|stop| self.scan_failure(stop))?,
        };
        self.learn_metadata(metadata);
        let share = 2.0 * scan.cache * metadata as f64;
        Ok(Some(share.max(LEAST) as u64))
    }

    /// Bytes of all metadata of the volume that several trials read, where a trial before has met them.
    fn known_metadata(&self) -> Option<u64> {
        self.forged.as_ref().and_then(|image| image.metadata.get())
    }

    fn learn_metadata(&self, bytes: u64) {
        if let Some(image) = &self.forged {
            image.metadata.set(Some(bytes));
        }
    }

    /// The checker, on a cold device where that is asked for; the ledger has its seconds.
    #[allow(clippy::too_many_arguments, reason = "what a trial gathers on its way")]
    fn run_check(
        &self,
        trial: &Trial,
        spec: &CheckSpec,
        locked: Option<u64>,
        prepared: &Prepared,
        device: &Path,
        findings: &mut Findings,
        ledger: &mut Ledger,
    ) -> Result<Checked, Stopped> {
        let begun = Instant::now();
        let cold = spec.cold.then(|| prepared.drop_device_caches());
        let checked = cold.transpose().and_then(|cold| {
            let cold = cold.map(|proof| convert::evidence(&observer::cold(&proof), Some("check")));
            findings.evidence.extend(cold);
            self.check_device(trial, spec, locked, prepared, device)
        });
        ledger.workload += begun.elapsed().as_secs_f64();
        checked.map_err(|error| self.rig_failure(error))
    }

    fn check_device(
        &self,
        trial: &Trial,
        spec: &CheckSpec,
        locked: Option<u64>,
        prepared: &Prepared,
        device: &Path,
    ) -> Result<Checked, rig::Error> {
        let job = check::Job {
            trial: trial.slot.trial,
            prepared,
            kind: trial.cell.filesystem.kind,
            spec,
            locked,
            memory: trial.cell.memory.map(study::Bytes::get),
            recorded: trial.cell.estimate.is_some(),
            folder: &self.folder,
            watcher: self.watcher,
            interrupt: self.interrupt,
        };
        check::run(&job, device)
    }

    /// Unmounts and reads all metadata past the page cache.
    fn scan(
        &self,
        trial: &Trial,
        spec: &ScanSpec,
        prepared: &mut Prepared,
        findings: &mut Findings,
        ledger: &mut Ledger,
        emit: &mut Emit<'_>,
    ) -> Result<(), Stopped> {
        self.unmount(trial, prepared, ledger)?;
        self.watcher.activity(trial, "reading the metadata");
        let begun = Instant::now();
        let job = scan::Job {
            prepared,
            kind: trial.cell.filesystem.kind,
            spec,
            metadata: self.known_metadata(),
            recorded: trial.cell.estimate.is_some(),
            trial: trial.slot.trial,
            interrupt: self.interrupt,
            watcher: self.watcher,
        };
        let scanned = scan::run(&job, emit);
        ledger.workload += begun.elapsed().as_secs_f64();
        let scanned = scanned.map_err(|stop| self.scan_failure(stop))?;
        scanned
            .metadata
            .into_iter()
            .for_each(|bytes| self.learn_metadata(bytes));
        findings.samples.extend(scanned.samples);
        findings.evidence.extend(scanned.evidence);
        let reader = match spec.reader {
            Reader::Check => "fslab check",
            Reader::Model | Reader::Fsck => "model",
        };
        findings
            .requests
            .extend(scanned.record.map(|record| Requests {
                phase: SCAN,
                reader: reader.to_owned(),
                of: Of::Memory(record),
            }));
        Ok(())
    }

    fn scan_failure(&self, stop: scan::Stop) -> Stopped {
        match stop {
            scan::Stop::Rig(error) => self.rig_failure(error),
            stop => Stopped {
                kind: stop.kind(self.interrupt),
                message: stop.to_string(),
                fatal: None,
            },
        }
    }

    /// Unmounts what was filled, if it is mounted still.
    pub(super) fn unmount(
        &self,
        trial: &Trial,
        prepared: &mut Prepared,
        ledger: &mut Ledger,
    ) -> Result<(), Stopped> {
        self.watcher.activity(trial, UNMOUNTING);
        let begun = Instant::now();
        let unmounted = prepared.unmount();
        ledger.umount += begun.elapsed().as_secs_f64();
        unmounted.map_err(|error| self.rig_failure(error))
    }
}
