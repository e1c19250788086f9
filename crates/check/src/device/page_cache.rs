//! Whether an image is in the page cache already.
//!
//! What is cached is read fastest through the cache, what is not fastest past it: with O_DIRECT and several requests in flight. A
//! check that always did the one would lose on the other, so the kernel is asked how many pages it holds (cachestat(2),
//! Linux 6.5). It goes through each of them: for an image of 22 GiB in memory that took 0.17 s, longer than to check its million files. So it
//! is asked for one part of the image after the other, and only until they are enough.
#![allow(unsafe_code)] // cachestat(2) is not wrapped by rustix.

use std::fs::File;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

/// At least one part in this many of a filesystem is metadata: inode tables with 256 bytes per 16 KiB are twice that.
const METADATA_SHARE: u64 = 128;
/// Bytes of a request where reads are copies out of memory: with what is looked up at the same time they stay in a processor's own
/// cache, and larger ones save nothing.
pub const CACHED_REQUEST: usize = 256 << 10;
/// Parts of an image of which the kernel is asked one after the other, and bytes of one at least.
const PARTS: u64 = 1024;
const LEAST_PART: u64 = 1 << 20;
/// The number of cachestat(2), the same on every architecture.
const CACHESTAT: libc::c_long = 451;

/// Whether reading it through the page cache is likely to be served from memory: half of what it holds is there, or as
/// much as its metadata may be. False where the kernel does not provide it.
pub fn mostly_cached(path: &Path) -> bool {
    let Ok(file) = File::open(path) else {
        return false;
    };
    let Ok(metadata) = file.metadata() else {
        return false;
    };
    let (len, held) = if metadata.file_type().is_block_device() {
        let Some(len) = device_len(path) else {
            return false;
        };
        (len, len)
    } else {
        (metadata.len(), metadata.blocks().saturating_mul(512))
    };
    let enough = (held / 2).min(len / METADATA_SHARE).max(1);
    reaches(len, enough, |range| cached_bytes(&file, range))
}

/// Whether parts of `len` bytes have this many in the cache together; `cached` gives those of a part.
fn reaches(len: u64, enough: u64, mut cached: impl FnMut(Range<u64>) -> Option<u64>) -> bool {
    let page = rustix::param::page_size() as u64;
    let part = len.div_ceil(PARTS).max(LEAST_PART).next_multiple_of(page);
    let (mut at, mut sum) = (0, 0_u64);
    while at < len && sum < enough {
        let end = at.saturating_add(part).min(len);
        let Some(bytes) = cached(at..end) else {
            return false;
        };
        sum = sum.saturating_add(bytes);
        at = end;
    }
    sum >= enough
}

fn device_len(path: &Path) -> Option<u64> {
    let name = path.canonicalize().ok()?;
    let name = name.file_name()?.to_str()?;
    let sectors = std::fs::read_to_string(format!("/sys/class/block/{name}/size")).ok()?;
    sectors.trim().parse::<u64>().ok()?.checked_mul(512)
}

/// Bytes of a part of a file in the page cache.
fn cached_bytes(file: &File, part: Range<u64>) -> Option<u64> {
    // struct cachestat_range { off, len }; struct cachestat { nr_cache, and four more }.
    let range = [part.start, part.end - part.start];
    let mut stat = [0_u64; 5];
    // SAFETY: both structures are made of 64-bit words as the kernel's (include/uapi/linux/mman.h); it reads
    // the first, and writes no more than the second.
    let result = unsafe {
        libc::syscall(
            CACHESTAT,
            file.as_raw_fd(),
            range.as_ptr(),
            stat.as_mut_ptr(),
            0_u32,
        )
    };
    (result == 0).then(|| stat[0].saturating_mul(rustix::param::page_size() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_just_written_is_cached_and_an_empty_one_is_not() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(!mostly_cached(file.path()));
        std::fs::write(file.path(), vec![1; 1 << 20]).unwrap();
        let cached = cached_bytes(file.as_file(), 0..1 << 20);
        if cached.is_none() {
            testkit::skip!("this kernel has no cachestat(2)");
            return;
        }
        assert_eq!(cached, Some(1 << 20));
        assert_eq!(cached_bytes(file.as_file(), 4096..12_288), Some(8192));
        assert!(mostly_cached(file.path()));
        assert!(!mostly_cached(Path::new("/no/such/file")));
    }

    #[test]
    fn what_is_in_memory_is_asked_for_until_it_is_enough() {
        const GIB: u64 = 1 << 30;
        let len = 40 * GIB;
        let metadata = len / METADATA_SHARE;
        let asked = |enough: u64, in_cache: &dyn Fn(u64) -> bool| {
            let (mut bytes, mut calls) = (0, 0);
            let reached = reaches(len, enough, |part| {
                calls += 1;
                let here = if in_cache(part.start) {
                    part.end - part.start
                } else {
                    0
                };
                bytes += here;
                Some(here)
            });
            (reached, bytes, calls)
        };
        // Pages in the cache are what costs time; what is not there costs a call.
        let (reached, bytes, _) = asked(metadata, &|_| true);
        assert!(reached && bytes <= metadata + len / PARTS, "{bytes}");
        let (reached, bytes, calls) = asked(metadata, &|at| at >= 18 * GIB);
        assert!(reached && bytes <= metadata + len / PARTS && calls < PARTS);
        let (reached, bytes, calls) = asked(metadata, &|at| at < metadata / 2);
        assert!(!reached && bytes <= metadata && calls == PARTS);
        assert!(!reaches(0, 1, |_| None) && !reaches(len, 1, |_| None));
    }
}
