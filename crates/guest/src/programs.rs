//! Programs of this machine, found as a shell of root finds them: on PATH, then where
//! administrators' programs are even when PATH lacks them. One rule for what is started here and for what
//! is taken along into a guest, or a check beforehand would promise what later is missing.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Administrators' programs are not in every user's path.
const MORE: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// The program of this name, or at this path.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    find_on(&std::env::var_os("PATH").unwrap_or_default(), program)
}

fn find_on(path: &OsStr, program: &str) -> Option<PathBuf> {
    if program.starts_with('/') {
        return Some(PathBuf::from(program)).filter(|path| executable(path));
    }
    if program.is_empty() || program.contains('/') {
        return None;
    }
    std::env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .chain(MORE.map(PathBuf::from))
        .map(|folder| folder.join(program))
        .find(|path| executable(path))
}

fn executable(path: &Path) -> bool {
    path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_on_the_path_and_among_administrators_programs() {
        use std::os::unix::fs::PermissionsExt as _;
        let temp = tempfile::tempdir().unwrap();
        let mine = temp.path().join("mine");
        std::fs::write(&mine, "").unwrap();
        let on = |program: &str| find_on(temp.path().as_os_str(), program);
        assert_eq!(on("mine"), None, "it cannot be executed");
        std::fs::set_permissions(&mine, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(on("mine"), Some(mine.clone()));
        assert_eq!(on(mine.to_str().unwrap()), Some(mine));
        assert!(on("mke2fs").is_some_and(|path| path.ends_with("sbin/mke2fs")));
        for none in ["", "../bin/true", "no-such-program-of-fslab"] {
            assert_eq!(on(none), None, "{none}");
        }
        assert_eq!(find_on(OsStr::new("bin:."), "sh"), None, "relative folders");
    }
}
