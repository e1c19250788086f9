//! Several records in flight: `io_uring`.
#![allow(unsafe_code)] // Pushing a request hands the kernel a pointer to the buffer.

use std::io;
use std::os::fd::AsRawFd;

use io_uring::{IoUring, cqueue, opcode, squeue, types};

use super::{
    ABORT, Capabilities, Direction, Engine, Failure, Job, Kind, Latency, Run, finish_short,
};
use crate::buffer::Buffer;
use crate::clock::now_ns;

/// A ring with as many buffers as requests in flight.
///
/// The buffers are registered where the memory limit allows it, so the kernel need not map them
/// for each request. The file is not: a registered file would outlive its `close`, which iozone's
/// -c puts inside the clock. The ring is made for one submitting thread and completions that wait
/// for it (`SINGLE_ISSUER`, `DEFER_TASKRUN`, Linux 6.1), and without these on older kernels.
///
/// The kernel writes into the buffer while requests are in flight, so this side keeps its address
/// and makes a slice of one slot at a time, once that slot's request is complete. A ring's end does
/// not wait for its requests (the kernel takes it down later): should one be dropped with requests
/// in flight, after an error of the ring itself or a panic, the buffer is given up for good.
pub struct Uring {
    ring: IoUring,
    /// Never looked into while a request is in flight; after the ring, so dropped after it.
    buffer: Option<Buffer>,
    /// The buffer's first byte.
    base: *mut u8,
    /// Bytes of each slot.
    record: usize,
    fixed: bool,
    slots: Vec<Slot>,
    free: Vec<u16>,
}

#[derive(Clone, Copy, Default)]
struct Slot {
    record: u64,
    begin_ns: u64,
}

impl Uring {
    /// A ring of `queue_depth` requests of `record` bytes; `buffer` holds them all.
    pub fn new(queue_depth: u32, record: usize, mut buffer: Buffer) -> io::Result<Uring> {
        let depth = queue_depth.clamp(1, Kind::IoUring.capabilities().max_queue_depth);
        let ring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .build(depth)
            .or_else(|e| match e.raw_os_error() {
                Some(libc::EINVAL) => IoUring::new(depth),
                _ => Err(e),
            })?;
        let base = buffer.as_mut_slice().as_mut_ptr();
        if buffer.as_mut_slice().len() < depth as usize * record {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the buffer holds fewer records than may be in flight",
            ));
        }
        let vectors: Vec<libc::iovec> = (0..depth as usize)
            .map(|slot| libc::iovec {
                // In range: the buffer holds `depth` records.
                iov_base: base.wrapping_add(slot * record).cast(),
                iov_len: record,
            })
            .collect();
        // SAFETY: the vectors lie inside `buffer`, which never moves its bytes and is freed after
        // the ring's descriptor is closed, and not at all when a request might still use it
        // (`release`). The kernel pins the registered pages until it has taken the ring down.
        let fixed = unsafe { ring.submitter().register_buffers(&vectors) }.is_ok();
        Ok(Uring {
            ring,
            buffer: Some(buffer),
            base,
            record,
            fixed,
            slots: vec![Slot::default(); depth as usize],
            free: (0..depth as u16).rev().collect(),
        })
    }

    /// Whether the kernel took the buffers as registered ones.
    pub fn buffers_registered(&self) -> bool {
        self.fixed
    }

    /// Requests that the kernel may have and whose completions have not been reaped.
    fn in_flight(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Gives the buffer up: to the caller when nothing is in flight, else to nobody.
    fn release(&mut self) -> Option<Buffer> {
        let buffer = self.buffer.take();
        if self.in_flight() > 0 {
            std::mem::forget(buffer);
            return None;
        }
        buffer
    }

    /// Where a slot's record begins; inside the buffer for every slot there is.
    fn place(&self, slot: u16) -> *mut u8 {
        self.base.wrapping_add(usize::from(slot) * self.record)
    }

    /// The request for one record through one slot's buffer.
    fn entry(&self, job: &Job<'_>, slot: u16, offset: u64) -> squeue::Entry {
        let fd = types::Fd(job.file.as_raw_fd());
        let (at, len) = (self.place(slot), job.record as u32);
        let entry = match (job.direction, self.fixed) {
            (Direction::Read, true) => opcode::ReadFixed::new(fd, at, len, slot)
                .offset(offset)
                .build(),
            (Direction::Read, false) => opcode::Read::new(fd, at, len).offset(offset).build(),
            (Direction::Write, true) => opcode::WriteFixed::new(fd, at, len, slot)
                .offset(offset)
                .build(),
            (Direction::Write, false) => opcode::Write::new(fd, at, len).offset(offset).build(),
        };
        entry.user_data(u64::from(slot))
    }

    /// Puts requests on the queue while there are records and free buffers and no flag is up.
    fn fill(&mut self, job: &Job<'_>, run: &mut Run, watch: u32, timed: bool) {
        let records = job.order.records();
        while run.position < records && !self.free.is_empty() {
            if job.flags.up(watch) {
                run.stopped = true;
                return;
            }
            let Some(slot) = self.free.pop() else { return };
            let record = job.order.at(run.position);
            if job.payload.is_some() {
                // SAFETY: a free slot's bytes: the kernel has no request for them, they were
                // initialised when the buffer was made, and no other slot's are in the slice.
                let bytes = unsafe { std::slice::from_raw_parts_mut(self.place(slot), job.record) };
                job.fill(record, bytes);
            }
            let entry = self.entry(job, slot, record * job.record as u64);
            self.slots[usize::from(slot)] = Slot {
                record,
                begin_ns: if timed { now_ns() } else { 0 },
            };
            // SAFETY: the slot's bytes are inside the buffer (`run` refuses larger records), and
            // nobody touches them until its completion is reaped. If it never is, because the ring
            // failed or something panicked, the slot stays out of `free`, and `release` leaks the
            // buffer. The file's descriptor is open now; the kernel holds the file once submitted.
            let pushed = unsafe { self.ring.submission().push(&entry) };
            if pushed.is_err() {
                // The queue has an entry for each slot, so it is never full here; if it were,
                // this record would wait for its turn, or `run` fail if there is none to wait for.
                self.free.push(slot);
                return;
            }
            run.position += 1;
        }
    }

    /// Hands the queue over and waits for so many completions.
    fn submit(&self, wait: usize) -> io::Result<()> {
        match self.ring.submit_and_wait(wait) {
            // EBUSY: completions first.
            Err(e) if !retryable(&e) && e.raw_os_error() != Some(libc::EBUSY) => Err(e),
            _ => Ok(()),
        }
    }

    /// Takes in one completion.
    fn reap(
        &mut self,
        job: &Job<'_>,
        done: &cqueue::Entry,
        run: &mut Run,
        latency: Option<&mut Latency>,
    ) -> Result<(), Failure> {
        let slot = done.user_data() as u16;
        let Slot { record, begin_ns } = self.slots[usize::from(slot)];
        if let Some(latency) = latency {
            latency.record(now_ns().saturating_sub(begin_ns));
        }
        let offset = record * job.record as u64;
        // SAFETY: this slot's request is complete, so the kernel is done with these bytes, and
        // they were initialised when the buffer was made. Other slots' bytes are not in the slice.
        let bytes = unsafe { std::slice::from_raw_parts_mut(self.place(slot), job.record) };
        self.free.push(slot);
        let moved = usize::try_from(done.result())
            .map_err(|_| io::Error::from_raw_os_error(-done.result()));
        match moved {
            Ok(n) if n == job.record => Ok(()),
            Ok(n) => {
                run.short += 1;
                finish_short(job.file, job.direction, bytes, n, offset)
            }
            Err(e) if retryable(&e) => finish_short(job.file, job.direction, bytes, 0, offset),
            Err(e) => Err(e),
        }
        .and_then(|()| job.check(record, bytes))
        .map_err(|source| Failure {
            transferred: 0,
            offset,
            source,
        })
    }
}

impl Drop for Uring {
    fn drop(&mut self) {
        // What nothing uses goes back to its field, to be freed after the ring.
        self.buffer = self.release();
    }
}

/// A failure of the ring, not of a record.
fn broken(source: io::Error) -> Failure {
    Failure {
        transferred: 0,
        offset: 0,
        source,
    }
}

/// The kernel asks to try again.
fn retryable(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINTR | libc::EAGAIN))
}

impl Engine for Uring {
    fn capabilities(&self) -> Capabilities {
        Kind::IoUring.capabilities()
    }

    fn run(
        &mut self,
        job: &Job<'_>,
        from: u64,
        watch: u32,
        mut latency: Option<&mut Latency>,
    ) -> Result<Run, Failure> {
        let mut run = Run {
            position: from,
            ..Run::default()
        };
        if job.record > self.record {
            return Err(broken(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the ring was made for smaller records",
            )));
        }
        let mut done = from;
        let mut failure: Option<Failure> = None;
        loop {
            if failure.is_none() {
                self.fill(job, &mut run, watch | ABORT, latency.is_some());
            }
            if self.in_flight() == 0 {
                if failure.is_none() && !run.stopped && run.position < job.order.records() {
                    let full = "the submission queue is full although nothing is in flight";
                    failure = Some(broken(io::Error::other(full)));
                }
                break;
            }
            if let Err(source) = self.submit(1) {
                // Only a broken ring gets here; its requests cannot be waited for any more, so
                // the buffer is not freed (`release`).
                return Err(Failure {
                    transferred: (done - from) * job.record as u64,
                    ..broken(source)
                });
            }
            loop {
                let Some(completion) = self.ring.completion().next() else {
                    break;
                };
                match self.reap(job, &completion, &mut run, latency.as_deref_mut()) {
                    Ok(()) => {
                        done += 1;
                        run.counted += u64::from(!job.flags.up(watch));
                        job.done.show(done);
                    }
                    Err(e) => failure = failure.or(Some(e)),
                }
                if job.is_slow_to_check() && failure.is_none() {
                    // The device is not to wait until all that have come are checked.
                    self.fill(job, &mut run, watch | ABORT, latency.is_some());
                    if let Err(source) = self.submit(0) {
                        return Err(Failure {
                            transferred: (done - from) * job.record as u64,
                            ..broken(source)
                        });
                    }
                }
            }
        }
        match failure {
            None => Ok(run),
            Some(failure) => Err(Failure {
                transferred: (done - from) * job.record as u64,
                ..failure
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;
    use crate::engine::{Counter, Flags, Order};

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
            uring.ring.submit().unwrap();
            assert_eq!(uring.in_flight(), 3);
            assert!(uring.release().is_none());
        });
        assert!(uring(3).release().is_some());
    }

    #[test]
    fn a_full_queue_with_nothing_in_flight_is_a_failure_not_an_end() {
        with_job(|job, _writer| {
            let mut uring = uring(1);
            let nop = opcode::Nop::new().build();
            // SAFETY: a request that does nothing has no buffer.
            unsafe { uring.ring.submission().push(&nop) }.unwrap();
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
