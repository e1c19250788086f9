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
pub struct Uring {
    ring: IoUring,
    buffer: Buffer,
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
        // SAFETY: the vectors lie inside `buffer`, which lives as long as the ring (both are
        // fields of the engine, the ring is dropped first) and never moves its bytes.
        let fixed = unsafe { ring.submitter().register_buffers(&vectors) }.is_ok();
        Ok(Uring {
            ring,
            buffer,
            fixed,
            slots: vec![Slot::default(); depth as usize],
            free: (0..depth as u16).rev().collect(),
        })
    }

    /// Whether the kernel took the buffers as registered ones.
    pub fn buffers_registered(&self) -> bool {
        self.fixed
    }

    /// The request for one record through one slot's buffer.
    fn entry(&mut self, job: &Job<'_>, slot: u16, offset: u64) -> squeue::Entry {
        let fd = types::Fd(job.file.as_raw_fd());
        let start = usize::from(slot) * job.record;
        let bytes = &mut self.buffer.as_mut_slice()[start..start + job.record];
        let (at, len) = (bytes.as_mut_ptr(), job.record as u32);
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
            let entry = self.entry(job, slot, record * job.record as u64);
            self.slots[usize::from(slot)] = Slot {
                record,
                begin_ns: if timed { now_ns() } else { 0 },
            };
            // SAFETY: the request's buffer belongs to this slot alone until its completion is
            // reaped, and `run` reaps every completion before it returns.
            let pushed = unsafe { self.ring.submission().push(&entry) };
            if pushed.is_err() {
                // The queue has an entry for each slot, so it is never full here; if it were,
                // this record would simply wait for its turn.
                self.free.push(slot);
                return;
            }
            run.position += 1;
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
        self.free.push(slot);
        let Slot { record, begin_ns } = self.slots[usize::from(slot)];
        if let Some(latency) = latency {
            latency.record(now_ns().saturating_sub(begin_ns));
        }
        let offset = record * job.record as u64;
        let start = usize::from(slot) * job.record;
        let moved = usize::try_from(done.result())
            .map_err(|_| io::Error::from_raw_os_error(-done.result()));
        match moved {
            Ok(n) if n == job.record => Ok(()),
            Ok(n) => {
                run.short += 1;
                let bytes = &mut self.buffer.as_mut_slice()[start..start + job.record];
                finish_short(job.file, job.direction, bytes, n, offset)
            }
            Err(e) if retryable(&e) => {
                let bytes = &mut self.buffer.as_mut_slice()[start..start + job.record];
                finish_short(job.file, job.direction, bytes, 0, offset)
            }
            Err(e) => Err(e),
        }
        .map_err(|source| Failure {
            transferred: 0,
            offset,
            source,
        })
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
        let mut done = from;
        let mut failure: Option<Failure> = None;
        loop {
            if failure.is_none() {
                self.fill(job, &mut run, watch | ABORT, latency.is_some());
            }
            if self.free.len() == self.slots.len() {
                break;
            }
            if let Err(source) = self.ring.submit_and_wait(1)
                && !retryable(&source)
                && source.raw_os_error() != Some(libc::EBUSY)
            {
                // Only a broken ring gets here; its requests cannot be waited for any more.
                return Err(Failure {
                    transferred: (done - from) * job.record as u64,
                    offset: 0,
                    source,
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
