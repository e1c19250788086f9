//! What a bench needs before it begins: root, and the programs that it measures against.
//!
//! Both are checked first. Otherwise a peer that is not installed would end a bench after minutes
//! of making images, or, worse, in the middle of a table.

use std::fmt;
use std::path::Path;

use anyhow::Result;

/// Something is missing; the bench ends with exit code 2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing(pub String);

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Missing {}

/// Requires root. `why` is what for: `loop devices and mounts`.
///
/// # Errors
/// [`Missing`].
pub fn root(why: &str) -> Result<()> {
    if rustix::process::geteuid().is_root() {
        return Ok(());
    }
    Err(Missing(format!("{why} need root; run this with sudo")).into())
}

/// Requires the programs to compare with, each with its Debian package.
///
/// # Errors
/// [`Missing`], of the first that is in no folder of `PATH`.
pub fn peers(programs: &[(&str, &str)]) -> Result<()> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_here = |program: &str| {
        std::env::split_paths(&path).any(|folder| is_program(&folder.join(program)))
    };
    match programs.iter().find(|(program, _)| !is_here(program)) {
        None => Ok(()),
        Some((program, package)) => Err(Missing(format!(
            "{program} is not in PATH, and it is what ours is measured against; install it \
             (apt-get install {package})"
        ))
        .into()),
    }
}

/// Requires the binary that is measured.
///
/// # Errors
/// [`Missing`] when there is no such file.
pub fn measured(fslab: &Path) -> Result<()> {
    if fslab.is_file() {
        return Ok(());
    }
    Err(Missing(format!(
        "{}: no such program, and it is what is measured here; build it (cargo build --release -p \
         fslab) or name it with --fslab",
        fslab.display()
    ))
    .into())
}

fn is_program(path: &Path) -> bool {
    path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_peer_is_named_with_why_and_what_next() {
        peers(&[("sh", "dash"), ("ls", "coreutils")]).unwrap();
        let error = peers(&[("sh", "dash"), ("no-such-program", "some-package")]).unwrap_err();
        assert!(error.is::<Missing>());
        assert_eq!(
            error.to_string(),
            "no-such-program is not in PATH, and it is what ours is measured against; install it \
             (apt-get install some-package)"
        );
    }

    #[test]
    fn a_folder_is_no_program() {
        assert!(!is_program(Path::new("/")));
        assert!(!is_program(Path::new("/proc/version")));
        assert!(is_program(Path::new("/bin/sh")));
    }
}
