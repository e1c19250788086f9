//! Laws of growth.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::clock::Clock;

/// How a figure grows with a factor whose levels are numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GrowthSpec {
    /// First line.
    pub title: String,
    /// What grows: `count` of the phase `fill` or `age`, files really counted; or a factor.
    pub x: String,
    /// Unit of x, in the plural (`files`).
    pub x_unit: String,
    /// Phase of the figure (`check`).
    #[schemars(title = "phase", extend("enum" = crate::names::PHASES))]
    pub phase: String,
    /// Its metric (`seconds`).
    #[schemars(title = "metric", extend("enum" = crate::names::METRICS))]
    pub metric: String,
    /// Clock of the figure: (a), (b) or (c).
    #[serde(default)]
    #[schemars(title = "clock")]
    pub clock: Clock,
    /// Factors each combination of whose levels gets a law of its own (`filesystem`, `memory`).
    pub by: Vec<String>,
    /// Levels that a cell must have.
    #[serde(default, rename = "where")]
    pub filter: BTreeMap<String, String>,
    /// Values of x to project to.
    #[serde(default)]
    pub projections: Vec<f64>,
}
