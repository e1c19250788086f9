//! Reads, writes and fsyncs in one stream of requests, each due at its own time.
//!
//! [`Engine`](super::Engine) runs a stretch of records in one direction, which is all that iozone and dd
//! need. Here the workload decides from request to request: [`Requests`] names the next one, or the time
//! until which there is none. The loops are compiled for their workload, so this costs no dynamic call. The
//! queues and slots are those of the other engines.

mod queued;
mod sync;

use std::io;
use std::os::fd::BorrowedFd;

use super::aio::Aio;
use super::uring::Uring;
use super::{Direction, Failure, Flags, Kind, Payload};
use crate::buffer::Buffer;

/// One request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// A block of the file, by number.
    Transfer(Direction, u64),
    /// fsync of the file.
    Fsync,
}

/// What a workload wants done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// This request, now.
    Do(Action),
    /// Nothing until this time (CLOCK_MONOTONIC, ns).
    WaitUntil(u64),
    /// Nothing more.
    End,
}

/// A workload as a stream of requests.
pub(crate) trait Requests {
    /// The next request. It is begun at once.
    fn next(&mut self, now_ns: u64) -> Next;

    /// A request is complete; `latency_ns` is the time since it was begun.
    fn finished(&mut self, action: Action, latency_ns: u64, now_ns: u64);
}

/// What the requests are for.
#[derive(Clone, Copy)]
pub(crate) struct Target<'a> {
    /// The open file.
    pub(crate) file: BorrowedFd<'a>,
    /// Bytes of a block.
    pub(crate) block: usize,
    /// The flags to look at: only `ABORT` is.
    pub(crate) flags: &'a Flags,
    /// Fills blocks before they are written.
    pub(crate) payload: Option<&'a dyn Payload>,
}

/// How a stream of requests was served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Course {
    /// Short transfers that were continued.
    pub(crate) short: u64,
    /// Requests by the number in flight when they began, themselves included: 1, 2, 4, 8, 16, 32, 64
    /// and more, each range up to the next.
    pub(crate) depths: [u64; 7],
    /// Submissions by their number of requests: 0, 1 to 4, to 8, to 16, to 32, to 64, more.
    pub(crate) submitted: [u64; 7],
    /// The same of completions taken at a time.
    pub(crate) completed: [u64; 7],
}

impl Course {
    #[inline]
    fn begin(&mut self, in_flight: usize) {
        let range = in_flight.max(1).ilog2().min(6);
        self.depths[range as usize] += 1;
    }

    /// Adds another thread's.
    pub(crate) fn merge(&mut self, other: &Course) {
        self.short += other.short;
        for (mine, other) in [
            (&mut self.depths, &other.depths),
            (&mut self.submitted, &other.submitted),
            (&mut self.completed, &other.completed),
        ] {
            mine.iter_mut().zip(other).for_each(|(a, b)| *a += b);
        }
    }
}

/// The range of [`Course::submitted`] that a number is in.
#[inline]
const fn batch(number: usize) -> usize {
    match number {
        0 => 0,
        1..=4 => 1,
        5..=8 => 2,
        9..=16 => 3,
        17..=32 => 4,
        33..=64 => 5,
        _ => 6,
    }
}

/// A way to carry a stream of requests.
pub(crate) struct Mixed(Kept);

/// What an engine keeps.
enum Kept {
    Sync(Buffer),
    Uring(Uring),
    Aio(Aio),
    /// Moves nothing.
    Null,
}

impl Mixed {
    /// An engine of this kind, made in the thread that will use it. `buffer` holds `queue_depth` blocks.
    pub(crate) fn new(
        kind: Kind,
        queue_depth: u32,
        block: usize,
        buffer: Buffer,
    ) -> io::Result<Mixed> {
        Ok(Mixed(match kind {
            Kind::Sync => Kept::Sync(buffer),
            Kind::Aio => Kept::Aio(Aio::new(queue_depth, block, buffer)?),
            Kind::IoUring => Kept::Uring(Uring::new(queue_depth, block, buffer)?),
            Kind::Null => Kept::Null,
        }))
    }

    /// Serves requests until there are no more or `ABORT` is up. Nothing is in flight when it returns,
    /// unless the queue itself failed; such an engine cannot be used again.
    pub(crate) fn run<R: Requests>(
        &mut self,
        target: &Target<'_>,
        requests: &mut R,
    ) -> Result<Course, Failure> {
        match &mut self.0 {
            Kept::Sync(buffer) => sync::run(target, requests, buffer.as_mut_slice()),
            Kept::Uring(queued) => queued::run(queued, target, requests),
            Kept::Aio(queued) => queued::run(queued, target, requests),
            Kept::Null => sync::null(target, requests),
        }
    }
}

#[cfg(test)]
mod tests;
