//! What can go wrong with a run's folder.
//!
//! Each message is one line that names the thing, the cause and the next step. The causes are
//! part of the message (not a `source`), so a chain printed by the binary does not repeat them.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::names::{RUNS, near};

/// Trouble with a run's folder.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A run is there already.
    #[error(
        "{} already holds a run: choose another --out, or go on with it: `fslab resume {}`",
        dir.display(), dir.display()
    )]
    RunExists {
        /// The folder.
        dir: PathBuf,
    },
    /// Something else is there.
    #[error(
        "{} is not empty (it holds {found:?}): choose another --out, or an empty folder",
        dir.display()
    )]
    NotEmpty {
        /// The folder.
        dir: PathBuf,
        /// One of the names in it.
        found: String,
    },
    /// A file is there.
    #[error("{} is not a folder: choose another --out", dir.display())]
    NotAFolder {
        /// The path.
        dir: PathBuf,
    },
    /// The folder cannot be made or written.
    #[error(
        "cannot make the run folder {}: {cause}; choose a writable place with --out",
        dir.display()
    )]
    CannotCreate {
        /// The folder.
        dir: PathBuf,
        /// The kernel's error.
        cause: io::Error,
    },
    /// No log is there.
    #[error(
        "{} is not a run folder: it has no events.jsonl; {near}`fslab list` shows the runs below a folder",
        dir.display()
    )]
    NotARun {
        /// The folder.
        dir: PathBuf,
        /// `did you mean journal-1? `, where a run has a name like it; else empty.
        near: String,
    },
    /// A log is there, but the run was killed before its plan was written.
    #[error(
        "{} holds no events: the run was stopped before it began; delete the folder and run again",
        dir.display()
    )]
    NothingRecorded {
        /// The folder.
        dir: PathBuf,
    },
    /// Another process writes this run.
    #[error(
        "run {run} is being written by {holder}: wait until it ends, or stop it with Ctrl-C there"
    )]
    Locked {
        /// The run's name.
        run: String,
        /// `pid 1234`, or `another process`.
        holder: String,
    },
    /// The folder, or a file in it, is not safe to use.
    #[error("{0}")]
    Unsafe(rundir::Error),
    /// The run's folder was moved or deleted while the run wrote it.
    #[error("the run's folder {} {fate} while the run wrote it; {next}", dir.display())]
    FolderGone {
        /// The folder, as it was.
        dir: PathBuf,
        /// `was moved to /x`, `was deleted`.
        fate: String,
        /// What the reader can do.
        next: String,
        /// Where it can be resumed; none when it was deleted.
        now: Option<PathBuf>,
    },
    /// A file cannot be read, opened, renamed ...
    #[error("cannot {doing} {}: {cause}; {}", path.display(), next_step(cause))]
    Io {
        /// A verb: `read`, `open`, `rename`.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The kernel's error.
        cause: io::Error,
    },
    /// An event could not be written.
    #[error(
        "cannot record event {seq} in {}: {cause}; {state}, make room or repair the disk and go \
         on with `fslab resume`",
        path.display()
    )]
    CannotRecord {
        /// The log.
        path: PathBuf,
        /// Number of the event that is not recorded.
        seq: u64,
        /// The kernel's error (no space left, input/output error).
        cause: io::Error,
        /// What the log still holds.
        state: &'static str,
    },
    /// A value that JSON cannot carry.
    #[error(
        "event {seq} ({event}) cannot be recorded: {why}; this is a defect of fslab, report it"
    )]
    Unrecordable {
        /// Number of the event.
        seq: u64,
        /// Its name.
        event: String,
        /// What does not survive: usually a number that is not finite.
        why: String,
    },
    /// A line in the middle of the log is not what was written.
    #[error(
        "{}:{line}: damaged log: {why}; restore the file from a copy, or keep the lines before it",
        path.display()
    )]
    Damaged {
        /// The log.
        path: PathBuf,
        /// 1-based line.
        line: u64,
        /// What is wrong.
        why: String,
    },
    /// The log was written by a newer fslab.
    #[error(
        "{}: log format {format} is newer than this fslab reads ({}): use the fslab that wrote it",
        path.display(), crate::event::FORMAT
    )]
    Future {
        /// The log.
        path: PathBuf,
        /// Its format.
        format: u64,
    },
    /// A telemetry file that cannot be read at all.
    #[error("{}: {why}", path.display())]
    Telemetry {
        /// The file.
        path: PathBuf,
        /// What is wrong and what to do.
        why: String,
    },
}

impl From<rundir::Error> for Error {
    fn from(error: rundir::Error) -> Error {
        match error {
            rundir::Error::Io {
                doing,
                path,
                source,
            } => Error::Io {
                doing,
                path,
                cause: source,
            },
            refused @ rundir::Error::Refused { .. } => Error::Unsafe(refused),
        }
    }
}

impl Error {
    /// An error of the kernel about a file; `doing` is a verb.
    pub fn io(doing: &'static str, path: &Path, cause: impl Into<io::Error>) -> Error {
        Error::Io {
            doing,
            path: path.to_owned(),
            cause: cause.into(),
        }
    }
}

impl Error {
    /// A file of a run, opened by its path.
    pub(crate) fn opened(path: &Path, opened: Result<File, input::Error>) -> Result<File, Error> {
        opened.map_err(|error| match error {
            input::Error::NotRegular(why) => Error::Unsafe(rundir::Error::Refused {
                path: path.to_owned(),
                why: why.to_owned(),
                next: "remove it; fslab makes only regular files there".to_owned(),
            }),
            other => Error::io("open", path, other),
        })
    }

    /// There is no log in this folder.
    pub(crate) fn not_a_run(dir: &Path) -> Error {
        Error::NotARun {
            near: near(dir, Path::new(RUNS)),
            dir: dir.to_owned(),
        }
    }
}

/// What to do about an error of the kernel.
fn next_step(cause: &io::Error) -> &'static str {
    match cause.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::InvalidFilename => "check the path",
        io::ErrorKind::PermissionDenied => "run as its owner or as root",
        io::ErrorKind::ReadOnlyFilesystem => {
            "mount it read-write (mount -o remount,rw), or copy the run elsewhere"
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free some space, then try again"
        }
        io::ErrorKind::FileTooLarge => "raise the limit of file sizes (ulimit -f)",
        io::ErrorKind::NotADirectory => "name a folder",
        io::ErrorKind::IsADirectory => "name a file",
        _ => match cause.raw_os_error() {
            // Too many open files, of this process or of the machine.
            Some(23 | 24) => "raise the limit of open files (ulimit -n)",
            // No locks: an NFS without its lock daemon.
            Some(37) => "take a filesystem with file locks (flock)",
            _ => "see the kernel log (dmesg) for errors of the disk",
        },
    }
}
