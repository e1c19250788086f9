//! What can stop the making of a filesystem.

use std::io;
use std::path::PathBuf;

/// Each message names the thing, the cause and the next step.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A call to the system failed.
    #[error("{path}: cannot {action}: {source}", path = path.display())]
    Io {
        /// The image or device.
        path: PathBuf,
        /// What was tried, as a verb with its object.
        action: &'static str,
        /// Why not.
        source: io::Error,
    },
    /// A wish that the format, or this program, cannot fulfil.
    #[error("{0}")]
    Option(String),
    /// The population is larger than the filesystem.
    #[error(
        "the files do not fit: {need} {what} are needed and the filesystem has {have} for them; {advice}"
    )]
    Room {
        /// Inodes or blocks.
        what: &'static str,
        /// As far as they were counted.
        need: u64,
        /// What there is.
        have: u64,
        /// Which option would make room.
        advice: &'static str,
    },
    /// The population contradicts itself.
    #[error("the population is not possible: {0}")]
    Population(String),
    /// A value that the on-disk format cannot hold.
    #[error("cannot write the format: {0}")]
    Format(#[from] ondisk::ext4::Error),
    /// Asked to stop.
    #[error("stopped; the unfinished image was removed")]
    Stopped,
}
