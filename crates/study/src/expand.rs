//! From a checked tree to cells: every combination of factor levels that is not excluded.
//!
//! The filesystem and the other factors of the rig vary slowest, then the workload, then its own
//! factors: in sequential order each filesystem then goes through all benchmarks in turn, as the
//! original studies ran.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use crate::derive;
use crate::devices::Devices;
use crate::error::{Origin, Problem};
use crate::estimated;
use crate::exclude;
use crate::factor::{self, Divider, Factor, Level, combinations, rig_factors, workload_factors};
use crate::file::RunSpec;
use crate::limit::Limit;
use crate::model::{
    Cell, CheckSpec, CrashSpec, DeviceSpec, FilesystemKind, FilesystemVariant, FleetSpec, GridSpec,
    GrowthSpec, Hints, LayoutSpec, NeedsSpec, TableSpec, Volume,
};
use crate::node::{Node, Table};
use crate::placed::Placed;
use crate::skipped::Skipped;
use crate::stacks::{self, Stacks};
use crate::units::Bytes;
use crate::validate::Kinds;
use crate::{forged, rules};

/// Most cells of a plan.
pub(crate) const MOST_CELLS: usize = 10_000;

/// A study with all its values known.
#[derive(Clone, Debug)]
pub(crate) struct Expansion {
    pub(crate) run: RunSpec,
    pub(crate) filesystems: BTreeMap<String, FilesystemVariant>,
    pub(crate) factors: Vec<(String, Vec<String>)>,
    pub(crate) cells: Vec<Placed>,
    pub(crate) tables: Vec<TableSpec>,
    pub(crate) grids: Vec<GridSpec>,
    pub(crate) growth: Vec<GrowthSpec>,
    pub(crate) needs: NeedsSpec,
    pub(crate) fleet: FleetSpec,
    /// What the study leaves out by itself.
    pub(crate) skipped: Vec<Skipped>,
}

/// Expands a tree that [`crate::validate::study`] found clean. `target` is the size of a device
/// that replaces the loop images.
pub(crate) fn expand(
    root: &Node,
    target: Option<Bytes>,
    devices: &Devices,
) -> Result<Expansion, Vec<Problem>> {
    let empty = Table::default();
    let table = root.as_table().unwrap_or(&empty);
    let filesystems = filesystems(table).map_err(one)?;
    let stacks = stacks::declared(table, devices)?;
    let rig = rig_factors(root, &filesystems)?;
    stacks::known(&rig, &stacks)?;
    let workloads = workloads(root, table)?;
    let expander = Expander {
        filesystems: &filesystems,
        device: stacks::device(table.get("device"), &stacks).map_err(one)?,
        stacks: &stacks,
        device_size: root.find(&["device", "size"]).map(|node| &node.at),
        memory: table.get("memory").and_then(memory),
        check: check(table.get("check")).map_err(one)?,
        layout: decode(table.get("layout")).map_err(one)?,
        crash: crash(table.get("crash")).map_err(one)?,
        trace: decode(table.get("trace")).map_err(one)?,
        kernel: table.get("kernel").map(factor::plain),
        volume: decode(table.get("volume")).map_err(one)?,
        volume_at: table.get("volume").map(|node| &node.at),
        rig: &rig,
        workloads: &workloads,
    };
    let mut cells = expander.cells().map_err(one)?;
    let mut skipped = exclude::apply(table.get("exclude"), &mut cells).map_err(one)?;
    skipped.extend(stacks::without_stripes(&mut cells));
    let mut problems = derive_all(&mut cells, target);
    let estimate = table.get("estimate");
    let spec = decode(estimate).map_err(one)?;
    problems.extend(estimated::give(
        &spec, estimate, &mut cells, target, devices,
    ));
    problems.extend(stacks::problems(&cells, table.get("device")));
    if !problems.is_empty() {
        return Err(problems);
    }
    let own = workloads.iter().map(|w| (w.name.as_str(), &w.factors[..]));
    Ok(Expansion {
        run: decode(table.get("run")).map_err(one)?,
        tables: decode(table.get("table")).map_err(one)?,
        grids: decode(table.get("grid")).map_err(one)?,
        growth: decode(table.get("growth")).map_err(one)?,
        needs: decode(table.get("needs")).map_err(one)?,
        fleet: decode(table.get("fleet")).map_err(one)?,
        factors: factor::names(&rig, own),
        filesystems,
        cells,
        skipped,
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

/// `[crash]`, if its values are consistent.
fn crash(node: Option<&Node>) -> Result<CrashSpec, Problem> {
    let spec: CrashSpec = decode(node)?;
    let (Some(node), Some((key, why))) = (node, spec.problem()) else {
        return Ok(spec);
    };
    let at = node.find(&[key]).map_or(&node.at, |found| &found.at);
    Err(Problem::new(at, why.to_owned()))
}

/// A limit of memory; `none` is none.
fn memory(node: &Node) -> Option<Bytes> {
    factor::plain(node).parse().ok()
}

/// `[check]`, when it is enabled.
fn check(node: Option<&Node>) -> Result<Option<CheckSpec>, Problem> {
    let Some(node) = node else {
        return Ok(None);
    };
    let mut json = node.to_json();
    let enabled = json.as_object_mut().and_then(|map| map.remove("enabled"));
    for kind in FilesystemKind::ALL {
        let program = kind.properties().checker.key;
        if let Some(words) = node.find(&[program]) {
            json[program] = Json::from(Divider::Spaces.words(words));
        }
    }
    let spec: CheckSpec =
        serde_json::from_value(json).map_err(|error| Problem::new(&node.at, error.to_string()))?;
    if let Some((program, message)) = rules::check(&spec) {
        let at = node.find(&[program]).unwrap_or(node);
        return Err(Problem::new(&at.at, message));
    }
    Ok((enabled == Some(Json::Bool(true))).then_some(spec))
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

#[derive(Clone, Debug)]
struct Workload {
    name: String,
    kind: &'static str,
    entry: Node,
    factors: Vec<Factor>,
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

struct Expander<'a> {
    filesystems: &'a BTreeMap<String, FilesystemVariant>,
    device: DeviceSpec,
    stacks: &'a Stacks<'a>,
    device_size: Option<&'a Origin>,
    memory: Option<Bytes>,
    check: Option<CheckSpec>,
    layout: LayoutSpec,
    crash: CrashSpec,
    trace: bool,
    kernel: Option<String>,
    volume: Volume,
    volume_at: Option<&'a Origin>,
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
                format!("the factors make {total} cells (at most {MOST_CELLS}: use fewer levels)");
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
        let at = &workload.entry.at;
        let rigged = self.rigged(rig);
        let filesystem = rigged.filesystem;
        let filesystem =
            filesystem.ok_or_else(|| Problem::new(at, "no filesystem variant is given"))?;
        let levels = rig.iter().chain(own);
        let levels = levels.map(|(name, level)| ((*name).to_owned(), level.name.clone()));
        let mut levels: BTreeMap<String, String> = levels.collect();
        levels.insert("workload".to_owned(), workload.name.clone());
        let (spec, places) = derive::parameters(workload.kind, &workload.entry, own)?;
        Ok(Placed {
            cell: Cell {
                id,
                levels,
                filesystem,
                device: rigged.device,
                workload_name: workload.name.clone(),
                workload: spec,
                memory: rigged.memory,
                check: rigged.check,
                layout: Some(self.layout).filter(|layout| layout.enabled),
                crash: Some(&self.crash).filter(|crash| crash.enabled).cloned(),
                // Once all cells are known.
                estimate: None,
                trace: rigged.trace,
                kernel: rigged.kernel,
                volume: rigged.volume,
            },
            places,
            entry: at.clone(),
            device_size: rigged.device_size,
            volume: rigged.volume_at,
        })
    }

    /// What the rig prepares with these levels.
    fn rigged(&self, levels: &[(&str, &Level)]) -> Rigged {
        let mut rigged = Rigged {
            filesystem: None,
            device: self.device.clone(),
            device_size: self.device_size.cloned(),
            memory: self.memory,
            trace: self.trace,
            kernel: self.kernel.clone(),
            volume: self.volume,
            volume_at: self.volume_at.cloned(),
            check: self.check.clone(),
        };
        let mut extra = (Vec::new(), Vec::new());
        for (name, level) in levels {
            match *name {
                "filesystem" => rigged.filesystem = self.filesystems.get(&level.name).cloned(),
                "mkfs" => extra.0 = Divider::Spaces.words(&level.node),
                "mount" => extra.1 = Divider::Commas.words(&level.node),
                "readahead" => rigged.device.readahead = level.name.parse().ok(),
                "limit" => rigged.device.limit = level.name.parse().ok(),
                "memory" => rigged.memory = level.name.parse().ok(),
                "device" => rigged.device.stack = crate::stacks::named(&level.name, self.stacks),
                "hints" => rigged.device.hints = level.name.parse().unwrap_or(Hints::Auto),
                "trace" => rigged.trace = level.name == "true",
                "kernel" => rigged.kernel = Some(level.name.clone()),
                "volume" => {
                    rigged.volume = level.name.parse().unwrap_or_default();
                    rigged.volume_at = Some(level.node.at.clone());
                }
                "checker" => {
                    if let Some(check) = &mut rigged.check {
                        check.checker = level.name.parse().unwrap_or_default();
                    }
                }
                "device_size" => {
                    rigged.device.size = level.name.parse().unwrap_or(rigged.device.size);
                    rigged.device_size = Some(level.node.at.clone());
                }
                _ => {}
            }
        }
        // A device that is held to nothing is not held.
        rigged.device.limit = rigged
            .device
            .limit
            .filter(|limit| *limit != Limit::default());
        if let Some(filesystem) = &mut rigged.filesystem {
            filesystem.mkfs.extend(extra.0);
            filesystem.mount.extend(extra.1);
        }
        rigged
    }
}

/// The rig's part of a cell.
struct Rigged {
    filesystem: Option<FilesystemVariant>,
    device: DeviceSpec,
    device_size: Option<Origin>,
    memory: Option<Bytes>,
    trace: bool,
    kernel: Option<String>,
    volume: Volume,
    volume_at: Option<Origin>,
    check: Option<CheckSpec>,
}

/// Derives parameters that follow from others, and returns the values that some cell cannot use, each
/// once.
fn derive_all(cells: &mut [Placed], target: Option<Bytes>) -> Vec<Problem> {
    let mut problems: Vec<Problem> = Vec::new();
    for placed in cells {
        let broken = derive::fill(placed, target).err();
        let broken = broken.or_else(|| rules::broken(placed));
        let broken = broken.or_else(|| forged::broken(placed));
        problems.extend(broken.filter(|problem| !problems.contains(problem)));
    }
    problems
}
