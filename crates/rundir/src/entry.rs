//! An entry of a run's folder: its kind, its owner, its mount.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;

use rustix::fs::{FileType, Stat};

use crate::error::{Error, Result};
use crate::owner;

/// Why an entry of this kind is refused in place of a file.
pub(crate) fn kind_words(kind: FileType) -> &'static str {
    match kind {
        FileType::Directory => "it is a folder, not a file",
        FileType::Fifo => "it is a FIFO, not a file",
        FileType::Socket => "it is a socket, not a file",
        FileType::CharacterDevice | FileType::BlockDevice => "it is a device, not a file",
        FileType::Symlink => "it is a symbolic link, and a run's folder has none",
        _ => "it is no regular file",
    }
}

/// Refuses an entry that root must not act on.
pub(crate) fn trust(path: &Path, stat: &Stat) -> Result<()> {
    match owner::distrust(stat) {
        None => Ok(()),
        Some((why, next)) => Err(Error::refused(path, why, next)),
    }
}

/// ID of the mount of a descriptor, as in mountinfo. What the kernel notes of the descriptor has it (proc(5), `fdinfo`), so the
/// filesystem is not asked: statx(2) of one that has shut down fails.
///
/// # Errors
/// There is no /proc, or the kernel does not say (before Linux 3.15).
pub fn mount_id(fd: impl AsFd) -> io::Result<u64> {
    let number = fd.as_fd().as_raw_fd();
    let notes = std::fs::read_to_string(format!("/proc/self/fdinfo/{number}"))?;
    let id = notes.lines().find_map(|line| line.strip_prefix("mnt_id:"));
    id.and_then(|id| id.trim().parse().ok())
        .ok_or_else(|| io::ErrorKind::Unsupported.into())
}
