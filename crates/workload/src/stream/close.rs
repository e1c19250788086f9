//! close(2) with its error, which dropping a `File` swallows: some filesystems (NFS, FUSE) say only
//! here that what they had taken could not be written, and dd looks at it too.
#![allow(unsafe_code, reason = "close(2) of a descriptor by its number")]

use std::fs::File;
use std::io;
use std::os::fd::IntoRawFd;

/// Closes a file.
///
/// # Errors
/// The result of close(2). The descriptor is gone in any case (Linux frees it before anything else).
pub(super) fn close(file: File) -> io::Result<()> {
    let descriptor = file.into_raw_fd();
    // SAFETY: `into_raw_fd` gave this descriptor up, so nothing else closes or uses it.
    match unsafe { libc::close(descriptor) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn the_descriptor_is_gone() {
        let file = tempfile::tempfile().unwrap();
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        let before = std::fs::read_link(&path).unwrap();
        close(file).unwrap();
        // The number may be another test's by now, but never the same file's.
        assert_ne!(std::fs::read_link(&path).ok(), Some(before));
    }
}
