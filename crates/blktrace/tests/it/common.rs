//! What the tests share.

#![allow(clippy::unwrap_used, dead_code, reason = "tests; each uses a part")]

use std::path::Path;
use std::process::{Command, Stdio};

use fixtures::block_trace::Forge;

/// Whether a program is installed; says so where it is not.
pub(crate) fn present(program: &str) -> bool {
    let found = Command::new(program)
        .arg("-V")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok();
    if !found {
        testkit::skip!("needs {program}");
    }
    found
}

/// What a program prints, run in a folder without a locale.
pub(crate) fn run_in(folder: &Path, program: &str, arguments: &[&str]) -> Vec<u8> {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .env("LC_ALL", "C")
        .output()
        .unwrap();
    assert!(output.status.success(), "{program} {arguments:?}");
    output.stdout
}

/// Two disks and a dm device upon them.
pub(crate) fn stacked(seed: u64) -> Forge {
    Forge {
        devices: vec![8 << 20, (8 << 20) | 16, (253 << 20) | 3],
        cpus: 3,
        ..Forge::plain(seed, 1200)
    }
}
