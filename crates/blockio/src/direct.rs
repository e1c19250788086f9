//! A file or device read past the page cache: O_DIRECT.
//!
//! A checker reads every block of metadata once. The page cache would copy each of them, evict what
//! other programs need, and hide from our own counters what the device does. So this is the source
//! of choice for anything larger than memory, and [`crate::layer::Cache`] is there for the blocks
//! that are read again.
//!
//! Asynchronous reading is `io_uring`. Where a ring cannot be had (a sandbox, a limit of memory), threads do the
//! same with pread(2), and where no thread can be made, either, reads are done one at a time.

mod ring;
mod threads;

pub use ring::io_uring_works;

use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use crate::buffer::Buffer;
use crate::error::{Fault, OpenError, ReadError, within};
use crate::handle::Handle;
use crate::queue::Queue;
use crate::source::{BlockSource, Geometry};
use crate::sync_queue::SyncQueue;

/// Bytes of the buffer that unaligned reads go through.
const BOUNCE: usize = 1 << 20;

/// Such buffers that are kept for the next.
const STASH: usize = 8;

/// O_DIRECT, with `io_uring` for what is queued.
pub struct Direct {
    core: Arc<Core>,
}

/// What the threads of the fallback share with the source.
struct Core {
    handle: Handle,
    /// Buffers for unaligned reads, at most [`STASH`].
    stash: Mutex<Vec<Buffer>>,
}

impl Direct {
    /// Opens an image or a block device with O_DIRECT.
    ///
    /// # Errors
    /// It cannot be opened, is neither, or its filesystem has no direct I/O.
    pub fn open(path: impl AsRef<Path>) -> Result<Direct, OpenError> {
        let handle = Handle::open(path.as_ref(), true)?;
        let stash = Mutex::new(Vec::new());
        Ok(Direct {
            core: Arc::new(Core { handle, stash }),
        })
    }

    /// A queue of threads instead of a ring, as where `io_uring` is forbidden: to measure what it
    /// costs.
    ///
    /// # Errors
    /// No thread could be started.
    pub fn queue_of_threads(&self, depth: usize) -> Result<Box<dyn Queue + '_>, OpenError> {
        Ok(Box::new(threads::Threads::new(&self.core, depth)?))
    }
}

impl Core {
    /// The aligned range around a request: first byte and length.
    fn rounded(&self, offset: u64, len: usize) -> (u64, usize) {
        let align = u64::from(self.handle.geometry().offset_align);
        let from = offset / align * align;
        let span = (offset - from + len as u64).next_multiple_of(align);
        (from, span as usize)
    }

    /// Reads a range that has been checked to be inside.
    fn read(&self, buf: &mut [u8], offset: u64) -> Result<(), ReadError> {
        let geometry = self.handle.geometry();
        let fits = |n: u64, align: u32| n.is_multiple_of(u64::from(align));
        if fits(buf.as_ptr() as u64, geometry.memory_align)
            && fits(offset, geometry.offset_align)
            && fits(buf.len() as u64, geometry.offset_align)
        {
            return self.handle.read(buf, offset);
        }
        let (end, len) = (offset + buf.len() as u64, buf.len() as u64);
        let mut bounce = self.bounce(buf.len()).map_err(|e| {
            let errno = e.raw_os_error().unwrap_or(libc::ENOMEM);
            self.handle.failed(offset, end, Fault::Os(errno))
        })?;
        let result = self
            .read_through(bounce.whole(), buf, offset)
            .map_err(|e| e.clipped(offset, len));
        let mut stash = self.stash.lock().unwrap_or_else(PoisonError::into_inner);
        if stash.len() < STASH && bounce.capacity() <= 2 * BOUNCE {
            stash.push(bounce);
        }
        result
    }

    /// A buffer for unaligned reads of `len` bytes, or for a part of them.
    fn bounce(&self, len: usize) -> std::io::Result<Buffer> {
        let geometry = self.handle.geometry();
        let slack = 2 * geometry.offset_align as usize;
        let need = len.min(BOUNCE) + slack;
        let mut stash = self.stash.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = stash.iter().position(|b| b.capacity() >= need) {
            return Ok(stash.swap_remove(at));
        }
        // One that is too small makes room for a larger one.
        stash.pop();
        drop(stash);
        Buffer::new(need, geometry.memory_align as usize)
    }

    /// Reads `buf` through an aligned buffer, part by part.
    fn read_through(
        &self,
        bounce: &mut [u8],
        buf: &mut [u8],
        offset: u64,
    ) -> Result<(), ReadError> {
        let slack = 2 * self.handle.geometry().offset_align as usize;
        let step = bounce.len() - slack;
        let mut at = offset;
        for part in buf.chunks_mut(step) {
            let (from, span) = self.rounded(at, part.len());
            self.handle.read(&mut bounce[..span], from)?;
            let inside = (at - from) as usize;
            part.copy_from_slice(&bounce[inside..inside + part.len()]);
            at += part.len() as u64;
        }
        Ok(())
    }
}

impl BlockSource for Direct {
    fn name(&self) -> &Arc<str> {
        self.core.handle.name()
    }

    fn len(&self) -> u64 {
        self.core.handle.len()
    }

    fn geometry(&self) -> Geometry {
        self.core.handle.geometry()
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<(), ReadError> {
        within(self.name(), self.len(), offset, buf.len() as u64)?;
        self.core.read(buf, offset)
    }

    fn next_data(&self, offset: u64) -> Option<Range<u64>> {
        self.core.handle.next_data(offset)
    }

    fn will_need(&self, _offset: u64, _len: u64) {
        // Nothing would keep what was read ahead.
    }

    fn queue(&self, depth: usize) -> Result<Box<dyn Queue + '_>, OpenError> {
        match ring::Ring::new(&self.core, depth) {
            Ok(ring) => Ok(Box::new(ring)),
            // No ring (an old kernel, a policy, no memory to lock or map), and no thread: one read at a time.
            Err(_) => Ok(self
                .queue_of_threads(depth)
                .unwrap_or_else(|_| Box::new(SyncQueue::new(self, depth)))),
        }
    }
}
