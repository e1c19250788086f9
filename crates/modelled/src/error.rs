//! What can go wrong, in one line each.

use std::path::Path;

/// Largest file of devices, or of streams, that is read.
const LARGEST_FILE: u64 = 1 << 20;

/// Why there is no estimate.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A device, or a device file.
    #[error(transparent)]
    Device(#[from] device::Error),
    /// A device file that cannot be read.
    #[error("{path}: {why}; name a file of devices, as docs/devices.md describes")]
    File {
        /// Its path.
        path: String,
        /// Why.
        why: String,
    },
    /// A file of streams that cannot be read or run: its path, the line and why.
    #[error("{0}; docs/formats.md describes such a file")]
    Streams(String),
    /// The record does not fit the device.
    #[error("{device}: {source}")]
    Replay {
        /// The device.
        device: String,
        /// What does not fit.
        source: device::replay::Error,
    },
    /// A trace that cannot be read.
    #[error(transparent)]
    Trace(#[from] blktrace::Error),
    /// A log of writes that is none, or cannot be read.
    #[error(transparent)]
    Log(#[from] blockio::log_writes::LogError),
    /// A log of writes that cannot be opened.
    #[error(transparent)]
    Open(#[from] blockio::OpenError),
    /// A log of writes does not have what was asked for.
    #[error("{path}: {why}")]
    NotOfLog {
        /// The log.
        path: String,
        /// What it lacks, and what to do.
        why: &'static str,
    },
    /// A trace that has no request to replay.
    #[error("{0}")]
    NoRequests(String),
    /// A trace of several devices.
    #[error("the trace has requests of {devices}; replay one of them with --traced M,N")]
    SeveralDevices {
        /// Their numbers.
        devices: String,
    },
    /// A trace that lost events, or a log that ends early.
    #[error("{name}: is not whole: {why}; --incomplete replays it all the same")]
    Incomplete {
        /// The trace.
        name: String,
        /// Why.
        why: String,
    },
    /// A record of a check among other traces.
    #[error("{path}: is a check's own record, which is replayed by itself; leave the others out")]
    Alone {
        /// Its path.
        path: String,
    },
    /// A record of a check, or a log of writes, that ends before there is something to replay.
    #[error("{name}: is not whole: {why}; record it again")]
    Short {
        /// The record.
        name: String,
        /// Why.
        why: String,
    },
    /// A device that cannot be measured: why, and what to do.
    #[error("{0}")]
    Measured(String),
    /// Requests of a trace that cannot be kept.
    #[error(transparent)]
    Kept(#[from] device::replay::Error),
    /// A record of requests that cannot be kept or read back.
    #[error("the record of requests: {0}")]
    Record(String),
}

impl Error {
    /// Whether the command line or a file that it names is wrong.
    pub fn is_usage(&self) -> bool {
        match self {
            Error::Device(_)
            | Error::File { .. }
            | Error::Streams(_)
            | Error::Replay { .. }
            | Error::NoRequests(_)
            | Error::Measured(_)
            | Error::Open(_)
            | Error::NotOfLog { .. }
            | Error::Alone { .. }
            | Error::SeveralDevices { .. } => true,
            Error::Log(error) => !matches!(error, blockio::log_writes::LogError::Read(_)),
            Error::Trace(error) => matches!(
                error,
                blktrace::Error::Missing { .. } | blktrace::Error::NoTraces { .. }
            ),
            Error::Incomplete { .. } | Error::Short { .. } | Error::Kept(_) | Error::Record(_) => {
                false
            }
        }
    }

    /// Whether the input is there, and not good enough to model from.
    pub fn is_invalid(&self) -> bool {
        matches!(
            self,
            Error::Incomplete { .. }
                | Error::Short { .. }
                | Error::Trace(blktrace::Error::Truncated { .. })
        )
    }
}

/// The shipped devices, and those of a user's file.
///
/// # Errors
/// The file cannot be read, or is no device file.
pub fn catalogue(file: Option<&Path>) -> Result<device::Catalogue, Error> {
    let Some(path) = file else {
        return Ok(device::Catalogue::shipped()?);
    };
    let (name, text) = read_file(path)?;
    Ok(device::Catalogue::with(&name, &text)?)
}

/// The name and text of a device file.
///
/// # Errors
/// It cannot be read, or is too large.
pub fn read_file(path: &Path) -> Result<(String, String), Error> {
    let name = path.display().to_string();
    match text_of(path) {
        Ok(text) => Ok((name, text)),
        Err(why) => Err(Error::File { path: name, why }),
    }
}

/// The text of a small file, or why there is none.
pub(crate) fn text_of(path: &Path) -> Result<String, String> {
    input::text(path, LARGEST_FILE).map_err(|error| error.to_string())
}

/// Reads a device file by itself, on top of the shipped devices, and returns the names in it.
///
/// # Errors
/// It is no device file.
pub fn check_file(path: &Path) -> Result<Vec<String>, Error> {
    let (name, text) = read_file(path)?;
    let mut catalogue = device::Catalogue::shipped()?;
    Ok(catalogue.add(&name, &text)?)
}
