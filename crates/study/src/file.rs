//! The format of a study file, as types: the source of schemas/study.schema.json.
//!
//! These types are never filled. Their schema is what files are checked against (see
//! the `check` module), so the published schema cannot say less or more than the program.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use crate::model::{DeviceSpec, FilesystemKind, Order, TableSpec, ThroughputSpec, TreeSpec};

/// Phases of the workloads and of checks, by the names that tables and grids use.
pub const PHASES: &[&str] = &[
    "initial_write",
    "rewrite",
    "read",
    "reread",
    "random_read",
    "random_write",
    "initial_create",
    "create",
    "patch",
    "compile",
    "clean",
    "read_tree",
    "read_compiled_tree",
    "delete_tree",
    "delete_compiled_tree",
    "stat_tree",
    "stat_compiled_tree",
    "write",
    "fill",
    "age_fill",
    "age_remove",
    "age_add",
    "check",
    "check_pass_1",
    "check_pass_2",
    "check_pass_3",
    "check_pass_4",
    "check_pass_5",
    "check_pass_6",
    "check_pass_7",
];

/// Phases of a check, which may follow any workload: the whole, then e2fsck's passes 1 to 5 or the
/// phases 1 to 7 of `xfs_repair` and `btrfs check`.
pub const CHECK_PHASES: &[&str] = &[
    "check",
    "check_pass_1",
    "check_pass_2",
    "check_pass_3",
    "check_pass_4",
    "check_pass_5",
    "check_pass_6",
    "check_pass_7",
];

/// Phases that workloads of a kind run; none for a kind that is not known.
pub fn phases(kind: &str) -> &'static [&'static str] {
    let (throughput, rest) = PHASES.split_at(6);
    match kind {
        "throughput" => throughput,
        "tree" => &rest[..11],
        "stream" => &["write", "read"],
        "fill" => &["fill"],
        "age" => &["age_fill", "age_remove", "age_add"],
        _ => &[],
    }
}

/// Metrics that workloads and checks give (docs/metrics.md). After the originals' own come those of
/// `fill` and `age`, five figures for each system call, those of a check, and what memory
/// management did in any phase.
pub const METRICS: &[&str] = &[
    "throughput",
    "seconds",
    "files",
    "children",
    "parent",
    "min",
    "max",
    "avg",
    "min_xfer",
    "runs",
    "file_count",
    "mean_mib_per_s",
    "median_mib_per_s",
    "total_over_total",
    "mean_seconds",
    "median_seconds",
    "mean_user_seconds",
    "mean_system_seconds",
    "total_over_elapsed",
    "count",
    "directories",
    "app_overhead",
    "fs_use",
    "creat_min",
    "creat_avg",
    "creat_max",
    "creat_p50",
    "creat_p99",
    "write_min",
    "write_avg",
    "write_max",
    "write_p50",
    "write_p99",
    "fsync_min",
    "fsync_avg",
    "fsync_max",
    "fsync_p50",
    "fsync_p99",
    "sync_min",
    "sync_avg",
    "sync_max",
    "sync_p50",
    "sync_p99",
    "close_min",
    "close_avg",
    "close_max",
    "close_p50",
    "close_p99",
    "unlink_min",
    "unlink_avg",
    "unlink_max",
    "unlink_p50",
    "unlink_p99",
    "user_seconds",
    "system_seconds",
    "peak_rss",
    "device_read",
    "device_written",
    "read_requests",
    "write_requests",
    "reported_seconds",
    "inodes_used",
    "swap_ins",
    "swap_outs",
    "pages_scanned",
    "pages_reclaimed",
    "allocation_stalls",
];

/// Units that tables print. `MB/s` and `MB_s` are both 2^20 bytes a second, `MB` and `MiB` both 2^20
/// bytes, as the originals wrote them; `count` prints a bare number.
pub const UNITS: &[&str] = &[
    "MB/s", "MB_s", "secs", "files/s", "MB", "MiB", "GiB", "ms", "us", "count", "%",
];

/// A study of fslab: a question, the factors it varies and the workloads it measures. Files may
/// leave any key to the files they include; a study must at last have `name`, `title`,
/// `question`, one `[[workload]]` and `factors.filesystem`.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, title = "fslab study", transform = optional)]
pub struct StudyFile {
    /// Files whose values this one builds upon, nearest last: relative to this file, or the name
    /// of a built-in file such as `defaults.toml`.
    pub include: Vec<String>,
    /// Short name: lower-case letters, digits, `-`, `_`.
    #[schemars(title = "name", extend("x-name" = true))]
    pub name: String,
    /// One line.
    #[schemars(title = "title")]
    pub title: String,
    /// The question it answers.
    #[schemars(title = "question")]
    pub question: String,
    /// Document of the published results that it repeats (`wohlgemuth2009`).
    #[schemars(title = "name", extend("x-name" = true))]
    pub repeats: String,
    /// Named ways to make and mount a filesystem.
    pub filesystem: BTreeMap<String, FilesystemFile>,
    /// How often and in which order.
    pub run: RunSpec,
    /// What is prepared under each filesystem.
    pub device: DeviceSpec,
    /// What is measured.
    pub workload: Vec<WorkloadEntry>,
    /// What is varied, each combination being a cell.
    pub factors: Factors,
    /// Tables of the report.
    pub table: Vec<TableSpec>,
    /// Named overlays of the values above; tables merge by key, workloads are named.
    pub profile: BTreeMap<String, Profile>,
}

/// Any key may be left to another file.
fn optional(schema: &mut Schema) {
    schema.remove("required");
}

/// A variant must say its family.
fn only_kind(schema: &mut Schema) {
    schema.insert("required".into(), json!(["kind"]));
}

/// A filesystem variant as written.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, transform = only_kind)]
pub struct FilesystemFile {
    /// The family: which mkfs and which mount type.
    #[schemars(title = "filesystem family")]
    pub kind: FilesystemKind,
    /// Extra arguments of mkfs, before the device.
    pub mkfs: Words,
    /// Mount options, as after `mount -o`.
    pub mount: Words,
    /// One line for reports.
    #[schemars(title = "line")]
    pub about: String,
}

/// Several words: a list, or one text that is divided (mkfs arguments at spaces, mount options
/// at commas).
pub struct Words;

impl JsonSchema for Words {
    fn schema_name() -> Cow<'static, str> {
        "Words".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "title": "list of words",
            "description": "A list of words, or one text: mkfs arguments divided at spaces, \
                            mount options at commas",
            "anyOf": [
                { "type": "array", "items": { "type": "string", "title": "word" } },
                { "type": "string" }
            ]
        })
    }
}

/// How often and in which order the cells run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RunSpec {
    /// Repetitions of every cell.
    #[schemars(title = "number of blocks", range(min = 1, max = 1000))]
    pub blocks: u32,
    /// Order of the trials.
    #[schemars(title = "order")]
    pub order: Order,
    /// Seed of the order and of each trial.
    #[schemars(title = "seed")]
    pub seed: u64,
    /// Practical band: differences within this share are not called differences.
    #[schemars(title = "share", range(min = 0.0), extend("exclusiveMaximum" = 1))]
    pub band: f64,
}

impl Default for RunSpec {
    fn default() -> Self {
        RunSpec {
            blocks: 5,
            order: Order::Blocked,
            seed: 2009,
            band: 0.02,
        }
    }
}

/// An entry `[[workload]]`: `name`, `kind`, the kind's parameters, and its own factors.
pub struct WorkloadEntry;

/// Factors of the whole study: `filesystem`, `mkfs`, `mount`, `readahead`; `PARAMETER` for each
/// workload that has it; `WORKLOAD.PARAMETER` for one.
pub struct Factors;

/// An overlay of the study's values.
#[allow(
    clippy::zero_sized_map_values,
    reason = "never filled: the types stand for schemas"
)]
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, transform = optional)]
pub struct Profile {
    /// Variants: changed or new.
    pub filesystem: BTreeMap<String, FilesystemOverlay>,
    /// How often and in which order.
    pub run: RunSpec,
    /// What is prepared under each filesystem.
    pub device: DeviceSpec,
    /// Parameters of the study's workloads, by name.
    pub workload: BTreeMap<String, WorkloadOverlay>,
    /// What is varied.
    pub factors: Factors,
    /// Tables, instead of the study's.
    pub table: Vec<TableSpec>,
}

/// As a variant, `kind` being left to the study.
pub struct FilesystemOverlay;

/// As an entry `[[workload]]`, `name` and `kind` being left to the study.
pub struct WorkloadOverlay;

/// The workload kinds and the definitions of their parameters.
pub(crate) const KINDS: [(&str, &str); 2] =
    [("throughput", "ThroughputSpec"), ("tree", "TreeSpec")];

/// `{Throughput,Tree}{Workload,Overlay,Factors}`: the definition of a kind's part of a file.
pub(crate) fn definition(kind: &str, part: &str) -> String {
    let name = match kind {
        "throughput" => "Throughput",
        _ => "Tree",
    };
    format!("{name}{part}")
}

/// Defines a part of a file for every kind and refers to them.
fn for_each_kind(generator: &mut SchemaGenerator, part: &str) -> Schema {
    generator.subschema_for::<ThroughputSpec>();
    generator.subschema_for::<TreeSpec>();
    let mut any = Vec::new();
    for (kind, spec) in KINDS {
        let parameters = parameters(generator.definitions(), spec);
        let name = definition(kind, part);
        let schema = match part {
            "Workload" => workload(generator, kind, parameters, true),
            "Overlay" => workload(generator, kind, parameters, false),
            _ => object(&levels(parameters), &[]),
        };
        any.push(json!({ "$ref": format!("#/$defs/{name}") }));
        generator.definitions_mut().insert(name, schema);
    }
    json_schema!({ "anyOf": any })
}

fn parameters(definitions: &Map<String, Json>, spec: &str) -> Map<String, Json> {
    definitions
        .get(spec)
        .and_then(|schema| schema.get("properties"))
        .and_then(Json::as_object)
        .cloned()
        .unwrap_or_default()
}

fn workload(
    generator: &mut SchemaGenerator,
    kind: &str,
    parameters: Map<String, Json>,
    entry: bool,
) -> Json {
    for_each_kind(generator, "Factors");
    let factors = format!("#/$defs/{}", definition(kind, "Factors"));
    let mut properties = Map::new();
    if entry {
        let name = json!({ "type": "string", "title": "name", "x-name": true,
            "description": "Name in levels, tables and --set" });
        properties.insert("name".into(), name);
        properties.insert(
            "kind".into(),
            json!({ "title": "workload kind", "const": kind }),
        );
    }
    properties.extend(parameters);
    let about = json!({ "$ref": factors, "description": "Factors that only this workload has" });
    properties.insert("factors".into(), about);
    object(&properties, if entry { &["name", "kind"] } else { &[] })
}

fn object(properties: &Map<String, Json>, required: &[&str]) -> Json {
    let mut schema = json!({
        "type": "object", "properties": properties, "additionalProperties": false });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

/// A list of levels for each parameter.
fn levels(parameters: Map<String, Json>) -> Map<String, Json> {
    let list = |mut parameter: Json| {
        if let Some(schema) = parameter.as_object_mut() {
            schema.remove("default");
        }
        json!({ "title": "list of levels", "type": "array", "minItems": 1, "items": parameter })
    };
    parameters
        .into_iter()
        .map(|(name, schema)| (name, list(schema)))
        .collect()
}

impl JsonSchema for WorkloadEntry {
    fn schema_name() -> Cow<'static, str> {
        "WorkloadEntry".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        for_each_kind(generator, "Workload")
    }
}

impl JsonSchema for WorkloadOverlay {
    fn schema_name() -> Cow<'static, str> {
        "WorkloadOverlay".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        for_each_kind(generator, "Overlay")
    }
}

impl JsonSchema for FilesystemOverlay {
    fn schema_name() -> Cow<'static, str> {
        "FilesystemOverlay".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<FilesystemFile>();
        let properties = parameters(generator.definitions(), "FilesystemFile");
        let Json::Object(map) = object(&properties, &[]) else {
            return Schema::default();
        };
        map.into()
    }
}

impl JsonSchema for Factors {
    fn schema_name() -> Cow<'static, str> {
        "Factors".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let one = for_each_kind(generator, "Factors");
        generator.subschema_for::<DeviceSpec>();
        generator.subschema_for::<Words>();
        let device = parameters(generator.definitions(), "DeviceSpec");
        let list = |items: Json, about: &str| {
            json!({ "title": "list of levels", "type": "array", "minItems": 1,
                "items": items, "description": about })
        };
        let mut properties = Map::new();
        let variant = json!({ "type": "string", "title": "filesystem variant" });
        let words = json!({ "$ref": "#/$defs/Words" });
        for (name, items, about) in [
            ("filesystem", variant, "Names of variants"),
            (
                "mkfs",
                words.clone(),
                "Sets of arguments added to each variant's own",
            ),
            (
                "mount",
                words,
                "Sets of options added to each variant's own",
            ),
        ] {
            properties.insert(name.into(), list(items, about));
        }
        for (name, schema) in levels(device) {
            if name == "readahead" {
                properties.insert(name, schema);
            }
        }
        for (_, spec) in KINDS {
            properties.extend(levels(parameters(generator.definitions(), spec)));
        }
        json_schema!({
            "type": "object",
            "properties": properties,
            "additionalProperties": Json::from(one),
        })
    }
}
