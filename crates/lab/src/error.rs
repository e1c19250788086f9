//! Why the lab stops, and which of the documented exit codes that is.

use std::io;
use std::path::{Path, PathBuf};

/// What kind of ending an error is; the binary maps it to an exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Input or output failed outside any measurement.
    Trouble,
    /// The request is wrong; nothing was touched.
    Usage,
    /// The safety gate refused; nothing was touched.
    Refused,
    /// The run stopped early and can be resumed.
    Incomplete,
    /// A measurement is not valid.
    Invalid,
    /// Someone asked to stop.
    Interrupted,
}

/// Why the lab stops.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The study or an override is wrong.
    #[error("{0}")]
    Study(#[from] study::Error),
    /// The run's folder or log.
    #[error("{0}")]
    Record(#[from] record::Error),
    /// The log could not be written in mid-run; what was mounted was undone first, as far as `left` says.
    #[error("{source} (the run in {} stopped; {})", run.display(), undone(run, left))]
    Unrecorded {
        /// The run's folder.
        run: PathBuf,
        /// What went wrong.
        source: Box<record::Error>,
        /// Mounts and loop devices that the kernel still has of the run, in words.
        left: Vec<String>,
    },
    /// The index of the run, or a store.
    #[error("{0}")]
    Store(#[from] store::Error),
    /// Devices, mkfs, mount.
    #[error("{0}")]
    Rig(#[from] rig::Error),
    /// No further trial can run; all that was mounted is undone.
    #[error("{source}; the run stopped, what was measured is kept: then go on with `fslab resume {}`", run.display())]
    Stopped {
        /// The run's folder.
        run: PathBuf,
        /// The cause.
        source: Box<rig::Error>,
    },
    /// A workload run alone.
    #[error("{0}")]
    Workload(#[from] workload::Error),
    /// A block trace.
    #[error("{0}")]
    Capture(#[from] probe::capture::Error),
    /// The report.
    #[error("{0}")]
    Report(#[from] report::Error),
    /// Something the run needs is not here.
    #[error("{0}")]
    Preflight(String),
    /// A guest kernel that does not run: no trial could.
    #[error("{0}")]
    Guest(guest::machine::Error),
    /// A guest kernel, or what it starts from, that cannot be had.
    #[error("{0}")]
    Kernel(#[from] guest::kernel::Error),
    /// Someone asked to stop.
    #[error("{0}")]
    Interrupted(String),
    /// A file of the run.
    #[error("{path}: {source}; free space or choose another --out, then go on with `fslab resume`", path = path.display())]
    File {
        /// Its path.
        path: PathBuf,
        /// What went wrong.
        source: io::Error,
    },
}

/// What became of the run's mounts.
fn undone(run: &Path, left: &[String]) -> String {
    if left.is_empty() {
        return "all it had mounted is undone".into();
    }
    format!(
        "not undone: {}; then: fslab clean {}",
        left.join(", "),
        run.display()
    )
}

impl Error {
    /// What kind of ending this is.
    pub fn class(&self) -> Class {
        match self {
            Error::Record(record::Error::Unsafe(_)) => Class::Refused,
            // Nothing is there to be resumed.
            Error::Unrecorded { source, .. }
                if matches!(**source, record::Error::FolderGone { now: None, .. }) =>
            {
                Class::Trouble
            }
            Error::Record(error) if is_usage(error) => Class::Usage,
            Error::Store(error) => of_store(error),
            Error::Report(report::Error::Template { .. } | report::Error::Json(_))
            | Error::Record(_)
            | Error::File { .. } => Class::Trouble,
            Error::Report(_)
            | Error::Study(_)
            | Error::Preflight(_)
            | Error::Guest(guest::machine::Error::MissingProgram { .. }) => Class::Usage,
            Error::Kernel(error) if error.is_usage() => Class::Usage,
            Error::Guest(_) | Error::Kernel(_) => Class::Trouble,
            Error::Stopped { source, .. } if source.class() == rig::Class::Safety => Class::Refused,
            Error::Unrecorded { .. } | Error::Stopped { .. } => Class::Incomplete,
            Error::Rig(error) => match error.class() {
                rig::Class::Safety => Class::Refused,
                rig::Class::Interrupted => Class::Interrupted,
                rig::Class::Trial => Class::Trouble,
                rig::Class::Cell | rig::Class::Target => Class::Usage,
            },
            Error::Workload(error) => match error {
                workload::Error::Interrupted { .. } => Class::Interrupted,
                workload::Error::BadOption { .. }
                | workload::Error::Unsupported { .. }
                | workload::Error::BadInput { .. } => Class::Usage,
                // A data set or directory that was named and is not there.
                workload::Error::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                    Class::Usage
                }
                _ => Class::Invalid,
            },
            Error::Capture(error) => match error.class() {
                probe::capture::Class::Usage => Class::Usage,
                probe::capture::Class::Refused => Class::Refused,
                probe::capture::Class::Trouble => Class::Trouble,
            },
            Error::Interrupted(_) => Class::Interrupted,
        }
    }
}

/// A record's error keeps its class, wherever it was met.
fn of_store(error: &store::Error) -> Class {
    match error {
        store::Error::Record(record::Error::Unsafe(_)) => Class::Refused,
        store::Error::Record(error) if is_usage(error) => Class::Usage,
        error if error.is_usage() => Class::Usage,
        _ => Class::Trouble,
    }
}

/// Whether the folder named is the wrong one, as against a disk that fails.
fn is_usage(error: &record::Error) -> bool {
    use record::Error as E;
    matches!(
        error,
        E::RunExists { .. }
            | E::NotEmpty { .. }
            | E::NotAFolder { .. }
            | E::CannotCreate { .. }
            | E::NotARun { .. }
            | E::NothingRecorded { .. }
            | E::Locked { .. }
    ) || matches!(error, E::Io { cause, .. } if cause.kind() == io::ErrorKind::NotFound)
}
