//! An entry of a run's folder: its kind, its owner, its mount.

use std::os::fd::BorrowedFd;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Stat, StatxFlags, statx};

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

/// ID of the mount of a descriptor; 0 where the kernel does not say (before Linux 5.8).
pub(crate) fn mount_id(fd: BorrowedFd<'_>) -> u64 {
    let flags = AtFlags::EMPTY_PATH | AtFlags::NO_AUTOMOUNT;
    statx(fd, "", flags, StatxFlags::MNT_ID)
        .ok()
        .filter(|answer| answer.stx_mask & StatxFlags::MNT_ID.bits() != 0)
        .map_or(0, |answer| answer.stx_mnt_id)
}
