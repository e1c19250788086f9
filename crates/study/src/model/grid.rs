//! Tables whose rows are levels and whose columns are figures.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::clock::Clock;

/// A table whose rows are factor levels and whose columns are figures: Dokos's streaming table, the
/// fill-and-check matrix of 2012.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GridSpec {
    /// First line.
    pub title: String,
    /// Levels that a cell must have to be in this grid.
    #[serde(default, rename = "where")]
    pub filter: BTreeMap<String, String>,
    /// The factor each of whose levels heads a grid of its own (`filesystem`); none: one grid.
    #[serde(default)]
    pub heading: Option<String>,
    /// Factors whose levels, in their order, are the rows, one label column each.
    pub rows: Vec<GridLabel>,
    /// The figures.
    pub columns: Vec<GridColumn>,
    /// Print, as footnotes, iostat's and top's rows in the middle of the phase of each figure.
    #[serde(default)]
    pub footnotes: bool,
    /// The document whose published grid is printed beside (`dokos2008`), with its `table` name.
    #[serde(default)]
    pub published: Option<String>,
}

/// A label column of a grid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GridLabel {
    /// The factor (`files`), or `kernel` for the release of the running kernel.
    pub factor: String,
    /// Head of the column (`Number of Files`).
    pub label: String,
}

/// A figure column of a grid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GridColumn {
    /// Head of the column (`Read (RA=4K)`).
    pub label: String,
    /// Phase.
    #[schemars(title = "phase", extend("enum" = crate::names::PHASES))]
    pub phase: String,
    /// Metric of that phase.
    #[schemars(title = "metric", extend("enum" = crate::names::METRICS))]
    pub metric: String,
    /// Clock of the figure: (a), (b) or (c).
    #[serde(default)]
    #[schemars(title = "clock")]
    pub clock: Clock,
    /// Unit as printed.
    #[schemars(title = "unit", extend("enum" = crate::names::UNITS))]
    pub unit: String,
    /// Levels that a cell must have besides the grid's (`readahead = "4096"`).
    #[serde(default, rename = "where")]
    pub filter: BTreeMap<String, String>,
    /// Name of this column in the published records, when they have it.
    #[serde(default)]
    pub published: Option<String>,
}
