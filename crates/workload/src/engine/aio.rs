//! Several records in flight: Linux AIO, the interface of 2002 (`io_submit`).
#![allow(
    unsafe_code,
    reason = "the four system calls of Linux AIO take raw pointers"
)]

use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

use super::queue::{Queue, Queued, Refusal};
use super::slots::{Completion, Slots, retryable};
use super::{Direction, Job, Kind};
use crate::buffer::Buffer;

/// What aiod, iozone's -k and fio's libaio do, by the bare system calls: libaio itself is four
/// wrappers, and the crates around it are no longer kept. On an O_DIRECT file the requests really
/// are in flight; on a buffered one the kernel serves each inside `io_submit` (which is why aiod is
/// direct by default) and this engine is then as synchronous as [`super::Sync`].
pub(super) type Aio = Queued<Context>;

/// A context, and what is on its way to it and from it.
///
/// All requests that can be made are handed over in one `io_submit`, and one `io_getevents` takes
/// all that are complete and at least one. Reading the completion ring in user space, as fio can,
/// was left out: it saves one system call of some 100 ns beside a request of a device.
///
/// `io_destroy` waits for its requests, and the context is dropped before the buffer.
pub(super) struct Context {
    id: ContextId,
    /// Filled in and not yet handed over, oldest first.
    waiting: Vec<u16>,
    /// Submitted, and not yet reported as complete.
    in_flight: usize,
    /// What is handed over; the kernel copies it before `io_submit` returns.
    requests: Vec<Request>,
    pointers: Vec<*const Request>,
    events: Vec<Event>,
    /// Those of `events` that have arrived and are not yet reported.
    come: std::ops::Range<usize>,
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
struct Event {
    data: u64,
    request: u64,
    result: i64,
    result2: i64,
}

const PREAD: u16 = 0;
const PWRITE: u16 = 1;
const FSYNC: u16 = 2;

/// An AIO context of the kernel.
struct ContextId(libc::c_ulong);

impl ContextId {
    fn new(depth: u32) -> io::Result<ContextId> {
        let mut id: libc::c_ulong = 0;
        // SAFETY: the pointer is to a writable context number, 0 as io_setup demands.
        let made =
            unsafe { libc::syscall(libc::SYS_io_setup, libc::c_long::from(depth), &raw mut id) };
        match made {
            0 => Ok(ContextId(id)),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Hands over requests; how many were taken.
    ///
    /// # Safety
    /// Each pointer is to a request whose buffer stays untouched until its completion is reaped or
    /// this context dropped.
    unsafe fn submit(&self, requests: &[*const Request]) -> io::Result<usize> {
        // SAFETY: the array has as many pointers as its length says; the rest is the caller's.
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

    /// Waits for at least one completion, for this time at most; `None`: without end.
    fn wait(&self, events: &mut [Event], most: Option<Duration>) -> io::Result<usize> {
        let mut time = most.map(|most| libc::timespec {
            tv_sec: most.as_secs() as libc::time_t,
            tv_nsec: libc::c_long::from(most.subsec_nanos()),
        });
        let time = time
            .as_mut()
            .map_or(std::ptr::null_mut(), std::ptr::from_mut);
        // SAFETY: the pointer is to as many writable events as its length says; the time is null or
        // a timespec that outlives the call.
        let found = unsafe {
            libc::syscall(
                libc::SYS_io_getevents,
                self.0,
                1 as libc::c_long,
                events.len() as libc::c_long,
                events.as_mut_ptr(),
                time,
            )
        };
        usize::try_from(found).map_err(|_| io::Error::last_os_error())
    }
}

impl Drop for ContextId {
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
    pub(super) fn new(queue_depth: u32, record: usize, buffer: Buffer) -> io::Result<Aio> {
        let depth = queue_depth.clamp(1, Kind::Aio.capabilities().max_queue_depth);
        let slots = Slots::new(depth, record, buffer)?;
        let requests = depth as usize;
        let queue = Context {
            id: ContextId::new(depth)?,
            waiting: Vec::with_capacity(requests),
            in_flight: 0,
            requests: vec![Request::default(); requests],
            pointers: Vec::with_capacity(requests),
            events: vec![Event::default(); requests],
            come: 0..0,
        };
        Ok(Queued { queue, slots })
    }
}

impl Context {
    /// Hands over what is waiting, as far as the kernel takes it now.
    fn hand_over(&mut self) -> Result<(), Refusal> {
        while let Some(&first) = self.waiting.first() {
            self.pointers.clear();
            for &slot in &self.waiting {
                self.pointers
                    .push(&raw const self.requests[usize::from(slot)]);
            }
            // SAFETY: each request is for bytes that stay untouched until its completion is reported
            // (`push`), and those are of slots that are not in flight.
            match unsafe { self.id.submit(&self.pointers) } {
                Ok(taken @ 1..) => {
                    let taken = taken.min(self.waiting.len());
                    self.waiting.drain(..taken);
                    self.in_flight += taken;
                }
                // No room now; there will be when something has completed.
                Ok(0) if self.in_flight > 0 => return Ok(()),
                Ok(0) => return Err(Refusal::Request(first, io::ErrorKind::WouldBlock.into())),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if retryable(&e) && self.in_flight > 0 => return Ok(()),
                Err(source) => return Err(Refusal::Request(first, source)),
            }
        }
        Ok(())
    }
}

impl Context {
    /// Takes what has completed, and waits for at least one for this time.
    fn reap(&mut self, most: Option<Duration>) -> Result<(), Refusal> {
        if self.in_flight == 0 {
            return Ok(());
        }
        self.come = match self.id.wait(&mut self.events, most) {
            Ok(found) => 0..found,
            Err(e) if retryable(&e) => 0..0,
            Err(source) => return Err(Refusal::Broken(source)),
        };
        Ok(())
    }
}

impl Queue for Context {
    const KIND: Kind = Kind::Aio;
    const THING: &'static str = "context";

    #[inline]
    unsafe fn push(&mut self, job: &Job<'_>, slot: u16, place: *mut u8, offset: u64) -> bool {
        self.requests[usize::from(slot)] = Request {
            data: u64::from(slot),
            opcode: match job.direction {
                Direction::Read => PREAD,
                Direction::Write => PWRITE,
            },
            file: job.file.as_raw_fd() as u32,
            buffer: place as u64,
            bytes: job.record as u64,
            offset: offset as i64,
            ..Request::default()
        };
        self.waiting.push(slot);
        true
    }

    fn push_fsync(&mut self, job: &Job<'_>, slot: u16) -> bool {
        self.requests[usize::from(slot)] = Request {
            data: u64::from(slot),
            opcode: FSYNC,
            file: job.file.as_raw_fd() as u32,
            ..Request::default()
        };
        self.waiting.push(slot);
        true
    }

    fn submit(&mut self, wait: usize) -> Result<(), Refusal> {
        self.hand_over()?;
        if wait > 0 {
            self.reap(None)?;
        }
        Ok(())
    }

    fn submit_for(&mut self, nanoseconds: u64) -> Result<(), Refusal> {
        self.hand_over()?;
        self.reap(Some(Duration::from_nanos(nanoseconds)))
    }

    #[inline]
    fn completion(&mut self) -> Option<Completion> {
        let event = self.events.get(self.come.next()?)?;
        self.in_flight -= 1;
        Some(Completion {
            slot: event.data as u16,
            result: event.result,
        })
    }

    fn withdraw(&mut self) -> Option<u16> {
        self.waiting.pop()
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;
    use crate::engine::{ABORT, Counter, Engine, Flags, Order};

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
        assert_eq!(size_of::<Event>(), 32);
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
        assert_eq!((aio.queue.in_flight, aio.slots.free()), (0, 3));
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
