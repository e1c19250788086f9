//! Why a trace cannot be taken.

use std::io;
use std::path::{Path, PathBuf};

/// The class of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The request is wrong; nothing was touched.
    Usage,
    /// This machine, or its state, does not allow it; nothing was touched.
    Refused,
    /// Input or output failed; what had been changed was taken back.
    Trouble,
}

/// Why a trace cannot be taken.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Not a category.
    #[error("{word:?}: no such category of block events; choose from: {known}")]
    Category {
        /// The word given.
        word: String,
        /// The categories that exist.
        known: String,
    },
    /// No device named.
    #[error("no device is named; name one or more block devices, such as /dev/sda")]
    NoDevice,
    /// A path that is no block device.
    #[error("{}: {why}; name a block device, such as /dev/sda", path.display())]
    NotADevice {
        /// The path.
        path: PathBuf,
        /// What it is.
        why: String,
    },
    /// Two of the devices share a queue, or are the same.
    #[error("{one} and {other} share a queue, which takes one trace; name only one of them")]
    SameQueue {
        /// The first.
        one: String,
        /// The second.
        other: String,
    },
    /// The buffer's size.
    #[error("a buffer of {bytes} bytes for each CPU is out of range; ask for 64 KiB to 1 GiB")]
    Buffer {
        /// What was asked.
        bytes: u64,
    },
    /// The output folder holds a trace of that name.
    #[error("{} exists already; choose another folder, or remove the old trace", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// No method of tracing works.
    #[error(
        "block events cannot be traced here: {why}; `fslab doctor` lists the methods and what each lacks"
    )]
    NoMethod {
        /// Why not.
        why: String,
    },
    /// The device or the tracer is in use.
    #[error("{thing}: is already being traced ({why}); stop that tracer or wait")]
    Busy {
        /// The file or device.
        thing: String,
        /// How that is known.
        why: String,
    },
    /// A file of the kernel or of the trace.
    #[error("{}: {what}: {source}; {next}", path.display())]
    Io {
        /// Its path.
        path: PathBuf,
        /// What was being done.
        what: &'static str,
        /// The error of the system call.
        source: io::Error,
        /// What to do.
        next: &'static str,
    },
}

impl Error {
    /// The class of this error.
    pub fn class(&self) -> Class {
        match self {
            Error::Category { .. }
            | Error::NoDevice
            | Error::NotADevice { .. }
            | Error::SameQueue { .. }
            | Error::Buffer { .. }
            | Error::Exists { .. } => Class::Usage,
            Error::NoMethod { .. } | Error::Busy { .. } => Class::Refused,
            Error::Io { .. } => Class::Trouble,
        }
    }

    pub(super) fn kernel(path: &Path, what: &'static str, source: io::Error) -> Error {
        Error::Io {
            path: path.into(),
            what,
            source,
            next: "`fslab doctor` lists what this kernel offers",
        }
    }

    pub(super) fn output(path: &Path, what: &'static str, source: io::Error) -> Error {
        Error::Io {
            path: path.into(),
            what,
            source,
            next: "free space, or choose another folder",
        }
    }
}
