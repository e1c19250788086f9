//! What reads a filesystem that is unmounted: its checker, and the studies of how one should read.

use std::path::Path;
use std::time::Instant;

use record::{FailureKind, Ledger};
use rig::Prepared;
use study::{CheckSpec, ScanSpec, Trial};

use super::findings::{Findings, Stopped};
use super::{LocalExecutor, UNMOUNTING};
use crate::check;
use crate::checked::Checked;
use crate::executor::Emit;
use crate::{convert, observer, scan, scan_program};

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
        let checked = self.run_check(trial, spec, prepared, &device, findings, ledger)?;
        findings.checked(checked, emit)
    }

    /// Unmounts and has the filesystem's own checker read its metadata.
    pub(super) fn scan_by_program(
        &self,
        trial: &Trial,
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
        let spec = trial.cell.check.clone().unwrap_or_default();
        let spec = CheckSpec { cold: true, ..spec };
        let known = findings.evidence.len();
        let checked = self.run_check(trial, &spec, prepared, &device, findings, ledger)?;
        let cold = findings.evidence.split_off(known);
        let cold = cold.into_iter().map(scan_program::of_reading);
        findings.evidence.extend(cold);
        findings.checked(scan_program::reading(checked), emit)
    }

    /// The checker, on a cold device where that is asked for; the ledger has its seconds.
    fn run_check(
        &self,
        trial: &Trial,
        spec: &CheckSpec,
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
            self.check_device(trial, spec, prepared, device)
        });
        ledger.workload += begun.elapsed().as_secs_f64();
        checked.map_err(|error| self.rig_failure(error))
    }

    fn check_device(
        &self,
        trial: &Trial,
        spec: &CheckSpec,
        prepared: &Prepared,
        device: &Path,
    ) -> Result<Checked, rig::Error> {
        let job = check::Job {
            trial: trial.slot.trial,
            prepared,
            kind: trial.cell.filesystem.kind,
            spec,
            folder: &self.folder,
            watcher: self.watcher,
            interrupt: self.interrupt,
        };
        check::run(&job, device)
    }

    /// Unmounts and reads all metadata past the page cache.
    pub(super) fn scan(
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
            spec,
            trial: trial.slot.trial,
            interrupt: self.interrupt,
            watcher: self.watcher,
        };
        let scanned = scan::run(&job, emit);
        ledger.workload += begun.elapsed().as_secs_f64();
        let scanned = scanned.map_err(|stop| match stop {
            scan::Stop::Rig(error) => self.rig_failure(error),
            stop => Stopped {
                kind: stop.kind(self.interrupt),
                message: stop.to_string(),
                fatal: None,
            },
        })?;
        findings.samples.extend(scanned.samples);
        findings.evidence.extend(scanned.evidence);
        Ok(())
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
