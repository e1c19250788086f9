//! `fleet.json`: what all nodes are to run.

use std::fs;
use std::path::Path;

use record::Tags;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use study::{Plan, Slot};

use crate::error::Error;

/// Name of the file.
pub const FILE: &str = "fleet.json";
/// Its layout version.
const FORMAT: u32 = 1;

/// A run that is spread over nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FleetPlan {
    /// Layout version of this file.
    pub format: u32,
    /// When it was submitted.
    pub at: jiff::Timestamp,
    /// fslab's version and commit.
    pub tool: String,
    /// The command line.
    pub command: Vec<String>,
    /// The target on each node, as logs have it.
    pub target: String,
    /// Why there, in one line.
    pub why: Option<String>,
    /// The user's tags.
    pub tags: Tags,
    /// Everything that will run.
    pub plan: Plan,
    /// SHA-256 of the plan as JSON: two folders with the same one have the same cells, slots and seeds.
    pub plan_sha: String,
}

impl FleetPlan {
    /// A plan to be submitted now.
    pub fn new(plan: Plan, target: String, tool: String, command: Vec<String>, tags: Tags) -> Self {
        FleetPlan {
            format: FORMAT,
            at: jiff::Timestamp::now(),
            tool,
            command,
            target,
            why: None,
            tags,
            plan_sha: sha(&plan),
            plan,
        }
    }

    /// Writes it into a folder, which it makes; with `parts` and `logs` in it.
    ///
    /// # Errors
    /// The folder is not empty, or cannot be written.
    pub fn write(&self, dir: &Path) -> Result<(), Error> {
        let used = fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_some());
        if used {
            let path = dir.display();
            return Err(Error::Refused(format!(
                "{path}: it is not empty; name a new folder with --out, or add --missing to submit what is missing there"
            )));
        }
        for sub in ["parts", "logs"] {
            let sub = dir.join(sub);
            fs::create_dir_all(&sub).map_err(Error::io("make the folder", sub.clone()))?;
        }
        let text = serde_json::to_string_pretty(self).unwrap_or_default() + "\n";
        let dir = rundir::RunDir::open(dir)?;
        Ok(dir.replace(FILE, text.as_bytes())?)
    }

    /// Reads it.
    ///
    /// # Errors
    /// There is none; its plan is not the one that its checksum is of.
    pub fn load(dir: &Path) -> Result<FleetPlan, Error> {
        let path = dir.join(FILE);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(Error::NotAFleet(dir.to_owned()));
            }
            Err(error) => return Err(Error::io("read", path)(error)),
        };
        let fleet: FleetPlan = serde_json::from_str(&text).map_err(|error| Error::Changed {
            path: path.clone(),
            why: format!("it cannot be read ({error})"),
        })?;
        if fleet.format > FORMAT {
            let why = format!("it has format {}, which a newer fslab wrote", fleet.format);
            return Err(Error::Changed { path, why });
        }
        if sha(&fleet.plan) != fleet.plan_sha {
            let why = "its plan is not the one that was submitted".to_owned();
            return Err(Error::Changed { path, why });
        }
        Ok(fleet)
    }

    /// Slots of a block, as the whole plan numbers them.
    pub fn slots(&self, block: u32) -> impl Iterator<Item = &Slot> {
        self.plan
            .slots
            .iter()
            .filter(move |slot| slot.block == block)
    }

    /// The plan of one block alone: the same cells and seeds, its slots numbered from 0.
    ///
    /// # Errors
    /// There is no such block.
    pub fn of_block(&self, block: u32) -> Result<Plan, Error> {
        let slots = (0..)
            .zip(self.slots(block))
            .map(|(trial, slot)| Slot { trial, ..*slot });
        let slots: Vec<Slot> = slots.collect();
        if slots.is_empty() {
            return Err(Error::NoBlock {
                block,
                blocks: self.plan.blocks,
            });
        }
        Ok(Plan {
            slots,
            ..self.plan.clone()
        })
    }
}

fn sha(plan: &Plan) -> String {
    let text = serde_json::to_string(plan).unwrap_or_default();
    words::hex(&Sha256::digest(text.as_bytes()))
}
