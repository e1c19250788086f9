//! What a trial in this process has shown so far, and why one ends early.

use blktrace::analysis::window::Places;
use record::{Event, Evidence, FailureKind, Sample};
use rig::Class;

use super::LocalExecutor;
use crate::checked::Checked;
use crate::estimate::Requests;
use crate::executor::Emit;
use crate::trial_trace::Explained;

/// What a trial has shown so far.
#[derive(Default)]
pub(super) struct Findings {
    pub(super) samples: Vec<Sample>,
    pub(super) evidence: Vec<Evidence>,
    pub(super) warnings: Vec<String>,
    /// The block map of the device, for its trace.
    pub(super) places: Places,
    /// What its checks read, for estimates.
    pub(super) requests: Vec<Requests>,
}

impl Findings {
    /// What a check gives; an error when it makes the trial invalid.
    pub(super) fn checked(&mut self, checked: Checked, emit: &mut Emit<'_>) -> Result<(), Stopped> {
        for event in checked.events {
            emit(event);
        }
        self.samples.extend(checked.samples);
        self.evidence.extend(checked.evidence);
        checked.failure.map_or(Ok(()), |message| {
            Err(Stopped {
                kind: FailureKind::Trial,
                message,
                fatal: None,
            })
        })
    }

    /// The result of the trial's traces.
    pub(super) fn take(&mut self, explained: Explained, trial: u32, emit: &mut Emit<'_>) {
        for trace in explained.traces {
            emit(Event::Traced { trial, trace });
        }
        self.samples.extend(explained.samples);
        self.evidence.extend(explained.evidence);
        self.warnings.extend(explained.warnings);
    }
}

/// A trace that could not be written or taken back.
pub(super) fn trace_failure(why: &str) -> Stopped {
    Stopped {
        kind: FailureKind::Trial,
        message: format!("block trace: {why}"),
        fatal: None,
    }
}

/// Why an attempt ended early.
pub(super) struct Stopped {
    pub(super) kind: FailureKind,
    pub(super) message: String,
    pub(super) fatal: Option<Box<rig::Error>>,
}

impl Stopped {
    /// With what the device has to say of it.
    pub(super) fn because(mut self, why: &rig::Error) -> Stopped {
        self.message = format!("{}; {why}", self.message);
        self
    }
}

impl LocalExecutor<'_> {
    pub(super) fn rig_failure(&self, error: rig::Error) -> Stopped {
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

    pub(super) fn workload_failure(error: &workload::Error) -> Stopped {
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
