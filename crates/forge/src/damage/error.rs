//! Why a filesystem could not be damaged.

use std::io;

/// Why nothing, or not everything, was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The medium cannot be read.
    #[error("cannot read {what} at byte {at}: {source}; is the image complete?")]
    Read {
        /// Which part of the filesystem.
        what: &'static str,
        /// Where it should be.
        at: u64,
        /// Why.
        source: io::Error,
    },
    /// The medium cannot be written.
    #[error(
        "cannot write {what} at byte {at}: {source}; is the image complete, and may you write it?"
    )]
    Write {
        /// Which part of the filesystem.
        what: &'static str,
        /// Where it should go.
        at: u64,
        /// Why.
        source: io::Error,
    },
    /// There is no sound filesystem to begin with, as far as the damage needs one.
    #[error(
        "the filesystem is not sound enough to be damaged on purpose: {0}; start from one that e2fsck finds clean"
    )]
    Unsound(#[from] ondisk::ext4::Error),
    /// The filesystem lacks what would be damaged.
    #[error(
        "the filesystem has no {what}, which this damage needs; take another image, or make one with `mke2fs -d` or `fslab forge`"
    )]
    Missing {
        /// The missing structure.
        what: &'static str,
    },
    /// There is no case of that name.
    #[error("{name}: no such case; `fslab forge damage --list` prints them all{near}")]
    NoCase {
        /// The unknown name.
        name: String,
        /// A name that is close to it, ready to be printed.
        near: String,
    },
}

/// The filesystem lacks what would be damaged.
pub(crate) fn missing<T>(what: &'static str) -> Result<T, Error> {
    Err(Error::Missing { what })
}
