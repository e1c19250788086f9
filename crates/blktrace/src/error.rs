//! What can be wrong with a trace.

use std::io;
use std::path::PathBuf;

/// A trace that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file that cannot be opened or read.
    #[error("{}: {source}; name the trace by its base, as blkparse -i does (sda for sda.blktrace.0, sda.blktrace.1 ...)", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// No file of a trace.
    #[error(
        "{base}: there is no {base}.blktrace.0 nor any other {base}.blktrace.N; name the trace by its base, as blkparse -i does"
    )]
    Missing {
        /// The base as given.
        base: String,
    },
    /// A folder without a file of a trace.
    #[error(
        "{}: there is no trace in this folder (no file NAME.blktrace.N); name a trace by its base, or a folder that `fslab trace record` filled", folder.display()
    )]
    NoTraces {
        /// The folder.
        folder: PathBuf,
    },
    /// A folder that cannot be listed.
    #[error("{}: {source}; check the permissions of the folder", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// Files without one record.
    #[error(
        "{base}: its files are empty; nothing was traced, or the tracer was killed before it wrote"
    )]
    Empty {
        /// The base as given.
        base: String,
    },
    /// Bytes that are no record.
    #[error("{}: there is no record at byte {offset} ({what}); the file is damaged there, or is not a trace", path.display())]
    NoRecord {
        /// The file.
        path: PathBuf,
        /// Offset in the file, bytes.
        offset: u64,
        /// What was found there.
        what: String,
    },
    /// A record of a machine of the other byte order.
    #[error("{}: it was recorded on a machine of the other byte order; analyse it there", path.display())]
    OtherEndian {
        /// The file.
        path: PathBuf,
    },
    /// Another layout.
    #[error("{}: its records have version {version}, and only version 7 is read; trace it with a kernel before 6.19, or blktrace's version 1 interface", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// The version.
        version: u8,
    },
    /// A file that ends inside a record.
    #[error("{}: it ends inside the record at byte {offset}; the tracer was killed or the disk was full (truncate the file there to read the rest)", path.display())]
    Truncated {
        /// The file.
        path: PathBuf,
        /// Offset of the record, bytes.
        offset: u64,
    },
    /// The result cannot be written.
    #[error("the result cannot be written: {0}; check the free space and the permissions there")]
    Output(io::Error),
    /// A file of results.
    #[error("{}: {source}; check the free space and the permissions there", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}
