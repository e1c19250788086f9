//! The device under a filesystem.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::stack::Stack;
use crate::limit::Limit;
use crate::units::Bytes;

/// What the rig prepares under the filesystem of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DeviceSpec {
    /// Size of a loop image or of a stack; a real device is used whole unless `limit_size`.
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
    /// The stack between disks and filesystem, by its name in the study (`[stack.NAME]`); `plain`:
    /// none.
    #[schemars(title = "device", with = "Option<String>")]
    pub stack: Option<Stack>,
    /// Whether mkfs gets the stripe geometry.
    #[schemars(title = "way to give hints")]
    pub hints: Hints,
}

/// Whether mkfs gets the stripe geometry of its device (ext4's `stride` and `stripe_width`, XFS's
/// `su` and `sw`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Hints {
    /// mkfs asks the kernel, and believes it.
    #[default]
    Auto,
    /// By option, as an administrator who knows the array would.
    Given,
    /// mkfs is instructed to assume no stripes.
    Withheld,
}

impl std::str::FromStr for Hints {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "auto" => Ok(Hints::Auto),
            "given" => Ok(Hints::Given),
            "withheld" => Ok(Hints::Withheld),
            _ => Err(()),
        }
    }
}

impl DeviceSpec {
    /// What a kernel must have for the device, by the names of `fslab kernel list`: nothing for a
    /// plain disk.
    pub fn needs(&self) -> Vec<&'static str> {
        self.stack.as_ref().map(Stack::needs).unwrap_or_default()
    }

    /// Sizes of the disks that a trial of its own machine needs: one of the device's size unless a
    /// stack wants more, or none at all.
    pub fn disks(&self) -> Vec<Bytes> {
        self.stack
            .as_ref()
            .map_or_else(|| vec![self.size], |stack| stack.disks(self.size))
    }

    /// Whether its disk is a model.
    pub fn is_modelled(&self) -> bool {
        self.model().is_some()
    }

    /// The model that its disk is.
    pub(crate) fn model(&self) -> Option<&super::Model> {
        match &self.stack.as_ref()?.layers {
            super::Layers::Model(model) => Some(model),
            _ => None,
        }
    }

    /// Bytes of the kernel's memory that the device itself may fill.
    pub fn memory(&self) -> Bytes {
        self.stack
            .as_ref()
            .map_or(Bytes(0), |stack| stack.memory(self.size))
    }
}

impl Default for DeviceSpec {
    fn default() -> Self {
        DeviceSpec {
            size: Bytes(2 * Bytes::GIB),
            readahead: None,
            discard: true,
            limit: None,
            stack: None,
            hints: Hints::Auto,
        }
    }
}
