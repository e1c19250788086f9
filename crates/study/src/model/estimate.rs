//! Devices on which the checks of a study are estimated.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Modelled devices on which each check, and each reading of a `scan`, is estimated from its own requests. Nothing is slowed down:
/// the check runs as ever, and when the trial is over its requests are replayed (docs/devices.md).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EstimateSpec {
    /// Devices of `fslab device list`; `NAMExN` is N of them, striped at 64 KiB. None: nothing is estimated.
    #[schemars(title = "list of devices")]
    pub devices: Vec<String>,
    /// Factor of processor times: 3 for a processor that is a third as fast.
    #[schemars(title = "factor of times", range(min = 0.0, max = 10_000.0))]
    pub cpu: f64,
}

impl Default for EstimateSpec {
    fn default() -> Self {
        EstimateSpec {
            devices: Vec::new(),
            cpu: 1.0,
        }
    }
}
