//! How many pages of a file are in the page cache: cachestat(2), else mincore(2).
#![allow(unsafe_code)] // Neither call has a safe wrapper.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// `__NR_cachestat`: the same number on every architecture (it is newer than the unified table).
const CACHESTAT: libc::c_long = 451;

#[repr(C)]
struct Range {
    offset: u64,
    length: u64,
}

#[repr(C)]
#[derive(Default)]
struct Counts {
    cached: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

/// Pages of `file` in the page cache, by cachestat(2) (Linux 6.5).
pub(crate) fn by_cachestat(file: &File) -> io::Result<u64> {
    // Length 0 means to the end of the file.
    let range = Range {
        offset: 0,
        length: 0,
    };
    let mut counts = Counts::default();
    // SAFETY: both pointers are to live structs of the layout in linux/mman.h, flags must be 0.
    let answer = unsafe {
        libc::syscall(
            CACHESTAT,
            file.as_raw_fd(),
            &raw const range,
            &raw mut counts,
            0u32,
        )
    };
    if answer == 0 {
        Ok(counts.cached)
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Pages of `file` in the page cache, by mapping it and asking mincore(2).
///
/// The kernel answers truly only to the file's owner or whoever may write it.
pub(crate) fn by_mincore(file: &File, page: u64) -> io::Result<u64> {
    let length = file.metadata()?.len();
    if length == 0 {
        return Ok(0);
    }
    // Windows of 1 GiB keep the answer vector at 256 KiB.
    let window = 1u64 << 30;
    let mut resident = 0;
    let mut offset = 0;
    while offset < length {
        let part = window.min(length - offset);
        resident += window_resident(file, offset, part as usize, page as usize)?;
        offset += part;
    }
    Ok(resident)
}

fn window_resident(file: &File, offset: u64, length: usize, page: usize) -> io::Result<u64> {
    // SAFETY: a fresh private read-only mapping of an open file; it is never read through, so a
    // file truncated meanwhile cannot raise SIGBUS.
    let address = unsafe {
        libc::mmap(
            core::ptr::null_mut(),
            length,
            libc::PROT_READ,
            libc::MAP_PRIVATE,
            file.as_raw_fd(),
            offset as libc::off_t,
        )
    };
    if address == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    let mut pages = vec![0u8; length.div_ceil(page)];
    // SAFETY: the range is the mapping just made and the vector has one byte for each of its pages.
    let answer = unsafe { libc::mincore(address, length, pages.as_mut_ptr()) };
    let failure = (answer != 0).then(io::Error::last_os_error);
    // SAFETY: unmaps exactly the mapping made above.
    unsafe { libc::munmap(address, length) };
    match failure {
        Some(error) => Err(error),
        None => Ok(pages.iter().filter(|&&byte| byte & 1 == 1).count() as u64),
    }
}
