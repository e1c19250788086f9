//! What the command line changes in a study: `--profile`, `--set`, `--filter`, `--blocks` ...
//!
//! `--set` edits the same tree that the file made, before it is checked, so that a bad value on
//! the command line meets the same rules and the same messages as one in the file.

use crate::check::Schema;
use crate::error::{Origin, Problem, quote, shorten};
use crate::model::{FilesystemKind, Order};
use crate::node::{Node, Table, Value, parse_argument};
use crate::units::Bytes;
use crate::validate::{Kinds, RIG_FACTORS, parameter as parameter_schema, parameters, top_keys};
use words::{nearest, suggest};

/// Changes from the command line. The default changes nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overrides {
    /// Profile; none: `standard` when the study has it, else the study itself (`base`).
    pub profile: Option<String>,
    /// `KEY=VALUE`: a key of the file (`run.blocks=3`, `filesystem.ext4.mount=noatime`), of a
    /// workload (`iozone.size=64m`), or a parameter of every workload that has it (`threads=4`).
    /// A factor is fixed to the value, or takes the values of a list (`threads=[1,4]`).
    /// `mount=noatime` and `mkfs=-O fast_commit` add options to those of every filesystem, and
    /// `filesystem.ext4-fast.mkfs=-O fast_commit` makes another variant of ext4. What the
    /// rig varies has short names on any study: `memory=512m`, `limit=70m`, `readahead=256`,
    /// `device_size=4g`, `device=raid0x11`, `hints=withheld`, `kernel=5.10,6.12`, `volume=forged`; `check.enabled=true` adds a check after each workload,
    /// `estimate=lun-2011,7k500` estimates checks on these modelled devices.
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
    /// The target is a folder on an existing filesystem: what fills a share of the device fills that share of
    /// the study's own device, and never of the whole disk.
    pub target_is_folder: bool,
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
    let segments: Vec<&str> = key.trim().split('.').collect();
    let node = match segments.as_slice() {
        ["kernel"] | ["factors", "kernel"] => names(value, &at),
        // Names of variants, between commas: a plan is made of what is in this factor.
        ["filesystem" | "estimate"] | ["estimate", "devices"] => as_levels(names(value, &at)),
        ["needs", "kernel"] => Node::text(&at, value.trim()),
        // Options are words, whatever they look like: `ro`, `8`, `data=journal,noatime`.
        [.., "mount" | "mkfs"] if !value.trim().starts_with(['[', '"', '\'']) => {
            Node::text(&at, value.trim())
        }
        _ => parse_argument(value.trim(), &at),
    };
    let kinds = root
        .as_table()
        .map_or_else(|| Kinds::of(&Table::default()), Kinds::of);
    match segments.as_slice() {
        [] | ["", ..] => Err(Problem::new(
            &at,
            "no key is given (write KEY=VALUE, as in iozone.size=64m)",
        )),
        ["filesystem"] => put(root, &["factors", "filesystem"], node),
        ["estimate"] => put(root, &["estimate", "devices"], node),
        // Options added to those of every filesystem of the study.
        [factor @ ("mount" | "mkfs")] | ["factors", factor @ ("mount" | "mkfs")] => {
            put(root, &["factors", factor], as_levels(node))
        }
        ["filesystem", name, rest @ ..] => {
            variant(root, name, rest, &at)?;
            put(root, &segments, node)
        }
        ["include" | "profile", ..] => Err(Problem::new(
            &at,
            "this is read with the file and cannot be set (profiles are chosen with --profile)",
        )),
        ["workload", name, parameter] | [name, parameter] if kinds.get(name).is_some() => {
            set_parameter(root, name, parameter, node)
        }
        ["workload", name, ..] if kinds.get(name).is_none() => {
            Err(unknown(&at, name, kinds.names()))
        }
        [section @ ("check" | "layout" | "crash")] if matches!(node.value, Value::Flag(_)) => {
            put(root, &[section, "enabled"], node)
        }
        ["device"] if node.as_table().is_some() => put(root, &segments, node),
        path if rig_factor(path).is_some() => {
            let (factor, path) = rig_factor(path).unwrap_or(("", &[]));
            let varied = root.find(&["factors", factor]).is_some() || node.as_list().is_some();
            if varied {
                put(root, &["factors", factor], as_levels(node))
            } else {
                put(root, path, node)
            }
        }
        [parameter] if !kinds.having(parameter).is_empty() => kinds
            .having(parameter)
            .iter()
            .try_for_each(|name| set_parameter(root, name, parameter, node.clone())),
        [first, ..] if top_keys().any(|key| key == *first) => put(root, &segments, node),
        [first, ..] => Err(unknown_first(&at, first, segments.len() == 1, &kinds)),
    }
}

/// Makes sure that a variant exists before a key of it is set. A new one is named after its kind
/// (`ext4-fast`) and becomes a level of the factor `filesystem`.
fn variant(root: &mut Node, name: &str, rest: &[&str], at: &Origin) -> Result<(), Problem> {
    let variants = root.find(&["filesystem"]).and_then(Node::as_table);
    let known: Vec<&str> = variants.into_iter().flat_map(Table::keys).collect();
    if rest == ["kind"] || known.contains(&name) {
        return Ok(());
    }
    let kind = name.split('-').next().and_then(FilesystemKind::of_name);
    let Some(kind) = kind.filter(|kind| kind.name() != name) else {
        let message = format!(
            "no filesystem variant is called {} ({}; a new one is named after its kind, as in ext4-fast)",
            quote(name),
            suggest(name, known.into_iter())
        );
        return Err(Problem::new(at, message));
    };
    put(
        root,
        &["filesystem", name, "kind"],
        Node::text(at, kind.name()),
    )?;
    let levels = root
        .find(&["factors", "filesystem"])
        .and_then(Node::as_list);
    let mut levels = levels.unwrap_or_default().to_vec();
    levels.push(Node::text(at, name));
    let levels = Node {
        at: at.clone(),
        value: Value::List(levels),
    };
    put(root, &["factors", "filesystem"], levels)
}

/// Names, one or several between commas, in brackets or not. They are words: as numbers kernels 5.10 and 5.1 are
/// one.
fn names(value: &str, at: &Origin) -> Node {
    let plain = |c: char| c.is_whitespace() || "[]\"'".contains(c);
    let list = value.trim().starts_with('[');
    let names: Vec<Node> = value
        .split(',')
        .map(|name| name.trim_matches(plain))
        .map(|name| Node::text(at, name))
        .collect();
    match <[Node; 1]>::try_from(names) {
        Ok([one]) if !list => one,
        Ok(one) => Node {
            value: Value::List(one.into()),
            at: at.clone(),
        },
        Err(names) => Node {
            value: Value::List(names),
            at: at.clone(),
        },
    }
}

/// What the rig can vary besides filesystems, by its short and its long name: the factor, and where
/// one value for all cells is written.
fn rig_factor(path: &[&str]) -> Option<(&'static str, &'static [&'static str])> {
    match path {
        ["readahead"] | ["device", "readahead"] => Some(("readahead", &["device", "readahead"])),
        ["limit"] | ["device", "limit"] => Some(("limit", &["device", "limit"])),
        ["device_size"] | ["device", "size"] => Some(("device_size", &["device", "size"])),
        ["device"] | ["device", "stack"] => Some(("device", &["device", "stack"])),
        ["hints"] | ["device", "hints"] => Some(("hints", &["device", "hints"])),
        ["memory"] => Some(("memory", &["memory"])),
        ["trace"] => Some(("trace", &["trace"])),
        ["kernel"] => Some(("kernel", &["kernel"])),
        ["volume"] => Some(("volume", &["volume"])),
        ["checker"] | ["check", "checker"] => Some(("checker", &["check", "checker"])),
        _ => None,
    }
}

/// A key whose first word is neither a section, nor a workload, nor a parameter.
fn unknown_first(at: &Origin, first: &str, alone: bool, kinds: &Kinds) -> Problem {
    let parameters = kinds.all_parameters();
    let parameters: &[&str] = if alone { &parameters } else { &[] };
    let words = kinds.names().chain(parameters.iter().copied());
    let words = words.chain(SETTABLE);
    let path = full_path(first).filter(|_| alone && nearest(first, words.clone()).is_none());
    match path {
        Some(path) => Problem::new(
            at,
            format!("no such key {} (did you mean {path}?)", quote(first)),
        ),
        None => unknown(at, first, words),
    }
}

/// Top-level keys worth suggesting.
const SETTABLE: [&str; 24] = [
    "mount",
    "mkfs",
    "run",
    "device",
    "stack",
    "hints",
    "memory",
    "check",
    "layout",
    "crash",
    "estimate",
    "trace",
    "readahead",
    "limit",
    "device_size",
    "kernel",
    "volume",
    "checker",
    "needs",
    "fleet",
    "filesystem",
    "workload",
    "factors",
    "title",
];

fn unknown<'a>(at: &Origin, key: &str, known: impl Iterator<Item = &'a str> + Clone) -> Problem {
    let suggestion = suggest(key, known);
    Problem::new(at, format!("no such key {} ({suggestion})", quote(key)))
}

/// The full path of a key of `run` or `device` that was given without it.
fn full_path(key: &str) -> Option<String> {
    let sections = [
        ("run", "RunSpec"),
        ("device", "DeviceSpec"),
        ("check", "CheckFile"),
        ("layout", "LayoutSpec"),
        ("crash", "CrashSpec"),
        ("estimate", "EstimateSpec"),
        ("fleet", "FleetSpec"),
    ];
    sections.iter().find_map(|(section, definition)| {
        let found = nearest(key, Schema::definition(definition).keys())?;
        Some(format!("{section}.{found}"))
    })
}

/// Sets a workload's parameter; where it is a factor, fixes the factor.
fn set_parameter(root: &mut Node, name: &str, parameter: &str, node: Node) -> Result<(), Problem> {
    let kind = Kinds::of(root.as_table().unwrap_or(&Table::default())).get(name);
    let kind = kind.unwrap_or_default();
    if parameter != "factors" && parameter_schema(kind, parameter).is_none() {
        return Err(unknown(&node.at, parameter, parameters(kind).keys()));
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
