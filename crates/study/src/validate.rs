//! Checks a whole study tree: keys, types and ranges by the schema, and the names that one part
//! uses of another.

use serde_json::Value as Json;

use crate::check::{Checker, NAME_RULE, Schema, is_name, top};
use crate::error::Problem;
use crate::file::{self, KINDS};
use crate::node::{Node, Table};

/// Keys of a file that are handled here rather than by the schema's generic walk.
const RESERVED: [&str; 26] = [
    "include",
    "name",
    "title",
    "question",
    "repeats",
    "filesystem",
    "run",
    "device",
    "stack",
    "memory",
    "check",
    "layout",
    "crash",
    "estimate",
    "trace",
    "kernel",
    "volume",
    "needs",
    "fleet",
    "workload",
    "factors",
    "exclude",
    "table",
    "grid",
    "growth",
    "profile",
];

/// Keys of the whole file, for suggestions.
pub(crate) fn top_keys() -> impl Iterator<Item = &'static str> + Clone {
    RESERVED.into_iter()
}

/// Factors that are no parameter of a workload.
pub(crate) const RIG_FACTORS: [&str; 13] = [
    "filesystem",
    "mkfs",
    "mount",
    "readahead",
    "limit",
    "memory",
    "device_size",
    "device",
    "hints",
    "trace",
    "kernel",
    "volume",
    "checker",
];

/// All problems of a merged tree, profiles included.
pub(crate) fn study(root: &Node) -> Vec<Problem> {
    let mut checker = Checker::default();
    let Some(table) = root.as_table() else {
        return Vec::new();
    };
    let kinds = Kinds::of(table);
    for key in ["name", "title"] {
        if table.get(key).is_none() {
            checker.complain(root, format!("{key} is missing"));
        }
    }
    for (key, node) in table.iter() {
        match (key, top(key)) {
            ("workload", _) => workloads(&mut checker, node),
            ("factors", _) => factors(&mut checker, node, &kinds),
            ("profile", _) => profiles(&mut checker, node, &kinds),
            ("filesystem", Some(schema)) => {
                names(&mut checker, node, "filesystem variant");
                checker.value(node, schema);
            }
            ("stack", Some(schema)) => {
                names(&mut checker, node, "device");
                checker.value(node, schema);
            }
            (_, Some(schema)) => checker.value(node, schema),
            (_, None) => checker.unknown(node, key, top_keys()),
        }
    }
    if kinds.0.is_empty() && table.get("workload").is_none() {
        checker.complain(root, "no [[workload]] is given");
    }
    checker.problems
}

/// Workload names and their kinds.
pub(crate) struct Kinds(Vec<(String, &'static str)>);

impl Kinds {
    pub(crate) fn of(root: &Table) -> Kinds {
        let workloads = root.get("workload").and_then(Node::as_table);
        let kinds = workloads.into_iter().flat_map(Table::iter);
        let kinds = kinds.filter_map(|(name, node)| Some((name.to_owned(), kind_of(node)?)));
        Kinds(kinds.collect())
    }

    pub(crate) fn get(&self, workload: &str) -> Option<&'static str> {
        let found = self.0.iter().find(|(name, _)| name == workload);
        found.map(|(_, kind)| *kind)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// Workloads that have a parameter.
    pub(crate) fn having(&self, parameter: &str) -> Vec<&str> {
        let has = |kind| self::parameter(kind, parameter).is_some();
        let having = self.0.iter().filter(|(_, kind)| has(kind));
        having.map(|(name, _)| name.as_str()).collect()
    }

    /// Kinds of the study that have a parameter, each once.
    pub(crate) fn kinds_having(&self, parameter: &str) -> Vec<&'static str> {
        let having = self.0.iter().map(|(_, kind)| *kind);
        let mut having: Vec<&str> = having
            .filter(|kind| self::parameter(kind, parameter).is_some())
            .collect();
        having.sort_unstable();
        having.dedup();
        having
    }

    /// Names and kinds, in the file's order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &'static str)> {
        self.0.iter().map(|(name, kind)| (name.as_str(), *kind))
    }

    /// Every parameter of the study's workloads.
    pub(crate) fn all_parameters(&self) -> Vec<&'static str> {
        let mut all: Vec<&str> = self
            .0
            .iter()
            .flat_map(|(_, kind)| parameters(kind).keys())
            .collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// The kind of a workload entry, when it is one.
fn kind_of(node: &Node) -> Option<&'static str> {
    let written = node.as_table()?.get("kind")?.as_text()?;
    let known = KINDS.iter().find(|(kind, _)| *kind == written);
    known.map(|(kind, _)| *kind)
}

/// The schema of a kind's parameters.
pub(crate) fn parameters(kind: &str) -> Schema<'static> {
    let spec = KINDS.iter().find(|(known, _)| *known == kind);
    Schema::definition(spec.map_or("", |(_, spec)| spec))
}

/// The schema of one parameter.
pub(crate) fn parameter(kind: &str, name: &str) -> Option<&'static Json> {
    parameters(kind).property(name)
}

fn names(checker: &mut Checker, node: &Node, noun: &str) {
    for (name, item) in node.as_table().into_iter().flat_map(Table::iter) {
        if !is_name(name) {
            checker.complain(
                item,
                format!("this is not a name for a {noun} ({NAME_RULE})"),
            );
        }
    }
}

fn workloads(checker: &mut Checker, node: &Node) {
    let Some(table) = node.as_table() else {
        return checker.complain(node, "a workload is written [[workload]]");
    };
    let kinds: Vec<&str> = KINDS.iter().map(|(kind, _)| *kind).collect();
    for (name, entry) in table.iter() {
        if RESERVED.contains(&name) || RIG_FACTORS.contains(&name) || is_parameter(name) {
            checker.complain(
                entry,
                format!("a workload cannot be called {name:?}, which is a key of study files (choose another name)"),
            );
        }
        let Some(keys) = entry.as_table() else {
            checker.complain(entry, format!("{} is not a workload", entry.show()));
            continue;
        };
        match (kind_of(entry), keys.get("kind")) {
            (Some(kind), _) => {
                let schema = Schema::definition(&file::definition(kind, "Workload"));
                checker.object(entry, keys, schema);
            }
            (None, Some(kind)) => {
                let near = words::hint(kind.as_text().unwrap_or_default(), kinds.iter().copied());
                let message = format!(
                    "{} is not a workload kind ({near}{})",
                    kind.show(),
                    kinds.join(", ")
                );
                checker.complain(kind, message);
            }
            (None, None) => {
                checker.complain(entry, format!("kind is missing ({})", kinds.join(", ")));
            }
        }
    }
}

fn is_parameter(name: &str) -> bool {
    KINDS
        .iter()
        .any(|(kind, _)| parameter(kind, name).is_some())
}

fn factors(checker: &mut Checker, node: &Node, kinds: &Kinds) {
    let Some(table) = node.as_table() else {
        return checker.complain(node, format!("{} is not a table of factors", node.show()));
    };
    let schema = Schema::definition("Factors");
    for (key, levels) in table.iter() {
        if let Some(kind) = kinds.get(key) {
            match levels.as_table() {
                Some(table) => {
                    let schema = Schema::definition(&file::definition(kind, "Factors"));
                    checker.object(levels, table, schema);
                }
                None => checker.complain(
                    levels,
                    format!("{} is not a table of {key}'s factors", levels.show()),
                ),
            }
            continue;
        }
        let having = kinds.kinds_having(key);
        match schema.property(key) {
            Some(schema) if RIG_FACTORS.contains(&key) => checker.value(levels, schema),
            Some(_) if !having.is_empty() => shared_factor(checker, levels, key, &having),
            Some(_) => checker.complain(levels, "no workload of this study has this parameter"),
            None => {
                let parameters = kinds.all_parameters();
                let words = RIG_FACTORS.into_iter().chain(kinds.names());
                let words = words.chain(parameters.iter().copied());
                checker.unknown(levels, key, words);
            }
        }
    }
}

/// A factor of every workload that has the parameter: its levels must suit each of their kinds.
fn shared_factor(checker: &mut Checker, levels: &Node, key: &str, kinds: &[&str]) {
    for kind in kinds {
        let before = checker.problems.len();
        let schema = Schema::definition(&file::definition(kind, "Factors"));
        if let Some(schema) = schema.property(key) {
            checker.value(levels, schema);
        }
        if checker.problems.len() > before {
            return;
        }
    }
}

/// Most profiles of one study: each is checked whole.
const MOST_PROFILES: usize = 32;

fn profiles(checker: &mut Checker, node: &Node, kinds: &Kinds) {
    let Some(table) = node.as_table() else {
        return checker.complain(node, format!("{} is not a table of profiles", node.show()));
    };
    names(checker, node, "profile");
    if table.keys().count() > MOST_PROFILES {
        checker.complain(
            node,
            format!("there are more than {MOST_PROFILES} profiles"),
        );
    }
    for (_, profile) in table.iter() {
        match profile.as_table() {
            Some(overlay) => self::overlay(checker, overlay, kinds),
            None => checker.complain(profile, format!("{} is not a profile", profile.show())),
        }
    }
}

fn overlay(checker: &mut Checker, overlay: &Table, kinds: &Kinds) {
    let schema = Schema::definition("Profile");
    for (key, node) in overlay.iter() {
        match (key, schema.property(key)) {
            ("workload", _) => workload_overlays(checker, node, kinds),
            ("factors", _) => factors(checker, node, kinds),
            (_, Some(schema)) => checker.value(node, schema),
            (_, None) => checker.unknown(node, key, schema.keys()),
        }
    }
}

fn workload_overlays(checker: &mut Checker, node: &Node, kinds: &Kinds) {
    let Some(table) = node.as_table() else {
        let message = "a profile names its workloads: [profile.PROFILE.workload.NAME]";
        return checker.complain(node, message);
    };
    for (name, entry) in table.iter() {
        match (kinds.get(name), entry.as_table()) {
            (Some(kind), Some(keys)) => {
                let schema = Schema::definition(&file::definition(kind, "Overlay"));
                checker.object(entry, keys, schema);
            }
            (Some(_), None) => {
                checker.complain(entry, format!("{} is not a table", entry.show()));
            }
            (None, _) => checker.unknown(entry, name, kinds.names()),
        }
    }
}
