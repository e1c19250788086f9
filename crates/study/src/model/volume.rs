//! Where the files of a trial's filesystem come from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The phase in which a volume is forged.
const FORGE: &str = "forge";

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

    /// Whether trials on it can have this phase: on a forged volume no workload runs, it is written in a phase of its own, and then
    /// scanned or checked.
    pub fn has_phase(self, phase: &str) -> bool {
        match self {
            Volume::Filled => phase != FORGE,
            Volume::Forged => {
                phase == FORGE || phase.starts_with("check") || phase.starts_with("scan")
            }
        }
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

#[cfg(test)]
mod tests {
    use super::Volume;
    use crate::names::{CHECK_PHASES, phases};

    #[test]
    fn every_phase_of_a_scan_and_a_check_is_on_both_volumes_and_others_on_one() {
        for phase in CHECK_PHASES {
            assert!(Volume::Forged.has_phase(phase) && Volume::Filled.has_phase(phase));
        }
        for kind in ["fill", "age", "scan", "stream", "metadata"] {
            for phase in phases(kind)
                .iter()
                .filter(|phase| !phase.starts_with("scan"))
            {
                assert_ne!(
                    Volume::Forged.has_phase(phase),
                    Volume::Filled.has_phase(phase),
                    "{phase}"
                );
            }
        }
    }
}
