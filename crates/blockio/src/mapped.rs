//! A file or device mapped into memory.
//!
//! Reading a mapping directly has two faults that a checker cannot have. A bad sector, or a file
//! that shrinks, is a SIGBUS: the checker dies where it should report. And a slice of a file that
//! another process writes to is not a Rust slice. So the kernel does the copying
//! (`process_vm_readv` of our own memory): it meets the same page faults and the same readahead as a
//! load instruction would, but answers EFAULT, and then pread(2) returns the errno. A handler for
//! SIGBUS was rejected: it belongs to the process, not to a library; `MADV_POPULATE_READ` as well: a
//! page it has filled may be gone again before the load.
//!
//! What is left of the usual advantage is no copy saved, so this is not the fast source. It is
//! here because checkers have been proposed that read so (Wong's for e2fsck, 2014), and a claim
//! about them needs something to measure.
#![allow(
    unsafe_code,
    reason = "mmap, madvise, munmap, and process_vm_readv of the mapping"
)]

use std::io;
use std::ops::Range;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};
use rustix::param::page_size;

use crate::error::{OpenError, ReadError, within};
use crate::handle::Handle;
use crate::queue::Queue;
use crate::source::{BlockSource, Geometry};
use crate::sync_queue::SyncQueue;

/// mmap(2), `PROT_READ`, shared. The whole source takes address space: 128 TiB are to be had on
/// x86-64.
pub struct Mapped {
    handle: Handle,
    /// `handle.len()` bytes; dangling for an empty source.
    base: NonNull<u8>,
    /// Whether the kernel copies for us; a sandbox may forbid the call.
    copies: AtomicBool,
}

// SAFETY: the mapping is read-only, belongs to no thread, and is only handed to the kernel by address.
unsafe impl Send for Mapped {}
// SAFETY: as above.
unsafe impl Sync for Mapped {}

impl Mapped {
    /// Maps an image or a block device.
    ///
    /// # Errors
    /// It cannot be opened or mapped, or is neither.
    pub fn open(path: impl AsRef<Path>) -> Result<Mapped, OpenError> {
        let path = path.as_ref();
        let handle = Handle::open(path, false)?;
        let failed = |source: io::Error| OpenError::Map {
            path: path.to_owned(),
            source,
        };
        let too_large = || failed(io::ErrorKind::FileTooLarge.into());
        let bytes = isize::try_from(handle.len()).map_err(|_| too_large())? as usize;
        let mut base = NonNull::dangling();
        if bytes > 0 {
            // SAFETY: a new mapping at an address of the kernel's choice; nothing is replaced.
            let address = unsafe {
                mmap(
                    std::ptr::null_mut(),
                    bytes,
                    ProtFlags::READ,
                    MapFlags::SHARED | MapFlags::NORESERVE,
                    handle.file(),
                    0,
                )
            };
            let address = address.map_err(|e| failed(e.into()))?;
            base = NonNull::new(address.cast()).ok_or_else(too_large)?;
        }
        Ok(Mapped {
            handle,
            base,
            copies: AtomicBool::new(true),
        })
    }

    /// Copies from the mapping as far as it goes without a fault; bytes copied.
    fn copy(&self, buf: &mut [u8], offset: u64) -> usize {
        let mut done = 0;
        while done < buf.len() && self.copies.load(Ordering::Relaxed) {
            let rest = &mut buf[done..];
            let local = libc::iovec {
                iov_base: rest.as_mut_ptr().cast(),
                iov_len: rest.len(),
            };
            let remote = libc::iovec {
                iov_base: self
                    .base
                    .as_ptr()
                    .wrapping_add(offset as usize + done)
                    .cast(),
                iov_len: rest.len(),
            };
            // SAFETY: the kernel writes into `rest`, which is ours alone, and reads from the mapping,
            // whose range was checked; a page that cannot be had is EFAULT, not a signal.
            let copied = unsafe {
                libc::process_vm_readv(libc::getpid(), &raw const local, 1, &raw const remote, 1, 0)
            };
            match usize::try_from(copied) {
                Ok(0) => break,
                Ok(n) => done += n,
                Err(_) => {
                    let errno = io::Error::last_os_error().raw_os_error();
                    if matches!(errno, Some(libc::EPERM | libc::ENOSYS)) {
                        self.copies.store(false, Ordering::Relaxed);
                    }
                    break;
                }
            }
        }
        done
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        if !self.is_empty() {
            // SAFETY: the mapping is this value's own; its address is held nowhere else.
            let _ = unsafe { munmap(self.base.as_ptr().cast(), self.len() as usize) };
        }
    }
}

impl BlockSource for Mapped {
    fn name(&self) -> &Arc<str> {
        self.handle.name()
    }

    fn len(&self) -> u64 {
        self.handle.len()
    }

    fn geometry(&self) -> Geometry {
        self.handle.geometry()
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<(), ReadError> {
        within(self.name(), self.len(), offset, buf.len() as u64)?;
        let done = self.copy(buf, offset);
        // The rest again by pread(2), which says what is the matter, or reads it.
        let result = self.handle.read(&mut buf[done..], offset + done as u64);
        result.inspect_err(|_| self.handle.forget(offset, buf.len() as u64))
    }

    fn next_data(&self, offset: u64) -> Option<Range<u64>> {
        self.handle.next_data(offset)
    }

    fn will_need(&self, offset: u64, len: u64) {
        let end = offset.saturating_add(len).min(self.len());
        let first = offset / page_size() as u64 * page_size() as u64;
        if first < end {
            let address = self.base.as_ptr().wrapping_add(first as usize);
            // SAFETY: the range is inside the mapping and begins at a page; the advice starts reads
            // and changes no contents.
            let _ = unsafe { madvise(address.cast(), (end - first) as usize, Advice::WillNeed) };
        }
    }

    fn queue(&self, depth: usize) -> Result<Box<dyn Queue + '_>, OpenError> {
        Ok(Box::new(SyncQueue::new(self, depth)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Fault;

    #[test]
    fn a_mapped_file_that_shrinks_is_an_error_and_not_a_signal() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), vec![7; 100_000]).unwrap();
        let mapped = Mapped::open(file.path()).unwrap();
        file.as_file().set_len(8192).unwrap();
        let mut buf = vec![0; 20_000];
        mapped.read_at(&mut buf[..8192], 0).unwrap();
        assert!(buf[..8192].iter().all(|b| *b == 7));
        let error = mapped.read_at(&mut buf, 4096).unwrap_err();
        assert_eq!(error.fault, Fault::Truncated);
        assert_eq!((error.offset, error.len), (8192, 4096 + 20_000 - 8192));
    }

    #[test]
    fn without_the_kernels_copy_it_reads_the_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), b"0123456789").unwrap();
        let mapped = Mapped::open(file.path()).unwrap();
        mapped.copies.store(false, Ordering::Relaxed);
        let mut buf = [0; 4];
        mapped.read_at(&mut buf, 3).unwrap();
        assert_eq!(&buf, b"3456");
    }

    #[test]
    fn an_empty_file_is_an_empty_source() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mapped = Mapped::open(file.path()).unwrap();
        mapped.will_need(0, 4096);
        assert!(mapped.is_empty());
        assert_eq!(mapped.next_data(0), None);
        mapped.read_at(&mut [], 0).unwrap();
        assert!(mapped.read_at(&mut [0], 0).is_err());
    }
}
