//! FIBMAP and a few ioctls on files, for filesystems without FIEMAP.
//!
//! FIBMAP asks for one block at a time, needs root and has 31 bits for the answer, but filesystems
//! such as FAT have nothing else.
#![allow(unsafe_code, reason = "ioctls that neither rustix nor libc has")]
#![allow(
    clippy::cast_lossless,
    reason = "libc::Ioctl is a signed int on some systems"
)]

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use crate::extent::{Extent, Flags};

/// `_IO(0, 1)`.
const FIBMAP: u32 = 1;
/// `_IO(0, 2)`.
const FIGETBSZ: u32 = 2;
/// `_IOR('f', 1, long)`; the kernel reads and writes an int.
const FS_IOC_GETFLAGS: u32 = 0x8008_6601;
/// `_IOR('X', 31, struct fsxattr)`.
const FS_IOC_FSGETXATTR: u32 = 0x801C_581F;

/// `EXT4_EXTENTS_FL`: the file's map is a tree of extents, not of indirect blocks.
const EXTENTS: u32 = 0x0008_0000;
/// `FS_XFLAG_REALTIME`.
const REALTIME: u32 = 1;

/// An ioctl whose argument is one 32-bit number that is read and written.
fn word(file: impl AsFd, request: u32, value: u32) -> io::Result<u32> {
    // Two words: FS_IOC_GETFLAGS is declared with a long, and someone may take it at its word.
    let mut words = [value, 0];
    // SAFETY: the three requests of this file read and write at most eight bytes at the pointer,
    // which is to a live array of eight bytes.
    let answer = unsafe {
        libc::ioctl(
            file.as_fd().as_raw_fd(),
            request as libc::Ioctl,
            words.as_mut_ptr(),
        )
    };
    if answer < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(words[0])
    }
}

/// Bytes of a block in which the filesystem counts this file's blocks.
///
/// # Errors
/// When the filesystem does not report it.
pub fn block_size(file: impl AsFd) -> io::Result<u32> {
    match word(file, FIGETBSZ, 0)? {
        0 => Err(io::Error::from_raw_os_error(libc::EINVAL)),
        size => Ok(size),
    }
}

/// Whether the file has the ext4 flag "extents"; `None` where flags cannot be read.
pub fn has_extents_flag(file: impl AsFd) -> Option<bool> {
    let flags = word(file, FS_IOC_GETFLAGS, 0).ok()?;
    Some(flags & EXTENTS != 0)
}

/// Whether an XFS file is on the realtime device; `false` where that is not known.
pub fn is_realtime(file: impl AsFd) -> bool {
    // struct fsxattr: xflags, extsize, nextents, projid, cowextsize, eight bytes of padding.
    let mut attributes = [0_u32; 7];
    // SAFETY: the pointer is to 28 live bytes, the size of `struct fsxattr`.
    let answer = unsafe {
        libc::ioctl(
            file.as_fd().as_raw_fd(),
            FS_IOC_FSGETXATTR as libc::Ioctl,
            attributes.as_mut_ptr(),
        )
    };
    answer == 0 && attributes[0] & REALTIME != 0
}

/// The file's map, block by block, as rows of merged blocks. Block 0 means a hole.
///
/// # Errors
/// `EPERM` without root; `EINVAL` or `ENOTTY` where there is no FIBMAP; `EFBIG` for a file of 2^31
/// blocks or more.
pub fn map(file: impl AsFd, size: u64, block_size: u32, rows: &mut Vec<Extent>) -> io::Result<()> {
    let file = file.as_fd();
    let bytes = u64::from(block_size);
    let blocks = size.div_ceil(bytes.max(1));
    let blocks = i32::try_from(blocks).map_err(|_| io::Error::from_raw_os_error(libc::EFBIG))?;
    let first = rows.len();
    if blocks == 0 {
        // An empty file has no block to ask for, and would pass where there is no FIBMAP.
        word(file, FIBMAP, 0)?;
    }
    for block in 0..blocks.unsigned_abs() {
        let at = u64::from(word(file, FIBMAP, block)?) * bytes;
        if at != 0 {
            push(rows, first, u64::from(block) * bytes, at, bytes);
        }
    }
    if let Some(last) = rows[first..].last_mut() {
        last.flags = last.flags.with(Flags::LAST);
    }
    Ok(())
}

/// Adds a block to the last of the rows from `first` on, or begins a new row.
fn push(rows: &mut Vec<Extent>, first: usize, logical: u64, physical: u64, length: u64) {
    if let Some(last) = rows[first..].last_mut()
        && last.logical_end() == logical
        && last.physical_end() == physical
    {
        last.length += length;
        return;
    }
    rows.push(Extent {
        logical,
        physical,
        length,
        flags: Flags::MERGED,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_that_continue_are_one_row() {
        let mut rows = vec![Extent::default()];
        for (logical, physical) in [(0, 40), (4, 44), (12, 48), (16, 60)] {
            push(&mut rows, 1, logical, physical, 4);
        }
        let seen: Vec<_> = rows[1..]
            .iter()
            .map(|row| (row.logical, row.physical, row.length))
            .collect();
        assert_eq!(seen, [(0, 40, 8), (12, 48, 4), (16, 60, 4)]);
    }

    #[test]
    fn proc_has_no_fibmap() {
        let file = std::fs::File::open("/proc/self/status").unwrap();
        assert!(map(&file, 10, 1024, &mut Vec::new()).is_err());
        assert!(map(&file, 0, 1024, &mut Vec::new()).is_err());
    }

    #[test]
    fn a_file_of_too_many_blocks_is_an_error() {
        let file = std::fs::File::open("/proc/self/status").unwrap();
        let error = map(&file, 1 << 43, 512, &mut Vec::new()).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EFBIG));
    }
}
