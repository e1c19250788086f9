//! What tests with machines share.

#![allow(dead_code, reason = "each test program uses some of it")]

use std::fs;
use std::path::{Path, PathBuf};

use guest::machine::{self, Error};

/// Set where guests are installed for certain: then a missing program is a failure and no skip.
const NEEDED: &str = "FSLAB_NEED_GUESTS";

/// What was found, or, where the program is not installed, a line that says so. Every other error is
/// the test's.
pub(crate) fn unless_missing<T>(found: Result<T, Error>) -> Option<T> {
    match found {
        Ok(found) => Some(found),
        Err(missing @ Error::MissingProgram { .. }) if std::env::var_os(NEEDED).is_none() => {
            testkit::skip!("{missing}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// The program of User-mode Linux, or why the test is skipped.
pub(crate) fn uml() -> Option<PathBuf> {
    unless_missing(machine::installed_uml())
}

/// Whether a kernel is in the cache, or why the test is skipped.
pub(crate) fn no_kernel(cache: &Path) {
    assert!(
        std::env::var_os(NEEDED).is_none(),
        "no kernel in {}",
        cache.display()
    );
    testkit::skip!(
        "no kernel in {}; fslab kernel fetch 6.1-cloud",
        cache.display()
    );
}

/// Processes that hold a file below `folder` open: a machine's console is one.
pub(crate) fn holders(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let me = std::process::id().to_string();
    for process in fs::read_dir("/proc").unwrap().flatten() {
        let pid = process.file_name().to_string_lossy().into_owned();
        if pid == me || !pid.starts_with(|c: char| c.is_ascii_digit()) {
            continue;
        }
        let Ok(files) = fs::read_dir(process.path().join("fd")) else {
            continue;
        };
        let held = files
            .flatten()
            .filter_map(|file| fs::read_link(file.path()).ok())
            .any(|target| target.starts_with(folder));
        if held {
            found.push(pid);
        }
    }
    found
}
