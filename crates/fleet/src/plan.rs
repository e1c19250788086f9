//! `fleet.json`: what all nodes are to run.
//!
//! It says which program starts the ranks and which disk is formatted, so a folder is opened here as root opens a run to resume it
//! (docs/security.md), and everything in it is reached by its descriptor.

use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

use record::Tags;
use rundir::{Authority, RunDir};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use study::{Plan, Slot};

use crate::error::Error;

/// Name of the file.
pub const FILE: &str = "fleet.json";
/// The folder of the attempts at blocks.
pub(crate) const PARTS: &str = "parts";
/// Its layout version.
const FORMAT: u32 = 1;
/// Most bytes of it that are read. The plan of 100,000 trials takes 10 MB without the spaces of this form.
const LARGEST: u64 = 64 << 20;

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

    /// Writes it into the folder `dir`, which it makes, with `parts` and `logs` in it.
    ///
    /// # Errors
    /// The folder is not empty, cannot be written, or (as root) others may write it.
    pub fn write(&self, dir: &Path) -> Result<RunDir, Error> {
        fs::create_dir_all(dir).map_err(Error::io("make the folder", dir))?;
        let dir = RunDir::open_as(dir, Authority::Obeys)?;
        if !dir.names("")?.is_empty() {
            let path = dir.path().display();
            return Err(Error::Refused(format!(
                "{path}: it is not empty; name a new folder with --out, or add --missing to submit what is missing there"
            )));
        }
        for sub in [PARTS, "logs"] {
            dir.make_folder(sub)?;
        }
        let text = serde_json::to_string_pretty(self).unwrap_or_default() + "\n";
        dir.replace(FILE, text.as_bytes())?;
        Ok(dir)
    }

    /// Opens a fleet's folder to do what its plan says, and reads the plan. As root everything in the folder must belong to
    /// root or the caller: the plan names a program to start.
    ///
    /// # Errors
    /// It is not a fleet's, or must not be obeyed; its plan is not the one that its checksum is of.
    pub fn open(dir: &Path) -> Result<(RunDir, FleetPlan), Error> {
        let opened = RunDir::open_as(dir, Authority::Obeys).map_err(|error| match error {
            rundir::Error::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                Error::NotAFleet(dir.to_owned())
            }
            other => other.into(),
        })?;
        let plan = FleetPlan::read(&opened)?;
        // Only now: what is not a fleet's folder may be a whole filesystem.
        opened.require(Authority::ObeysAll)?;
        Ok((opened, plan))
    }

    fn read(dir: &RunDir) -> Result<FleetPlan, Error> {
        let path = dir.path().join(FILE);
        let Some(file) = dir.read_trusted(FILE)? else {
            return Err(Error::NotAFleet(dir.path().to_owned()));
        };
        let mut text = Vec::new();
        file.take(LARGEST + 1)
            .read_to_end(&mut text)
            .map_err(Error::io("read", path.clone()))?;
        let changed = |why: String| Error::Changed {
            path: path.clone(),
            why,
        };
        if text.len() as u64 > LARGEST {
            return Err(changed(format!("it is larger than {} MiB", LARGEST >> 20)));
        }
        let fleet: FleetPlan = serde_json::from_slice(&text)
            .map_err(|error| changed(format!("it cannot be read ({error})")))?;
        if fleet.format > FORMAT {
            let format = fleet.format;
            return Err(changed(format!(
                "it has format {format}, which a newer fslab wrote"
            )));
        }
        if sha(&fleet.plan) != fleet.plan_sha {
            return Err(changed(
                "its plan is not the one that was submitted".to_owned(),
            ));
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
