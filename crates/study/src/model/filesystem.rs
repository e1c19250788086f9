//! Named ways to make and mount a filesystem.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The kind of filesystem to make.
pub use fskind::Kind as FilesystemKind;

/// A named way to make and mount a filesystem. `ext4-nojournal` is data, not code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FilesystemVariant {
    /// The family: which mkfs and which mount type.
    #[schemars(title = "filesystem family")]
    pub kind: FilesystemKind,
    /// Extra arguments of mkfs, one word each, before the device.
    #[serde(default)]
    pub mkfs: Vec<String>,
    /// Mount options, as after `mount -o`, one each.
    #[serde(default)]
    pub mount: Vec<String>,
    /// One line for reports.
    #[serde(default)]
    pub about: String,
}
