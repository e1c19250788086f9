//! What can go wrong with a site.

use std::io;
use std::path::{Path, PathBuf};

/// An error in one line: what, why, what next.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Runs that cannot be read.
    #[error(transparent)]
    Record(#[from] record::Error),
    /// A comparison or a history that cannot be made.
    #[error(transparent)]
    Compare(#[from] compare::Error),
    /// A report that cannot be made.
    #[error(transparent)]
    Report(#[from] report::Error),
    /// A file of the site.
    #[error("{}: {what}: {source}; {next}", words::printable(&path.to_string_lossy()))]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What failed.
        what: &'static str,
        /// Why.
        source: io::Error,
        /// What to do.
        next: &'static str,
    },
    /// A folder with something else in it.
    #[error(
        "{0}: it is not empty and no site of fslab; choose an empty folder, or one that does not exist"
    )]
    NotASite(String),
    /// There is nothing to show.
    #[error(
        "{0}: no run is in it, and the site is left as it was; name another folder of runs or store with --from"
    )]
    NoRuns(String),
    /// Another build at the same time.
    #[error("{0}: another process is building this site; wait until it has ended")]
    Busy(String),
    /// An option with a wrong value.
    #[error("{0}")]
    Option(String),
    /// Someone asked to stop.
    #[error(
        "interrupted; the site is whole, with pages of the last build where new ones were not made yet: build it again"
    )]
    Interrupted,
    /// A defect in an embedded template: tests keep it from being released.
    #[error("template {name}: {source}")]
    Template {
        /// Which template.
        name: String,
        /// minijinja's error.
        source: minijinja::Error,
    },
    /// Serialising failed; with these types that means a defect.
    #[error("pages as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

impl Error {
    pub(crate) fn io(path: &Path, what: &'static str, source: io::Error) -> Error {
        Error::Io {
            path: path.to_owned(),
            what,
            source,
            next: "free space, or choose another folder",
        }
    }

    /// Whether the command line is wrong, and not a file unreadable.
    pub fn is_usage(&self) -> bool {
        match self {
            Error::Compare(error) => error.is_usage(),
            Error::NotASite(_) | Error::NoRuns(_) | Error::Option(_) => true,
            _ => false,
        }
    }
}
