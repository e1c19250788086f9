//! Parameters of compilebench.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::Bytes;

/// Parameters of `tree` (compilebench). Letters in brackets are compilebench's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TreeSpec {
    /// Trees created first (-i), 1..=1000.
    #[schemars(title = "number of trees", range(min = 1, max = 1000))]
    pub initial: u32,
    /// Random operations after them (-r), 0..=100000.
    #[schemars(title = "number of operations", range(min = 0, max = 100_000))]
    pub runs: u32,
    /// Bytes of one read or write (-b).
    #[schemars(title = "buffer size", extend("minimum" = 512, "maximum" = 64 << 20))]
    pub buffer: Bytes,
    /// Share of the data sets' files to keep, 0 < scale <= 1; shapes stay, counts shrink.
    #[schemars(title = "share", range(max = 1.0), extend("exclusiveMinimum" = 0))]
    pub scale: f64,
    /// Folder with compilebench's four original `dataset-*` files (-s); none: the generator.
    #[schemars(title = "folder")]
    pub sources: Option<String>,
    /// Sync inside each random operation's clock and drop caches before it (off is -n).
    pub sync: bool,
    /// Reproduce compilebench's append mode and dictionary quirks.
    pub compat: bool,
    /// Seed of the generated data sets (the operation sequence has compilebench's own, 555).
    #[schemars(title = "seed")]
    pub dataset_seed: u64,
}

impl Default for TreeSpec {
    fn default() -> Self {
        TreeSpec {
            initial: 30,
            runs: 100,
            buffer: Bytes(256 * Bytes::KIB),
            scale: 1.0,
            sources: None,
            sync: true,
            compat: true,
            dataset_seed: 2009,
        }
    }
}
