//! The format of a study file, as types: the source of schemas/study.schema.json.
//!
//! These types are never filled. Their schema is what files are checked against (see
//! the `check` module), so the published schema cannot say less or more than the program.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use crate::model::{
    AgeSpec, CheckSpec, CrashSpec, DeviceSpec, FilesystemKind, FillSpec, GridSpec, GrowthSpec,
    LayoutSpec, NeedsSpec, Order, ScanSpec, StackFile, StreamSpec, TableSpec, ThroughputSpec,
    TreeSpec,
};
use crate::units::Bytes;

pub use crate::names::{CHECK_PHASES, METRICS, PHASES, UNITS, phases};

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
    /// Named devices of several layers.
    pub stack: BTreeMap<String, StackFile>,
    /// Memory that a trial, its page cache and its checker may use together; `none`: all there is.
    pub memory: Memory,
    /// The check after each workload.
    pub check: CheckFile,
    /// The look at where files lie, after each phase that writes.
    pub layout: LayoutSpec,
    /// The judgement of what power cuts would have left, after each trial.
    pub crash: CrashSpec,
    /// Whether a block trace of the device is recorded while each trial runs.
    #[schemars(title = "switch")]
    pub trace: bool,
    /// The kernel that trials run in: a series (`"6.1"`), a version, or a name of `fslab kernel list`.
    #[schemars(title = "kernel", extend("x-kernel" = true))]
    pub kernel: String,
    /// What the machine must have, beyond what the cells say themselves.
    pub needs: NeedsSpec,
    /// What is measured.
    pub workload: Vec<WorkloadEntry>,
    /// What is varied, each combination being a cell.
    pub factors: Factors,
    /// Combinations that are left out.
    pub exclude: Vec<Exclude>,
    /// Tables of the report.
    pub table: Vec<TableSpec>,
    /// Grids of the report: tables whose rows are levels and whose columns are figures.
    pub grid: Vec<GridSpec>,
    /// Growth laws of the report.
    pub growth: Vec<GrowthSpec>,
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
    /// Seconds of each sequential read of the raw-device reference before the run (hdparm -t: 3);
    /// 0: no reference.
    #[schemars(title = "number of seconds", range(min = 0.0, max = 60.0))]
    pub reference_seconds: f64,
}

impl Default for RunSpec {
    fn default() -> Self {
        RunSpec {
            blocks: 5,
            order: Order::Blocked,
            seed: 2009,
            band: 0.02,
            reference_seconds: 3.0,
        }
    }
}

/// The table `[check]`: whether the filesystem is checked after each workload, and how.
pub struct CheckFile;

impl JsonSchema for CheckFile {
    fn schema_name() -> Cow<'static, str> {
        "CheckFile".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<CheckSpec>();
        let words = generator.subschema_for::<Words>();
        let mut properties = Map::new();
        let enabled = json!({ "type": "boolean", "default": false,
            "description": "Unmount after each workload and time the filesystem's own checker, \
                            read-only" });
        properties.insert("enabled".into(), enabled);
        for (key, mut schema) in parameters(generator.definitions(), "CheckSpec") {
            if schema["type"] == "array" {
                let about = schema["description"].take();
                schema = words.clone().to_value();
                schema["description"] = about;
            }
            properties.insert(key, schema);
        }
        made(object(&properties, &[]))
    }
}

/// A limit of memory: a size, or `none`.
pub struct Memory;

/// The least memory that a trial can be held to: below it the lab itself may not get its pages.
pub const LEAST_MEMORY: Bytes = Bytes(64 * Bytes::MIB);

impl JsonSchema for Memory {
    fn schema_name() -> Cow<'static, str> {
        "Memory".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let size = generator.subschema_for::<Bytes>().to_value();
        json_schema!({
            "title": "memory limit",
            "description": "A size of at least 64m, or \"none\"",
            "minimum": LEAST_MEMORY.get(),
            "maximum": 1_u64 << 50,
            "anyOf": [size, { "const": "none" }]
        })
    }
}

/// A rule of `exclude`: factors, each with a level or a list of levels. Cells that have one of the
/// levels of every factor named are left out. `why` says the reason in the plan.
pub struct Exclude;

impl JsonSchema for Exclude {
    fn schema_name() -> Cow<'static, str> {
        "Exclude".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let level = json!({ "title": "level", "anyOf": [
            { "type": "string" }, { "type": "number" }, { "type": "boolean" }] });
        json_schema!({
            "title": "rule of levels",
            "description": "Factors, each with a level or a list of levels",
            "type": "object",
            "properties": { "why": { "type": "string", "title": "reason" } },
            "additionalProperties": {
                "title": "level or list of levels",
                "anyOf": [
                    { "title": "list of levels", "type": "array", "minItems": 1, "items": level },
                    level
                ]
            }
        })
    }
}

/// An entry `[[workload]]`: `name`, `kind`, the kind's parameters, and its own factors.
pub struct WorkloadEntry;

/// Factors of the whole study: `filesystem`, `mkfs`, `mount`, `readahead`, `limit`, `memory`,
/// `device_size`, `device`, `hints`, `trace`, `kernel`; `PARAMETER` for each workload that has it; `WORKLOAD.PARAMETER` for one.
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
    /// Devices of several layers: changed or new.
    pub stack: BTreeMap<String, StackOverlay>,
    /// Memory that a trial, its page cache and its checker may use together; `none`: all there is.
    pub memory: Memory,
    /// The check after each workload.
    pub check: CheckFile,
    /// The look at where files lie, after each phase that writes.
    pub layout: LayoutSpec,
    /// The judgement of what power cuts would have left, after each trial.
    pub crash: CrashSpec,
    /// Whether a block trace of the device is recorded while each trial runs.
    #[schemars(title = "switch")]
    pub trace: bool,
    /// The kernel that trials run in: a series (`"6.1"`), a version, or a name of `fslab kernel list`.
    #[schemars(title = "kernel", extend("x-kernel" = true))]
    pub kernel: String,
    /// What the machine must have, beyond what the cells say themselves.
    pub needs: NeedsSpec,
    /// Parameters of the study's workloads, by name.
    pub workload: BTreeMap<String, WorkloadOverlay>,
    /// What is varied.
    pub factors: Factors,
    /// Combinations that are left out, instead of the study's.
    pub exclude: Vec<Exclude>,
    /// Tables, instead of the study's.
    pub table: Vec<TableSpec>,
    /// Grids, instead of the study's.
    pub grid: Vec<GridSpec>,
    /// Growth laws, instead of the study's.
    pub growth: Vec<GrowthSpec>,
}

/// As a variant, `kind` being left to the study.
pub struct FilesystemOverlay;

/// As a device of several layers, `kind` being left to the study.
pub struct StackOverlay;

/// As an entry `[[workload]]`, `name` and `kind` being left to the study.
pub struct WorkloadOverlay;

/// The workload kinds and the definitions of their parameters.
pub(crate) const KINDS: [(&str, &str); 6] = [
    ("throughput", "ThroughputSpec"),
    ("tree", "TreeSpec"),
    ("stream", "StreamSpec"),
    ("fill", "FillSpec"),
    ("age", "AgeSpec"),
    ("scan", "ScanSpec"),
];

/// `{Throughput,Tree,..}{Workload,Overlay,Factors}`: the definition of a kind's part of a file.
pub(crate) fn definition(kind: &str, part: &str) -> String {
    let spec = KINDS.iter().find(|(known, _)| *known == kind);
    let name = spec.map_or("", |(_, spec)| spec.trim_end_matches("Spec"));
    format!("{name}{part}")
}

/// Defines a part of a file for every kind and refers to them.
fn for_each_kind(generator: &mut SchemaGenerator, part: &str) -> Schema {
    generator.subschema_for::<ThroughputSpec>();
    generator.subschema_for::<TreeSpec>();
    generator.subschema_for::<StreamSpec>();
    generator.subschema_for::<FillSpec>();
    generator.subschema_for::<AgeSpec>();
    generator.subschema_for::<ScanSpec>();
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

fn made(json: Json) -> Schema {
    match json {
        Json::Object(map) => map.into(),
        _ => Schema::default(),
    }
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
        made(object(&properties, &[]))
    }
}

impl JsonSchema for StackOverlay {
    fn schema_name() -> Cow<'static, str> {
        "StackOverlay".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<StackFile>();
        let properties = parameters(generator.definitions(), "StackFile");
        made(object(&properties, &[]))
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
            match name.as_str() {
                "readahead" | "limit" | "hints" => drop(properties.insert(name, schema)),
                "stack" => drop(properties.insert("device".into(), schema)),
                "size" => drop(properties.insert("device_size".into(), schema)),
                _ => {}
            }
        }
        let memory = generator.subschema_for::<Memory>().to_value();
        let about = "Limits of memory, \"none\" among them";
        properties.insert("memory".into(), list(memory, about));
        let switch = json!({ "type": "boolean", "title": "switch" });
        let about = "With and without a block trace: the cost of tracing is their difference";
        properties.insert("trace".into(), list(switch, about));
        let kernel = json!({ "type": "string", "title": "kernel", "x-kernel": true });
        let about = "Kernels, each cell's trial booting its own (`fslab kernel list`)";
        properties.insert("kernel".into(), list(kernel, about));
        shared_parameters(generator, &mut properties);
        json_schema!({
            "type": "object",
            "properties": properties,
            "additionalProperties": Json::from(one),
        })
    }
}

/// Parameters of every kind; where kinds differ about one, what either allows. (Files are checked
/// against the kinds that they use.)
fn shared_parameters(generator: &SchemaGenerator, properties: &mut Map<String, Json>) {
    for (_, spec) in KINDS {
        for (name, schema) in levels(parameters(generator.definitions(), spec)) {
            let Some(known) = properties.get_mut(&name) else {
                properties.insert(name, schema);
                continue;
            };
            let alternatives = known.get_mut("anyOf").and_then(Json::as_array_mut);
            if let Some(any) = alternatives {
                if !any.contains(&schema) {
                    any.push(schema);
                }
            } else if *known != schema {
                *known = json!({ "anyOf": [known.take(), schema] });
            }
        }
    }
}
