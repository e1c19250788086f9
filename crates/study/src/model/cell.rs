//! Combinations of factor levels, and the place of each in the order.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::check::CheckSpec;
use super::crash::CrashSpec;
use super::device::DeviceSpec;
use super::estimate::EstimateSpec;
use super::filesystem::FilesystemVariant;
use super::layout::LayoutSpec;
use super::volume::Volume;
use crate::units::Bytes;
use params::WorkloadSpec;

/// One combination of factor levels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Position in [`super::Plan::cells`].
    pub id: u32,
    /// Factor name to level, as printed: `filesystem=ext4`, `workload=iozone`, `threads=8`.
    pub levels: BTreeMap<String, String>,
    /// How the filesystem is made and mounted, factors applied.
    pub filesystem: FilesystemVariant,
    /// Where the filesystem's files come from.
    #[serde(default, skip_serializing_if = "Volume::is_filled")]
    pub volume: Volume,
    /// The device under the filesystem, factors applied.
    pub device: DeviceSpec,
    /// Name of the workload entry in the study (`iozone`, `compilebench`).
    pub workload_name: String,
    /// The workload, factors applied.
    pub workload: WorkloadSpec,
    /// Memory that the trial, its page cache and its checker may use; none: no limit.
    #[serde(default)]
    pub memory: Option<Bytes>,
    /// The check after the workload; none: no check.
    #[serde(default)]
    pub check: Option<CheckSpec>,
    /// How file layouts are examined after each writing phase; none: not at all.
    #[serde(default)]
    pub layout: Option<LayoutSpec>,
    /// The simulated power cuts after the trial; none: no crash check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crash: Option<CrashSpec>,
    /// The devices on which the trial's check is estimated; none: it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<EstimateSpec>,
    /// Whether a block trace is recorded while the trial runs.
    #[serde(default)]
    pub trace: bool,
    /// The kernel that the trial runs in, as the study names it; none: the run's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
}

impl Cell {
    /// `filesystem=ext4 threads=8 workload=iozone`: the name used in logs and errors.
    pub fn label(&self) -> String {
        let pairs: Vec<String> = self
            .levels
            .iter()
            .map(|(k, v)| format!("{k}={v}"))
            .collect();
        pairs.join(" ")
    }
}

/// A place in the order: which cell runs when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slot {
    /// 0-based position in the order of the whole run.
    pub trial: u32,
    /// 0-based block.
    pub block: u32,
    /// [`Cell::id`].
    pub cell: u32,
    /// Seed of this trial, derived from the plan's.
    pub seed: u64,
}

/// One cell in one block: what an executor runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Its place in the order.
    pub slot: Slot,
    /// The cell to run.
    pub cell: Cell,
    /// Text of the user's devices file, see [`super::Plan::devices_file`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub devices_file: Option<String>,
}
