//! Everything that will be run, in order.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cell::{Cell, Slot, Trial};
use super::filesystem::FilesystemVariant;
use super::fleet::FleetSpec;
use super::grid::GridSpec;
use super::growth::GrowthSpec;
use super::measured::Measured;
use super::needs::NeedsSpec;
use super::table::TableSpec;

/// In which order the trials run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Randomised complete blocks: each block holds every cell once, in a seeded random order.
    #[default]
    Blocked,
    /// As the originals ran: all repetitions of a cell together, cells in file order.
    Sequential,
}

/// The expansion of a study: everything that will be run, in order. Touches nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Name of the study (`journal`).
    pub study: String,
    /// One line.
    pub title: String,
    /// The question it answers.
    pub question: String,
    /// Document of published/ that it repeats (`wohlgemuth2009`).
    pub repeats: Option<String>,
    /// The profile in force (`quick`).
    pub profile: String,
    /// Seed of the order.
    pub seed: u64,
    /// Order of the trials.
    pub order: Order,
    /// Number of blocks.
    pub blocks: u32,
    /// Practical band: differences within this share of 1 are not called differences (0.02).
    pub band: f64,
    /// Variants that any cell uses, by name.
    pub filesystems: BTreeMap<String, FilesystemVariant>,
    /// Factors in the file's order, with their levels in the file's order.
    pub factors: Vec<(String, Vec<String>)>,
    /// Every combination.
    pub cells: Vec<Cell>,
    /// Every trial, in running order.
    pub slots: Vec<Slot>,
    /// Tables of the report.
    pub tables: Vec<TableSpec>,
    /// Grids of the report.
    #[serde(default)]
    pub grids: Vec<GridSpec>,
    /// Growth laws of the report.
    #[serde(default)]
    pub growth: Vec<GrowthSpec>,
    /// Seconds of each sequential read of the raw-device reference before the run (hdparm -t: 3);
    /// 0: no reference.
    #[serde(default)]
    pub reference_seconds: f64,
    /// How often a doubtful or failed trial is repeated at the end of the run, at most; 0: never.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rerun_doubtful: u32,
    /// What a probe of the target measured before the first trial; none: times are estimated from
    /// defaults.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<Measured>,
    /// What the machine must have beyond what the cells say.
    #[serde(default, skip_serializing_if = "is_default")]
    pub needs: NeedsSpec,
    /// How ranks are started, where the trials run on some.
    #[serde(default, skip_serializing_if = "is_default")]
    pub fleet: FleetSpec,
    /// The user's devices file, where a modelled device or an estimate is of it: its text, so that the record does not need the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub devices_file: Option<String>,
    /// What a reader of the plan must know, a sentence each: cells that were excluded, and why;
    /// what the target cannot vary.
    #[serde(default)]
    pub notes: Vec<String>,
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
const fn is_zero(number: &u32) -> bool {
    *number == 0
}

fn is_default<T: Default + PartialEq>(part: &T) -> bool {
    *part == T::default()
}

impl Plan {
    /// The trial at a slot.
    ///
    /// # Panics
    /// Never for a slot of this plan: `cell` indexes `cells` by construction.
    pub fn trial(&self, slot: Slot) -> Trial {
        Trial {
            slot,
            cell: self.cells[slot.cell as usize].clone(),
            devices_file: self.devices_file.clone(),
        }
    }
}
