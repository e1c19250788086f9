//! The format of a study file, as types: the source of schemas/study.schema.json.
//!
//! These types are never filled. Their schema is what files are checked against (see
//! the `check` module), so the published schema cannot say less or more than the program.

mod factors;
mod levels;
mod values;
mod workload;

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use crate::model::{
    CrashSpec, DeviceSpec, EstimateSpec, FilesystemKind, FleetSpec, GridSpec, GrowthSpec,
    LayoutSpec, NeedsSpec, Order, StackFile, TableSpec, Volume,
};

pub use crate::names::{CHECK_PHASES, METRICS, PHASES, UNITS, phases};
pub use factors::{Exclude, Factors};
pub use values::{CheckFile, LEAST_MEMORY, Memory, Words};
pub(crate) use workload::{KINDS, definition};
pub use workload::{WorkloadEntry, WorkloadOverlay};

/// A study of fslab: a question, the factors it varies and the workloads it measures. Files may
/// leave any key to the files they include; after all includes a study must have `name`, `title`,
/// one `[[workload]]` and `factors.filesystem`.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, title = "fslab study", transform = optional)]
pub struct StudyFile {
    /// Files whose values this one starts from, the most specific last: relative to this file, or the name
    /// of a built-in file such as `defaults.toml`.
    pub include: Vec<String>,
    /// Short name: lower-case letters, digits, `-`, `_`.
    #[schemars(title = "name", extend("x-name" = true))]
    pub name: String,
    /// One line.
    #[schemars(title = "title")]
    pub title: String,
    /// The question it answers; the title where it has none.
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
    /// Memory that a trial, its page cache and its checker may use together; `none`: no limit.
    pub memory: Memory,
    /// Where the files of each filesystem come from.
    #[schemars(title = "way to fill a volume")]
    pub volume: Volume,
    /// The check after each workload.
    pub check: CheckFile,
    /// Whether the layout of files is examined after each phase that writes.
    pub layout: LayoutSpec,
    /// The simulated power cuts after each trial.
    pub crash: CrashSpec,
    /// Modelled devices on which each check is estimated.
    pub estimate: EstimateSpec,
    /// Whether a block trace of the device is recorded while each trial runs.
    #[schemars(title = "switch")]
    pub trace: bool,
    /// The kernel that trials run in: a series (`"6.1"`), a version, or a name of `fslab kernel list`.
    #[schemars(title = "kernel", extend("x-kernel" = true))]
    pub kernel: String,
    /// What the machine must have, in addition to what the cells need.
    pub needs: NeedsSpec,
    /// How ranks are started, with `--executor mpi`.
    pub fleet: FleetSpec,
    /// What is measured.
    pub workload: Vec<WorkloadEntry>,
    /// What is varied, each combination being a cell.
    pub factors: Factors,
    /// Combinations that are excluded.
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

/// A variant must name its family.
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
    /// Memory that a trial, its page cache and its checker may use together; `none`: no limit.
    pub memory: Memory,
    /// Where the files of each filesystem come from.
    #[schemars(title = "way to fill a volume")]
    pub volume: Volume,
    /// The check after each workload.
    pub check: CheckFile,
    /// Whether the layout of files is examined after each phase that writes.
    pub layout: LayoutSpec,
    /// The simulated power cuts after each trial.
    pub crash: CrashSpec,
    /// Modelled devices on which each check is estimated.
    pub estimate: EstimateSpec,
    /// Whether a block trace of the device is recorded while each trial runs.
    #[schemars(title = "switch")]
    pub trace: bool,
    /// The kernel that trials run in: a series (`"6.1"`), a version, or a name of `fslab kernel list`.
    #[schemars(title = "kernel", extend("x-kernel" = true))]
    pub kernel: String,
    /// What the machine must have, in addition to what the cells need.
    pub needs: NeedsSpec,
    /// How ranks are started, with `--executor mpi`.
    pub fleet: FleetSpec,
    /// Parameters of the study's workloads, by name.
    pub workload: BTreeMap<String, WorkloadOverlay>,
    /// What is varied.
    pub factors: Factors,
    /// Combinations that are excluded, instead of the study's.
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

fn parameters(definitions: &Map<String, Json>, spec: &str) -> Map<String, Json> {
    definitions
        .get(spec)
        .and_then(|schema| schema.get("properties"))
        .and_then(Json::as_object)
        .cloned()
        .unwrap_or_default()
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
