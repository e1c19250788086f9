//! The end of a trial's device, and the crash check that may come before it.
//!
//! Where the trial's own kernel has logged the writes, the log is whole when the layer that logs is gone, and can be
//! read for as long as the members are there. On a host it is judged then, and the members go afterwards. In a guest
//! they stay as they are: the host judges, which is faster, and whose `fslab check` is not timed by an emulated
//! processor.

use std::time::Instant;

use record::{FailureKind, Ledger};
use rig::Prepared;
use rig::device::ClosedLog;
use study::{CrashSpec, Trial};

use super::{LocalExecutor, Stopped};
use crate::crash::From;
use crate::crash::of_trial::{Finished, MOUNTED, Told};
use crate::crash::place::Writer;
use crate::error::Class;

impl LocalExecutor<'_> {
    /// Leaves logs of writes, and the disks that they are of, to whoever reads them after this process: for guests.
    pub(crate) fn leave_logs(&mut self) {
        self.leaves_logs = true;
    }

    /// Says in the log of writes that the filesystem is whole from here on.
    pub(super) fn mark_mounted(&self, trial: &Trial, prepared: &Prepared) -> Result<(), Stopped> {
        if trial.cell.crash.is_none() {
            return Ok(());
        }
        let marked = prepared.mark_log(MOUNTED);
        marked.map_err(|error| self.rig_failure(error))
    }

    /// Unmounts and undoes everything. What is said of power cuts goes before it, if the trial is `whole`.
    pub(super) fn finish(
        &self,
        trial: &Trial,
        mut prepared: Prepared,
        whole: bool,
        ledger: &mut Ledger,
    ) -> Result<Option<Told>, Stopped> {
        let begun = Instant::now();
        let asked = trial.cell.crash.filter(|_| whole);
        let closed = asked.map_or(Ok(None), |_| prepared.close_log());
        ledger.umount += begun.elapsed().as_secs_f64();
        let closed = closed.map_err(|error| self.rig_failure(error))?;
        let told = match (asked, closed) {
            (Some(_), Some(_)) if self.leaves_logs => {
                prepared.leave();
                return Ok(None);
            }
            (Some(spec), Some(closed)) => self.judge(trial, spec, closed).map(Some),
            _ => Ok(None),
        };
        let begun = Instant::now();
        let finished = prepared.finish();
        ledger.umount += begun.elapsed().as_secs_f64();
        finished.map_err(|error| self.rig_failure(error))?;
        told
    }

    fn judge(&self, trial: &Trial, spec: CrashSpec, closed: ClosedLog) -> Result<Told, Stopped> {
        self.watcher
            .step(trial, "judging what power cuts would have left");
        let log = Finished {
            writer: Writer::Kernel.name(),
            log: closed.log.into(),
            disk: closed.data.into(),
            from: From::Mark(MOUNTED.into()),
            until: None,
        };
        let journal = self.rig.journal();
        let judged = log.judge(&trial.cell, spec, journal, self.watcher, self.interrupt);
        judged.map_err(|error| {
            let kind = match error.class() {
                Class::Interrupted => FailureKind::Interrupted,
                _ => FailureKind::Trial,
            };
            Stopped {
                kind,
                message: format!("crash check: {error}"),
                fatal: None,
            }
        })
    }
}
