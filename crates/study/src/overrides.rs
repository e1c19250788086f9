//! What the command line changes in a study: `--profile`, `--set`, `--filter`, `--blocks` ...
//!
//! `--set` edits the same tree that the file made, before it is checked, so that a bad value on
//! the command line meets the same rules and the same messages as one in the file.

use crate::error::{Origin, Problem, shorten};
use crate::model::Order;
use crate::nearest::hint;
use crate::node::{Node, Table, Value, parse_argument};
use crate::units::Bytes;
use crate::validate::{Kinds, RIG_FACTORS, parameters, top_keys};

/// Changes from the command line. The default changes nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overrides {
    /// Profile; none: `standard` when the study has it, else the study as it stands (`base`).
    pub profile: Option<String>,
    /// `KEY=VALUE`: a key of the file (`run.blocks=3`, `filesystem.ext4.mount=noatime`), of a
    /// workload (`iozone.size=64m`), or a parameter of every workload that has it (`threads=4`).
    /// A factor is fixed to the value, or takes the values of a list (`threads=[1,4]`).
    pub set: Vec<String>,
    /// `FACTOR=LEVEL[,LEVEL]`: keep only cells with one of these levels.
    pub filter: Vec<String>,
    /// Number of blocks.
    pub blocks: Option<u32>,
    /// Seed of the order.
    pub seed: Option<u64>,
    /// Order of the trials.
    pub order: Option<Order>,
    /// Bytes of the target when it is not a loop image: what must fit is checked against it.
    pub target_size: Option<Bytes>,
}

impl Overrides {
    /// Applies everything but the profile and the filters.
    pub(crate) fn apply(&self, root: &mut Node) -> Vec<Problem> {
        let mut problems: Vec<Problem> = self
            .set
            .iter()
            .filter_map(|text| set(root, text).err())
            .collect();
        let order = self.order.map(|order| match order {
            Order::Blocked => "blocked",
            Order::Sequential => "sequential",
        });
        let options = [
            ("blocks", self.blocks.map(|n| Value::Integer(n.into()))),
            (
                "seed",
                // TOML's integers end at 2^63; a larger seed is put in after the checks.
                self.seed
                    .and_then(|n| i64::try_from(n).ok())
                    .map(Value::Integer),
            ),
            ("order", order.map(|text| Value::Text(text.to_owned()))),
        ];
        for (key, value) in options {
            let Some(value) = value else { continue };
            let mut node = Node {
                value,
                at: Origin::argument(""),
            };
            node.at = Origin::argument(format!(
                "--{key} {}",
                node.as_text().map_or_else(|| node.show(), str::to_owned)
            ));
            if let Err(problem) = put(root, &["run", key], node) {
                problems.push(problem);
            }
        }
        problems
    }
}

/// Applies one `--set`.
fn set(root: &mut Node, text: &str) -> Result<(), Problem> {
    let at = Origin::argument(format!("--set {}", shorten(text)));
    let Some((key, value)) = text.split_once('=') else {
        let message = "no value is given (write KEY=VALUE, as in iozone.size=64m)";
        return Err(Problem::new(&at, message));
    };
    let node = parse_argument(value.trim(), &at);
    let segments: Vec<&str> = key.trim().split('.').collect();
    let kinds = root
        .as_table()
        .map_or_else(|| Kinds::of(&Table::default()), Kinds::of);
    match segments.as_slice() {
        [] | ["include" | "profile", ..] => Err(Problem::new(
            &at,
            "this is read with the file and cannot be set (profiles are chosen with --profile)",
        )),
        ["workload", name, parameter] | [name, parameter] if kinds.get(name).is_some() => {
            set_parameter(root, name, parameter, node)
        }
        ["workload", name, ..] if kinds.get(name).is_none() => {
            Err(unknown(&at, name, kinds.names()))
        }
        ["device", "readahead"] if root.find(&["factors", "readahead"]).is_some() => {
            put(root, &["factors", "readahead"], as_levels(node))
        }
        [parameter] if !kinds.having(parameter).is_empty() => kinds
            .having(parameter)
            .iter()
            .try_for_each(|name| set_parameter(root, name, parameter, node.clone())),
        [first, ..] if top_keys().any(|key| key == *first) => put(root, &segments, node),
        [first, ..] => {
            let parameters = kinds.all_parameters();
            let words = kinds.names().chain(parameters.iter().map(String::as_str));
            Err(unknown(&at, first, words.chain(SETTABLE)))
        }
    }
}

/// Top-level keys worth suggesting.
const SETTABLE: [&str; 6] = [
    "run",
    "device",
    "filesystem",
    "workload",
    "factors",
    "title",
];

fn unknown<'a>(at: &Origin, key: &str, known: impl Iterator<Item = &'a str> + Clone) -> Problem {
    let hint = hint(key, known.clone());
    let known: Vec<&str> = known.collect();
    Problem::new(
        at,
        format!(
            "no such key {:?} ({hint}known: {})",
            shorten(key),
            known.join(", ")
        ),
    )
}

/// Sets a workload's parameter; where it is a factor, fixes the factor.
fn set_parameter(root: &mut Node, name: &str, parameter: &str, node: Node) -> Result<(), Problem> {
    let kind = Kinds::of(root.as_table().unwrap_or(&Table::default())).get(name);
    let known = kind.map(parameters).unwrap_or_default();
    if parameter != "factors" && !known.contains_key(parameter) {
        return Err(unknown(
            &node.at,
            parameter,
            known.keys().map(String::as_str),
        ));
    }
    let factor = [
        ["workload", name, "factors", parameter].as_slice(),
        &["factors", name, parameter],
        &["factors", parameter],
    ]
    .iter()
    .any(|path| !RIG_FACTORS.contains(&parameter) && root.find(path).is_some());
    if factor || node.as_list().is_some() {
        let path = ["workload", name, "factors", parameter];
        put(root, &path, as_levels(node))
    } else {
        put(root, &["workload", name, parameter], node)
    }
}

/// A value as the one level of a factor; a list as its levels.
fn as_levels(node: Node) -> Node {
    if node.as_list().is_some() {
        return node;
    }
    Node {
        at: node.at.clone(),
        value: Value::List(vec![node]),
    }
}

/// Puts a node at a path, making the tables on the way.
fn put(root: &mut Node, path: &[&str], node: Node) -> Result<(), Problem> {
    let Some((last, parents)) = path.split_last() else {
        return Ok(());
    };
    let mut here = root;
    for (depth, key) in parents.iter().chain([last]).enumerate() {
        let Some(table) = here.as_table_mut() else {
            let parent = path[..depth].join(".");
            let message = format!("{parent} has no keys below it");
            return Err(Problem::new(&node.at, message));
        };
        if depth == parents.len() {
            table.insert(key, node);
            return Ok(());
        }
        if table.get(key).is_none() {
            table.insert(key, Node::table(&node.at));
        }
        let Some(next) = table.get_mut(key) else {
            return Ok(());
        };
        here = next;
    }
    Ok(())
}
