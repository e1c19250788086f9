//! Where a trial runs: in this process, or in a guest kernel. A trial is a value that serialises, and
//! what happens in it comes back as a stream of events, so the session does not know the difference.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use probe::context::{ContextRecord, Options, Subject};
use record::{Event, FailureKind, Ledger, Reference};
use serde::{Deserialize, Serialize};
use study::{Measured, Plan, Trial};

use crate::error::Error;

/// How a trial ended that did not end well. Everything it made is undone already.
#[derive(Debug)]
pub struct Failure {
    /// What kind.
    pub kind: FailureKind,
    /// One line: what, why, what next.
    pub message: String,
    /// Where the time went.
    pub ledger: Ledger,
    /// Set when no further trial can run: the target was refused, or cannot serve.
    pub fatal: Option<Box<rig::Error>>,
}

/// Takes the events of a trial. `false` means that they cannot be kept: stop.
pub type Emit<'a> = dyn FnMut(Event) -> bool + Send + 'a;

/// What the context record of a run's machine is about.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Surroundings {
    /// The folder of the run, or the directory that is measured.
    pub folder: PathBuf,
    /// The disk that is measured; none: an image in the folder.
    pub device: Option<PathBuf>,
    /// Bytes that the workloads touch.
    pub working_set: u64,
    /// Items that no file of the machine has, by name.
    pub manual: BTreeMap<String, String>,
    /// How long to watch the disks for other people's I/O.
    pub watch: Duration,
}

impl Surroundings {
    /// Takes the record of the machine that this process runs on.
    pub fn take(&self) -> ContextRecord {
        let subject = Subject {
            target_folder: Some(&self.folder),
            device: self.device.as_deref(),
            working_set_bytes: Some(self.working_set),
            manual: self.manual.clone(),
            ..Subject::default()
        };
        let options = Options {
            observe_idle: self.watch,
            ..Options::default()
        };
        probe::context::take_with(&subject, &options)
    }
}

/// A context record, and whose it is.
#[derive(Clone, Debug)]
pub struct KernelContext {
    /// The level of the kernel factor; none where all trials run in one kernel.
    pub kernel: Option<String>,
    /// The record.
    pub record: ContextRecord,
}

/// Runs trials.
pub trait Executor {
    /// Takes the context records of the machines that trials run on, one for each kernel: the run's own.
    ///
    /// # Errors
    /// When such a machine cannot be had: its trials could not run.
    fn contexts(&mut self, around: &Surroundings) -> Result<Vec<KernelContext>, Error>;

    /// What a reader of the run should know of how the machine was had, each once.
    fn notes(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// From here on a trial's context holds what differs from that of its kernel.
    fn compare_with(&mut self, contexts: Vec<KernelContext>);

    /// Makes, mounts and unmounts every variant of the plan once, and measures what a plan's time is made
    /// of. None: each trial boots its own machine, so that this would cost as much as a trial.
    ///
    /// # Errors
    /// A variant that cannot be made or mounted here.
    fn try_variants(&mut self, _plan: &Plan) -> Result<Option<Measured>, Error> {
        Ok(None)
    }

    /// Measures what the disks themselves can do: each as measured, or a line with the reason why not.
    fn references(&mut self, plan: &Plan) -> Vec<Result<Reference, String>>;

    /// Runs one trial, from a bare device to a bare device. On success the last event it emitted
    /// is [`Event::TrialFinished`].
    ///
    /// # Errors
    /// A [`Failure`], for which the caller writes [`Event::TrialFailed`].
    fn run(&mut self, trial: &Trial, emit: &mut Emit<'_>) -> Result<(), Failure>;
}
