//! Why a folder or a file below it is not used.

use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a folder or a file below it is not used. Each message is one line.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is not safe to use: a link, no regular file, or another user may write it.
    #[error("{}: refused: {why}; {next}", path.display())]
    Refused {
        /// The folder, or the file in it.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
        /// What the reader can do.
        next: String,
    },
    /// A system call failed.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// A verb: `open`, `create`, `remove`.
        doing: &'static str,
        /// The folder, or the file in it.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
}

impl Error {
    pub(crate) fn io(doing: &'static str, path: &Path, source: impl Into<io::Error>) -> Error {
        Error::Io {
            doing,
            path: path.into(),
            source: source.into(),
        }
    }

    pub(crate) fn refused(path: &Path, why: impl Into<String>, next: impl Into<String>) -> Error {
        Error::Refused {
            path: path.into(),
            why: why.into(),
            next: next.into(),
        }
    }

    /// Whether it was refused for safety, as against a system call that failed.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Error::Refused { .. })
    }

    /// Whether the filesystem could not answer: it has shut down, or its disk fails.
    pub fn is_unanswered(&self) -> bool {
        matches!(self, Error::Io { source, .. } if Errno::from_io_error(source) == Some(Errno::IO))
    }

    /// The error of the system call; for a refusal `PermissionDenied` with the reason.
    pub fn into_io(self) -> io::Error {
        match self {
            Error::Io { source, .. } => source,
            refused @ Error::Refused { .. } => {
                io::Error::new(io::ErrorKind::PermissionDenied, refused.to_string())
            }
        }
    }
}
