//! FIEMAP: the kernel's map of one file (Documentation/filesystems/fiemap.rst).
//!
//! One buffer serves all files of a thread: the ioctl needs no memory that depends on the file, so
//! a million small files cost four system calls each and no allocation. The request for the number
//! of rows alone (`fm_extent_count` 0) is not used: ext4 walks the same tree for it as for the rows.
#![allow(unsafe_code, reason = "an ioctl that neither rustix nor libc has")]
#![allow(
    clippy::cast_lossless,
    reason = "libc::Ioctl is a signed int on some systems"
)]

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use crate::extent::{Extent, Flags};

/// `_IOWR('f', 11, struct fiemap)`.
const FS_IOC_FIEMAP: u32 = 0xC020_660B;

const SYNC: u32 = 1;
const XATTR: u32 = 2;
const CACHE: u32 = 4;

/// What to ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Write the file back first, so that delayed blocks have places.
    pub sync: bool,
    /// The blocks of the extended attributes instead of those of the data.
    pub xattr: bool,
    /// Let the filesystem keep the whole map in memory (ext4).
    pub cache: bool,
}

impl Request {
    fn flags(self) -> u32 {
        u32::from(self.sync) * SYNC + u32::from(self.xattr) * XATTR + u32::from(self.cache) * CACHE
    }
}

/// `struct fiemap` without its extents.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Header {
    start: u64,
    length: u64,
    flags: u32,
    mapped: u32,
    count: u32,
    reserved: u32,
}

/// `struct fiemap_extent`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Record {
    logical: u64,
    physical: u64,
    length: u64,
    reserved64: [u64; 2],
    flags: u32,
    reserved: [u32; 3],
}

/// Rows in one call; with the header, 16 KiB.
const ROWS: usize = 292;

#[repr(C)]
#[derive(Debug)]
struct Buffer {
    header: Header,
    rows: [Record; ROWS],
}

/// Why there is no map.
#[derive(Debug)]
pub enum Failure {
    /// The filesystem has no FIEMAP.
    Unsupported(io::Error),
    /// It has, but not with these flags.
    UnknownFlags(u32),
    /// Anything else.
    Io(io::Error),
}

/// A buffer for maps.
#[derive(Debug)]
pub struct Mapper {
    buffer: Box<Buffer>,
}

impl Default for Mapper {
    fn default() -> Mapper {
        Mapper {
            buffer: Box::new(Buffer {
                header: Header::default(),
                rows: [Record::default(); ROWS],
            }),
        }
    }
}

impl Mapper {
    /// Appends the file's rows to `rows`, in logical order.
    ///
    /// # Errors
    /// [`Failure`]; `rows` may then hold a part.
    pub fn map(
        &mut self,
        file: impl AsFd,
        request: Request,
        rows: &mut Vec<Extent>,
    ) -> Result<(), Failure> {
        let file = file.as_fd();
        let mut start = 0;
        loop {
            self.buffer.header = Header {
                start,
                length: u64::MAX,
                flags: request.flags(),
                count: ROWS as u32,
                ..Header::default()
            };
            // SAFETY: the pointer is to a live structure with the layout of `struct fiemap`,
            // followed by as many `struct fiemap_extent` as its count says; the kernel writes no
            // more than these, and any bit pattern is a value of these integers.
            let answer = unsafe {
                libc::ioctl(
                    file.as_raw_fd(),
                    FS_IOC_FIEMAP as libc::Ioctl,
                    &raw mut *self.buffer,
                )
            };
            if answer < 0 {
                return Err(self.failure(io::Error::last_os_error()));
            }
            let mapped = (self.buffer.header.mapped as usize).min(ROWS);
            rows.extend(self.buffer.rows[..mapped].iter().map(Extent::from));
            let Some(last) = self.buffer.rows[..mapped].last().map(Extent::from) else {
                return Ok(());
            };
            // A filesystem that forgets the last row's flag or repeats a row must not hold us here.
            if last.flags.has(Flags::LAST) || last.logical_end() <= start {
                return Ok(());
            }
            start = last.logical_end();
        }
    }

    fn failure(&self, error: io::Error) -> Failure {
        match error.raw_os_error() {
            Some(libc::EBADR) => Failure::UnknownFlags(self.buffer.header.flags),
            Some(libc::EOPNOTSUPP | libc::ENOTTY) => Failure::Unsupported(error),
            _ => Failure::Io(error),
        }
    }
}

impl From<&Record> for Extent {
    fn from(record: &Record) -> Extent {
        Extent {
            logical: record.logical,
            physical: record.physical,
            length: record.length,
            flags: Flags(record.flags),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn structures_have_the_kernels_sizes() {
        assert_eq!(size_of::<Header>(), 32);
        assert_eq!(size_of::<Record>(), 56);
        assert_eq!(size_of::<Buffer>(), 32 + 56 * ROWS);
    }

    #[test]
    fn proc_has_no_fiemap() {
        let file = std::fs::File::open("/proc/self/status").unwrap();
        let failure = Mapper::default().map(&file, Request::default(), &mut Vec::new());
        assert!(
            matches!(failure, Err(Failure::Unsupported(_))),
            "{failure:?}"
        );
    }

    #[test]
    fn flags_that_no_filesystem_knows_are_named() {
        // The crate's own folder: on a disk, where FIEMAP is.
        let mut file = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        file.write_all(&[1; 5000]).unwrap();
        let mut rows = Vec::new();
        let request = Request {
            sync: true,
            ..Request::default()
        };
        match Mapper::default().map(file.as_file(), request, &mut rows) {
            Ok(()) => {
                assert!(!rows.is_empty());
                assert!(rows.iter().map(|row| row.length).sum::<u64>() >= 5000);
            }
            Err(Failure::Unsupported(_)) => testkit::skip!("no FIEMAP in the source's folder"),
            Err(other) => panic!("{other:?}"),
        }
    }
}
