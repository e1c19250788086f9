//! What can be run: one trait for all workloads.

use std::path::Path;

use params::{ForeignSpec, Parameters, WorkloadSpec};

use crate::{Error, Observer, Outcome};

/// A workload with its parameters, ready to run.
///
/// It is called once for each run. Inside, each workload has loops of its own, so that no transfer
/// pays for a dynamic call.
pub trait Workload {
    /// Its name in study files and on the command line.
    fn kind(&self) -> &'static str;

    /// The directories in which it runs.
    fn dirs(&self) -> Vec<&Path>;

    /// Whether it writes into them.
    fn writes(&self) -> bool {
        true
    }

    /// Runs it, reporting to `observer`.
    ///
    /// # Errors
    /// Parameters that cannot be used, and everything that stops the workload.
    fn run(&self, observer: &dyn Observer) -> Result<Outcome, Error>;
}

macro_rules! delegate {
    ($($(#[$doc:meta])* $variant:ident($spec:ident) = $kind:literal,)+) => {
        fn of(spec: &WorkloadSpec) -> &dyn Workload {
            match spec {
                $(WorkloadSpec::$variant(spec) => spec,)+
                WorkloadSpec::Foreign(spec) => spec,
            }
        }
    };
}

params::workloads!(delegate);

/// Results of another program: there is nothing to run.
impl Workload for ForeignSpec {
    fn kind(&self) -> &'static str {
        Self::KIND
    }

    fn dirs(&self) -> Vec<&Path> {
        Vec::new()
    }

    fn writes(&self) -> bool {
        false
    }

    fn run(&self, _observer: &dyn Observer) -> Result<Outcome, Error> {
        Ok(self.validate().map(|()| Outcome::default())?)
    }
}

impl Workload for WorkloadSpec {
    fn kind(&self) -> &'static str {
        of(self).kind()
    }

    fn dirs(&self) -> Vec<&Path> {
        of(self).dirs()
    }

    fn writes(&self) -> bool {
        of(self).writes()
    }

    fn run(&self, observer: &dyn Observer) -> Result<Outcome, Error> {
        of(self).run(observer)
    }
}
