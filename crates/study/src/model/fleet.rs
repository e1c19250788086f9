//! How ranks are started on the nodes of a site.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The launcher of `--executor mpi`. On the command line `--launcher` and `--mpi-library` replace it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FleetSpec {
    /// The words of the command that starts ranks: `{ranks}`, `{nodes}` and `{per_node}` stand for numbers.
    pub launcher: Vec<String>,
    /// Nodes that the launcher spreads ranks over, for `{nodes}` and `{per_node}`.
    #[schemars(title = "number of nodes", range(min = 1, max = 1_048_576))]
    pub nodes: u32,
    /// The MPI library, a path or a name; none: the one that fits the launcher.
    pub mpi_library: Option<String>,
    /// Seconds without progress after which the ranks of a trial are ended; none: ten times the estimate of a trial, at least 60.
    #[schemars(title = "number of seconds", range(min = 1.0, max = 86_400.0))]
    pub stall: Option<f64>,
}

impl Default for FleetSpec {
    fn default() -> Self {
        FleetSpec {
            launcher: ["mpirun", "-np", "{ranks}"].map(str::to_owned).into(),
            nodes: 1,
            mpi_library: None,
            stall: None,
        }
    }
}
