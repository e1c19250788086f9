//! Parameters of the record of file layouts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The look that follows each phase that writes, while the filesystem is mounted and outside every
/// clock: extents, gaps and their causes, and the free space that is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LayoutSpec {
    /// Look at all.
    pub enabled: bool,
    /// How many of the largest files are described and listed one by one; the figures include all.
    #[schemars(title = "number of files", range(min = 0, max = 1000))]
    pub files: u32,
}

impl Default for LayoutSpec {
    fn default() -> Self {
        LayoutSpec {
            enabled: false,
            files: 8,
        }
    }
}
