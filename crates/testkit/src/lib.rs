//! Helpers of the tests. No product crate depends on this one: it is a dev-dependency, and a
//! dependency of `benches`.
//!
//! It depends on no other crate of the workspace, so unit tests of every crate may use it. Fixtures
//! made of the workspace's own types are in the crate `fixtures`: a crate's unit tests that used them
//! from there would meet a second copy of the crate's own types.

pub mod allocations;
pub mod fsck_ocfs2;
pub mod mke2fs;
pub mod postgres;
pub mod reference;
mod skips;
pub mod xfs_profile;

pub use skips::{is_root, report};

use std::time::Duration;

/// Gives the contents of each file on the command line to `one`: what a fuzzing target does without a fuzzer.
///
/// # Panics
/// A file cannot be read.
pub fn each_file_given(one: impl Fn(&[u8])) {
    for path in std::env::args_os().skip(1) {
        one(&std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())));
    }
}

/// When a test says that something hangs. A machine that does other work may need seconds for what takes milliseconds.
pub const HANGS: Duration = Duration::from_secs(60);

/// Reports that the running test cannot be done on this machine; the test then returns.
///
/// The line `skipped: CRATE TEST: REASON` goes to the real standard error, which libtest does not
/// capture, so a skip is visible under plain `cargo test`. It is also appended to the file that
/// `FSLAB_SKIPS` names, where `scripts/test` counts it.
///
/// ```
/// testkit::skip!("needs {}", "chromium");
/// ```
#[macro_export]
macro_rules! skip {
    ($($reason:tt)*) => {
        $crate::report(env!("CARGO_PKG_NAME"), module_path!(), &format!($($reason)*))
    };
}

/// Whether the test runs as root; if not, the skip is reported. `root!("loop devices")` names what
/// root is needed for.
#[macro_export]
macro_rules! root {
    () => {
        $crate::is_root() || {
            $crate::skip!("needs root");
            false
        }
    };
    ($what:literal) => {
        $crate::is_root() || {
            $crate::skip!("needs root: {}", $what);
            false
        }
    };
}
