//! Named ways to make and mount a filesystem.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The on-disk filesystem family to make.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum FilesystemKind {
    /// `mkfs.ext2`: no journal, block-mapped files.
    Ext2,
    /// `mkfs.ext3`: a journal, block-mapped files.
    Ext3,
    /// `mkfs.ext4`: extents, flex_bg and what mke2fs.conf says.
    Ext4,
    /// `mkfs.xfs`.
    Xfs,
    /// `mkfs.btrfs`.
    Btrfs,
    /// `mkfs.ocfs2 -M local`: a cluster filesystem on one machine.
    Ocfs2,
    /// `mkfs.f2fs`: log-structured, for flash.
    F2fs,
}

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
