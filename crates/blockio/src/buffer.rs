//! Memory for reads: page-aligned, never moved, cut from one mapping of huge pages.
//!
//! A direct read of 1 MiB into 256 scattered pages is a request of 256 segments; into a huge page it
//! is a request of one, and on virtual disks that difference is measurable
//! (docs/decisions/0006-transfer-buffers.md). So the buffers of a sweep are cut from one mapping
//! that asks for huge pages before anybody touches it.
#![allow(
    unsafe_code,
    reason = "mmap, madvise and munmap of the buffers' own memory, and slices of it"
)]

use std::io;
use std::ptr::NonNull;
use std::sync::Arc;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use rustix::param::page_size;

/// A huge page of x86-64 and of most arm64 kernels. Elsewhere the advice is without effect.
const HUGE: usize = 2 << 20;

/// A private anonymous mapping.
struct Mapping {
    base: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping is plain memory without an owner thread; who may look at which part of it is
// decided by `Buffer`, each of which owns its part alone.
unsafe impl Send for Mapping {}
// SAFETY: as above; a shared `Mapping` gives out nothing but its address.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// `bytes` of zeros, a multiple of the page size; from a huge page on it is aligned to one.
    fn new(bytes: usize) -> io::Result<Mapping> {
        let align = if bytes >= HUGE { HUGE } else { page_size() };
        let room = bytes
            .checked_add(align - page_size())
            .ok_or(io::ErrorKind::OutOfMemory)?;
        // SAFETY: a new private mapping at an address of the kernel's choice; nothing is replaced.
        let address = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                room,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )?
        }
        .cast::<u8>();
        let before = address.align_offset(align);
        let after = room - before - bytes;
        let base = address.wrapping_add(before);
        // SAFETY: both ranges are the ends of the mapping just made, outside of what is kept; all
        // four bounds are multiples of the page size.
        unsafe {
            if before > 0 {
                munmap(address.cast(), before)?;
            }
            if after > 0 {
                munmap(base.wrapping_add(bytes).cast(), after)?;
            }
            if bytes >= HUGE {
                // A kernel without huge pages refuses; small pages are what it would have had.
                let _ = madvise(base.cast(), bytes, Advice::LinuxHugepage);
            }
        }
        let base = NonNull::new(base).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Mapping { base, bytes })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own, and every buffer of it holds an `Arc` of it.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}

/// Bytes at a page-aligned address that never move, zeros at first.
///
/// It has a capacity and, within it, a window: the bytes that the last read was asked for. A
/// direct read that was rounded out to sectors keeps the rest outside the window.
pub struct Buffer {
    mapping: Option<Arc<Mapping>>,
    /// This buffer's part of the mapping: `at .. at + capacity`, in bytes. No other buffer's.
    at: usize,
    capacity: usize,
    start: usize,
    len: usize,
}

impl std::fmt::Debug for Buffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Buffer({} of {} bytes)", self.len, self.capacity)
    }
}

impl Default for Buffer {
    fn default() -> Self {
        Buffer::empty()
    }
}

impl Buffer {
    /// One without memory. A queue gives it as much as its request needs.
    pub const fn empty() -> Buffer {
        Buffer {
            mapping: None,
            at: 0,
            capacity: 0,
            start: 0,
            len: 0,
        }
    }

    /// Room for `capacity` bytes at a multiple of `align` (a power of two up to a huge page) and of
    /// the page size.
    ///
    /// # Errors
    /// The kernel has no memory for it.
    pub fn new(capacity: usize, align: usize) -> io::Result<Buffer> {
        Ok(Buffer::pool(1, capacity, align)?.pop().unwrap_or_default())
    }

    /// `count` of them from one mapping. All of it is freed with the last of them.
    ///
    /// # Errors
    /// The kernel has no memory for it.
    pub fn pool(count: usize, capacity: usize, align: usize) -> io::Result<Vec<Buffer>> {
        let too_much = || io::Error::from(io::ErrorKind::OutOfMemory);
        let grain = align.clamp(page_size(), HUGE.max(page_size()));
        let capacity = capacity
            .max(1)
            .checked_next_multiple_of(grain.next_power_of_two())
            .ok_or_else(too_much)?;
        let bytes = capacity.checked_mul(count).ok_or_else(too_much)?;
        if bytes == 0 || bytes > isize::MAX as usize - HUGE {
            return if count == 0 {
                Ok(Vec::new())
            } else {
                Err(too_much())
            };
        }
        // A mapping below a huge page is aligned to a page only; stricter alignment gets one.
        let mapping = Arc::new(Mapping::new(if grain > page_size() {
            bytes.max(HUGE)
        } else {
            bytes
        })?);
        Ok((0..count)
            .map(|i| Buffer {
                mapping: Some(Arc::clone(&mapping)),
                at: i * capacity,
                capacity,
                start: 0,
                len: 0,
            })
            .collect())
    }

    /// Bytes it can hold.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Where it begins; for the kernel, which writes there while a request is in flight.
    pub(crate) fn base(&self) -> *mut u8 {
        match &self.mapping {
            Some(mapping) => mapping.base.as_ptr().wrapping_add(self.at),
            None => NonNull::dangling().as_ptr(),
        }
    }

    /// Sets the window; held to the capacity.
    pub(crate) fn set_window(&mut self, start: usize, len: usize) {
        self.start = start.min(self.capacity);
        self.len = len.min(self.capacity - self.start);
    }

    /// The bytes of the last read.
    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: the window is inside this buffer's own part of the mapping (`set_window`), which
        // lives as long as `self.mapping` and was zeros at first; without a mapping it is empty and
        // the pointer dangling but aligned. `&self` keeps writers out; the kernel has a request for
        // it only while a queue owns the buffer and nothing calls this.
        unsafe { std::slice::from_raw_parts(self.base().wrapping_add(self.start), self.len) }
    }

    /// The same, to write.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as in `as_slice`, and `&mut self` makes this the only view of it.
        unsafe { std::slice::from_raw_parts_mut(self.base().wrapping_add(self.start), self.len) }
    }

    /// All its bytes, to be read into by [`crate::BlockSource::read_at`]: aligned, so that a direct read
    /// needs no copy and a buffered one copies fastest.
    pub fn whole(&mut self) -> &mut [u8] {
        self.set_window(0, self.capacity);
        self.as_mut_slice()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig { cases: 24, ..Default::default() })]

        #[test]
        fn buffers_of_a_pool_are_aligned_zero_and_apart(
            count in 1_usize..4, capacity in 1_usize..3_000_000, bits in 0_u32..17
        ) {
            let align = 1_usize << bits;
            let mut pool = Buffer::pool(count, capacity, align).unwrap();
            proptest::prop_assert_eq!(pool.len(), count);
            for (i, buffer) in pool.iter_mut().enumerate() {
                proptest::prop_assert_eq!(buffer.base() as usize % align, 0);
                proptest::prop_assert_eq!(buffer.base() as usize % page_size(), 0);
                let bytes = buffer.whole();
                proptest::prop_assert!(bytes.len() >= capacity);
                proptest::prop_assert!(bytes.iter().all(|b| *b == 0));
                bytes.fill(i as u8 + 1);
            }
            // The others' bytes are the others' still.
            for (i, buffer) in pool.iter_mut().enumerate() {
                proptest::prop_assert!(buffer.whole().iter().all(|b| *b == i as u8 + 1));
            }
        }
    }

    #[test]
    fn a_buffer_outlives_its_pool_and_an_empty_one_has_nothing() {
        let mut pool = Buffer::pool(3, 10, 1).unwrap();
        let mut kept = pool.remove(1);
        drop(pool);
        kept.whole().fill(7);
        assert!(kept.as_slice().iter().all(|b| *b == 7));
        assert!(Buffer::empty().as_slice().is_empty());
        assert!(Buffer::empty().as_mut_slice().is_empty());
        assert!(Buffer::pool(0, 10, 1).unwrap().is_empty());
    }

    #[test]
    fn too_much_memory_is_an_error() {
        assert!(Buffer::new(usize::MAX, 1).is_err());
        assert!(Buffer::new(isize::MAX as usize, 4096).is_err());
        assert!(Buffer::pool(usize::MAX, 4096, 1).is_err());
    }

    #[test]
    fn the_window_is_held_to_the_capacity() {
        let mut buffer = Buffer::new(4096, 1).unwrap();
        buffer.set_window(4000, 1000);
        assert_eq!(buffer.as_slice().len(), buffer.capacity() - 4000);
        buffer.set_window(usize::MAX, usize::MAX);
        assert!(buffer.as_slice().is_empty());
    }
}
