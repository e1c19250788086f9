//! What lies under a filesystem.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::limit::Limit;
use crate::units::Bytes;

/// What the rig prepares under the filesystem of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DeviceSpec {
    /// Size of a loop image; a real device is used whole unless `limit_size`.
    #[schemars(title = "device size", extend("minimum" = 16 << 20, "maximum" = 1_u64 << 50))]
    pub size: Bytes,
    /// Readahead in 512-byte sectors (`blockdev --setra`); none: what the kernel gives.
    #[schemars(
        title = "readahead in 512-byte sectors",
        range(min = 0, max = 2_097_152)
    )]
    pub readahead: Option<u32>,
    /// Discard the whole device before mkfs, so that each trial sees a fresh disk.
    pub discard: bool,
    /// Bytes and operations a second that the device is held to, so that a fast machine can stand
    /// in for a slow disk; none: as fast as it is.
    #[schemars(title = "limit")]
    pub limit: Option<Limit>,
}

impl Default for DeviceSpec {
    fn default() -> Self {
        DeviceSpec {
            size: Bytes(2 * Bytes::GIB),
            readahead: None,
            discard: true,
            limit: None,
        }
    }
}
