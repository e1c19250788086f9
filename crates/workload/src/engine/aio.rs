//! Several records in flight: Linux AIO, the interface of 2002 (`io_submit`).
#![allow(
    unsafe_code,
    reason = "the four system calls of Linux AIO take raw pointers"
)]

use std::io;
use std::os::fd::AsRawFd;

use super::{
    ABORT, Capabilities, Direction, Engine, Failure, Job, Kind, Latency, Run, finish_short,
};
use crate::buffer::Buffer;
use crate::clock::now_ns;

/// A context with as many buffers as requests in flight.
///
/// What aiod, iozone's -k and fio's libaio do, by the bare system calls: libaio itself is four
/// wrappers, and the crates around it are no longer kept. On an O_DIRECT file the requests really
/// are in flight; on a buffered one the kernel serves each inside `io_submit` (which is why aiod is
/// direct by default) and this engine is then as synchronous as [`super::Sync`].
///
/// All requests that can be made are handed over in one `io_submit`, and one `io_getevents` takes
/// whatever is complete and at least one. Reading the completion ring in user space, as fio can,
/// was left out: it saves one system call of some 100 ns beside a request of a device.
///
/// The kernel writes into the buffer while requests are in flight, so this side keeps its address
/// and makes a slice of one slot at a time, once that slot's request is complete. `io_destroy`
/// waits for its requests, and the context is dropped before the buffer.
pub struct Aio {
    context: Context,
    /// Never looked into while a request is in flight.
    _buffer: Buffer,
    /// The buffer's first byte.
    base: *mut u8,
    /// Bytes of each slot.
    record: usize,
    slots: Vec<Slot>,
    free: Vec<u16>,
    /// Filled in and not yet handed over, oldest first.
    waiting: Vec<u16>,
    /// What is handed over; the kernel copies it before `io_submit` returns.
    requests: Vec<Request>,
    pointers: Vec<*const Request>,
    events: Vec<Completion>,
}

#[derive(Clone, Copy, Default)]
struct Slot {
    record: u64,
    begin_ns: u64,
}

/// `struct iocb` of include/uapi/linux/aio_abi.h. `key` and `rw_flags`, whose order depends on
/// the byte order, are one field of zeros here.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Request {
    data: u64,
    key_and_flags: u64,
    opcode: u16,
    priority: i16,
    file: u32,
    buffer: u64,
    bytes: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    event_file: u32,
}

/// `struct io_event`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Completion {
    data: u64,
    request: u64,
    result: i64,
    result2: i64,
}

const PREAD: u16 = 0;
const PWRITE: u16 = 1;

/// An AIO context of the kernel.
struct Context(libc::c_ulong);

impl Context {
    fn new(depth: u32) -> io::Result<Context> {
        let mut id: libc::c_ulong = 0;
        // SAFETY: the pointer is to a writable context number, 0 as io_setup demands.
        let made =
            unsafe { libc::syscall(libc::SYS_io_setup, libc::c_long::from(depth), &raw mut id) };
        match made {
            0 => Ok(Context(id)),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Hands over requests; how many were taken.
    ///
    /// # Safety
    /// Each pointer is to a request whose buffer stays untouched until its completion is reaped or
    /// this context dropped.
    unsafe fn submit(&self, requests: &[*const Request]) -> io::Result<usize> {
        // SAFETY: the array has as many pointers as it is said to have; the rest is the caller's.
        let taken = unsafe {
            libc::syscall(
                libc::SYS_io_submit,
                self.0,
                requests.len() as libc::c_long,
                requests.as_ptr(),
            )
        };
        usize::try_from(taken).map_err(|_| io::Error::last_os_error())
    }

    /// Waits for at least one completion.
    fn wait(&self, events: &mut [Completion]) -> io::Result<usize> {
        // SAFETY: the pointer is to as many writable events as are said to be there; a null
        // timeout waits without end.
        let found = unsafe {
            libc::syscall(
                libc::SYS_io_getevents,
                self.0,
                1 as libc::c_long,
                events.len() as libc::c_long,
                events.as_mut_ptr(),
                std::ptr::null_mut::<libc::timespec>(),
            )
        };
        usize::try_from(found).map_err(|_| io::Error::last_os_error())
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: destroys the context made in `new`, once. It waits for requests in flight.
        unsafe { libc::syscall(libc::SYS_io_destroy, self.0) };
    }
}

impl Aio {
    /// A context for `queue_depth` requests of `record` bytes; `buffer` holds them all.
    ///
    /// # Errors
    /// `EAGAIN`: more requests than fs.aio-max-nr leaves. A buffer that is too small.
    pub fn new(queue_depth: u32, record: usize, mut buffer: Buffer) -> io::Result<Aio> {
        let depth = queue_depth.clamp(1, Kind::Aio.capabilities().max_queue_depth);
        if buffer.as_mut_slice().len() < depth as usize * record {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the buffer holds fewer records than may be in flight",
            ));
        }
        let base = buffer.as_mut_slice().as_mut_ptr();
        Ok(Aio {
            context: Context::new(depth)?,
            _buffer: buffer,
            base,
            record,
            slots: vec![Slot::default(); depth as usize],
            free: (0..depth as u16).rev().collect(),
            waiting: Vec::with_capacity(depth as usize),
            requests: vec![Request::default(); depth as usize],
            pointers: Vec::with_capacity(depth as usize),
            events: vec![Completion::default(); depth as usize],
        })
    }

    /// Requests that the kernel has and whose completions have not been reaped.
    fn in_flight(&self) -> usize {
        self.slots.len() - self.free.len() - self.waiting.len()
    }

    /// Where a slot's record begins; inside the buffer for every slot there is.
    fn place(&self, slot: u16) -> *mut u8 {
        self.base.wrapping_add(usize::from(slot) * self.record)
    }

    /// The bytes of a slot that the kernel does not have.
    fn bytes(&mut self, slot: u16, len: usize) -> &mut [u8] {
        // SAFETY: `run` refuses records larger than a slot, so the range lies inside the buffer,
        // which was initialised when it was made; the kernel has no request for this slot, and
        // other slots' bytes are not in the slice.
        unsafe { std::slice::from_raw_parts_mut(self.place(slot), len) }
    }

    /// Fills in requests while there are records and free buffers and no flag is up.
    fn fill(&mut self, job: &Job<'_>, run: &mut Run, watch: u32, timed: bool) {
        let records = job.order.records();
        while run.position < records && !self.free.is_empty() {
            if job.flags.up(watch) {
                run.stopped = true;
                return;
            }
            let Some(slot) = self.free.pop() else { return };
            let record = job.order.at(run.position);
            job.fill(record, self.bytes(slot, job.record));
            self.slots[usize::from(slot)] = Slot {
                record,
                begin_ns: if timed { now_ns() } else { 0 },
            };
            self.requests[usize::from(slot)] = Request {
                data: u64::from(slot),
                opcode: match job.direction {
                    Direction::Read => PREAD,
                    Direction::Write => PWRITE,
                },
                file: job.file.as_raw_fd() as u32,
                buffer: self.place(slot) as u64,
                bytes: job.record as u64,
                offset: (record * job.record as u64) as i64,
                ..Request::default()
            };
            self.waiting.push(slot);
            run.position += 1;
        }
    }

    /// Hands over what is waiting, as far as the kernel takes it now.
    fn submit(&mut self, job: &Job<'_>) -> Result<(), Failure> {
        while !self.waiting.is_empty() {
            self.pointers.clear();
            for &slot in &self.waiting {
                self.pointers
                    .push(&raw const self.requests[usize::from(slot)]);
            }
            // SAFETY: each request is for a slot that is neither free nor in flight; its bytes are
            // not looked at again before its completion is reaped.
            match unsafe { self.context.submit(&self.pointers) } {
                Ok(taken @ 1..) => {
                    self.waiting.drain(..taken.min(self.waiting.len()));
                }
                // No room now; there will be when something has completed.
                Ok(0) if self.in_flight() > 0 => return Ok(()),
                Ok(0) => return Err(self.refused(job, io::ErrorKind::WouldBlock.into())),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if retryable(&e) && self.in_flight() > 0 => return Ok(()),
                Err(source) => return Err(self.refused(job, source)),
            }
        }
        Ok(())
    }

    /// The kernel refused the first waiting request and looked at none of the rest.
    fn refused(&mut self, job: &Job<'_>, source: io::Error) -> Failure {
        let first = self.waiting.first().copied().unwrap_or_default();
        let record = self.slots[usize::from(first)].record;
        self.free.append(&mut self.waiting);
        Failure {
            transferred: 0,
            offset: record * job.record as u64,
            source,
        }
    }

    /// Takes in one completion.
    fn reap(
        &mut self,
        job: &Job<'_>,
        done: Completion,
        run: &mut Run,
        latency: Option<&mut Latency>,
    ) -> Result<(), Failure> {
        let slot = done.data as u16;
        let Slot { record, begin_ns } = self.slots[usize::from(slot)];
        if let Some(latency) = latency {
            latency.record(now_ns().saturating_sub(begin_ns));
        }
        let offset = record * job.record as u64;
        self.free.push(slot);
        let bytes = self.bytes(slot, job.record);
        let moved = usize::try_from(done.result)
            .map_err(|_| io::Error::from_raw_os_error(-done.result as i32));
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

    /// Waits, and takes in whatever is complete. `done` counts whole records.
    fn collect(
        &mut self,
        job: &Job<'_>,
        run: &mut Run,
        watch: u32,
        done: &mut u64,
        mut latency: Option<&mut Latency>,
    ) -> Result<(), Failure> {
        let found = match self.context.wait(&mut self.events) {
            Ok(found) => found,
            Err(e) if retryable(&e) => 0,
            Err(source) => {
                return Err(Failure {
                    transferred: 0,
                    offset: 0,
                    source,
                });
            }
        };
        let mut failure = None;
        for i in 0..found {
            let event = self.events[i];
            match self.reap(job, event, run, latency.as_deref_mut()) {
                Ok(()) => {
                    *done += 1;
                    run.counted += u64::from(!job.flags.up(watch));
                    job.done.show(*done);
                }
                Err(e) => failure = failure.or(Some(e)),
            }
            if job.is_slow_to_check() && failure.is_none() {
                // The device is not to wait until all that have come are checked.
                self.fill(job, run, watch | ABORT, latency.is_some());
                failure = self.submit(job).err();
            }
        }
        failure.map_or(Ok(()), Err)
    }
}

/// The kernel asks to try again.
fn retryable(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINTR | libc::EAGAIN))
}

impl Engine for Aio {
    fn capabilities(&self) -> Capabilities {
        Kind::Aio.capabilities()
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
            return Err(Failure {
                transferred: 0,
                offset: 0,
                source: io::Error::new(
                    io::ErrorKind::InvalidInput,
                    "the context was made for smaller records",
                ),
            });
        }
        let mut done = from;
        let mut failure: Option<Failure> = None;
        loop {
            if failure.is_none() {
                self.fill(job, &mut run, watch | ABORT, latency.is_some());
                failure = self.submit(job).err();
            } else {
                // Never handed over: as if never begun.
                self.free.append(&mut self.waiting);
            }
            if self.in_flight() == 0 {
                break;
            }
            let collected = self.collect(job, &mut run, watch, &mut done, latency.as_deref_mut());
            if let Err(e) = collected {
                failure = failure.or(Some(e));
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

    fn aio(depth: u32) -> Aio {
        let buffer = Buffer::for_child(0, RECORD, RECORD * depth as usize, 4096).unwrap();
        Aio::new(depth, RECORD, buffer).unwrap()
    }

    #[test]
    fn the_kernels_structures_have_the_kernels_sizes() {
        assert_eq!(size_of::<Request>(), 64);
        assert_eq!(std::mem::offset_of!(Request, opcode), 16);
        assert_eq!(std::mem::offset_of!(Request, offset), 40);
        assert_eq!(size_of::<Completion>(), 32);
    }

    #[test]
    fn a_request_that_the_kernel_refuses_names_its_offset_and_frees_its_slot() {
        // No AIO on a directory: io_submit itself refuses it.
        let dir = std::fs::File::open("/").unwrap();
        let (flags, done) = (Flags::default(), Counter::default());
        let job = Job {
            file: dir.as_fd(),
            direction: Direction::Read,
            record: RECORD,
            order: Order::Sequential(9),
            flags: &flags,
            done: &done,
            payload: None,
        };
        let mut aio = aio(3);
        let failure = aio.run(&job, 4, ABORT, None).unwrap_err();
        assert_eq!((failure.transferred, failure.offset), (0, 4 * 4096));
        assert_eq!((aio.in_flight(), aio.free.len()), (0, 3));
    }

    #[test]
    fn records_larger_than_a_slot_and_buffers_too_small_are_refused() {
        let file = tempfile::tempfile().unwrap();
        let (flags, done) = (Flags::default(), Counter::default());
        let job = Job {
            file: file.as_fd(),
            direction: Direction::Read,
            record: RECORD + 1,
            order: Order::Sequential(1),
            flags: &flags,
            done: &done,
            payload: None,
        };
        let failure = aio(2).run(&job, 0, ABORT, None).unwrap_err();
        assert_eq!(failure.source.kind(), io::ErrorKind::InvalidInput);
        let small = Buffer::for_child(0, RECORD, RECORD, 4096).unwrap();
        let error = Aio::new(2, RECORD, small).err().unwrap();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    }
}
