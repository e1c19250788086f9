//! The end of a trial's device, and the crash check that may come before it; and the power cut that some are about.
//!
//! Where the trial's own kernel has logged the writes, the log is whole when the layer that logs is gone, and can be
//! read for as long as the members are there. On a host it is judged then, and the members go afterwards. In a guest
//! they stay as they are: the host judges, which is faster, and whose `fslab check` is not timed by an emulated
//! processor.

use std::path::PathBuf;
use std::time::Instant;

use record::{FailureKind, Ledger};
use rig::Prepared;
use rig::device::ClosedLog;
use study::{CrashMethod, CrashSpec, Trial};
use workload::Outcome;

use super::LocalExecutor;
use super::findings::Stopped;
use crate::crash::From;
use crate::crash::after_cut::AfterCut;
use crate::crash::cut::{self, Cutter};
use crate::crash::requirements::Writer;
use crate::crash::trial::{Context, CrashResult, Finished, JUDGING, Left, MOUNTED, unjudged};
use crate::observer::{Observations, TrialObserver};

impl LocalExecutor<'_> {
    /// Leaves logs of writes, and the disks that they are of, to the host: for guests.
    pub(crate) fn leave_logs(&mut self) {
        self.leaves_logs = true;
    }

    /// Marks in the log of writes that the filesystem is whole from here on.
    pub(super) fn mark_mounted(&self, trial: &Trial, prepared: &Prepared) -> Result<(), Stopped> {
        if trial.cell.crash.is_none() {
            return Ok(());
        }
        let marked = prepared.mark_log(MOUNTED);
        marked.map_err(|error| self.rig_failure(error))
    }

    /// What cuts the power in this trial, if the study asks for it.
    pub(super) fn cutter(trial: &Trial, prepared: &Prepared) -> Result<Option<Cutter>, Stopped> {
        let Some(spec) = trial.cell.crash.as_ref().filter(|spec| is_cut(spec)) else {
            return Ok(None);
        };
        let switch = prepared.power_switch().ok_or_else(|| {
            failed(
                FailureKind::Cell,
                "power cut: the device has no dm-flakey whose table could be exchanged",
            )
        })?;
        Ok(Some(Cutter::new(spec, switch, prepared.mount_point())))
    }

    /// Ends a workload whose power is cut, or was: what its phases had measured until then is kept.
    pub(super) fn without_power(
        &self,
        trial: &Trial,
        observer: TrialObserver<'_>,
        ran: Result<Outcome, workload::Error>,
    ) -> Result<(Outcome, Observations), Stopped> {
        let Some(cutter) = observer.cutter() else {
            return Err(failed(
                FailureKind::Trial,
                "power cut: nothing is there to cut it",
            ));
        };
        let cut_came = cutter.came();
        let (phases, mut warnings) = match ran {
            Ok(outcome) => (outcome.phases, outcome.warnings),
            Err(error) if !cut_came => {
                observer.broken_off(&error);
                return Err(Self::workload_failure(&error));
            }
            Err(error) => (Vec::new(), ended(&error)),
        };
        let names: Vec<&str> = phases.iter().map(|phase| phase.name.as_str()).collect();
        let came = cutter
            .finish(&names)
            .map_err(|why| failed(FailureKind::Trial, format!("power cut: {why}")))?;
        came.keep(&self.folder, trial.slot.trial)
            .map_err(|error| failed(FailureKind::Trial, error.to_string()))?;
        let mut seen = observer.into_seen();
        let reported = std::mem::take(&mut seen.finished);
        let phases = if phases.is_empty() { reported } else { phases };
        if came.is_within() {
            warnings.push(format!(
                "the power was cut within phase {}: there are no figures for it or any later phase",
                came.phase()
            ));
        }
        let outcome = Outcome {
            phases,
            warnings,
            ..Outcome::default()
        };
        Ok((outcome, seen))
    }

    /// Unmounts and undoes everything. The result of power cuts is reported before it, if the trial is `whole`.
    pub(super) fn finish(
        &self,
        trial: &Trial,
        mut prepared: Prepared,
        whole: bool,
        ledger: &mut Ledger,
    ) -> Result<Option<CrashResult>, Stopped> {
        let begun = Instant::now();
        let asked = trial.cell.crash.as_ref().filter(|_| whole);
        let left = asked.map_or(Ok(None), |spec| self.left(trial, spec, &mut prepared));
        ledger.umount += begun.elapsed().as_secs_f64();
        let left = left.map_err(|error| self.rig_failure(error))?;
        let reported = match (asked, left) {
            (Some(_), Some(_)) if self.leaves_logs => {
                prepared.leave();
                return Ok(None);
            }
            (Some(spec), Some(left)) => self.judge(trial, spec, &left).map(Some),
            _ => Ok(None),
        };
        let begun = Instant::now();
        let finished = prepared.finish();
        ledger.umount += begun.elapsed().as_secs_f64();
        finished.map_err(|error| self.rig_failure(error))?;
        reported
    }

    /// Unmounts; what is left to judge.
    fn left(
        &self,
        trial: &Trial,
        spec: &CrashSpec,
        prepared: &mut Prepared,
    ) -> rig::Result<Option<Left>> {
        if is_cut(spec) {
            let after = |data: PathBuf| AfterCut {
                disk: data.into(),
                promise: self.folder.path().join(cut::file_of(trial.slot.trial)),
            };
            return Ok(prepared.uncover()?.map(after).map(Left::Cut));
        }
        let log = |closed: ClosedLog| Finished {
            writer: Writer::Kernel.name(),
            log: closed.log.into(),
            disk: closed.data.into(),
            from: From::Mark(MOUNTED.into()),
            until: None,
        };
        Ok(prepared.close_log()?.map(log).map(Left::Log))
    }

    fn judge(&self, trial: &Trial, spec: &CrashSpec, left: &Left) -> Result<CrashResult, Stopped> {
        self.watcher.activity(trial, JUDGING);
        let judged = left.judge(&Context {
            cell: &trial.cell,
            spec,
            journal: self.rig.journal(),
            watcher: self.watcher,
            interrupt: self.interrupt,
        });
        judged.map_err(|error| {
            let (kind, message) = unjudged(&error);
            failed(kind, message)
        })
    }
}

fn is_cut(spec: &CrashSpec) -> bool {
    spec.method == CrashMethod::Cut
}

/// The message of a workload that was stopped by the cut, if it is more than that it was stopped.
fn ended(error: &workload::Error) -> Vec<String> {
    match error {
        workload::Error::Interrupted { .. } => Vec::new(),
        other => vec![format!("after the power cut the workload ended: {other}")],
    }
}

fn failed(kind: FailureKind, message: impl Into<String>) -> Stopped {
    Stopped {
        kind,
        message: message.into(),
        fatal: None,
    }
}
