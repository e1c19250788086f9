//! Tables whose columns are levels and whose rows are figures.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::clock::Clock;

/// One row of a report table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RowSpec {
    /// Phase, in the spec's snake case (`initial_write`, `read_compiled_tree`).
    #[schemars(
        title = "phase",
        extend("enum" = crate::names::PHASES)
    )]
    pub phase: String,
    /// Metric of that phase: see docs/metrics.md (`children`, `throughput`, `seconds`).
    #[schemars(title = "metric", extend("enum" = crate::names::METRICS))]
    pub metric: String,
    /// What is inside the clock: `original` (a), `fsync` (b) or `syncfs` (c).
    #[serde(default)]
    #[schemars(title = "clock")]
    pub clock: Clock,
    /// Label at the row's left (`initl_writers`).
    pub label: String,
    /// Unit as printed: `MB/s`, `MB_s` (both 2^20 bytes a second), `secs`, `files/s`.
    #[schemars(title = "unit", extend("enum" = crate::names::UNITS))]
    pub unit: String,
    /// Name of this row in the published records, when they have it.
    #[serde(default)]
    pub published: Option<String>,
}

/// A table of the study's text report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TableSpec {
    /// First line (`Iozone, 1 Thread`).
    pub title: String,
    /// Second line (`Average throughput`).
    #[serde(default)]
    pub subtitle: String,
    /// Levels that a cell must have to be in this table (`workload = "iozone"`, `threads = "1"`).
    #[serde(default, rename = "where")]
    pub filter: BTreeMap<String, String>,
    /// The factor whose levels are the column groups.
    pub columns: String,
    /// The rows, in order.
    pub rows: Vec<RowSpec>,
    /// Level to the published column's name, where it differs (`ext4` -> `ext4-stock`).
    #[serde(default)]
    pub published_columns: BTreeMap<String, String>,
    /// `table` of the published records, with `{column}` for the column (`Iozone {column} : 1 thread`).
    #[serde(default)]
    pub published_table: Option<String>,
}
