//! GETFSMAP: who owns each piece of a mounted filesystem (ioctl_getfsmap(2)).
//!
//! ext4 answers with group metadata, the journal and free space, and calls everything else
//! "unknown"; XFS names the inode of each piece where it has the reverse-mapping tree, and
//! otherwise only its fixed metadata and free space; btrfs does not answer. Without CAP_SYS_ADMIN XFS hides
//! the owner of a piece.
#![allow(unsafe_code, reason = "an ioctl that neither rustix nor libc has")]
#![allow(
    clippy::cast_lossless,
    reason = "libc::Ioctl is a signed int on some systems"
)]

use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd};

use serde::Serialize;

/// `_IOWR('X', 59, struct fsmap_head)`.
const FS_IOC_GETFSMAP: u32 = 0xC0C0_583B;

const SPECIAL: u32 = 0x10;
const LAST: u32 = 0x20;

/// `struct fsmap`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Record {
    device: u32,
    flags: u32,
    physical: u64,
    owner: u64,
    offset: u64,
    length: u64,
    reserved: [u64; 3],
}

/// Records in one call: with the head, less than 16 KiB.
const RECORDS: usize = 250;

/// `struct fsmap_head` and its records.
#[repr(C)]
#[derive(Debug)]
struct Buffer {
    iflags: u32,
    oflags: u32,
    count: u32,
    entries: u32,
    reserved: [u64; 6],
    keys: [Record; 2],
    records: [Record; RECORDS],
}

/// The owner of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Owner {
    /// Free space.
    Free,
    /// An owner that the filesystem does not name: on ext4 every file.
    Unknown,
    /// A file.
    Inode(u64),
    /// Superblocks, AG headers: fixed metadata.
    Fixed,
    /// The log or journal.
    Log,
    /// Inodes or their tree.
    Inodes,
    /// Group descriptors, bitmaps and other metadata of groups.
    Group,
    /// Other metadata (free-space trees, reference counts, copy-on-write staging, bad blocks).
    Metadata,
}

impl Owner {
    fn of(record: &Record) -> Owner {
        if record.flags & SPECIAL == 0 {
            return Owner::Inode(record.owner);
        }
        // (type << 32) | code: type 0 is generic, 'X' XFS's (and in part ext4's), 'f' ext4's.
        match ((record.owner >> 32) as u8, record.owner as u32) {
            (0, 1) => Owner::Free,
            (0, 2) => Owner::Unknown,
            (b'X', 1) => Owner::Fixed,
            (b'X', 2) => Owner::Log,
            (b'X', 4 | 5) => Owner::Inodes,
            (b'X', 3) | (b'f', _) => Owner::Group,
            _ => Owner::Metadata,
        }
    }
}

/// A piece of the filesystem's data device. All numbers are bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Region {
    /// Position.
    pub physical: u64,
    /// Length.
    pub length: u64,
    /// Its owner.
    pub owner: Owner,
    /// Shared by several files.
    pub shared: bool,
}

impl Region {
    /// The first byte after it.
    pub fn end(&self) -> u64 {
        self.physical.saturating_add(self.length)
    }
}

/// `new_encode_dev` of the kernel: the form of a device's number in a record.
pub fn device_number(major: u32, minor: u32) -> u32 {
    (minor & 0xff) | (major << 8) | ((minor & !0xff) << 12)
}

/// Calls `see` with every region of the device `device` that meets `range`, in order; `see` may end it with
/// `false`. `file` is any file or directory of the filesystem, `device` as
/// [`device_number`] makes it. Regions are as the kernel gives them: the first may begin before the range, and
/// the last may end after it.
///
/// # Errors
/// `EOPNOTSUPP` or `ENOTTY` where there is no GETFSMAP.
pub fn regions(
    file: impl AsFd,
    device: u32,
    range: Range<u64>,
    mut see: impl FnMut(Region) -> bool,
) -> io::Result<()> {
    if range.is_empty() {
        return Ok(());
    }
    let mut buffer = Box::new(Buffer {
        iflags: 0,
        oflags: 0,
        count: RECORDS as u32,
        entries: 0,
        reserved: [0; 6],
        keys: keys(device, &range),
        records: [Record::default(); RECORDS],
    });
    loop {
        // SAFETY: the pointer is to a live structure with the layout of `struct fsmap_head`,
        // followed by as many `struct fsmap` as its count says; the kernel writes no more than
        // these, and any bit pattern is a value of these integers.
        let answer = unsafe {
            libc::ioctl(
                file.as_fd().as_raw_fd(),
                FS_IOC_GETFSMAP as libc::Ioctl,
                &raw mut *buffer,
            )
        };
        if answer < 0 {
            return Err(io::Error::last_os_error());
        }
        let found = (buffer.entries as usize).min(RECORDS);
        let Some(last) = buffer.records[..found].last().copied() else {
            return Ok(());
        };
        for record in &buffer.records[..found] {
            if record.device == device && !see(region(record)) {
                return Ok(());
            }
        }
        // Where the next call continues; a kernel that does not advance must not hold us here.
        if last.flags & LAST != 0 || (last.device, last.physical) < (device, range.start) {
            return Ok(());
        }
        if (last.device, last.physical, last.length)
            == (
                buffer.keys[0].device,
                buffer.keys[0].physical,
                buffer.keys[0].length,
            )
        {
            return Ok(());
        }
        buffer.keys[0] = last;
    }
}

fn keys(device: u32, range: &Range<u64>) -> [Record; 2] {
    let low = Record {
        device,
        physical: range.start,
        ..Record::default()
    };
    let high = Record {
        device,
        flags: u32::MAX,
        physical: range.end - 1,
        owner: u64::MAX,
        offset: u64::MAX,
        ..Record::default()
    };
    [low, high]
}

fn region(record: &Record) -> Region {
    Region {
        physical: record.physical,
        length: record.length,
        owner: Owner::of(record),
        shared: record.flags & 0x8 != 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_have_the_kernels_sizes() {
        assert_eq!(size_of::<Record>(), 64);
        assert_eq!(size_of::<Buffer>(), 192 + 64 * RECORDS);
    }

    #[test]
    fn owners_of_both_filesystems() {
        let owner = |kind: u8, code: u64| {
            Owner::of(&Record {
                flags: SPECIAL,
                owner: u64::from(kind) << 32 | code,
                ..Record::default()
            })
        };
        assert_eq!(owner(0, 1), Owner::Free);
        assert_eq!(owner(0, 2), Owner::Unknown);
        assert_eq!(owner(0, 3), Owner::Metadata);
        assert_eq!(owner(b'X', 2), Owner::Log);
        assert_eq!(owner(b'X', 5), Owner::Inodes);
        assert_eq!(owner(b'f', 3), Owner::Group);
        let file = Record {
            owner: 131,
            ..Record::default()
        };
        assert_eq!(Owner::of(&file), Owner::Inode(131));
    }

    #[test]
    fn device_numbers_are_packed_as_the_kernel_packs_them() {
        assert_eq!(device_number(8, 1), 0x801);
        assert_eq!(device_number(259, 0x1234), 0x0121_0334);
    }
}
