//! Errors of forging.

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
        /// What failed, as a verb with its object.
        action: &'static str,
        /// The error of the call.
        source: io::Error,
    },
    /// The program that makes the empty filesystem cannot be started.
    #[error("cannot run {program}: {source}; install {package}")]
    Start {
        /// Its name.
        program: String,
        /// The package that has it.
        package: &'static str,
        /// The error of the call.
        source: io::Error,
    },
    /// An option that the format, or this program, does not allow.
    #[error("{0}")]
    Option(String),
    /// The population is larger than the filesystem.
    #[error(
        "the files do not fit: {need} {what} are needed and the filesystem has {have} for them; {advice}"
    )]
    Room {
        /// The unit of both numbers, `inodes` or `blocks`.
        what: &'static str,
        /// How many the population takes, as far as they were counted.
        need: u64,
        /// How many the filesystem has.
        have: u64,
        /// What to change.
        advice: &'static str,
    },
    /// The population contradicts itself.
    #[error("the population is not possible: {0}")]
    Population(String),
    /// A value that the on-disk format cannot hold.
    #[error("cannot write the format: {0}")]
    Format(#[from] ondisk::ext4::Error),
    /// An empty filesystem that is not as its program makes it.
    #[error("{maker} made a filesystem that cannot be filled: {why}; try another version of it")]
    Unexpected {
        /// Name and version of the program.
        maker: String,
        /// What is not as expected.
        why: String,
    },
    /// Asked to stop.
    #[error("stopped; the unfinished image was removed")]
    Stopped,
}
