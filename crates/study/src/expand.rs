//! From a checked tree to cells: every combination of factor levels.
//!
//! The filesystem and the other factors of the rig vary slowest, then the workload, then its own
//! factors: in sequential order each filesystem then goes through all benchmarks in turn, as the
//! original studies ran.

use std::collections::{BTreeMap, BTreeSet};

use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json};

use crate::error::{Origin, Problem};
use crate::file::RunSpec;
use crate::model::{Cell, DeviceSpec, FilesystemVariant, TableSpec, WorkloadSpec};
use crate::nearest::hint;
use crate::node::{Node, Table, Value};
use crate::rules;
use crate::units::Bytes;
use crate::validate::{Kinds, RIG_FACTORS, parameter};

/// Most cells of a plan.
pub(crate) const MOST_CELLS: usize = 10_000;

/// A cell and where its parameters were written.
#[derive(Clone, Debug)]
pub(crate) struct Placed {
    pub(crate) cell: Cell,
    places: BTreeMap<String, Origin>,
    entry: Origin,
    /// Where the size of the device was written, when it was.
    pub(crate) device_size: Option<Origin>,
}

impl Placed {
    /// Where a parameter of the workload was written; its entry when it was not.
    pub(crate) fn place(&self, parameter: &str) -> &Origin {
        self.places.get(parameter).unwrap_or(&self.entry)
    }
}

/// A study with all its values settled.
#[derive(Clone, Debug)]
pub(crate) struct Expansion {
    pub(crate) run: RunSpec,
    pub(crate) filesystems: BTreeMap<String, FilesystemVariant>,
    pub(crate) factors: Vec<(String, Vec<String>)>,
    pub(crate) cells: Vec<Placed>,
    pub(crate) tables: Vec<TableSpec>,
}

/// Expands a tree that [`crate::validate::study`] found clean.
pub(crate) fn expand(root: &Node) -> Result<Expansion, Vec<Problem>> {
    let empty = Table::default();
    let table = root.as_table().unwrap_or(&empty);
    let filesystems = filesystems(table).map_err(one)?;
    let rig = rig_factors(root, &filesystems)?;
    let device = decode::<DeviceSpec>(table.get("device")).map_err(one)?;
    let workloads = workloads(root, table)?;
    let cells = Expander {
        filesystems: &filesystems,
        device: &device,
        device_size: root.find(&["device", "size"]).map(|node| &node.at),
        rig: &rig,
        workloads: &workloads,
    }
    .cells()
    .map_err(one)?;
    let problems = broken_rules(&cells);
    if !problems.is_empty() {
        return Err(problems);
    }
    let factors = factor_names(&rig, &workloads);
    Ok(Expansion {
        run: decode(table.get("run")).map_err(one)?,
        tables: decode(table.get("table")).map_err(one)?,
        filesystems,
        factors,
        cells,
    })
}

fn one(problem: Problem) -> Vec<Problem> {
    vec![problem]
}

/// A table as serde reads it; absent: its default.
fn decode<T: DeserializeOwned + Default>(node: Option<&Node>) -> Result<T, Problem> {
    let Some(node) = node else {
        return Ok(T::default());
    };
    serde_json::from_value(node.to_json())
        .map_err(|error| Problem::new(&node.at, error.to_string()))
}

fn filesystems(table: &Table) -> Result<BTreeMap<String, FilesystemVariant>, Problem> {
    let mut all = BTreeMap::new();
    let variants = table.get("filesystem").and_then(Node::as_table);
    for (name, node) in variants.into_iter().flat_map(Table::iter) {
        let mut json = node.to_json();
        for (key, divider) in [("mkfs", Divider::Spaces), ("mount", Divider::Commas)] {
            if let Some(words) = node.find(&[key]) {
                json[key] = Json::from(divider.words(words));
            }
        }
        let variant = serde_json::from_value(json)
            .map_err(|error| Problem::new(&node.at, error.to_string()))?;
        all.insert(name.to_owned(), variant);
    }
    Ok(all)
}

/// How one text becomes words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Divider {
    Spaces,
    Commas,
}

impl Divider {
    fn words(self, node: &Node) -> Vec<String> {
        let owned = |word: &str| word.trim().to_owned();
        match (self, &node.value) {
            (Divider::Spaces, Value::Text(text)) => text.split_whitespace().map(owned).collect(),
            (Divider::Commas, Value::Text(text)) => {
                let words = text.split(',').map(owned);
                words.filter(|word| !word.is_empty()).collect()
            }
            (_, Value::List(list)) => {
                let words = list.iter().filter_map(Node::as_text);
                words.map(str::to_owned).collect()
            }
            _ => Vec::new(),
        }
    }

    fn join(self, words: &[String]) -> String {
        match (words.is_empty(), self) {
            (true, _) => "default".to_owned(),
            (_, Divider::Spaces) => words.join(" "),
            (_, Divider::Commas) => words.join(","),
        }
    }
}

#[derive(Clone, Debug)]
struct Factor {
    name: String,
    levels: Vec<Level>,
}

#[derive(Clone, Debug)]
struct Level {
    /// As printed.
    name: String,
    node: Node,
}

#[derive(Clone, Debug)]
struct Workload {
    name: String,
    kind: &'static str,
    entry: Node,
    factors: Vec<Factor>,
}

/// The levels of a list, each once.
fn levels(list: &Node, print: impl Fn(&Node) -> String) -> Result<Vec<Level>, Problem> {
    let mut seen = BTreeSet::new();
    let mut all = Vec::new();
    for node in list.as_list().unwrap_or_default() {
        let name = print(node);
        if !seen.insert(name.clone()) {
            let message = format!("the level {name} is given twice");
            return Err(Problem::new(&node.at, message));
        }
        all.push(Level {
            name,
            node: node.clone(),
        });
    }
    Ok(all)
}

fn rig_factors(
    root: &Node,
    filesystems: &BTreeMap<String, FilesystemVariant>,
) -> Result<Vec<Factor>, Vec<Problem>> {
    let Some(table) = root.find(&["factors"]).and_then(Node::as_table) else {
        return Err(no_filesystems(root));
    };
    let mut all = Vec::new();
    let mut problems = Vec::new();
    for (name, list) in table.iter().filter(|(key, _)| RIG_FACTORS.contains(key)) {
        let print = |node: &Node| match name {
            "mkfs" => Divider::Spaces.join(&Divider::Spaces.words(node)),
            "mount" => Divider::Commas.join(&Divider::Commas.words(node)),
            _ => plain(node),
        };
        match levels(list, print) {
            Ok(levels) => all.push(Factor {
                name: name.to_owned(),
                levels,
            }),
            Err(problem) => problems.push(problem),
        }
    }
    match all.iter().find(|factor| factor.name == "filesystem") {
        Some(factor) => problems.extend(unknown_variants(factor, filesystems)),
        None if problems.is_empty() => problems.extend(no_filesystems(root)),
        None => {}
    }
    if problems.is_empty() {
        Ok(all)
    } else {
        Err(problems)
    }
}

fn no_filesystems(root: &Node) -> Vec<Problem> {
    let message =
        "factors.filesystem is missing (as in [factors] filesystem = [\"ext4\", \"xfs\"])";
    one(Problem::new(&root.at, message))
}

fn unknown_variants(
    factor: &Factor,
    filesystems: &BTreeMap<String, FilesystemVariant>,
) -> Vec<Problem> {
    let known = || filesystems.keys().map(String::as_str);
    let unknown = factor
        .levels
        .iter()
        .filter(|level| !filesystems.contains_key(&level.name));
    let problem = |level: &Level| {
        let message = format!(
            "{} is not a filesystem variant ({}{})",
            level.node.show(),
            hint(&level.name, known()),
            known().collect::<Vec<_>>().join(", ")
        );
        Problem::new(&level.node.at, message)
    };
    unknown.map(problem).collect()
}

fn plain(node: &Node) -> String {
    node.as_text().map_or_else(|| node.show(), str::to_owned)
}

/// How a level of a parameter is printed: sizes in their shortest form, so that `1024k` and `1m`
/// are one level.
fn print_level(node: &Node, schema: Option<&Json>) -> String {
    let size = schema.is_some_and(|schema| schema["$ref"] == "#/$defs/Bytes");
    let parsed = plain(node).parse::<Bytes>().ok().filter(|_| size);
    parsed.map_or_else(|| plain(node), |bytes| bytes.to_string())
}

fn workloads(root: &Node, table: &Table) -> Result<Vec<Workload>, Vec<Problem>> {
    let kinds = Kinds::of(table);
    let mut all = Vec::new();
    let mut problems = Vec::new();
    let entries = table.get("workload").and_then(Node::as_table);
    for (name, entry) in entries.into_iter().flat_map(Table::iter) {
        let Some(kind) = kinds.get(name) else {
            continue;
        };
        match workload_factors(root, name, kind, entry) {
            Ok(factors) => all.push(Workload {
                name: name.to_owned(),
                kind,
                entry: entry.clone(),
                factors,
            }),
            Err(problem) => problems.push(problem),
        }
    }
    if problems.is_empty() {
        Ok(all)
    } else {
        Err(problems)
    }
}

/// Factors of one workload: shared ones, `factors.NAME`'s, its own; the nearest levels win, the
/// first mention gives the place.
fn workload_factors(
    root: &Node,
    name: &str,
    kind: &str,
    entry: &Node,
) -> Result<Vec<Factor>, Problem> {
    let sources = [
        root.find(&["factors"]),
        root.find(&["factors", name]),
        entry.find(&["factors"]),
    ];
    let mut all: Vec<Factor> = Vec::new();
    for table in sources.into_iter().flatten().filter_map(Node::as_table) {
        for (key, list) in table.iter() {
            if parameter(kind, key).is_none() || list.as_list().is_none() {
                continue;
            }
            let levels = levels(list, |node| print_level(node, parameter(kind, key)))?;
            match all.iter_mut().find(|factor| factor.name == key) {
                Some(factor) => factor.levels = levels,
                None => all.push(Factor {
                    name: key.to_owned(),
                    levels,
                }),
            }
        }
    }
    Ok(all)
}

/// All factors in order, `workload` among them, with the levels of all workloads.
fn factor_names(rig: &[Factor], workloads: &[Workload]) -> Vec<(String, Vec<String>)> {
    let names = |factor: &Factor| {
        factor
            .levels
            .iter()
            .map(|level| level.name.clone())
            .collect::<Vec<_>>()
    };
    let mut all: Vec<(String, Vec<String>)> = rig
        .iter()
        .map(|factor| (factor.name.clone(), names(factor)))
        .collect();
    all.push((
        "workload".to_owned(),
        workloads.iter().map(|w| w.name.clone()).collect(),
    ));
    for factor in workloads.iter().flat_map(|workload| &workload.factors) {
        match all.iter_mut().find(|(name, _)| *name == factor.name) {
            Some((_, levels)) => {
                for name in names(factor) {
                    if !levels.contains(&name) {
                        levels.push(name);
                    }
                }
            }
            None => all.push((factor.name.clone(), names(factor))),
        }
    }
    all
}

struct Expander<'a> {
    filesystems: &'a BTreeMap<String, FilesystemVariant>,
    device: &'a DeviceSpec,
    device_size: Option<&'a Origin>,
    rig: &'a [Factor],
    workloads: &'a [Workload],
}

impl Expander<'_> {
    fn cells(&self) -> Result<Vec<Placed>, Problem> {
        let count = |factors: &[Factor]| {
            let counts = factors.iter().map(|factor| factor.levels.len());
            counts.fold(1_usize, usize::saturating_mul)
        };
        let rigs = count(self.rig);
        let per_rig = self.workloads.iter().map(|w| count(&w.factors));
        let total = per_rig
            .fold(0_usize, usize::saturating_add)
            .saturating_mul(rigs);
        if total > MOST_CELLS {
            let at = self.workloads.first().map(|w| &w.entry.at);
            let at = at.cloned().unwrap_or_else(|| Origin::argument("study"));
            let message =
                format!("the factors make {total} cells (at most {MOST_CELLS}: take levels away)");
            return Err(Problem::new(&at, message));
        }
        let mut cells = Vec::with_capacity(total);
        for rig in combinations(self.rig) {
            for workload in self.workloads {
                for own in combinations(&workload.factors) {
                    cells.push(self.cell(cells.len() as u32, &rig, workload, &own)?);
                }
            }
        }
        Ok(cells)
    }

    fn cell(
        &self,
        id: u32,
        rig: &[(&str, &Level)],
        workload: &Workload,
        own: &[(&str, &Level)],
    ) -> Result<Placed, Problem> {
        let mut filesystem = None;
        let mut extra = (Vec::new(), Vec::new());
        let mut device = self.device.clone();
        for (name, level) in rig {
            match (*name, &level.node.value) {
                ("filesystem", _) => filesystem = self.filesystems.get(&level.name).cloned(),
                ("mkfs", _) => extra.0 = Divider::Spaces.words(&level.node),
                ("mount", _) => extra.1 = Divider::Commas.words(&level.node),
                (_, Value::Integer(n)) => device.readahead = u32::try_from(*n).ok(),
                _ => {}
            }
        }
        let at = &workload.entry.at;
        let mut filesystem =
            filesystem.ok_or_else(|| Problem::new(at, "no filesystem variant is given"))?;
        filesystem.mkfs.extend(extra.0);
        filesystem.mount.extend(extra.1);
        let levels = rig.iter().chain(own);
        let levels = levels.map(|(name, level)| ((*name).to_owned(), level.name.clone()));
        let mut levels: BTreeMap<String, String> = levels.collect();
        levels.insert("workload".to_owned(), workload.name.clone());
        let (spec, places) = settle(workload, own)?;
        Ok(Placed {
            cell: Cell {
                id,
                levels,
                filesystem,
                device,
                workload_name: workload.name.clone(),
                workload: spec,
                memory: None,
                check: None,
            },
            places,
            entry: at.clone(),
            device_size: self.device_size.cloned(),
        })
    }
}

/// A workload's parameters with these levels, and where each was written.
fn settle(
    workload: &Workload,
    own: &[(&str, &Level)],
) -> Result<(WorkloadSpec, BTreeMap<String, Origin>), Problem> {
    let mut json = Map::new();
    let mut places = BTreeMap::new();
    let written = workload.entry.as_table().into_iter().flat_map(Table::iter);
    let written = written.filter(|(key, _)| !["name", "kind", "factors"].contains(key));
    let levels = own.iter().map(|(name, level)| (*name, &level.node));
    for (key, node) in written.chain(levels) {
        json.insert(key.to_owned(), node.to_json());
        places.insert(key.to_owned(), node.at.clone());
    }
    let json = Json::Object(json);
    let spec = match workload.kind {
        "throughput" => serde_json::from_value(json).map(WorkloadSpec::Throughput),
        _ => serde_json::from_value(json).map(WorkloadSpec::Tree),
    };
    let spec = spec.map_err(|error| Problem::new(&workload.entry.at, error.to_string()))?;
    Ok((spec, places))
}

/// Every combination of levels, the last factor fastest.
fn combinations(factors: &[Factor]) -> Vec<Vec<(&str, &Level)>> {
    let start = vec![Vec::new()];
    factors.iter().fold(start, |all, factor| {
        let extend = |head: &Vec<_>| {
            let head = head.clone();
            factor.levels.iter().map(move |level| {
                let mut next = head.clone();
                next.push((factor.name.as_str(), level));
                next
            })
        };
        all.iter().flat_map(extend).collect()
    })
}

/// Rules that some cell breaks, each said once.
fn broken_rules(cells: &[Placed]) -> Vec<Problem> {
    let mut problems: Vec<Problem> = Vec::new();
    for placed in cells {
        let Some((parameter, message)) = rules::broken(&placed.cell.workload) else {
            continue;
        };
        let problem = Problem::new(placed.place(parameter), message);
        if !problems.contains(&problem) {
            problems.push(problem);
        }
    }
    problems
}
