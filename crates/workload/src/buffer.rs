//! A child's transfer buffer, placed as iozone places it, on pages of a known size.
//!
//! Where a buffer is in physical memory decides how an O_DIRECT request looks to the device: a
//! record on 64 scattered pages is a request of 64 segments, the same record inside one huge page is
//! a request of one. Which of the two a program gets is an accident of the allocator and of what ran
//! before, and on a virtual disk it moved 256 KiB reads by more than half
//! (docs/decisions/0006-transfer-buffers.md). So a buffer asks for huge pages before it touches a
//! byte; what it gets is the same in every trial. [`Pages::Any`] is the exception, for a workload that
//! repeats iozone's own accident.
#![allow(
    unsafe_code,
    reason = "mmap, madvise and munmap of the buffer's own memory"
)]

use std::io;
use std::ptr::NonNull;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

/// The processor cache iozone assumes (1 MiB): its buffers are aligned to it.
pub const CACHE_SIZE: usize = 1 << 20;

/// A huge page of x86-64 and of most arm64 kernels. Elsewhere the advice is without effect.
const HUGE: usize = 2 << 20;

/// Bytes of each child's buffer in iozone.
const IOZONE_BUFFER: usize = 16 << 20;

/// Which pages of memory a buffer is on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pages {
    /// Huge pages where the kernel has them.
    #[default]
    Huge,
    /// Whatever the kernel gives a mapping of the size of iozone's: small pages, unless transparent
    /// huge pages are set to `always`.
    Any,
}

/// Bytes at a chosen alignment that never move.
///
/// iozone gives each child one buffer of 16 MiB, aligned to the assumed cache size; with a record
/// below 1 MiB child `i` uses the part at `(i mod (1 MiB / record)) * record`, so that the
/// children's records do not all compete for the same cache sets.
pub struct Buffer {
    mapping: NonNull<u8>,
    mapped: usize,
    start: usize,
    len: usize,
}

// SAFETY: the mapping belongs to this value alone; nothing else holds its address.
unsafe impl Send for Buffer {}

/// What the buffers hold: not zeros, which a compressing or thin device would not store.
pub const PATTERN: u8 = 0xa5;

impl Buffer {
    /// `len` bytes of [`PATTERN`] for `child`, whose records have `record` bytes. The address is
    /// a multiple of `align`, a power of two.
    ///
    /// # Errors
    /// The kernel has no memory for it.
    pub fn for_child(child: u32, record: usize, len: usize, align: usize) -> io::Result<Buffer> {
        Buffer::on(Pages::Huge, child, record, len, align)
    }

    /// The same, on pages of a kind.
    ///
    /// # Errors
    /// The kernel has no memory for it.
    pub fn on(
        pages: Pages,
        child: u32,
        record: usize,
        len: usize,
        align: usize,
    ) -> io::Result<Buffer> {
        let shift = iozone_offset(child, record) & !(align - 1);
        let (align, least) = match pages {
            Pages::Huge => (align.max(HUGE), HUGE),
            Pages::Any => (align.max(CACHE_SIZE), IOZONE_BUFFER),
        };
        let mapped = (shift + len).next_multiple_of(HUGE).max(least) + align;
        // SAFETY: a new private mapping at an address of the kernel's choice; nothing is replaced.
        let address = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                mapped,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )?
        };
        let Some(mapping) = NonNull::new(address.cast::<u8>()) else {
            return Err(io::ErrorKind::OutOfMemory.into());
        };
        let aligned = mapping.as_ptr().align_offset(align);
        let mut buffer = Buffer {
            mapping,
            mapped,
            start: aligned + shift,
            len,
        };
        if pages == Pages::Huge {
            // A kernel without huge pages refuses; small pages are what it would have had anyway.
            // SAFETY: the range is inside the mapping just made; the advice changes no contents.
            let _ = unsafe {
                let first = mapping.as_ptr().add(aligned);
                madvise(first.cast(), mapped - align, Advice::LinuxHugepage)
            };
        }
        // Every page of it is touched before any clock runs.
        buffer.as_mut_slice().fill(PATTERN);
        Ok(buffer)
    }

    /// Bytes of memory that such a buffer takes at most: its place and the rest of its last huge
    /// page come on top of its own.
    pub fn footprint(child: u32, record: usize, len: usize) -> usize {
        (len + iozone_offset(child, record)).next_multiple_of(HUGE)
    }

    /// The bytes.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: `start + len` lies inside the mapping, which lives as long as `self`, and
        // `&mut self` makes this the only view of it.
        unsafe { std::slice::from_raw_parts_mut(self.mapping.as_ptr().add(self.start), self.len) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own and no view of it outlives the value.
        let _ = unsafe { munmap(self.mapping.as_ptr().cast(), self.mapped) };
    }
}

/// iozone's place of a child's record inside its buffer.
fn iozone_offset(child: u32, record: usize) -> usize {
    match CACHE_SIZE / record.max(1) {
        0 | 1 => 0,
        places => child as usize % places * record,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_use_iozones_places() {
        let k = 1024;
        assert_eq!(iozone_offset(0, 256 * k), 0);
        assert_eq!(iozone_offset(3, 256 * k), 3 * 256 * k);
        assert_eq!(iozone_offset(4, 256 * k), 0);
        assert_eq!(iozone_offset(7, 1024 * k), 0);
        assert_eq!(iozone_offset(7, 16 * 1024 * k), 0);
        assert_eq!(iozone_offset(300, 4 * k), 300 % 256 * 4 * k);
    }

    proptest::proptest! {
        #[test]
        fn always_aligned_whole_and_patterned(
            child in 0_u32..1024, record in 1024_usize..200_000, depth in 1_usize..4, bits in 9_u32..14,
            huge in proptest::bool::ANY,
        ) {
            let align = 1 << bits;
            let pages = if huge { Pages::Huge } else { Pages::Any };
            let mut buffer = Buffer::on(pages, child, record, record * depth, align).unwrap();
            let slice = buffer.as_mut_slice();
            proptest::prop_assert_eq!(slice.as_ptr() as usize % align, 0);
            proptest::prop_assert_eq!(slice.len(), record * depth);
            proptest::prop_assert!(slice.iter().all(|b| *b == PATTERN));
        }
    }
}
