//! What can go wrong: at opening, and at each read.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// Why a source cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// open(2), fstat(2) or lseek(2) failed.
    #[error("{}: cannot be opened for reading: {source}; {}", path.display(), opening_hint(source))]
    Open {
        /// The path.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
    /// It is neither a regular file nor a block device.
    #[error("{}: is a {kind}; name an image (a regular file) or a block device", path.display())]
    NotASource {
        /// The path.
        path: PathBuf,
        /// Its file type.
        kind: &'static str,
    },
    /// O_DIRECT is not possible there.
    #[error("{}: cannot be read past the page cache: {reason}; read it buffered", path.display())]
    NoDirect {
        /// The path.
        path: PathBuf,
        /// Which call refused it, with its error.
        reason: String,
    },
    /// mmap(2) failed.
    #[error("{}: cannot be mapped: {source}; read it buffered", path.display())]
    Map {
        /// The path.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
    /// Neither a ring nor a thread could be made for asynchronous reading.
    #[error("{name}: no queue of {depth} requests: {source}; ask for fewer at once")]
    Queue {
        /// The source.
        name: Arc<str>,
        /// Requests in flight that were requested.
        depth: usize,
        /// The kernel's error.
        source: io::Error,
    },
    /// No memory for the buffers of a sweep.
    #[error(
        "no memory for buffers of {bytes} bytes: {source}; lower the depth or the request size"
    )]
    Memory {
        /// Bytes asked for.
        bytes: usize,
        /// The kernel's error.
        source: io::Error,
    },
}

fn opening_hint(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::NotFound => "check the path",
        io::ErrorKind::PermissionDenied => "a device needs root or the group disk",
        _ => match source.raw_os_error() {
            Some(libc::ENXIO | libc::ENODEV | libc::ENOMEDIUM) => "the device has no medium",
            _ => "see the kernel log",
        },
    }
}

/// A range that could not be read.
///
/// `offset` is the first byte that was not delivered, `len` the bytes requested from there on. One
/// bad sector fails a request of megabytes; [`crate::salvage`] finds which bytes it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}: {len} bytes at byte {offset} cannot be read: {fault}")]
pub struct ReadError {
    /// The source's name ([`crate::BlockSource::name`]).
    pub name: Arc<str>,
    /// First byte that was not delivered.
    pub offset: u64,
    /// Bytes requested from there.
    pub len: u64,
    /// The cause.
    pub fault: Fault,
}

impl ReadError {
    /// The kernel's error number, where it was the kernel (or an injected fault) that refused.
    pub fn errno(&self) -> Option<i32> {
        match self.fault {
            Fault::Os(errno) | Fault::Queue(errno) => Some(errno),
            Fault::PastEnd(_) | Fault::Truncated => None,
        }
    }

    /// The same, clipped to the caller's request: a request that was rounded out to blocks may
    /// have failed outside.
    pub(crate) fn clipped(mut self, offset: u64, len: u64) -> ReadError {
        let end = offset.saturating_add(len);
        self.offset = self.offset.clamp(offset, end.saturating_sub(1).max(offset));
        self.len = end - self.offset;
        self
    }
}

/// Why a range could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The read failed with this errno.
    #[error("{}{}", io::Error::from_raw_os_error(*.0), errno_hint(*.0))]
    Os(i32),
    /// The range reaches past the end of the source; the value is the source's size, bytes.
    #[error("the source ends at byte {0}; the filesystem extends past the device: it is truncated")]
    PastEnd(u64),
    /// The file has shrunk since it was opened.
    #[error("the file shrank during the read; stop the writer and retry")]
    Truncated,
    /// The ring itself failed with this errno; its requests are lost.
    #[error("the ring failed: {}; read it buffered", io::Error::from_raw_os_error(*.0))]
    Queue(i32),
}

/// What to do next, where the errno determines it.
fn errno_hint(errno: i32) -> &'static str {
    match errno {
        libc::EIO | libc::EUCLEAN | libc::ENODATA | libc::EILSEQ | libc::EREMOTEIO => {
            "; the medium is failing: copy it with ddrescue and use the copy"
        }
        libc::ENXIO | libc::ENODEV => "; the device has gone",
        _ => "",
    }
}

/// Checks that a range is inside a source of `size` bytes.
pub(crate) fn within(name: &Arc<str>, size: u64, offset: u64, len: u64) -> Result<(), ReadError> {
    match offset.checked_add(len) {
        Some(end) if end <= size => Ok(()),
        _ => {
            // The part inside could have been delivered; the rest could not.
            let first = offset.max(size);
            Err(ReadError {
                name: Arc::clone(name),
                offset: first,
                len: len.saturating_sub(first - offset),
                fault: Fault::PastEnd(size),
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_the_thing_the_cause_and_the_next_step() {
        let error = |fault| ReadError {
            name: "disk.img".into(),
            offset: 4096,
            len: 512,
            fault,
        };
        assert_eq!(
            error(Fault::Os(libc::EIO)).to_string(),
            "disk.img: 512 bytes at byte 4096 cannot be read: Input/output error (os error 5); \
             the medium is failing: copy it with ddrescue and use the copy"
        );
        assert_eq!(
            error(Fault::PastEnd(4000)).to_string(),
            "disk.img: 512 bytes at byte 4096 cannot be read: the source ends at byte 4000; \
             the filesystem extends past the device: it is truncated"
        );
        assert_eq!(error(Fault::Os(libc::EIO)).errno(), Some(5));
        assert_eq!(error(Fault::Truncated).errno(), None);
        let open = OpenError::Open {
            path: "/dev/sdz".into(),
            source: io::Error::from_raw_os_error(libc::EACCES),
        };
        assert_eq!(
            open.to_string(),
            "/dev/sdz: cannot be opened for reading: Permission denied (os error 13); \
             a device needs root or the group disk"
        );
    }

    #[test]
    fn ranges_past_the_end_name_the_bytes_that_are_not_there() {
        let name: Arc<str> = "x".into();
        assert_eq!(within(&name, 100, 0, 100), Ok(()));
        assert_eq!(within(&name, 100, 100, 0), Ok(()));
        let error = within(&name, 100, 90, 20).unwrap_err();
        assert_eq!((error.offset, error.len), (100, 10));
        let error = within(&name, 100, 200, 20).unwrap_err();
        assert_eq!((error.offset, error.len), (200, 20));
        let error = within(&name, 100, u64::MAX, u64::MAX).unwrap_err();
        assert_eq!((error.offset, error.len), (u64::MAX, u64::MAX));
    }

    #[test]
    fn an_error_is_clipped_to_what_was_asked() {
        let error = ReadError {
            name: "x".into(),
            offset: 0,
            len: 4096,
            fault: Fault::Os(5),
        };
        let clipped = error.clone().clipped(100, 50);
        assert_eq!((clipped.offset, clipped.len), (100, 50));
        let clipped = ReadError {
            offset: 120,
            ..error.clone()
        }
        .clipped(100, 50);
        assert_eq!((clipped.offset, clipped.len), (120, 30));
        let clipped = ReadError {
            offset: 4000,
            ..error
        }
        .clipped(100, 50);
        assert_eq!((clipped.offset, clipped.len), (149, 1));
    }
}
