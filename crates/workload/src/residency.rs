//! How much of a file is in the page cache: what cold, warm and direct really were.
//!
//! `cachestat(2)` (Linux 6.5) answers without mapping the file; before it, `mincore(2)` on a
//! mapping does, one byte a page.
#![allow(unsafe_code)] // cachestat, mmap and mincore are raw system calls.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::path::Path;

/// Pages of a file in the page cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Residency {
    /// Pages in the cache.
    pub resident: u64,
    /// Of these, not yet written back; 0 where only `mincore` is there to ask.
    pub dirty: u64,
    /// Pages of the whole file.
    pub pages: u64,
}

impl Residency {
    /// Both files together.
    #[must_use]
    pub fn plus(self, other: Residency) -> Residency {
        Residency {
            resident: self.resident + other.resident,
            dirty: self.dirty + other.dirty,
            pages: self.pages + other.pages,
        }
    }

    /// `cold` (nothing resident), `warm` (at least 99 %) or `partly warm`.
    pub fn state(&self) -> &'static str {
        match self.resident {
            0 => "cold",
            n if n * 100 >= self.pages * 99 => "warm",
            _ => "partly warm",
        }
    }
}

/// The residency of a file by path.
pub fn of_path(path: &Path) -> io::Result<Residency> {
    use std::os::fd::AsFd;
    let file = std::fs::File::open(path)?;
    of(file.as_fd())
}

/// The residency of an open file.
pub fn of(file: BorrowedFd<'_>) -> io::Result<Residency> {
    let size = rustix::fs::fstat(file)?.st_size as u64;
    let pages = size.div_ceil(rustix::param::page_size() as u64);
    if size == 0 {
        return Ok(Residency::default());
    }
    match cachestat(file) {
        Ok((resident, dirty)) => Ok(Residency {
            resident,
            dirty,
            pages,
        }),
        Err(e) if e.raw_os_error() == Some(libc::ENOSYS) => Ok(Residency {
            resident: mincore(file, size, pages)?,
            dirty: 0,
            pages,
        }),
        Err(e) => Err(e),
    }
}

/// `__NR_cachestat`: the same number on all architectures.
const CACHESTAT: libc::c_long = 451;

/// Pages in the cache and dirty pages among them (include/uapi/linux/mman.h, `struct cachestat`).
fn cachestat(file: BorrowedFd<'_>) -> io::Result<(u64, u64)> {
    let range = [0_u64; 2]; // offset 0, length 0: to the end of the file
    let mut stat = [0_u64; 5]; // cache, dirty, writeback, evicted, recently evicted
    // SAFETY: both pointers are to arrays of the sizes the kernel's structures have.
    let result = unsafe {
        libc::syscall(
            CACHESTAT,
            file.as_raw_fd(),
            range.as_ptr(),
            stat.as_mut_ptr(),
            0_u32,
        )
    };
    if result == 0 {
        Ok((stat[0], stat[1]))
    } else {
        Err(io::Error::last_os_error())
    }
}

fn mincore(file: BorrowedFd<'_>, size: u64, pages: u64) -> io::Result<u64> {
    let mut present = vec![0_u8; pages as usize];
    // SAFETY: a fresh shared read-only mapping that nothing dereferences; mincore writes one byte
    // for each of its pages into `present`; the mapping is gone before the function returns.
    let result = unsafe {
        let map = libc::mmap(
            std::ptr::null_mut(),
            size as usize,
            libc::PROT_READ,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            0,
        );
        if map == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let result = libc::mincore(map, size as usize, present.as_mut_ptr());
        let error = io::Error::last_os_error();
        libc::munmap(map, size as usize);
        if result == 0 { Ok(()) } else { Err(error) }
    };
    result?;
    Ok(present.iter().map(|p| u64::from(p & 1)).sum())
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn both_ways_count_the_pages_just_written() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(of_path(file.path()).unwrap(), Residency::default());
        std::fs::write(file.path(), vec![1_u8; 40_960 + 1]).unwrap();
        let file = std::fs::File::open(file.path()).unwrap();
        let seen = of(file.as_fd()).unwrap();
        assert_eq!((seen.resident, seen.pages, seen.state()), (11, 11, "warm"));
        assert_eq!(mincore(file.as_fd(), 40_961, 11).unwrap(), 11);
    }

    #[test]
    fn states_have_names() {
        let state = |resident| {
            Residency {
                resident,
                dirty: 0,
                pages: 1000,
            }
            .state()
        };
        assert_eq!(
            [state(0), state(1), state(989), state(990)],
            ["cold", "partly warm", "partly warm", "warm"]
        );
    }
}
