//! Empty filesystems and how they are filled: against mke2fs, e2fsck and the kernel.

mod empty;
mod placed;
mod population;
mod refused;

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
