//! XFS_IOC_GETBMAPX: XFS's own map of a file, with holes as records (ioctl_xfs_getbmapx(2)).
//!
//! FIEMAP reports the same blocks, but not as xfs_bmap's rows: it omits holes and splits at shared
//! blocks, so a listing made from it would differ.
#![allow(unsafe_code, reason = "an ioctl that neither rustix nor libc has")]
#![allow(
    clippy::cast_lossless,
    reason = "libc::Ioctl is a signed int on some systems"
)]

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use serde::Serialize;

/// `_IOWR('X', 56, struct getbmap)`: the size is that of the older, shorter structure.
const XFS_IOC_GETBMAPX: u32 = 0xC020_5838;

const ATTRFORK: i32 = 0x1;
const PREALLOC: i32 = 0x4;
const DELALLOC: i32 = 0x8;

/// Options of the request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Mark unwritten blocks (`xfs_bmap -p`).
    pub unwritten: bool,
    /// List delayed blocks instead of writing them back first (`-e`).
    pub delayed: bool,
    /// The attribute fork (`-a`).
    pub attributes: bool,
}

/// One record. Units are sectors of 512 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Piece {
    /// Offset in the file.
    pub offset: i64,
    /// Position on the filesystem.
    pub block: Place,
    /// Length.
    pub length: i64,
    /// Reserved, never written.
    pub unwritten: bool,
    /// Shared with other files.
    pub shared: bool,
}

/// The position of a piece.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum Place {
    /// Nowhere.
    #[default]
    Hole,
    /// No blocks chosen yet.
    Delayed,
    /// From this sector on.
    At(i64),
}

/// `struct getbmapx`, header and record alike.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Record {
    offset: i64,
    block: i64,
    length: i64,
    count: i32,
    entries: i32,
    iflags: i32,
    oflags: i32,
    unused: [i32; 2],
}

/// Records of the first try, and the most that are ever asked for (50 MB).
const FIRST: usize = 64;
const MOST: usize = 1 << 20;

/// All pieces of the file, in order. A file without any block or hole has none.
///
/// # Errors
/// `ENOTTY` or another errno on what is not XFS; `E2BIG` for a map of more than a million records.
pub fn map(file: impl AsFd, request: Request) -> io::Result<Vec<Piece>> {
    let mut size = FIRST;
    loop {
        let records = ask(&file, request, size)?;
        let entries = usize::try_from(records[0].entries).unwrap_or(0);
        if entries < size - 1 {
            return Ok(records[1..].iter().take(entries).map(piece).collect());
        }
        if size >= MOST {
            return Err(io::Error::from_raw_os_error(libc::E2BIG));
        }
        size *= 4;
    }
}

fn ask(file: &impl AsFd, request: Request, size: usize) -> io::Result<Vec<Record>> {
    let mut records = vec![Record::default(); size];
    records[0] = Record {
        length: -1,
        count: size as i32,
        iflags: if request.unwritten { PREALLOC } else { 0 }
            | if request.delayed { DELALLOC } else { 0 }
            | if request.attributes { ATTRFORK } else { 0 },
        ..Record::default()
    };
    // SAFETY: the pointer is to a live array of as many `struct getbmapx` as the first one's count
    // says; the kernel writes no more, and any bit pattern is a value of these integers.
    let answer = unsafe {
        libc::ioctl(
            file.as_fd().as_raw_fd(),
            XFS_IOC_GETBMAPX as libc::Ioctl,
            records.as_mut_ptr(),
        )
    };
    if answer < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(records)
    }
}

fn piece(record: &Record) -> Piece {
    let block = match record.block {
        _ if record.oflags & 0x2 != 0 => Place::Delayed,
        -2 => Place::Delayed,
        -1 => Place::Hole,
        at => Place::At(at),
    };
    Piece {
        offset: record.offset,
        block,
        length: record.length,
        unwritten: record.oflags & 0x1 != 0,
        shared: record.oflags & 0x8 != 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_has_the_kernels_size() {
        assert_eq!(size_of::<Record>(), 48);
    }

    #[test]
    fn holes_and_delayed_blocks_have_no_place() {
        let record = |block, oflags| Record {
            block,
            oflags,
            ..Record::default()
        };
        assert_eq!(piece(&record(-1, 0)).block, Place::Hole);
        assert_eq!(piece(&record(-2, 0)).block, Place::Delayed);
        assert_eq!(piece(&record(-1, 2)).block, Place::Delayed);
        let last = piece(&record(7, 0x1 | 0x4 | 0x8));
        assert_eq!(last.block, Place::At(7));
        assert!(last.unwritten && last.shared);
    }

    #[test]
    fn what_is_not_xfs_says_so() {
        let file = std::fs::File::open("/proc/self/status").unwrap();
        assert!(map(&file, Request::default()).is_err());
    }
}
