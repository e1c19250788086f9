//! How much of a file is in the page cache: what cold, warm and direct really were.
//!
//! `cachestat(2)` (Linux 6.5) answers without mapping the file; before it, `mincore(2)` on a
//! mapping does, one byte a page.
#![allow(unsafe_code)] // cachestat, mmap and mincore are raw system calls.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::path::Path;
use std::time::Duration;

/// A direct phase begins with close looks at the page cache, since a filesystem that takes O_DIRECT
/// through it drops each record's pages again (btrfs with checksums, since Linux 6.14): a few dozen
/// looks of a microsecond find them, also in a phase of milliseconds.
pub(crate) const GLANCE: Duration = Duration::from_millis(1);
/// How many close looks.
pub(crate) const GLANCES: u32 = 64;

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
    /// The sum of two reports.
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
    counted(file).map(|(residency, _)| residency)
}

/// The residency of an open file, and the system call that counted it.
///
/// # Errors
/// When neither call answers. The kernel answers mincore(2) truly only to the file's owner or
/// whatever the file's permissions.
pub fn counted(file: BorrowedFd<'_>) -> io::Result<(Residency, &'static str)> {
    let size = rustix::fs::fstat(file)?.st_size as u64;
    let pages = size.div_ceil(rustix::param::page_size() as u64);
    // ENOSYS: before 6.5. EPERM: a sandbox that does not know it. Whatever it is, the older call
    // may still answer.
    let (resident, dirty, by) = match cachestat(file) {
        Ok((resident, dirty)) => (resident, dirty, "cachestat"),
        Err(_) => (mincore(file, size)?, 0, "mincore"),
    };
    let residency = Residency {
        resident,
        dirty,
        pages,
    };
    Ok((residency, by))
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

/// Pages in the cache, by mapping the file in windows: 1 GiB keeps the answer at 256 KiB.
fn mincore(file: BorrowedFd<'_>, size: u64) -> io::Result<u64> {
    const WINDOW: u64 = 1 << 30;
    let mut resident = 0;
    let mut offset = 0;
    while offset < size {
        let part = WINDOW.min(size - offset);
        resident += window_resident(file, offset, part as usize)?;
        offset += part;
    }
    Ok(resident)
}

fn window_resident(file: BorrowedFd<'_>, offset: u64, length: usize) -> io::Result<u64> {
    // SAFETY: a fresh private read-only mapping of an open file; it is never read through, so a
    // file truncated meanwhile cannot raise SIGBUS.
    let address = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
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
    let mut present = vec![0_u8; length.div_ceil(rustix::param::page_size())];
    // SAFETY: the range is the mapping just made and the vector has one byte for each of its pages.
    let answer = unsafe { libc::mincore(address, length, present.as_mut_ptr()) };
    let failure = (answer != 0).then(io::Error::last_os_error);
    // SAFETY: unmaps exactly the mapping made above.
    unsafe { libc::munmap(address, length) };
    match failure {
        Some(error) => Err(error),
        // The other bits of a byte are reserved.
        None => Ok(present.iter().map(|page| u64::from(page & 1)).sum()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn both_ways_count_the_pages_just_written() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(of_path(file.path()).unwrap(), Residency::default());
        let bytes = 10 * rustix::param::page_size() + 1;
        std::fs::write(file.path(), vec![1_u8; bytes]).unwrap();
        let file = std::fs::File::open(file.path()).unwrap();
        let seen = of(file.as_fd()).unwrap();
        assert_eq!((seen.resident, seen.pages, seen.state()), (11, 11, "warm"));
        assert_eq!(mincore(file.as_fd(), bytes as u64).unwrap(), 11);
    }

    #[test]
    fn both_ways_see_a_cold_file() {
        // Not in /tmp: on a tmpfs nothing can ever be cold.
        let file = tempfile::NamedTempFile::new_in("/var/tmp").unwrap();
        std::fs::write(file.path(), vec![7_u8; 1 << 20]).unwrap();
        let file = std::fs::File::open(file.path()).unwrap();
        file.sync_all().unwrap();
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
        let (seen, by) = counted(file.as_fd()).unwrap();
        assert_eq!((seen.resident, seen.state()), (0, "cold"), "by {by}");
        assert_eq!(mincore(file.as_fd(), 1 << 20).unwrap(), 0);
    }

    #[test]
    fn a_file_longer_than_a_window_is_counted_whole() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let file = file.as_file();
        let size = (1_u64 << 30) + rustix::param::page_size() as u64;
        file.set_len(size).unwrap();
        std::os::unix::fs::FileExt::write_all_at(file, &[1], size - 1).unwrap();
        assert_eq!(mincore(file.as_fd(), size).unwrap(), 1);
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
