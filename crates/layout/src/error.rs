//! Errors of reading a layout. Every message is one line: the thing, the cause, the next step.

use std::io;
use std::path::PathBuf;

/// The error of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A system call on a path failed.
    #[error("cannot {what} {}: {source}; {}", path.display(), hint(source))]
    Io {
        /// The action, as it follows "cannot": `open`, `list`.
        what: &'static str,
        /// The path.
        path: PathBuf,
        /// The error of the call.
        source: io::Error,
    },
    /// The filesystem does not report the places of its files.
    #[error(
        "{}: its filesystem ({filesystem}) does not report where {what} are ({call}: {source}); \
         {}", path.display(), elsewhere(what)
    )]
    NoMap {
        /// The path that was asked about.
        path: PathBuf,
        /// The filesystem's type, or its magic number where it has no known name.
        filesystem: String,
        /// What it does not report: `files`, or only `directories`.
        what: &'static str,
        /// The last call that was tried.
        call: &'static str,
        /// How it failed.
        source: io::Error,
    },
    /// The filesystem does not report its free space.
    #[error(
        "{}: its filesystem ({filesystem}) does not report which blocks are free (GETFSMAP: \
         {source}); name a path on ext4 or XFS",
        path.display()
    )]
    NoFreeMap {
        /// The path that was asked about.
        path: PathBuf,
        /// The filesystem's type, or its magic number.
        filesystem: String,
        /// How the call failed.
        source: io::Error,
    },
    /// FIEMAP does not know a flag of the request on this filesystem.
    #[error(
        "{}: FIEMAP does not know the flags {flags:#x} on this filesystem; ask without them",
        path.display()
    )]
    UnknownFlags {
        /// The file.
        path: PathBuf,
        /// The flags that the kernel refused.
        flags: u32,
    },
    /// Neither file nor directory.
    #[error(
        "{}: is a {kind}, which has no layout; name a regular file or a directory",
        path.display()
    )]
    NoFile {
        /// The path.
        path: PathBuf,
        /// `FIFO`, `socket`, `device`.
        kind: &'static str,
    },
    /// The request needs XFS.
    #[error(
        "{}: xfs_bmap's layout needs XFS, and this is {filesystem}; take --format filefrag",
        path.display()
    )]
    NotXfs {
        /// The file.
        path: PathBuf,
        /// Its filesystem.
        filesystem: String,
    },
}

/// Where maps exist.
fn elsewhere(what: &str) -> &'static str {
    if what == "directories" {
        "name a file in it, or take --format text for all of its files"
    } else {
        "name a path on a filesystem with blocks of its own, such as ext4, XFS or btrfs"
    }
}

/// What to do about a failed system call.
fn hint(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::ENOENT) => "it does not exist, or was just removed: check the path",
        Some(libc::EACCES | libc::EPERM) => "run it as root, or as the owner",
        Some(libc::EMFILE | libc::ENFILE) => "raise the limit of open files (ulimit -n)",
        Some(libc::EIO) => "look at the kernel log (dmesg) for errors of the device",
        Some(libc::ELOOP) => "name the file that the symbolic link points to",
        Some(libc::ENXIO | libc::ENODEV) => "name a regular file or a directory",
        _ => "check the path and try again",
    }
}

/// Makes an [`Error::Io`] of a failed call.
pub(crate) fn io(what: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
    let path = path.into();
    move |source| Error::Io { what, path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_one_line_with_a_next_step() {
        let errors = [
            io("open", "/a/b")(io::Error::from_raw_os_error(libc::ENOENT)),
            Error::NoMap {
                path: "/proc/1/status".into(),
                filesystem: "proc".into(),
                what: "files",
                call: "FIBMAP",
                source: io::Error::from_raw_os_error(libc::EINVAL),
            },
            Error::UnknownFlags {
                path: "/a".into(),
                flags: 4,
            },
            Error::NoFile {
                path: "/dev/null".into(),
                kind: "device",
            },
            Error::NotXfs {
                path: "/a".into(),
                filesystem: "ext4".into(),
            },
        ];
        let text: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert!(text.iter().all(|line| !line.contains('\n')));
        insta::assert_snapshot!(text.join("\n"));
    }
}
