//! What can go wrong with a fleet's folder. Every message is one line and names what to do.

use std::io;
use std::path::PathBuf;

/// The error of this crate.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is no folder of a fleet.
    #[error("{}: no fleet.json is in it; `fslab fleet submit STUDY` makes such a folder", .0.display())]
    NotAFleet(PathBuf),
    /// The plan is not what was submitted.
    #[error("{}: {why}; submit it again into a new folder", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// There is no such block.
    #[error("block {block}: the plan has {blocks}, counted from 0")]
    NoBlock {
        /// As asked for.
        block: u32,
        /// Blocks of the plan.
        blocks: u32,
    },
    /// Blocks are missing or do not go together.
    #[error("{0}")]
    Refused(String),
    /// A file cannot be read or written.
    #[error("{}: cannot {what}: {source}", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// On which file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A part's log, or the gathered one.
    #[error(transparent)]
    Record(#[from] record::Error),
    /// The tables of the gathered run.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// Its reports.
    #[error(transparent)]
    Report(#[from] report::Error),
    /// Its folder.
    #[error(transparent)]
    Folder(#[from] rundir::Error),
}

impl Error {
    /// Wraps an error of a file.
    pub(crate) fn io(
        what: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Error {
        let path = path.into();
        move |source| Error::Io { what, path, source }
    }

    /// Whether the folder is not safe to obey.
    pub fn is_refusal(&self) -> bool {
        match self {
            Error::Folder(error) => error.is_refusal(),
            Error::Record(error) | Error::Store(store::Error::Record(error)) => {
                matches!(error, record::Error::Unsafe(_))
            }
            _ => false,
        }
    }

    /// Whether what was asked for is wrong, as against a disk that fails.
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            Error::NotAFleet(_) | Error::Changed { .. } | Error::NoBlock { .. } | Error::Refused(_)
        )
    }
}
