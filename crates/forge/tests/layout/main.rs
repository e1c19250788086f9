//! The layout and its writer: against mke2fs to the byte, against e2fsck, against the kernel.

#![allow(clippy::unwrap_used, reason = "what cannot be set up is a failed test")]

#[path = "../common/features.rs"]
mod features;
mod mke2fs;
#[path = "../common/mounted.rs"]
mod mounted;
mod placed;
mod population;
mod refused;
#[path = "../common/unmount.rs"]
mod unmount;

use std::path::Path;
use std::process::{Command, Output};

/// A command's output; one that cannot be started is a failed test, because e2fsprogs is what these tests compare with.
fn run(command: &mut Command) -> Output {
    command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}; install e2fsprogs"))
}

fn text(output: &Output) -> String {
    let out = String::from_utf8_lossy(&output.stdout);
    out.into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// e2fsck finds nothing at all.
fn assert_clean(image: &Path, what: &str) {
    let output = run(Command::new("e2fsck").arg("-fn").arg(image));
    let text = text(&output);
    assert!(output.status.success(), "{what}:\n{text}");
}
