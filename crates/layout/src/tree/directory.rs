//! Directories, each opened by the worker that reads it.

use std::ffi::{CStr, OsStr};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::Common;

/// An open directory. It stays with the thread that opened it.
pub(super) struct Directory {
    pub(super) descriptor: OwnedFd,
    /// Below the root; empty for the root itself.
    pub(super) path: Arc<Path>,
    pub(super) allocated: u64,
    /// The group or AG of its inode.
    pub(super) group: Option<u64>,
}

impl Directory {
    /// Opens what is below the root, not through links, and not beyond the root's filesystem.
    pub(super) fn open(path: &Arc<Path>, common: &Common<'_>) -> Result<Directory, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let resolve = ResolveFlags::NO_XDEV | ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH;
        let name = if path.as_os_str().is_empty() {
            Path::new(".")
        } else {
            path
        };
        let descriptor = rustix::fs::openat2(common.root, name, flags, Mode::empty(), resolve)?;
        let stat = rustix::fs::fstat(&descriptor)?;
        let group = common
            .geometry
            .map(|geometry| geometry.group_of_inode(stat.st_ino));
        Ok(Directory {
            descriptor,
            path: Arc::clone(path),
            allocated: stat.st_blocks as u64 * 512,
            group,
        })
    }

    /// A name in it, below the root.
    pub(super) fn child(&self, name: &CStr) -> PathBuf {
        self.path.join(OsStr::from_bytes(name.to_bytes()))
    }
}
