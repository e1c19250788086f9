//! Where the files of a trial's filesystem come from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where the files of a trial's filesystem come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Volume {
    /// The workload: the filesystem is made, mounted and filled through the kernel, for each trial anew.
    #[default]
    Filled,
    /// `fslab forge` writes image and files directly: nothing is mounted, and no driver is needed. Trials with the same population
    /// share one image, because they only read it.
    Forged,
}

impl Volume {
    /// `filled`, `forged`.
    pub const fn name(self) -> &'static str {
        match self {
            Volume::Filled => "filled",
            Volume::Forged => "forged",
        }
    }

    /// Whether the kernel fills it.
    #[allow(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde passes a reference"
    )]
    pub const fn is_filled(&self) -> bool {
        matches!(self, Volume::Filled)
    }

    /// Whether it is written directly.
    pub const fn is_forged(self) -> bool {
        matches!(self, Volume::Forged)
    }
}

impl std::str::FromStr for Volume {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        [Volume::Filled, Volume::Forged]
            .into_iter()
            .find(|volume| volume.name() == text)
            .ok_or(())
    }
}
