//! Several records in flight: `io_uring`.
#![allow(unsafe_code)] // Pushing a request hands the kernel a pointer to the buffer.

use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

use io_uring::{IoUring, opcode, types};

use super::queue::{Queue, Queued, Refusal};
use super::slots::{Completion, Slots, retryable};
use super::{Direction, Job, Kind};
use crate::buffer::Buffer;

/// A ring with as many slots as requests in flight.
pub(super) type Uring = Queued<Ring>;

/// The ring.
///
/// The buffers are registered where the memory limit allows it, so the kernel need not map them
/// for each request. The file is not: a registered file would outlive its `close`, which iozone's
/// -c puts inside the clock. The ring is made for one submitting thread and completions that wait
/// for it (`SINGLE_ISSUER`, `DEFER_TASKRUN`, Linux 6.1), and without these on older kernels.
///
/// A ring's end does not wait for its requests (the kernel takes it down later): should one be
/// dropped with requests in flight, the slots' buffer is given up for good.
pub(super) struct Ring {
    ring: IoUring,
    /// The slots are registered as buffers.
    fixed: bool,
}

impl Uring {
    /// A ring of `queue_depth` requests of `record` bytes; `buffer` holds them all.
    pub(super) fn new(queue_depth: u32, record: usize, buffer: Buffer) -> io::Result<Uring> {
        let depth = queue_depth.clamp(1, Kind::IoUring.capabilities().max_queue_depth);
        let slots = Slots::new(depth, record, buffer)?;
        let ring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .build(depth)
            .or_else(|e| match e.raw_os_error() {
                Some(libc::EINVAL) => IoUring::new(depth),
                _ => Err(e),
            })?;
        let vectors: Vec<libc::iovec> = (0..depth as u16)
            .map(|slot| libc::iovec {
                iov_base: slots.place(slot).cast(),
                iov_len: record,
            })
            .collect();
        // SAFETY: the vectors lie inside the buffer, which never moves its bytes and is freed after
        // the ring's descriptor is closed, and not at all when a request might still use it. The
        // kernel pins the registered pages until it has taken the ring down.
        let fixed = unsafe { ring.submitter().register_buffers(&vectors) }.is_ok();
        let queue = Ring { ring, fixed };
        Ok(Queued { queue, slots })
    }
}

impl Queue for Ring {
    const KIND: Kind = Kind::IoUring;
    const THING: &'static str = "ring";

    #[inline]
    unsafe fn push(&mut self, job: &Job<'_>, slot: u16, place: *mut u8, offset: u64) -> bool {
        let fd = types::Fd(job.file.as_raw_fd());
        let len = job.record as u32;
        let entry = match (job.direction, self.fixed) {
            (Direction::Read, true) => opcode::ReadFixed::new(fd, place, len, slot)
                .offset(offset)
                .build(),
            (Direction::Read, false) => opcode::Read::new(fd, place, len).offset(offset).build(),
            (Direction::Write, true) => opcode::WriteFixed::new(fd, place, len, slot)
                .offset(offset)
                .build(),
            (Direction::Write, false) => opcode::Write::new(fd, place, len).offset(offset).build(),
        };
        let entry = entry.user_data(u64::from(slot));
        // SAFETY: the bytes are left alone until the request is complete, as `push` demands. The
        // queue has an entry for each slot, so there is always room in practice.
        unsafe { self.ring.submission().push(&entry) }.is_ok()
    }

    fn push_fsync(&mut self, job: &Job<'_>, slot: u16) -> bool {
        let fd = types::Fd(job.file.as_raw_fd());
        let entry = opcode::Fsync::new(fd).build().user_data(u64::from(slot));
        // SAFETY: an fsync has no buffer.
        unsafe { self.ring.submission().push(&entry) }.is_ok()
    }

    fn submit(&mut self, wait: usize) -> Result<(), Refusal> {
        settled(self.ring.submit_and_wait(wait))
    }

    fn submit_for(&mut self, nanoseconds: u64) -> Result<(), Refusal> {
        let time = Duration::from_nanos(nanoseconds);
        let timespec = types::Timespec::from(time);
        let arguments = types::SubmitArgs::new().timespec(&timespec);
        settled(self.ring.submitter().submit_with_args(1, &arguments))
    }

    #[inline]
    fn completion(&mut self) -> Option<Completion> {
        let done = self.ring.completion().next()?;
        Some(Completion {
            slot: done.user_data() as u16,
            result: i64::from(done.result()),
        })
    }

    fn withdraw(&mut self) -> Option<u16> {
        // What is in the ring is the kernel's.
        None
    }
}

/// What a submission's result means.
fn settled(result: io::Result<usize>) -> Result<(), Refusal> {
    match result {
        // EBUSY: completions first. ETIME: none has come in the time.
        Err(e)
            if !retryable(&e) && !matches!(e.raw_os_error(), Some(libc::EBUSY | libc::ETIME)) =>
        {
            Err(Refusal::Broken(e))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;
    use crate::engine::{ABORT, Counter, Engine, Flags, Order, Run};

    const RECORD: usize = 4096;

    fn uring(depth: u32) -> Uring {
        let buffer = Buffer::for_child(0, RECORD, RECORD * depth as usize, 4096).unwrap();
        Uring::new(depth, RECORD, buffer).unwrap()
    }

    /// Runs `check` with a job of 5 reads from a pipe.
    fn with_job(check: impl FnOnce(&Job<'_>, std::io::PipeWriter)) {
        let (reader, writer) = std::io::pipe().unwrap();
        let (flags, done) = (Flags::default(), Counter::default());
        let job = Job {
            file: reader.as_fd(),
            direction: Direction::Read,
            record: RECORD,
            order: Order::Sequential(5),
            flags: &flags,
            done: &done,
            payload: None,
        };
        check(&job, writer);
    }

    #[test]
    fn a_buffer_with_requests_in_flight_is_never_freed() {
        with_job(|job, _writer| {
            let mut uring = uring(3);
            // As after an error of the ring: the pipe is empty, so the reads stay in flight.
            uring.fill(job, &mut Run::default(), ABORT, false);
            uring.queue.ring.submit().unwrap();
            assert_eq!(uring.slots.in_use(), 3);
            assert!(uring.slots.release().is_none());
        });
        assert!(uring(3).slots.release().is_some());
    }

    #[test]
    fn a_full_queue_with_nothing_in_flight_is_a_failure_not_an_end() {
        with_job(|job, _writer| {
            let mut uring = uring(1);
            let nop = opcode::Nop::new().build();
            // SAFETY: a request that does nothing has no buffer.
            unsafe { uring.queue.ring.submission().push(&nop) }.unwrap();
            let failure = uring.run(job, 0, ABORT, None).unwrap_err();
            assert!(
                failure.source.to_string().contains("queue is full"),
                "{failure:?}"
            );
        });
    }

    #[test]
    fn records_larger_than_a_slot_are_refused() {
        with_job(|job, _writer| {
            let job = Job {
                record: RECORD + 1,
                ..*job
            };
            let failure = uring(2).run(&job, 0, ABORT, None).unwrap_err();
            assert_eq!(failure.source.kind(), io::ErrorKind::InvalidInput);
        });
    }
}
