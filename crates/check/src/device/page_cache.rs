//! Whether an image is in the page cache already.
//!
//! What is cached is read fastest through the cache, what is not fastest past it: with O_DIRECT and several requests in flight. A
//! check that always did the one would lose on the other, so the kernel is asked how many pages it holds (cachestat(2),
//! Linux 6.5); the answer takes microseconds.
#![allow(unsafe_code)] // cachestat(2) is not wrapped by rustix.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

/// At least one part in this many of a filesystem is metadata: inode tables with 256 bytes per 16 KiB are twice that.
const METADATA_SHARE: u64 = 128;
/// Bytes of a request where reads are copies out of memory: with what is looked up at the same time they stay in a processor's own
/// cache, and larger ones save nothing.
pub const CACHED_REQUEST: usize = 256 << 10;
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
    let Some(cached) = cached_bytes(&file) else {
        return false;
    };
    let (len, held) = if metadata.file_type().is_block_device() {
        let len = device_len(path).unwrap_or(u64::MAX);
        (len, len)
    } else {
        (metadata.len(), metadata.blocks().saturating_mul(512))
    };
    cached > 0 && cached >= (held / 2).min(len / METADATA_SHARE)
}

fn device_len(path: &Path) -> Option<u64> {
    let name = path.canonicalize().ok()?;
    let name = name.file_name()?.to_str()?;
    let sectors = std::fs::read_to_string(format!("/sys/class/block/{name}/size")).ok()?;
    sectors.trim().parse::<u64>().ok()?.checked_mul(512)
}

/// Bytes of a file in the page cache.
fn cached_bytes(file: &File) -> Option<u64> {
    // struct cachestat_range { off, len }, len 0: to the end; struct cachestat { nr_cache, and four more }.
    let range = [0_u64; 2];
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
        if cached_bytes(file.as_file()).is_none() {
            testkit::skip!("this kernel has no cachestat(2)");
            return;
        }
        assert_eq!(cached_bytes(file.as_file()), Some(1 << 20));
        assert!(mostly_cached(file.path()));
        assert!(!mostly_cached(Path::new("/no/such/file")));
    }
}
