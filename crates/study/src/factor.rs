//! Factors and their levels, read from the positioned tree.
//!
//! A level is known by its printed name: `1024k` and `1m` are one level, an empty list of mount
//! options is `default`. Tables, filters and exclusions compare these names.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use serde_json::Value as Json;

use crate::error::Problem;
use crate::limit::Limit;
use crate::model::FilesystemVariant;
use crate::node::{Node, Value};
use crate::units::Bytes;
use crate::validate::{RIG_FACTORS, parameter};
use words::hint;

/// How one text becomes words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Divider {
    Spaces,
    Commas,
}

impl Divider {
    pub(crate) fn words(self, node: &Node) -> Vec<String> {
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

    pub(crate) fn join(self, words: &[String]) -> String {
        match (words.is_empty(), self) {
            (true, _) => "default".to_owned(),
            (_, Divider::Spaces) => words.join(" "),
            (_, Divider::Commas) => words.join(","),
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Factor {
    pub(crate) name: String,
    pub(crate) levels: Vec<Level>,
}

#[derive(Clone, Debug)]
pub(crate) struct Level {
    /// Name as printed.
    pub(crate) name: String,
    pub(crate) node: Node,
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

/// Factors of the rig, `filesystem` among them.
pub(crate) fn rig_factors(
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
            "memory" | "device_size" => size(node),
            "limit" => limit(node),
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
    vec![Problem::new(&root.at, message)]
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

/// A value as it was written.
pub(crate) fn plain(node: &Node) -> String {
    node.as_text().map_or_else(|| node.show(), str::to_owned)
}

/// A size in its shortest form; what is no size (`none`), as written.
fn size(node: &Node) -> String {
    let parsed = plain(node).parse::<Bytes>();
    parsed.map_or_else(|_| plain(node), |bytes| bytes.to_string())
}

fn limit(node: &Node) -> String {
    let parsed = plain(node).parse::<Limit>();
    parsed.map_or_else(|_| plain(node), |limit| limit.to_string())
}

/// How a level of a parameter is printed.
fn print_level(node: &Node, schema: Option<&Json>) -> String {
    match schema {
        Some(schema) if schema["$ref"] == "#/$defs/Bytes" => size(node),
        _ => plain(node),
    }
}

/// Factors of one workload: shared ones, `factors.NAME`'s, its own; the nearest levels win, the
/// first mention gives the place.
pub(crate) fn workload_factors(
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
pub(crate) fn names<'a>(
    rig: &[Factor],
    workloads: impl Iterator<Item = (&'a str, &'a [Factor])> + Clone,
) -> Vec<(String, Vec<String>)> {
    let names = |factor: &Factor| {
        let levels = factor.levels.iter().map(|level| level.name.clone());
        levels.collect::<Vec<_>>()
    };
    let mut all: Vec<(String, Vec<String>)> = rig
        .iter()
        .map(|factor| (factor.name.clone(), names(factor)))
        .collect();
    let own = workloads.clone().map(|(name, _)| name.to_owned());
    all.push(("workload".to_owned(), own.collect()));
    for factor in workloads.flat_map(|(_, factors)| factors) {
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

/// Every combination of levels, the last factor fastest.
pub(crate) fn combinations(factors: &[Factor]) -> Vec<Vec<(&str, &Level)>> {
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
