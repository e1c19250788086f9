//! `syncfs(2)`: the end of clock (c), and the rest between phases.
//!
//! The originals call `sync(2)`, which flushes every filesystem of the machine: a busy neighbour
//! then costs time in our measurement. `syncfs` waits for the target alone, and, unlike `sync`,
//! reports write errors.

use std::path::Path;

use rustix::fs::{Mode, OFlags, open};

use crate::Error;

/// Writes everything of the filesystem that holds `dir` to its device, and waits for it.
pub fn syncfs(dir: &Path) -> Result<(), Error> {
    let fd = open(dir, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
        .map_err(|e| Error::io("open", dir)(e.into()))?;
    rustix::fs::syncfs(&fd).map_err(|e| Error::io("sync the filesystem of", dir)(e.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syncs_a_directory_and_names_a_missing_one() {
        let dir = tempfile::tempdir().unwrap();
        syncfs(dir.path()).unwrap();
        let error = syncfs(&dir.path().join("none")).unwrap_err().to_string();
        assert!(error.contains("none: No such file"), "{error}");
    }
}
