//! The estimates of a trial's checks, when it is over.

use record::Event;
use study::Trial;

use super::LocalExecutor;
use crate::estimate::{Left, Requests};
use crate::executor::Emit;
use crate::trial_trace::{Recorded, Spans};

impl LocalExecutor<'_> {
    /// Estimates each check on the devices that its cell names.
    pub(super) fn estimate(
        &self,
        trial: &Trial,
        requests: Vec<Requests>,
        traced: Option<&Recorded>,
        spans: &Spans,
        emit: &mut Emit<'_>,
    ) {
        let Some(spec) = &trial.cell.estimate else {
            return;
        };
        self.watcher
            .activity(trial, "estimating its check on modelled devices");
        let left = Left {
            folder: &self.folder,
            trial: trial.slot.trial,
            volume: trial.cell.device.size.get(),
            devices_file: trial.devices_file.as_deref(),
            traced,
            spans,
        };
        for requests in requests {
            let estimate = left.estimate(spec, requests);
            emit(Event::Estimated {
                trial: trial.slot.trial,
                estimate,
            });
        }
    }
}
