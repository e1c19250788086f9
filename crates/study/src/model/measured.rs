//! What a short probe of the target measured before the first trial.

use serde::{Deserialize, Serialize};

/// Costs of every variant of a plan, measured on its target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// One entry for each distinct filesystem, device and memory limit.
    pub variants: Vec<VariantCosts>,
    /// Wall seconds of the probe.
    pub seconds: f64,
}

impl Measured {
    /// The costs of a cell's variant.
    pub fn of_cell(&self, cell: u32) -> Option<&VariantCosts> {
        self.variants
            .iter()
            .find(|costs| costs.cells.contains(&cell))
    }
}

/// Costs of one variant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct VariantCosts {
    /// Ids of its cells.
    pub cells: Vec<u32>,
    /// Seconds to make the device, and to remove it.
    pub device: f64,
    /// Seconds of mkfs.
    pub mkfs: f64,
    /// Seconds of mount(2).
    pub mount: f64,
    /// Seconds until the lazy initialisation was finished.
    pub wait: f64,
    /// Seconds of sync and umount.
    pub umount: f64,
    /// What the mounted filesystem does; none: not measured, for lack of time or space.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rates: Option<MeasuredRates>,
}

impl VariantCosts {
    /// Seconds of one trial besides its workload and check.
    pub fn trial_seconds(&self) -> f64 {
        self.device + self.mkfs + self.mount + self.wait + self.umount
    }
}

/// Rates of a mounted filesystem.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredRates {
    /// Bytes a second written to a new file, to the end of its fsync.
    pub write: f64,
    /// Bytes a second of a sequential read with cold caches.
    pub read: f64,
    /// Seconds of a write of 4 KiB and its fsync.
    pub fsync: f64,
    /// Files of 4 KiB created a second, without a sync.
    pub files: f64,
}
