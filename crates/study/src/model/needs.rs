//! What a study needs of the machine that its trials run on, beyond what its cells say themselves.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kernel_range::KernelRange;

/// What decides where a study can run. Filesystems, devices, traces and limits need not be listed here: they
/// are read from the cells.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NeedsSpec {
    /// Kernels that the study is about.
    pub kernel: Option<KernelRange>,
    /// Whether the study needs absolute times, which no guest measures.
    pub times: Times,
    /// What else a kernel must have, by the names of `fslab kernel list` (`dm-log-writes`, `io_uring`).
    pub capabilities: Vec<String>,
}

/// What a study takes its times for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(title = "kind of times")]
pub enum Times {
    /// Emulated ones will do, marked as such.
    #[default]
    Any,
    /// Of hardware: no guest runs it.
    Absolute,
}
