//! The seam between what exists and how a format stores it.

use std::path::Path;

use progress::Progress;

use crate::Error;

/// A population that is to be written as a filesystem of one format.
pub trait Image {
    /// Makes the image at `path`, which must not exist yet, and reports the inodes written to `progress`. When anything fails it is removed again.
    ///
    /// # Errors
    ///
    /// [`Error::Room`] when the population does not fit, [`Error::Population`] when it contradicts itself, [`Error::Io`]
    /// with the cause when the image cannot be made, [`Error::Start`] without the format's mkfs, [`Error::Stopped`] when the
    /// `progress` asks to stop.
    fn write(self, path: &Path, progress: &dyn Progress) -> Result<Written, Error>;
}

/// Totals of a written image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Bytes of the image.
    pub size: u64,
    /// Bytes written; the rest are holes.
    pub bytes: u64,
    /// Inodes in use, without those of the filesystem itself.
    pub inodes: u64,
    /// Directories, the root and `lost+found` included.
    pub directories: u64,
    /// Blocks in use, tables included.
    pub blocks: u64,
    /// Blocks that are free.
    pub free_blocks: u64,
    /// Inodes that are free.
    pub free_inodes: u64,
    /// Name and version of the program that made the empty filesystem, `mke2fs 1.47.0`.
    pub maker: String,
}
