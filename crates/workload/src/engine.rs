//! Engines: which system calls carry the data.
//!
//! An engine runs a whole stretch of records in one call, so the dynamic dispatch is paid once a
//! phase and the loop inside is compiled for its direction, its order and whether latencies are
//! wanted. The alternative, one virtual `transfer` for each record, would be simpler, but it
//! cannot hold a queue of requests and its cost would show in the null engine, whose only purpose
//! is to show what the generator itself costs.
//!
//! What a loop does beside its system call: one relaxed load of the stop flags at the top of the
//! record and one after it (iozone looks at both places, and a record in flight when the flag
//! rises is not counted), and one relaxed store of its progress into a cache line of its own.
//! No clock is read unless latencies are asked for; then it is read once a record, because the
//! end of one record is the beginning of the next.

mod aio;
mod control;
mod latency;
pub(crate) mod mixed;
mod null;
mod queue;
mod raw;
mod slots;
mod sync;
mod uring;

use std::io;
use std::os::fd::BorrowedFd;

pub use control::{ABORT, Counter, Flags, STONEWALL};
pub use latency::Latency;
pub use null::Null;
pub use params::engine::{Capabilities, Direction, Kind};
pub use sync::Sync;

use crate::buffer::Buffer;
use aio::Aio;
use uring::Uring;

/// In which order the records of a file are visited.
#[derive(Clone, Copy, Debug)]
pub enum Order<'a> {
    /// 0, 1, 2 ... up to this many.
    Sequential(u64),
    /// As these record numbers say.
    Random(&'a [u32]),
}

impl Order<'_> {
    /// Number of records.
    pub const fn records(&self) -> u64 {
        match self {
            Order::Sequential(n) => *n,
            Order::Random(order) => order.len() as u64,
        }
    }

    /// The record number at position `i`, which must be below [`Order::records`].
    #[inline]
    pub fn at(&self, i: u64) -> u64 {
        match self {
            Order::Sequential(_) => i,
            Order::Random(order) => u64::from(order[i as usize]),
        }
    }
}

/// What a workload does with a record's bytes beside moving them. Called in the thread of the
/// engine, inside the phase's clock: it should be cheap.
pub trait Payload: std::marker::Sync {
    /// Puts into `bytes` what record number `record` is to hold. They hold what the last record in
    /// this buffer has left.
    fn fill(&self, record: u64, bytes: &mut [u8]);

    /// Looks at what was read.
    ///
    /// # Errors
    /// What is wrong with it: the phase ends with this as the record's failure.
    fn check(&self, record: u64, bytes: &[u8]) -> io::Result<()>;
}

/// What one child has to do in one phase.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    /// The open file. Sequential jobs of the sync engine begin at its position.
    pub file: BorrowedFd<'a>,
    /// Read or write.
    pub direction: Direction,
    /// Bytes of a record.
    pub record: usize,
    /// The records, and their order.
    pub order: Order<'a>,
    /// The flags to look at.
    pub flags: &'a Flags,
    /// Where to show how many records are done.
    pub done: &'a Counter,
    /// Fills and checks the records; `None`: the buffers are written as they are.
    pub payload: Option<&'a dyn Payload>,
}

impl Job<'_> {
    /// Before a record is written.
    #[inline]
    fn fill(&self, record: u64, bytes: &mut [u8]) {
        if let (Some(payload), Direction::Write) = (self.payload, self.direction) {
            payload.fill(record, bytes);
        }
    }

    /// Whether checking a record takes longer than handing over the next (some microseconds, by
    /// a checksum), so that a queue should be filled up between two checks.
    fn is_slow_to_check(&self) -> bool {
        self.payload.is_some() && self.record >= 64 << 10
    }

    /// After a record was read whole.
    #[inline]
    fn check(&self, record: u64, bytes: &[u8]) -> io::Result<()> {
        match (self.payload, self.direction) {
            (Some(payload), Direction::Read) => payload.check(record, bytes),
            _ => Ok(()),
        }
    }
}

/// How far a call of [`Engine::run`] came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// Records completed before any of the watched flags rose.
    pub counted: u64,
    /// Position in the order after the last record that was transferred, counted or not.
    pub position: u64,
    /// Short transfers that were continued.
    pub short: u64,
    /// A watched flag was up before the last record was begun.
    pub stopped: bool,
}

/// A system call that failed.
#[derive(Debug)]
pub struct Failure {
    /// Bytes of whole records transferred before.
    pub transferred: u64,
    /// Byte offset in the file.
    pub offset: u64,
    /// The cause.
    pub source: io::Error,
}

/// A way to carry data.
pub trait Engine {
    /// What this engine can do.
    fn capabilities(&self) -> Capabilities;

    /// Transfers the records of `job` from position `from` of its order on, until the end or
    /// until a flag of `watch` is up. Nothing is in flight when it returns, unless the engine
    /// itself failed; such an engine cannot be used again.
    fn run(
        &mut self,
        job: &Job<'_>,
        from: u64,
        watch: u32,
        latency: Option<&mut Latency>,
    ) -> Result<Run, Failure>;

    /// Its buffer, for another engine; none where it has given it to the kernel or has none.
    fn into_buffer(self: Box<Self>) -> Option<Buffer> {
        None
    }
}

/// Makes an engine in the thread that will use it. `buffer` holds `queue_depth` records.
pub fn make(
    kind: Kind,
    queue_depth: u32,
    record: usize,
    buffer: Buffer,
) -> io::Result<Box<dyn Engine>> {
    Ok(match kind {
        Kind::Sync => Box::new(Sync::new(buffer)),
        Kind::Aio => Box::new(Aio::new(queue_depth, record, buffer)?),
        Kind::IoUring => Box::new(Uring::new(queue_depth, record, buffer)?),
        Kind::Null => Box::new(Null),
    })
}

/// Finishes a transfer that the kernel cut short after `done` bytes; the cold path of all engines.
#[cold]
pub(crate) fn finish_short(
    file: BorrowedFd<'_>,
    direction: Direction,
    buffer: &mut [u8],
    mut done: usize,
    offset: u64,
) -> io::Result<()> {
    while done < buffer.len() {
        let at = offset + done as u64;
        let moved = match direction {
            Direction::Read => rustix::io::pread(file, &mut buffer[done..], at),
            Direction::Write => rustix::io::pwrite(file, &buffer[done..], at),
        };
        match moved {
            Ok(0) if direction == Direction::Read => {
                return Err(io::Error::new(
                    io::ErrorKind::UnexpectedEof,
                    format!("the file ends at byte {at}"),
                ));
            }
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => done += n,
            Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
