//! A study, loaded; and its plan.

use std::collections::BTreeSet;

use crate::error::{Error, Origin, Problem, quote, shorten};
use crate::expand::{self, Expansion};
use crate::model::{Cell, Plan, TableSpec};
use crate::nearest::hint;
use crate::node::{Node, Table};
use crate::overrides::Overrides;
use crate::{builtin, document, filter, fits, order, validate};

/// Most trials of a plan.
const MOST_TRIALS: usize = 100_000;

/// Name of the study as it stands, without a profile.
pub const BASE: &str = "base";

/// The profile in force when none is asked for, where the study has it.
const USUAL: &str = "standard";

/// A study file with its includes, checked whole: every profile of it can be expanded.
#[derive(Clone, Debug)]
pub struct Study {
    root: Node,
}

impl Study {
    /// Loads a built-in study by name, or a file by path (told by its `/` or its `.toml`).
    ///
    /// # Errors
    /// An unknown name, an unreadable file, or every problem that the file has.
    pub fn load(name_or_path: &str) -> Result<Study, Error> {
        let root = document::read(name_or_path)?;
        let problems = validate::study(&root);
        if !problems.is_empty() {
            return Err(Error::Problems(problems));
        }
        let study = Study { root };
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
        let mut tables: Vec<(TableSpec, Node)> = Vec::new();
        let mut factors = Vec::new();
        for profile in std::iter::once(BASE).chain(self.profiles()) {
            let expanded = self
                .tree(profile)
                .and_then(|tree| Ok((expand(&tree)?, tree)));
            let (expansion, tree) = match expanded {
                Ok(both) => both,
                Err(found) => {
                    problems.extend(found);
                    continue;
                }
            };
            let nodes = tree
                .find(&["table"])
                .and_then(Node::as_list)
                .unwrap_or_default();
            tables.extend(expansion.tables.into_iter().zip(nodes.iter().cloned()));
            factors.extend(expansion.factors);
        }
        // A profile may leave levels out; a level that no profile has is a mistake.
        problems.extend(
            tables
                .iter()
                .filter_map(|(table, node)| table_problem(table, node, &factors)),
        );
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

    /// The question it answers.
    pub fn question(&self) -> &str {
        self.text("question")
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
    let mut expansion = expand(&tree).map_err(Error::Problems)?;
    let all = std::mem::take(&mut expansion.cells);
    let cells =
        filter::apply(all, &expansion.factors, &overrides.filter).map_err(Error::Problems)?;
    let problems = fits::problems(&cells, overrides.target_size);
    if !problems.is_empty() {
        return Err(Error::Problems(problems));
    }
    bound_trials(&tree, cells.len(), expansion.run.blocks)?;
    let cells = cells.into_iter().map(|placed| placed.cell).collect();
    let seed = overrides.seed.unwrap_or(expansion.run.seed);
    Ok(assemble(&tree, profile, expansion, cells, seed))
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
        question: text("question").unwrap_or_default(),
        repeats: text("repeats"),
        profile: profile.to_owned(),
        seed,
        order: run.order,
        blocks: run.blocks,
        band: run.band,
        filesystems: filesystems.collect(),
        factors: filter::present(all.factors, &cells),
        slots: order::slots(cells.len() as u32, run.blocks, run.order, seed),
        tables: all
            .tables
            .into_iter()
            .filter(|table| cells.iter().any(|cell| table.holds(cell)))
            .collect(),
        grids: Vec::new(),
        growth: Vec::new(),
        reference_seconds: 0.0,
        notes: Vec::new(),
        cells,
    }
}

/// Checks and expands an effective tree.
fn expand(tree: &Node) -> Result<Expansion, Vec<Problem>> {
    let problems = validate::study(tree);
    if problems.is_empty() {
        expand::expand(tree)
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

/// What a table says of factors or levels that no profile has.
fn table_problem(
    table: &TableSpec,
    node: &Node,
    factors: &[(String, Vec<String>)],
) -> Option<Problem> {
    let names: BTreeSet<&str> = factors.iter().map(|(name, _)| name.as_str()).collect();
    let names: Vec<&str> = names.into_iter().collect();
    let complain = |path: &[&str], message: String| {
        let at = node.find(path).unwrap_or(node);
        Some(Problem::new(&at.at, message))
    };
    if !names.contains(&table.columns.as_str()) {
        let columns = quote(&table.columns);
        let message = format!("{columns} is not a factor ({})", names.join(", "));
        return complain(&["columns"], message);
    }
    for (factor, level) in &table.filter {
        let known = factors.iter().filter(|(name, _)| name == factor);
        let known: BTreeSet<&str> = known
            .flat_map(|(_, l)| l.iter().map(String::as_str))
            .collect();
        let known: Vec<&str> = known.into_iter().collect();
        if known.is_empty() {
            let message = format!("no such factor ({})", names.join(", "));
            return complain(&["where", factor], message);
        }
        if !known.contains(&level.as_str()) {
            let (level, known) = (quote(level), known.join(", "));
            let message = format!("{level} is not a level of {factor} ({known})");
            return complain(&["where", factor], message);
        }
    }
    None
}
