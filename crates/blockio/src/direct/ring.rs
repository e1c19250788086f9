//! Several reads in flight: `io_uring`.
#![allow(
    unsafe_code,
    reason = "pushing a request hands the kernel a pointer to its buffer"
)]

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use io_uring::{IoUring, opcode, types};

use super::{Core, Direct};
use crate::error::Fault;
use crate::queue::{Completion, Queue, Request};

/// Most entries of a ring that is asked for; the kernel's own limit is 32,768.
const MOST: usize = 4096;

/// From this many bytes on a request goes to the device at once. Smaller ones are collected until
/// a caller waits: a system call for each would cost as much as the request.
const LARGE: usize = 128 << 10;

/// A ring for one thread, as deep as asked.
///
/// A request in flight is kept in its slot together with its buffer, so the bytes cannot be accessed
/// while the kernel writes them. Dropping waits for all of them; should the ring itself fail, their
/// buffers are leaked, because it is unknown when the kernel is done with them.
///
/// Buffers are not registered with the ring: their pages are pinned per request, which huge pages make
/// cheap, and in return any buffer may travel with any request.
pub(super) struct Ring {
    source: Direct,
    uring: IoUring,
    slots: Vec<Option<Flight>>,
    free: Vec<u32>,
    /// Done but not handed out: requests that needed no device, or that failed with the ring.
    ready: VecDeque<Completion>,
    /// Pushed but not yet seen by the kernel.
    unseen: usize,
    /// The errno that the ring itself failed with. Its slots may still hear of lost requests, so
    /// nothing is put there any more.
    broken: Option<i32>,
}

/// A request as the kernel has it: rounded out to the alignment.
struct Flight {
    request: Request,
    from: u64,
    span: usize,
}

/// Whether this process may use io_uring: `kernel.io_uring_disabled`, a container's filter and the limit of locked memory
/// may be against it.
///
/// # Errors
/// What io_uring_setup(2) answered.
pub fn io_uring_works() -> io::Result<()> {
    IoUring::new(1).map(drop)
}

impl Ring {
    pub(super) fn new(core: &Arc<Core>, depth: usize) -> io::Result<Ring> {
        let depth = depth.clamp(1, MOST);
        let entries = depth as u32;
        // Made for one thread whose completions wait for it (Linux 6.1), or without that.
        let uring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .build(entries)
            .or_else(|e| match e.raw_os_error() {
                Some(libc::EINVAL) => IoUring::new(entries),
                _ => Err(e),
            })?;
        Ok(Ring {
            source: Direct {
                core: Arc::clone(core),
            },
            uring,
            slots: (0..depth).map(|_| None).collect(),
            free: (0..entries).rev().collect(),
            ready: VecDeque::new(),
            unseen: 0,
            broken: None,
        })
    }

    /// Requests that the kernel has or will have.
    fn flying(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Puts a request with room in its buffer on the ring.
    fn push(&mut self, flight: Flight) {
        let Some(slot) = self.free.pop() else {
            // Unreachable while `submit` minds the depth; slower, but not wrong.
            let completion = flight.request.read(&self.source);
            self.ready.push_back(completion);
            return;
        };
        let fd = types::Fd(self.source.core.handle.file().as_raw_fd());
        let entry = opcode::Read::new(fd, flight.request.buffer.base(), flight.span as u32)
            .offset(flight.from)
            .build()
            .user_data(u64::from(slot));
        // SAFETY: the buffer has room for `span` bytes (`submit`) and stays in its slot until the
        // completion is reaped, or is given up; the file is open as long as `source`. The ring is
        // dropped after its requests (`Drop`).
        let pushed = unsafe { self.uring.submission().push(&entry) };
        if pushed.is_err() {
            self.free.push(slot);
            let completion = flight.request.read(&self.source);
            self.ready.push_back(completion);
            return;
        }
        self.unseen += 1;
        self.slots[slot as usize] = Some(flight);
    }

    /// Hands the kernel what was pushed and waits for this many completions; the errno of a ring
    /// that has failed.
    fn enter(&mut self, wait: usize) -> Result<(), i32> {
        loop {
            match self.uring.submit_and_wait(wait) {
                Ok(_) => break,
                Err(e) => match e.raw_os_error() {
                    Some(libc::EINTR) => {}
                    // Completions first, or memory later: both come with the wait.
                    Some(libc::EBUSY | libc::EAGAIN) if wait > 0 => break,
                    Some(libc::EBUSY | libc::EAGAIN) => return Ok(()),
                    other => return Err(other.unwrap_or(libc::EIO)),
                },
            }
        }
        self.unseen = self.uring.submission().len();
        Ok(())
    }

    /// Takes in what has come back.
    fn reap(&mut self) {
        loop {
            let next = self.uring.completion().next();
            let Some(done) = next else { return };
            let slot = done.user_data() as usize;
            let Some(flight) = self.slots.get_mut(slot).and_then(Option::take) else {
                continue;
            };
            self.free.push(slot as u32);
            let completion = self.land(flight, done.result());
            self.ready.push_back(completion);
        }
    }

    /// What became of a request, given the kernel's result: bytes, or an errno below zero.
    fn land(&self, flight: Flight, result: i32) -> Completion {
        let Flight {
            mut request,
            from,
            span,
        } = flight;
        let handle = &self.source.core.handle;
        let (offset, len) = (request.offset, request.len as u64);
        let here = handle.len().saturating_sub(from).min(span as u64);
        let start = (offset - from) as usize;
        let outcome = match u64::try_from(result) {
            Ok(n) if n >= here => Ok(()),
            // Short, or interrupted: the rare case is done again, and at once.
            Ok(_) => handle.read(&mut request.buffer.whole()[..span], from),
            Err(_) if matches!(-result, libc::EINTR | libc::EAGAIN) => {
                handle.read(&mut request.buffer.whole()[..span], from)
            }
            Err(_) => Err(handle.failed(offset, offset + len, Fault::Os(-result))),
        };
        request.buffer.set_window(start, request.len);
        request.finish(outcome.map_err(|e| e.clipped(offset, len)))
    }

    /// Gives up all that is in flight: the completions carry the ring's errno and no buffers.
    fn give_up(&mut self, errno: i32) {
        self.broken = Some(errno);
        self.unseen = 0;
        for (slot, place) in self.slots.iter_mut().enumerate() {
            let Some(flight) = place.take() else { continue };
            self.free.push(slot as u32);
            let mut request = flight.request;
            // The kernel may still write there.
            std::mem::forget(std::mem::take(&mut request.buffer));
            let handle = &self.source.core.handle;
            let end = request.offset + request.len as u64;
            let error = handle.failed(request.offset, end, Fault::Queue(errno));
            self.ready.push_back(request.finish(Err(error)));
        }
    }
}

impl Queue for Ring {
    fn depth(&self) -> usize {
        self.slots.len()
    }

    fn in_flight(&self) -> usize {
        self.flying() + self.ready.len()
    }

    fn submit(&mut self, mut request: Request) -> Result<(), Request> {
        if !self.has_room() {
            return Err(request);
        }
        let (from, span) = match request.offset.checked_add(request.len as u64) {
            Some(end) if end <= self.source.core.handle.len() => {
                self.source.core.rounded(request.offset, request.len)
            }
            _ => (request.offset, request.len),
        };
        let start = (request.offset - from) as usize;
        let room = request.make_room(&self.source, span, start);
        if let (Some(errno), Ok(())) = (self.broken, &room) {
            let handle = &self.source.core.handle;
            let end = request.offset + request.len as u64;
            let error = handle.failed(request.offset, end, Fault::Queue(errno));
            self.ready.push_back(request.finish(Err(error)));
        } else if room.is_err() || request.len == 0 {
            self.ready.push_back(request.finish(room));
        } else if i32::try_from(span).is_err() {
            // More than a completion's result can say.
            let completion = request.read(&self.source);
            self.ready.push_back(completion);
        } else {
            self.push(Flight {
                request,
                from,
                span,
            });
            if span >= LARGE {
                self.flush();
            }
        }
        Ok(())
    }

    fn flush(&mut self) {
        if self.unseen > 0
            && let Err(errno) = self.enter(0)
        {
            self.give_up(errno);
        }
    }

    fn wait(&mut self) -> Option<Completion> {
        loop {
            if !self.ready.is_empty() {
                // The device is not to idle while the caller looks at this one.
                self.flush();
            }
            if let Some(completion) = self.ready.pop_front() {
                return Some(completion);
            }
            if self.flying() == 0 {
                return None;
            }
            if let Err(errno) = self.enter(1) {
                self.give_up(errno);
            }
            self.reap();
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        while self.flying() > 0 {
            if let Err(errno) = self.enter(1) {
                self.give_up(errno);
            }
            self.reap();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::Buffer;
    use crate::source::BlockSource;

    fn image(len: usize) -> (tempfile::NamedTempFile, Vec<u8>) {
        let file = tempfile::NamedTempFile::new().unwrap();
        let bytes: Vec<u8> = (0..len).map(|i| (i / 7 % 253) as u8).collect();
        std::fs::write(file.path(), &bytes).unwrap();
        (file, bytes)
    }

    fn request(tag: u64, offset: u64, len: usize) -> Request {
        Request {
            tag,
            offset,
            len,
            buffer: Buffer::empty(),
        }
    }

    #[test]
    fn a_full_ring_gives_the_request_back_and_a_drop_waits() {
        let (file, _) = image(1 << 20);
        let source = Direct::open(file.path()).unwrap();
        let mut ring = Ring::new(&source.core, 2).unwrap();
        for tag in 0..2 {
            ring.submit(request(tag, tag * 65_536, 65_536)).unwrap();
        }
        assert_eq!(ring.submit(request(9, 0, 1)).unwrap_err().tag, 9);
        assert_eq!((ring.in_flight(), ring.unseen), (2, 2));
        drop(ring);
    }

    #[test]
    fn short_and_interrupted_results_are_finished_and_errors_are_clipped() {
        let (file, bytes) = image(100_000);
        let source = Direct::open(file.path()).unwrap();
        let ring = Ring::new(&source.core, 1).unwrap();
        let (from, span) = source.core.rounded(10_000, 20_000);
        let land = |result| {
            let mut request = request(1, 10_000, 20_000);
            request
                .make_room(&source, span, (10_000 - from) as usize)
                .unwrap();
            ring.land(
                Flight {
                    request,
                    from,
                    span,
                },
                result,
            )
        };
        for result in [0, 4096, -libc::EINTR, -libc::EAGAIN] {
            assert_eq!(land(result).bytes().unwrap(), &bytes[10_000..30_000]);
        }
        let error = land(-libc::EIO).result.unwrap_err();
        assert_eq!((error.offset, error.len), (10_000, 20_000));
        assert_eq!(error.errno(), Some(libc::EIO));
    }

    #[test]
    fn a_failed_ring_gives_up_its_buffers_and_says_so() {
        let (file, _) = image(1 << 20);
        let source = Direct::open(file.path()).unwrap();
        let mut ring = Ring::new(&source.core, 4).unwrap();
        for tag in 0..3 {
            ring.submit(request(tag, tag * 4096, 4096)).unwrap();
        }
        ring.give_up(libc::EBADF);
        let mut tags = Vec::new();
        while let Some(done) = ring.wait() {
            assert_eq!(done.buffer.capacity(), 0);
            assert_eq!(done.result.unwrap_err().fault, Fault::Queue(libc::EBADF));
            tags.push(done.tag);
        }
        assert_eq!(tags, [0, 1, 2]);
        ring.submit(request(7, 0, 4096)).unwrap();
        let refused = ring.wait().unwrap().result.unwrap_err();
        assert_eq!(refused.fault, Fault::Queue(libc::EBADF));
    }

    #[test]
    fn requests_past_the_end_and_of_no_bytes_need_no_device() {
        let (file, _) = image(5000);
        let source = Direct::open(file.path()).unwrap();
        let mut ring = source.queue(3).unwrap();
        ring.submit(request(0, 4000, 2000)).unwrap();
        ring.submit(request(1, u64::MAX, 5)).unwrap();
        ring.submit(request(2, 5000, 0)).unwrap();
        let past = |done: Completion| done.result.unwrap_err().fault;
        assert_eq!(past(ring.wait().unwrap()), Fault::PastEnd(5000));
        assert_eq!(past(ring.wait().unwrap()), Fault::PastEnd(5000));
        assert_eq!(ring.wait().unwrap().bytes().unwrap(), b"");
        assert!(ring.wait().is_none());
    }
}
