//! What the log says of one trial.

use crate::crash::Crash;
use crate::estimate::Estimate;
use crate::event::{
    Evidence, FailureKind, Layout, Ledger, Members, MemoryPressure, Middle, Mounted, Sample, Trace,
    Usage,
};
use crate::noise::{Noise, QUIET_MACHINE};

/// State of a trial.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Status {
    /// Not begun, or begun and torn off by a kill.
    #[default]
    Pending,
    /// Whole: its samples count.
    Finished,
    /// Failed, with its one-line message.
    Failed(FailureKind, String),
    /// Ended, and another trial of the same block and cell counts in its place. Its samples are in the
    /// log alone.
    Replaced {
        /// Number of that trial.
        by: u32,
    },
}

/// A phase of a trial.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// Name in snake case.
    pub name: String,
    /// CLOCK_MONOTONIC, nanoseconds, the telemetry's clock.
    pub begin_ns: u64,
    /// See `begin_ns`.
    pub end_ns: u64,
    /// The workload's full report.
    pub detail: serde_json::Value,
    /// What it used.
    pub usage: Option<Usage>,
    /// What memory management did meanwhile.
    pub memory: Option<MemoryPressure>,
    /// iostat and top in its middle.
    pub middle: Option<Middle>,
}

/// Everything known of one trial.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrialRecord {
    /// Its state.
    pub status: Status,
    /// The node it ran on, where the run has several.
    pub node: Option<String>,
    /// When its last attempt began.
    pub started_at: Option<jiff::Timestamp>,
    /// Telemetry file, relative to the run's folder.
    pub telemetry: Option<String>,
    /// Its filesystem.
    pub mounted: Option<Mounted>,
    /// Its phases, in running order.
    pub phases: Vec<Phase>,
    /// Where its files lay, by the phase that left them so.
    pub layouts: Vec<Layout>,
    /// How its phases were shared among the members of its device; none for a plain one.
    pub members: Vec<Members>,
    /// Its block traces, one for each device.
    pub traces: Vec<Trace>,
    /// How long its checks would take on modelled devices.
    pub estimates: Vec<Estimate>,
    /// What power cuts would have left.
    pub crash: Option<Crash>,
    /// What others did on the machine meanwhile: in the whole trial, and in its phases.
    pub noise: Vec<Noise>,
    /// Its samples; empty unless finished.
    pub samples: Vec<Sample>,
    /// Its evidence.
    pub evidence: Vec<Evidence>,
    /// Its warnings.
    pub warnings: Vec<String>,
    /// Where its time went.
    pub ledger: Ledger,
}

impl TrialRecord {
    /// Whether any of its evidence does not hold.
    pub fn is_doubtful(&self) -> bool {
        self.evidence.iter().any(|found| found.holds == Some(false))
    }

    /// Whether its measurement is invalid: evidence other than that of a quiet machine does not hold.
    pub fn is_invalid(&self) -> bool {
        let fails = |found: &Evidence| found.holds == Some(false) && found.name != QUIET_MACHINE;
        self.evidence.iter().any(fails)
    }

    /// Whether it ran on a busy machine.
    pub fn is_noisy(&self) -> bool {
        let fails = |found: &Evidence| found.holds == Some(false) && found.name == QUIET_MACHINE;
        self.evidence.iter().any(fails)
    }
}
