//! What others did on the machine while a trial ran: figures for each trial and each longer phase.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Name of the evidence that a trial or phase ran on a quiet machine.
pub const QUIET_MACHINE: &str = "quiet_machine";

/// Activity on the machine in one interval. docs/metrics.md defines each figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Noise {
    /// The phase; none: the whole trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Length of the interval, seconds. That of a short trial begins before the trial, so that it is half a second.
    pub seconds: f64,
    /// CPUs online.
    pub cpus: u32,
    /// Used by fslab and its descendants, in CPUs.
    pub own_cpu: f64,
    /// Used by kernel threads, in CPUs: most of it is work for the trial's own device.
    pub kernel_cpu: f64,
    /// Used by other processes, in CPUs.
    pub others_cpu: f64,
    /// Taken by the hypervisor, in CPUs.
    pub steal_cpu: f64,
    /// Mean number of tasks that ran or waited for a CPU, the sampler not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_queue: Option<f64>,
    /// Share of the interval in which some task waited for a CPU, for I/O, for memory (PSI some).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub psi_cpu: Option<f64>,
    /// See `psi_cpu`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub psi_io: Option<f64>,
    /// See `psi_cpu`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub psi_memory: Option<f64>,
    /// I/O on the disk under the trial's images.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<DiskNoise>,
    /// Thermal throttling events of all CPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled: Option<u64>,
    /// Mean frequency of the CPUs at the beginning and at the end, MHz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mhz: Option<[f64; 2]>,
}

/// I/O on the disk under the images of a trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DiskNoise {
    /// Its name in sysfs.
    pub device: String,
    /// Bytes a second that the trial's own devices moved.
    pub own: f64,
    /// Bytes a second that the disk moved beyond that.
    pub others: f64,
}
