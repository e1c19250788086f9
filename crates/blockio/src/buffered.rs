//! A file or device read through the kernel's page cache.

use std::io::IoSliceMut;
use std::num::NonZeroU64;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{Advice, fadvise};
use rustix::io::{ReadWriteFlags, preadv2};

use crate::error::{OpenError, ReadError, within};
use crate::handle::Handle;
use crate::queue::Queue;
use crate::source::{BlockSource, Geometry};
use crate::sync_queue::SyncQueue;

/// pread(2), and `POSIX_FADV_WILLNEED` for what is queued.
///
/// The right source for an image that is in memory anyway, for filesystems without O_DIRECT, and
/// for a reader that comes back to the same blocks. For a sweep over a cold device [`crate::Direct`]
/// is: the page cache copies every byte, and evicts what others need.
pub struct Buffered {
    handle: Handle,
}

impl Buffered {
    /// Opens an image or a block device.
    ///
    /// # Errors
    /// It cannot be opened, or is neither.
    pub fn open(path: impl AsRef<Path>) -> Result<Buffered, OpenError> {
        let handle = Handle::open(path.as_ref(), false)?;
        Ok(Buffered { handle })
    }

    /// Whether the page of a byte is in the page cache. A kernel that cannot tell says no.
    fn resident(&self, at: u64) -> bool {
        let mut byte = [0];
        let mut place = [IoSliceMut::new(&mut byte)];
        preadv2(self.handle.file(), &mut place, at, ReadWriteFlags::NOWAIT) == Ok(1)
    }
}

impl BlockSource for Buffered {
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
        let result = self.handle.read(buf, offset);
        result.inspect_err(|_| self.handle.forget(offset, buf.len() as u64))
    }

    fn next_data(&self, offset: u64) -> Option<Range<u64>> {
        self.handle.next_data(offset)
    }

    fn will_need(&self, offset: u64, len: u64) {
        // The advice looks up every page of the range. The first and the last are looked at instead:
        // where both are there, what is between them mostly is, and is read in its turn if not.
        let end = offset.saturating_add(len).min(self.len());
        if end <= offset {
            return;
        }
        let page = rustix::param::page_size() as u64;
        let one = offset / page == (end - 1) / page;
        if self.resident(offset) && (one || self.resident(end - 1)) {
            return;
        }
        // Only advice: a kernel that does not take it reads later.
        if let Some(len) = NonZeroU64::new(end - offset) {
            let _ = fadvise(self.handle.file(), offset, Some(len), Advice::WillNeed);
        }
    }

    fn queue(&self, depth: usize) -> Result<Box<dyn Queue + '_>, OpenError> {
        Ok(Box::new(SyncQueue::new(self, depth)))
    }
}
