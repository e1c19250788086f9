//! Two calls that rustix does not offer as they are needed here.
#![allow(
    unsafe_code,
    reason = "unshare(2) of the descriptor table, and close(2) with its error"
)]

use std::io;
use std::os::fd::{IntoRawFd, OwnedFd};

use rustix::thread::{UnshareFlags, unshare_unsafe};

/// Gives the calling thread a descriptor table of its own, as a forked process has.
///
/// Threads of one process share a table: each open and close takes its lock, and each call on a
/// descriptor counts a reference up and down. fs_mark's processes do neither.
pub(crate) fn own_descriptors() -> io::Result<()> {
    // SAFETY: the callers are threads that this crate has just started and that end with their
    // task. They are given no descriptor made by others after this and pass none of their own on,
    // so that no number is used in a table it does not belong to; their log messages are discarded.
    unsafe { unshare_unsafe(UnshareFlags::FILES) }?;
    Ok(())
}

/// Closes a file and returns the result of close(2): a filesystem may report a late write error there.
#[inline]
pub(crate) fn close(file: OwnedFd) -> io::Result<()> {
    // SAFETY: the number is owned and given up here, so nothing closes or uses it again.
    match unsafe { libc::close(file.into_raw_fd()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
