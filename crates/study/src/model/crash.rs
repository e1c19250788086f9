//! Parameters of the crash check after a trial.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The crash check that follows a trial: each write to its device is logged, and what a power cut would have left
/// at chosen moments is recovered and judged, on the host and outside every clock. QEMU logs the disk
/// of its guest; nothing else does, and anywhere else such a study is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CrashSpec {
    /// Judge at all.
    pub enabled: bool,
    /// After what a power cut is tried.
    #[schemars(title = "kind of moment")]
    pub boundaries: CrashBoundary,
    /// At most so many moments, evenly spread; 0: all.
    #[schemars(title = "number of moments", range(min = 0, max = 1_000_000))]
    pub most: u32,
    /// Seconds after which a checker of one image is killed.
    #[schemars(title = "number of seconds", range(min = 1, max = 10_000_000))]
    pub timeout_seconds: u32,
}

impl Default for CrashSpec {
    fn default() -> Self {
        CrashSpec {
            enabled: false,
            boundaries: CrashBoundary::Flush,
            most: 64,
            timeout_seconds: 600,
        }
    }
}

/// After which writes a power cut is tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CrashBoundary {
    /// Each flush: what the device promised to keep, and no more.
    #[default]
    Flush,
    /// Each flush and each write that was forced to the medium (FUA).
    Fua,
    /// Each write.
    Write,
}
