//! Removing the files that a workload made.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::Error;

/// Removes a file; that it is gone already is no error.
pub(crate) fn remove(path: &Path) -> Result<(), Error> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => other.map_err(Error::io("remove", path)),
    }
}

/// Removes all of them, and reports the first failure.
pub(crate) fn remove_all(paths: impl IntoIterator<Item = PathBuf>) -> Result<(), Error> {
    let removed = paths.into_iter().map(|path| remove(&path));
    removed.fold(Ok(()), Result::and)
}
