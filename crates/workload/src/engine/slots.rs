//! The slots of an engine's buffer: one record each, given to a request and taken back when it is
//! complete.
//!
//! The kernel reads and writes the buffer while requests are in flight, so this side keeps only its
//! address and makes a slice of one slot at a time, and only of a slot that the kernel does not
//! have. What a completion means for its record is decided here, too: the latency, a short
//! transfer's rest, the check of what was read.
#![allow(
    unsafe_code,
    reason = "slices of one slot beside slots that the kernel has"
)]

use std::io;

use super::{Failure, Job, Latency, Run, finish_short};
use crate::buffer::Buffer;
use crate::clock::now_ns;

/// A buffer cut into as many records as requests may be in flight.
pub(super) struct Slots {
    /// Never looked into while a request is in flight; `None`: given up.
    buffer: Option<Buffer>,
    /// The buffer's first byte.
    base: *mut u8,
    /// Bytes of each slot.
    size: usize,
    taken: Vec<SlotRequest>,
    free: Vec<u16>,
}

/// What the request in a slot is about.
#[derive(Clone, Copy, Default)]
struct SlotRequest {
    record: u64,
    begin_ns: u64,
}

/// A request's end, as the kernel reports it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Completion {
    /// The slot it was for.
    pub(super) slot: u16,
    /// Bytes moved, or the negative number of an error.
    pub(super) result: i64,
}

impl Slots {
    /// `depth` slots of `size` bytes.
    ///
    /// # Errors
    /// The buffer is too small for them.
    pub(super) fn new(depth: u32, size: usize, mut buffer: Buffer) -> io::Result<Slots> {
        if buffer.as_mut_slice().len() < depth as usize * size {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the buffer holds fewer records than may be in flight",
            ));
        }
        Ok(Slots {
            base: buffer.as_mut_slice().as_mut_ptr(),
            buffer: Some(buffer),
            size,
            taken: vec![SlotRequest::default(); depth as usize],
            free: (0..depth as u16).rev().collect(),
        })
    }

    /// Bytes of each.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// Slots that a request has.
    pub(super) fn in_use(&self) -> usize {
        self.taken.len() - self.free.len()
    }

    /// Slots that no request has.
    pub(super) fn free(&self) -> usize {
        self.free.len()
    }

    /// Where a slot begins; inside the buffer for every slot there is.
    pub(super) fn place(&self, slot: u16) -> *mut u8 {
        self.base.wrapping_add(usize::from(slot) * self.size)
    }

    /// Byte offset in the file of the record that a slot is for.
    pub(super) fn offset(&self, job: &Job<'_>, slot: u16) -> u64 {
        self.taken[usize::from(slot)].record * job.record as u64
    }

    /// A free slot for the record at `position`, filled with what is to be written, and the
    /// record's byte offset in the file.
    #[inline]
    pub(super) fn take(&mut self, job: &Job<'_>, position: u64, timed: bool) -> Option<(u16, u64)> {
        let slot = self.free.pop()?;
        let record = job.order.at(position);
        if job.payload.is_some() {
            // SAFETY: a free slot: the kernel has no request for it.
            let bytes = unsafe { self.bytes(slot, job.record) };
            job.fill(record, bytes);
        }
        self.taken[usize::from(slot)] = SlotRequest {
            record,
            begin_ns: if timed { now_ns() } else { 0 },
        };
        Some((slot, record * job.record as u64))
    }

    /// Takes back a slot whose request the kernel does not have.
    pub(super) fn give_back(&mut self, slot: u16) {
        self.free.push(slot);
    }

    /// Takes a slot back after its request: the record is whole and good, or this is its failure.
    #[inline]
    pub(super) fn settle(
        &mut self,
        job: &Job<'_>,
        done: Completion,
        run: &mut Run,
        latency: Option<&mut Latency>,
    ) -> Result<(), Failure> {
        let SlotRequest { record, begin_ns } = self.taken[usize::from(done.slot)];
        if let Some(latency) = latency {
            latency.record(now_ns().saturating_sub(begin_ns));
        }
        self.free.push(done.slot);
        let result = if done.result == job.record as i64 {
            Ok(())
        } else {
            self.mend(job, done, record, run)
        };
        if job.payload.is_none() && result.is_ok() {
            return Ok(());
        }
        // SAFETY: this slot's request is complete, so the kernel is done with its bytes.
        let bytes = unsafe { self.bytes(done.slot, job.record) };
        result
            .and_then(|()| job.check(record, bytes))
            .map_err(|source| Failure {
                transferred: 0,
                offset: record * job.record as u64,
                source,
            })
    }

    /// Finishes a record that did not come whole, if that can be done.
    #[cold]
    fn mend(
        &mut self,
        job: &Job<'_>,
        done: Completion,
        record: u64,
        run: &mut Run,
    ) -> io::Result<()> {
        let moved = usize::try_from(done.result)
            .map_err(|_| io::Error::from_raw_os_error(-done.result as i32));
        let moved = match moved {
            Ok(moved) => {
                run.short += 1;
                moved
            }
            Err(e) if retryable(&e) => 0,
            Err(e) => return Err(e),
        };
        // SAFETY: this slot's request is complete, so the kernel is done with its bytes.
        let bytes = unsafe { self.bytes(done.slot, job.record) };
        let offset = record * job.record as u64;
        finish_short(job.file, job.direction, bytes, moved, offset)
    }

    /// The first `len` bytes of a slot.
    ///
    /// # Safety
    /// The kernel has no request for this slot, and `len` is not above [`Slots::size`].
    unsafe fn bytes(&mut self, slot: u16, len: usize) -> &mut [u8] {
        // SAFETY: the range lies inside the buffer, which was initialised when it was made; nothing
        // else uses this slot, and other slots' bytes are not in the slice.
        unsafe { std::slice::from_raw_parts_mut(self.place(slot), len) }
    }

    /// Gives the buffer up: to the caller when no request has a slot, else it is leaked.
    pub(super) fn release(&mut self) -> Option<Buffer> {
        let buffer = self.buffer.take();
        if self.in_use() > 0 {
            std::mem::forget(buffer);
            return None;
        }
        buffer
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        drop(self.release());
    }
}

/// The kernel asks to try again.
pub(super) fn retryable(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINTR | libc::EAGAIN))
}
