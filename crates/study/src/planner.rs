//! A study, loaded; and its plan.

use crate::devices::{Devices, DevicesFile};
use crate::error::{Error, Origin, Problem, shorten};
use crate::expand::{self, Expansion};
use crate::filter::Filters;
use crate::model::{Cell, Plan};
use crate::node::{Node, Table};
use crate::overrides::Overrides;
use crate::placed::Placed;
use crate::references::StudyNames;
use crate::units::Bytes;
use crate::{
    builtin, capacity, document, exclude, filter, forged, order, references, rules, validate,
};
use words::hint;

/// Most trials of a plan.
const MOST_TRIALS: usize = 100_000;

/// Name of the study itself, without a profile.
pub const BASE: &str = "base";

/// The profile in force when none is asked for, where the study has it.
const USUAL: &str = "standard";

/// A study file with its includes, checked whole: every profile of it can be expanded.
#[derive(Clone, Debug)]
pub struct Study {
    root: Node,
    devices: Devices,
}

impl Study {
    /// Loads a built-in study by name, or a file by path (recognised by its `/` or its `.toml`).
    ///
    /// # Errors
    /// An unknown name, an unreadable file, or every problem that the file has.
    pub fn load(name_or_path: &str) -> Result<Study, Error> {
        Study::load_with(name_or_path, None)
    }

    /// As [`Study::load`], of a study that may name devices of a file.
    ///
    /// # Errors
    /// Those of [`Study::load`], and what is wrong with the file of devices.
    pub fn load_with(name_or_path: &str, file: Option<&DevicesFile>) -> Result<Study, Error> {
        let devices = Devices::with(file).map_err(Error::Problems)?;
        let root = document::read(name_or_path)?;
        let problems = validate::study(&root);
        if !problems.is_empty() {
            return Err(Error::Problems(problems));
        }
        let study = Study { root, devices };
        let problems = study.profile_problems();
        if problems.is_empty() {
            Ok(study)
        } else {
            Err(Error::Problems(problems))
        }
    }

    /// Expands every profile, so that a mistake in one is found before the day it is needed.
    fn profile_problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut trees = Vec::new();
        let mut known = StudyNames::new(&self.root);
        for profile in std::iter::once(BASE).chain(self.profiles()) {
            let expanded = self
                .tree(profile)
                .and_then(|tree| Ok((expand(&tree, None, &self.devices)?, tree)));
            match expanded {
                Ok((expansion, tree)) => {
                    known.factors.extend(expansion.factors.iter().cloned());
                    trees.push((tree, expansion));
                }
                Err(found) => problems.extend(found),
            }
        }
        // A profile may leave levels out; a level that no profile has is a mistake.
        for (tree, expansion) in &trees {
            problems.extend(exclude::problems(tree.find(&["exclude"]), &known.factors));
            problems.extend(references::problems(tree, expansion, &known));
        }
        unique(problems)
    }

    /// Names of the built-in studies.
    pub fn builtin() -> Vec<&'static str> {
        builtin::studies().iter().map(|study| study.name).collect()
    }

    /// The study's name.
    pub fn name(&self) -> &str {
        self.text("name")
    }

    /// Its title, one line.
    pub fn title(&self) -> &str {
        self.text("title")
    }

    /// The question it answers; its title where it asks none.
    pub fn question(&self) -> &str {
        match self.text("question") {
            "" => self.title(),
            question => question,
        }
    }

    /// Its profiles, in the file's order.
    pub fn profiles(&self) -> impl Iterator<Item = &str> {
        let profiles = self.root.find(&["profile"]).and_then(Node::as_table);
        profiles.into_iter().flat_map(Table::keys)
    }

    fn text(&self, key: &str) -> &str {
        let node = self.root.find(&[key]);
        node.and_then(Node::as_text).unwrap_or_default()
    }

    /// The tree with a profile laid upon it.
    fn tree(&self, profile: &str) -> Result<Node, Vec<Problem>> {
        let mut tree = self.root.clone();
        let profiles = tree
            .as_table_mut()
            .and_then(|table| table.remove("profile"));
        let overlay = profiles.and_then(|mut all| all.as_table_mut()?.remove(profile));
        match overlay {
            Some(overlay) => tree.merge(overlay),
            None if profile == BASE => {}
            None => {
                let known: Vec<&str> = self.profiles().chain([BASE]).collect();
                let message = format!(
                    "the study {} has no such profile ({}{})",
                    self.name(),
                    hint(profile, known.iter().copied()),
                    known.join(", ")
                );
                let at = Origin::argument(format!("--profile {}", shorten(profile)));
                return Err(vec![Problem::new(&at, message)]);
            }
        }
        Ok(tree)
    }

    /// The profile in force.
    fn profile<'a>(&'a self, overrides: &'a Overrides) -> &'a str {
        let usual = self.profiles().find(|name| *name == USUAL);
        overrides
            .profile
            .as_deref()
            .unwrap_or(usual.unwrap_or(BASE))
    }
}

/// Expands a study. Touches nothing.
///
/// # Errors
/// Every problem found: bad overrides, parameters that contradict one another, working sets that
/// cannot fit, filters that match nothing, too many cells or trials.
pub fn plan(study: &Study, overrides: &Overrides) -> Result<Plan, Error> {
    let profile = study.profile(overrides);
    let mut tree = study.tree(profile).map_err(Error::Problems)?;
    let problems = overrides.apply(&mut tree);
    if !problems.is_empty() {
        return Err(Error::Problems(problems));
    }
    let target = overrides.target_size;
    let device = target.filter(|_| !overrides.target_is_folder);
    let mut expansion = expand(&tree, device, &study.devices).map_err(Error::Problems)?;
    let all = std::mem::take(&mut expansion.cells);
    let filters = Filters::parse(&overrides.filter, &expansion.factors)?;
    let skipped = expansion.skipped.iter();
    let mut notes: Vec<String> = skipped.filter_map(|left| left.note(&filters)).collect();
    let mut cells = filters.apply(all, &notes)?;
    if let Some(size) = target {
        notes.extend(one_device_size(&mut cells, size));
    }
    // A trial in a folder has neither a checker nor a device of its own.
    let mut problems = if overrides.target_is_folder {
        Vec::new()
    } else {
        rules::unfit(&cells, &tree)
    };
    problems.extend(capacity::problems(&cells, target));
    if !problems.is_empty() {
        return Err(Error::Problems(problems));
    }
    bound_trials(&tree, cells.len(), expansion.run.blocks)?;
    let cells: Vec<Cell> = cells.into_iter().map(|placed| placed.cell).collect();
    let devices_file = study.devices.text_for(&cells);
    let seed = overrides.seed.unwrap_or(expansion.run.seed);
    let plan = assemble(&tree, profile, expansion, cells, seed);
    Ok(Plan {
        devices_file,
        notes,
        ..plan
    })
}

/// A disk or a folder has one size: of the levels of `device_size` the nearest to it is kept, which
/// describes what the trials represent.
fn one_device_size(cells: &mut Vec<Placed>, target: Bytes) -> Option<String> {
    const FACTOR: &str = "device_size";
    let far = |size: Bytes| {
        (size.get().max(1) as f64 / target.get().max(1) as f64)
            .ln()
            .abs()
    };
    let varied = cells.iter().filter(|p| p.cell.levels.contains_key(FACTOR));
    let sizes = varied.map(|p| p.cell.device.size);
    let kept = sizes.min_by(|a, b| far(*a).total_cmp(&far(*b)))?;
    let before = cells.len();
    cells.retain(|p| !p.cell.levels.contains_key(FACTOR) || p.cell.device.size == kept);
    for (id, placed) in (0..).zip(cells.iter_mut()) {
        placed.cell.id = id;
    }
    (cells.len() < before).then(|| {
        let left = before - cells.len();
        let target = capacity::human(target);
        format!(
            "the target has one size, {target}: {FACTOR}={kept} is kept as the nearest, and {left} \
             cells of other sizes are left out"
        )
    })
}

fn bound_trials(tree: &Node, cells: usize, blocks: u32) -> Result<(), Problem> {
    let trials = cells.saturating_mul(blocks as usize);
    if trials <= MOST_TRIALS {
        return Ok(());
    }
    let at = tree.find(&["run", "blocks"]).unwrap_or(tree);
    let message = format!(
        "{cells} cells in {blocks} blocks are {trials} trials (at most {MOST_TRIALS}: fewer \
         blocks, or a --filter)"
    );
    Err(Problem::new(&at.at, message))
}

/// The plan of these cells; variants, levels and tables that they do not use are left out.
fn assemble(tree: &Node, profile: &str, all: Expansion, cells: Vec<Cell>, seed: u64) -> Plan {
    let text = |key: &str| {
        let node = tree.find(&[key]).and_then(Node::as_text);
        node.map(str::to_owned)
    };
    let used = |name: &String| {
        cells
            .iter()
            .any(|c| c.levels.get("filesystem") == Some(name))
    };
    let filesystems = all.filesystems.into_iter().filter(|(name, _)| used(name));
    let run = all.run;
    Plan {
        study: text("name").unwrap_or_default(),
        title: text("title").unwrap_or_default(),
        question: text("question")
            .or_else(|| text("title"))
            .unwrap_or_default(),
        repeats: text("repeats"),
        profile: profile.to_owned(),
        seed,
        order: run.order,
        blocks: run.blocks,
        band: run.band,
        filesystems: filesystems.collect(),
        factors: filter::present(all.factors, &cells),
        slots: forged::together(
            &cells,
            run.order,
            order::slots(cells.len() as u32, run.blocks, run.order, seed),
        ),
        tables: all.tables,
        grids: all.grids,
        growth: all.growth,
        needs: all.needs,
        fleet: all.fleet,
        reference_seconds: run.reference_seconds,
        rerun_doubtful: 0,
        measured: None,
        devices_file: None,
        notes: Vec::new(),
        cells,
    }
    .without_idle_asks()
}

/// Checks and expands an effective tree.
fn expand(
    tree: &Node,
    target: Option<Bytes>,
    devices: &Devices,
) -> Result<Expansion, Vec<Problem>> {
    let problems = validate::study(tree);
    if problems.is_empty() {
        expand::expand(tree, target, devices)
    } else {
        Err(problems)
    }
}

fn unique(problems: Vec<Problem>) -> Vec<Problem> {
    let mut all: Vec<Problem> = Vec::new();
    for problem in problems {
        if !all.contains(&problem) {
            all.push(problem);
        }
    }
    all
}
