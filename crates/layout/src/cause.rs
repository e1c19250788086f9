//! What interrupts a file on disk.

use serde::{Deserialize, Serialize};

/// What occupies the block at which a file would have continued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// A copy of ext's superblock and group descriptors.
    BackupSuperblock,
    /// Bitmaps and inode tables of a flex group (ext4).
    FlexMetadata,
    /// Bitmaps and inode table of a group (ext2, ext3).
    GroupMetadata,
    /// The headers at the start of an AG (XFS).
    AgHeader,
    /// The journal or log.
    Journal,
    /// The file's own indirect block (ext2, ext3).
    IndirectBlock,
    /// Other metadata, as GETFSMAP says.
    Metadata,
    /// Nothing known; the file continues where the next group begins, or ended where one ends.
    GroupBoundary,
    /// Other blocks of the same file.
    SameFile,
    /// A block in use that is not known metadata: another file's, or a map's.
    OtherFile,
    /// Nothing: the block is free, and was not chosen (or was in use at that time).
    FreeSpace,
    /// It cannot be determined.
    Unknown,
}

impl Cause {
    /// Whether it is the filesystem's own metadata, which no allocator could have moved.
    pub fn is_metadata(self) -> bool {
        self < Cause::GroupBoundary
    }

    /// The name for people.
    pub fn name(self) -> &'static str {
        match self {
            Cause::BackupSuperblock => "backup superblock",
            Cause::FlexMetadata => "flex_bg metadata",
            Cause::GroupMetadata => "group metadata",
            Cause::AgHeader => "AG header",
            Cause::Journal => "journal",
            Cause::IndirectBlock => "indirect block",
            Cause::Metadata => "metadata",
            Cause::GroupBoundary => "group boundary",
            Cause::SameFile => "same file",
            Cause::OtherFile => "other file",
            Cause::FreeSpace => "free space",
            Cause::Unknown => "unknown",
        }
    }
}
