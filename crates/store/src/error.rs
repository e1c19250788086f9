//! What can go wrong with tables of runs.

use std::io;
use std::path::PathBuf;

/// Trouble with an index, a store, an export or the result of another program. Each message is one line.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The run's folder or its log.
    #[error("{0}")]
    Record(#[from] record::Error),
    /// The index cannot be built.
    #[error("cannot build {}: {cause}; the events are whole, delete the index and try again",
        path.display())]
    Index {
        /// The index.
        path: PathBuf,
        /// SQLite's error.
        cause: rusqlite::Error,
    },
    /// The name of a store is wrong.
    #[error("store {url:?}: {why}")]
    Url {
        /// The name, without a password.
        url: String,
        /// What is wrong, and what would be right.
        why: String,
    },
    /// There is no store of this name.
    #[error("{store} does not exist; `fslab import RUN --store {store}` makes it")]
    Missing {
        /// The store.
        store: String,
    },
    /// The file or database holds something else.
    #[error("{store} is not a store of fslab; name another file or database")]
    NotAStore {
        /// The store.
        store: String,
    },
    /// The file has the tables of a store, and something that fslab does not make.
    #[error("{store}: {why}, and no store of fslab has that; import the runs into a new store")]
    Altered {
        /// The store.
        store: String,
        /// What was found.
        why: String,
    },
    /// The store was written by a newer fslab.
    #[error(
        "{store}: schema {found} is newer than this fslab knows ({known}); use the fslab that wrote it"
    )]
    Newer {
        /// The store.
        store: String,
        /// Its schema.
        found: i64,
        /// The newest schema of this program.
        known: i64,
    },
    /// The database failed.
    #[error("{store}: {why}")]
    Database {
        /// The store.
        store: String,
        /// The database's message.
        why: String,
    },
    /// The log is not the one that was imported.
    #[error("{}: its log is not the one that {store} has: {why}; restore the log from a copy", dir.display())]
    Mismatch {
        /// The run's folder.
        dir: PathBuf,
        /// The store.
        store: String,
        /// What differs.
        why: String,
    },
    /// A name that no index takes.
    #[error("run {run}: the name of a {what} has {bytes} bytes; a store takes {most} at most")]
    TooLong {
        /// The run.
        run: String,
        /// What it names.
        what: &'static str,
        /// Its length.
        bytes: usize,
        /// The limit.
        most: usize,
    },
    /// A time that a store cannot hold.
    #[error(
        "run {run} began at {at}; a store takes the years 1970 to 9999; correct the clock and run again"
    )]
    Time {
        /// The run.
        run: String,
        /// When it began, by its log.
        at: jiff::Timestamp,
    },
    /// A run that an older fslab imported.
    #[error("{store}: run {run} was imported by an older fslab, without its plan; import it again")]
    NoPlan {
        /// The store.
        store: String,
        /// The run.
        run: String,
    },
    /// A selector that cannot be read.
    #[error("selector {text:?}: {why}")]
    Selector {
        /// As typed.
        text: String,
        /// What is wrong, and what would be right.
        why: String,
    },
    /// The selection is empty.
    #[error(
        "nothing to export: {store} has no samples of the runs and cells that are selected; loosen the selector"
    )]
    NothingSelected {
        /// The store.
        store: String,
    },
    /// The output cannot be written.
    #[error("cannot write the export: {0}; choose another --output")]
    Output(#[from] io::Error),
    /// The result of another program that cannot be read.
    #[error("{}: {why}", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what would be right.
        why: String,
    },
}

impl Error {
    /// Whether the request is wrong, as against a disk or a server that fails.
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            Error::Url { .. }
                | Error::Missing { .. }
                | Error::NotAStore { .. }
                | Error::Altered { .. }
                | Error::Newer { .. }
                | Error::Mismatch { .. }
                | Error::TooLong { .. }
                | Error::Time { .. }
                | Error::NoPlan { .. }
                | Error::Selector { .. }
                | Error::NothingSelected { .. }
                | Error::Foreign { .. }
        )
    }
}
