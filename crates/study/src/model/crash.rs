//! Parameters of the crash check after a trial.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The crash check that follows a trial: what a power cut leaves is recovered and checked, outside all clocks.
/// Either each write to the device is logged and power cuts are tried afterwards at many moments of the log, or
/// the power of the device is cut once, while the trial runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CrashSpec {
    /// Whether the crash check runs.
    pub enabled: bool,
    /// How the power is cut.
    pub method: CrashMethod,
    /// After which entries of the log a power cut is tried. Only for `replay`.
    #[schemars(title = "kind of moment")]
    pub boundaries: CrashBoundary,
    /// At most this many moments, evenly spread; 0: all. Only for `replay`.
    #[schemars(title = "number of moments", range(min = 0, max = 1_000_000))]
    pub most: u32,
    /// The phase that ends with the cut, and the workload with it; without a name the first. Only for `cut`.
    #[schemars(title = "name of a phase")]
    pub cut_phase: Option<String>,
    /// Milliseconds after that phase's beginning; without it the power is cut after the phase, when all data are synced. Only for `cut`.
    #[schemars(title = "number of milliseconds", range(min = 0, max = 1_000_000_000))]
    pub cut_after_ms: Option<u32>,
    /// Seconds after which a checker of one image is killed.
    #[schemars(title = "number of seconds", range(min = 1, max = 10_000_000))]
    pub timeout_seconds: u32,
}

impl Default for CrashSpec {
    fn default() -> Self {
        CrashSpec {
            enabled: false,
            method: CrashMethod::Replay,
            boundaries: CrashBoundary::Flush,
            most: 64,
            cut_phase: None,
            cut_after_ms: None,
            timeout_seconds: 600,
        }
    }
}

impl CrashSpec {
    /// The key that has no meaning together with the others, and why.
    pub(crate) fn problem(&self) -> Option<(&'static str, &'static str)> {
        let cut = self.method == CrashMethod::Cut;
        if self.cut_phase.is_some() && !cut {
            return Some((
                "cut_phase",
                "a moment to cut the power at needs method = 'cut'",
            ));
        }
        if self.cut_after_ms.is_some() && !cut {
            return Some((
                "cut_after_ms",
                "a moment to cut the power at needs method = 'cut'",
            ));
        }
        None
    }
}

/// How the power is cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CrashMethod {
    /// On paper: a log of all writes is replayed up to many moments.
    #[default]
    Replay,
    /// While the trial runs, by dm-flakey: from one moment on nothing that is written is kept.
    Cut,
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
