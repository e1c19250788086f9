//! How a workload fails. Every message is one line and names the thing, the cause and the next step.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

/// The error of every workload.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A system call on a file or directory failed.
    #[error("cannot {what} {}: {source}; {}", path.display(), hint(source))]
    Io {
        /// What was tried, as the sentence goes on after "cannot": `write`, `open`, `create`.
        what: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The filesystem filled up in the middle of a phase.
    #[error(
        "{phase}: no space left for {} after {written} of {asked} bytes; \
         free some space, or take a smaller size or a larger target", path.display()
    )]
    NoSpace {
        /// The phase, in snake case.
        phase: String,
        /// The file that could not grow.
        path: PathBuf,
        /// Bytes the phase (of this file, where files are large) had written before.
        written: u64,
        /// Bytes it should have written.
        asked: u64,
    },
    /// The filesystem filled up in the middle of a workload of many files.
    #[error(
        "{phase}: no space left for {} after {files} whole files; what was measured is kept; take \
         fewer or smaller files or a larger target, or fill it until it is full (until_full)",
        path.display()
    )]
    Full {
        /// The phase, in snake case.
        phase: String,
        /// The file for which there was no space; nothing is left of it.
        path: PathBuf,
        /// Files that are whole.
        files: u64,
        /// What was measured until then.
        partial: Box<crate::Outcome>,
    },
    /// What was read is not what was written.
    #[error(
        "{phase}: {} is damaged at byte {offset}: {found}; the file stays as it is, look at the \
         kernel log (dmesg) and test the device", path.display()
    )]
    Damaged {
        /// The phase, in snake case.
        phase: String,
        /// The file.
        path: PathBuf,
        /// The first wrong byte, or where a wrong block begins.
        offset: u64,
        /// What was found, and what was expected.
        found: String,
    },
    /// The run was cancelled.
    #[error("interrupted during {phase}; run it again, nothing of this phase was kept")]
    Interrupted {
        /// The phase that was running, in snake case.
        phase: String,
    },
    /// An option has a value that cannot be used.
    #[error("{option} = {value}: {reason}")]
    BadOption {
        /// The option as written in a study file: `threads`, `record`.
        option: &'static str,
        /// Its value as given.
        value: String,
        /// Why it cannot be used, and what can.
        reason: String,
    },
    /// The kernel or the filesystem under the target lacks what was asked.
    #[error("{what} is not possible on {}: {reason}", path.display())]
    Unsupported {
        /// What was asked: `O_DIRECT`, `io_uring`.
        what: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// Why not, and what to do instead.
        reason: String,
    },
    /// An input file of a workload (a data set) does not say what it should.
    #[error("{} line {line}: {reason}", path.display())]
    BadInput {
        /// The input file.
        path: PathBuf,
        /// 1-based line; 0 when the file as a whole is meant.
        line: u64,
        /// What is wrong, and what would be right.
        reason: String,
    },
    /// A rank failed; what it was doing is in its own message.
    #[error("rank {rank} on {node}: {reason}")]
    Rank {
        /// Its number, from 0.
        rank: u32,
        /// Host name of its node.
        node: String,
        /// What failed, and what to do.
        reason: String,
    },
    /// Ranks could not be started, or were lost.
    #[error("{reason}")]
    Launcher {
        /// What happened, and what to do.
        reason: String,
    },
    /// Another rank failed, and this one was let go.
    #[error("another rank failed; its message gives the reason")]
    Abandoned,
    /// A thread of the workload died: a defect of fslab.
    #[error("{phase}: {what} died ({reason}); this is a defect of fslab, please report it")]
    Defect {
        /// The phase, in snake case.
        phase: String,
        /// The part that died.
        what: String,
        /// The panic's message.
        reason: String,
    },
}

impl Error {
    /// Wraps an I/O error with what was tried on which path; for use in `map_err`.
    pub fn io(what: &'static str, path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Error {
        let path = path.as_ref().to_owned();
        move |source| Error::Io { what, path, source }
    }

    /// Whether this is a full filesystem (or quota), in any of its forms.
    pub fn is_no_space(&self) -> bool {
        match self {
            Error::NoSpace { .. } | Error::Full { .. } => true,
            Error::Io { source, .. } => is_no_space(source),
            _ => false,
        }
    }
}

/// ENOSPC and EDQUOT: the target is full. EFBIG: a file is at the limit of sizes (ulimit -f).
pub fn is_no_space(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    )
}

/// The next step after an I/O error.
fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "create it first, or name another target",
        io::ErrorKind::PermissionDenied => "name a target you may write, or run as root",
        io::ErrorKind::ReadOnlyFilesystem => "mount it read-write, or name another target",
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free some space, or take a smaller size or a larger target"
        }
        io::ErrorKind::InvalidInput => {
            "the filesystem refuses this kind of access; try without O_DIRECT or another record size"
        }
        io::ErrorKind::AlreadyExists => "remove it first",
        _ => match error.raw_os_error() {
            Some(24) => "raise the limit of open files (ulimit -n)",
            Some(12) => "free memory, or take fewer threads or a smaller record",
            _ => "look at the kernel log (dmesg) for the device's side of it",
        },
    }
}

/// An error about one option.
pub(crate) fn bad(option: &'static str, value: impl Display, reason: impl Into<String>) -> Error {
    Error::BadOption {
        option,
        value: value.to_string(),
        reason: reason.into(),
    }
}

impl From<params::Invalid> for Error {
    fn from(invalid: params::Invalid) -> Error {
        Error::BadOption {
            option: invalid.option,
            value: invalid.value,
            reason: invalid.reason,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_one_line_and_name_thing_cause_and_next_step() {
        let io = Error::io("open", "/mnt/a")(io::Error::from_raw_os_error(30));
        let full = Error::NoSpace {
            phase: "initial_write".into(),
            path: "/mnt/b".into(),
            written: 3,
            asked: 9,
        };
        assert_eq!(
            io.to_string(),
            "cannot open /mnt/a: Read-only file system (os error 30); \
             mount it read-write, or name another target"
        );
        assert_eq!(
            full.to_string(),
            "initial_write: no space left for /mnt/b after 3 of 9 bytes; \
             free some space, or take a smaller size or a larger target"
        );
        assert!(full.is_no_space() && !io.is_no_space());
        assert!(Error::io("write", "/x")(io::Error::from_raw_os_error(28)).is_no_space());
    }
}
