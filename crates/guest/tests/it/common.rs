//! What tests with machines share.

#![allow(dead_code, reason = "each test program uses some of it")]

use std::fs;
use std::path::Path;

use guest::boot_probe::Prober;
use guest::kernel::{Cache, Kernel};
use guest::machine::Error;

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

/// What makes a test program a guest's init and nothing else: the words after `--` on a kernel's command line are
/// init's arguments, and name the one test that is the guest's side.
pub(crate) const AS_INIT: [&str; 6] = [
    "--",
    "boots::the_guests_side",
    "--exact",
    "--ignored",
    "--nocapture",
    "--test-threads=1",
];

/// A User-mode Linux that runs on this machine.
pub(crate) struct Uml {
    pub(crate) kernel: Kernel,
    /// What the test boot found to be added to its command line.
    pub(crate) append: Vec<String>,
}

/// The User-mode Linux that a run would use, or why the test is skipped: none is installed or fetched, or none of
/// them runs on this machine.
pub(crate) fn uml() -> Option<Uml> {
    let cache = Cache::open(None).unwrap();
    let prober = Prober::with_init(&cache, Path::new("/proc/self/exe"), &AS_INIT);
    let mut why = vec!["no User-mode Linux; fslab kernel fetch uml".to_owned()];
    for kernel in cache.uml_kernels().unwrap() {
        let answer = prober.answer(&kernel, false, &mut |_| ()).unwrap();
        match answer.failure() {
            None => {
                let append = answer.append().to_vec();
                return Some(Uml { kernel, append });
            }
            Some(reason) => why.push(format!("{}: {reason}", kernel.name)),
        }
    }
    let why = why.join("; ");
    assert!(std::env::var_os(NEEDED).is_none(), "{why}");
    testkit::skip!("{why}");
    None
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
