//! How long the check of a trial would take on modelled devices. None of the times of a device is measured, and none is a sample: what
//! compares runs does not see them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What came of replaying the requests of a check, or of a reading of metadata.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// The phase whose requests they are: `check` or `scan`.
    pub phase: String,
    /// What read: `fslab check`, `model` (the reader of a `scan`), or the program (`e2fsck`).
    pub reader: String,
    /// Where the requests come from.
    pub stream: Stream,
    /// File of the requests, or base of the trace, within the run's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Why there is no estimate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// How they were replayed: `program` (a reader's own record) or `dependent` (a block trace).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub mode: String,
    /// What that cannot tell.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cannot_tell: String,
    /// Factor of processor times.
    pub cpu: f64,
    /// Replays with drawn figures, from which the intervals come.
    pub runs: u32,
    /// Where chance began.
    pub seed: u64,
    /// What speaks against the record of the requests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<String>,
    /// One for each device.
    pub devices: Vec<EstimatedDevice>,
}

/// Where the requests of an estimate come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stream {
    /// The reader recorded them: which thread asked, when it waited, its processor time between.
    #[default]
    OwnRecord,
    /// A block trace of the device: what waited for what is inferred.
    BlockTrace,
    /// There are none.
    None,
}

/// An estimate on a modelled device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EstimatedDevice {
    /// Its name in `fslab device list`.
    pub device: String,
    /// What it stands for.
    pub stands_for: String,
    /// The studies whose published results were measured on it, with a volume of this size.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub studies: Vec<String>,
    /// Why there is no estimate on it: it is too small for the volume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// Its disks or SSDs.
    pub members: u64,
    /// The whole first, then the passes.
    pub passes: Vec<EstimatedPass>,
    /// Requests that a buffer or a cache answered.
    pub modelled_hits: u64,
    /// Share of the time in which its disks or SSDs worked, percent: least, mean, most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modelled_members_busy_percent: Option<[f64; 3]>,
    /// Seconds in other modes of replay, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modelled_other_modes_s: Vec<(String, f64)>,
    /// Figures without a source: device and keys.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assumed: Vec<String>,
    /// Figures that were fitted: device, key, and to what.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fitted: Vec<String>,
}

/// A pass of an estimate, or all of them. Every time but `recorded_s` is modelled.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EstimatedPass {
    /// Its phase: `scan`, `scan_pass_0a`.
    pub phase: String,
    /// Requests.
    pub requests: u64,
    /// Bytes.
    pub bytes: u64,
    /// Seconds that it took where its requests were recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded_s: Option<f64>,
    /// Seconds there: the median of the runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modelled_s: Option<f64>,
    /// 5 % are below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modelled_low_s: Option<f64>,
    /// 5 % are above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modelled_high_s: Option<f64>,
    /// With the figures of the device file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modelled_nominal_s: Option<f64>,
    /// `modelled_s` by `recorded_s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modelled_ratio: Option<f64>,
    /// Response times with the figures of the device file, ms: mean, median, 95th and 99th percentile.
    pub modelled_response_ms: [f64; 4],
    /// Share of the time in which the busiest part of the device worked, percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modelled_busy_percent: Option<f64>,
    /// Share of the time in which nothing was in flight, percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modelled_idle_percent: Option<f64>,
    /// What decides how long it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
}

impl EstimatedDevice {
    /// A pass by its phase.
    pub fn pass(&self, phase: &str) -> Option<&EstimatedPass> {
        self.passes.iter().find(|pass| pass.phase == phase)
    }
}
