//! One ascending reading of many ranges, with a bound on what is in flight.
//!
//! A checker knows beforehand which ranges a pass needs (inode tables, bitmaps, directory blocks) and
//! does not care in which order they come, as long as the device sees them ascending and in large
//! requests. So it hands all of them over at once: neighbours are joined over small gaps, long ones
//! cut into requests of `request` bytes, holes stepped over, and `depth` requests kept in flight.
//! Every thread has its own queue and takes the next request from one common plan, so that
//! the device sees one ascending order however many threads compute. A dispatcher with channels was
//! rejected: it wakes a thread for each piece, and its readahead needs a second bound.
//!
//! The bound is memory as well: `depth` buffers and one more for each thread, which is looked into
//! while the others fill. Nothing is read ahead of that (xfs_repair's prefetch without a bound made
//! a check of 2 minutes one of 11).
//!
//! What cannot be read is salvaged block by block, and reported ([`Content::Failed`]); no read error
//! ends a sweep.

mod plan;
mod worker;

use std::ops::{ControlFlow, Range};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

use crate::crew::for_each_in_threads;
use crate::error::{OpenError, ReadError};
use crate::source::{BlockSource, Geometry};
use plan::Plan;
use worker::Shared;

/// A range to be read, and what the caller knows it by (a group's number).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// Comes back with each piece of it.
    pub tag: u64,
    /// Bytes. May be empty, overlap others, or reach past the end.
    pub range: Range<u64>,
}

/// A part of a span. All parts of all spans come exactly once, in any order.
#[derive(Clone, Debug)]
pub struct Piece<'a> {
    /// The span's.
    pub tag: u64,
    /// First byte.
    pub offset: u64,
    /// What is there.
    pub content: Content<'a>,
}

/// What a part of a span holds.
#[derive(Clone, Debug)]
pub enum Content<'a> {
    /// These bytes.
    Data(&'a [u8]),
    /// This many zeros, which were not read.
    Hole(u64),
    /// It cannot be read: the error's range is the piece's.
    Failed(&'a ReadError),
}

impl Piece<'_> {
    /// The bytes it covers.
    pub fn range(&self) -> Range<u64> {
        let len = match &self.content {
            Content::Data(bytes) => bytes.len() as u64,
            Content::Hole(len) => *len,
            Content::Failed(error) => error.len,
        };
        self.offset..self.offset + len
    }
}

/// How to sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sweep {
    /// Most bytes of a request; held to 1 block .. 1 GiB.
    pub request: usize,
    /// Requests in flight, over all threads; at least one for each.
    pub depth: usize,
    /// Threads that look at the pieces; at least 1.
    pub threads: usize,
    /// What is never torn, bytes (a power of two up to 1 MiB): requests are cut, holes recognised
    /// and bad ranges found at multiples of it. The filesystem's block size.
    pub block: u32,
    /// Ranges at most so far apart are read in one request; so are holes up to that size.
    pub gap: u64,
    /// Refusals of the device after which a failed request is no longer divided ([`crate::salvage`]).
    pub patience: u32,
}

impl Default for Sweep {
    /// 1 MiB requests, 8 in flight, one thread, blocks of 4 KiB, gaps of 64 KiB.
    fn default() -> Self {
        Sweep {
            request: 1 << 20,
            depth: 8,
            threads: 1,
            block: 4096,
            gap: 64 << 10,
            patience: 64,
        }
    }
}

/// What a sweep has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SweepCounts {
    /// Requests submitted.
    pub requests: u64,
    /// Bytes of these: gaps that were read over included.
    pub read: u64,
    /// Bytes handed out as data.
    pub data: u64,
    /// Bytes handed out as holes.
    pub holes: u64,
    /// Bytes handed out as failed.
    pub failed: u64,
    /// Single reads that salvaging took.
    pub salvage_reads: u64,
}

/// What a sweep leaves.
#[derive(Clone, Debug)]
pub struct Swept<T> {
    /// Each thread's state.
    pub states: Vec<T>,
    /// What was done.
    pub counts: SweepCounts,
}

/// A thread's state, on cache lines of its own: processors fetch them in pairs, and each write to a line that another thread has in use
/// waits for it.
#[repr(align(128))]
struct Apart<T>(T);

impl Sweep {
    /// Bytes that its buffers take at most, on a source of this geometry.
    pub fn memory(&self, geometry: Geometry) -> usize {
        let sane = self.sane();
        let share = sane.depth.div_ceil(sane.threads);
        (share + 1)
            .saturating_mul(sane.threads)
            .saturating_mul(sane.room(geometry))
    }

    /// Reads all spans of `source` and shows every piece to `each`, in threads that each have a
    /// state of their own, made by `make` (given the thread's number); the states come back.
    ///
    /// Spans should ascend; others are read all the same, but not joined. `each` ends the sweep
    /// early by breaking.
    ///
    /// # Errors
    /// No queue or no buffers are to be had. Read errors are pieces.
    pub fn run<S, I, T>(
        &self,
        source: &S,
        spans: I,
        make: impl Fn(usize) -> T,
        each: impl Fn(&mut T, Piece<'_>) -> ControlFlow<()> + Sync,
    ) -> Result<Swept<T>, OpenError>
    where
        S: BlockSource + ?Sized,
        I: IntoIterator<Item = Span>,
        I::IntoIter: Send,
        T: Send,
    {
        let sane = self.sane();
        let plan = Mutex::new(Plan::new(source, &sane, spans.into_iter()));
        let stop = AtomicBool::new(false);
        let shared = Shared {
            source,
            sweep: &sane,
            plan: &plan,
            stop: &stop,
        };
        let mut states: Vec<Apart<T>> = (0..sane.threads).map(|nth| Apart(make(nth))).collect();
        let counts = Mutex::new(Ok(SweepCounts::default()));
        for_each_in_threads(&mut states, |state| {
            let found = shared.work(&mut |piece| each(&mut state.0, piece));
            let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
            match (&mut *counts, found) {
                (Ok(all), Ok(found)) => all.add(&found),
                (first @ Ok(_), Err(error)) => *first = Err(error),
                (Err(_), _) => {}
            }
        });
        let counts = counts.into_inner().unwrap_or_else(PoisonError::into_inner);
        let states = states.into_iter().map(|state| state.0).collect();
        counts.map(|counts| Swept { states, counts })
    }

    /// The same in this thread alone, whatever `threads` says.
    ///
    /// # Errors
    /// As [`Sweep::run`].
    pub fn each<S: BlockSource + ?Sized>(
        &self,
        source: &S,
        spans: impl IntoIterator<Item = Span>,
        mut each: impl FnMut(Piece<'_>) -> ControlFlow<()>,
    ) -> Result<SweepCounts, OpenError> {
        let sane = Sweep {
            threads: 1,
            ..self.sane()
        };
        let plan = Mutex::new(Plan::new(source, &sane, spans.into_iter()));
        let stop = AtomicBool::new(false);
        let shared = Shared {
            source,
            sweep: &sane,
            plan: &plan,
            stop: &stop,
        };
        shared.work(&mut each)
    }

    /// Itself within the bounds that the fields' documentation states.
    fn sane(&self) -> Sweep {
        let threads = self.threads.clamp(1, 1024);
        let block = self.block.clamp(1, 1 << 20).next_power_of_two();
        let request = self.request.clamp(block as usize, 1 << 30);
        Sweep {
            request: request / block as usize * block as usize,
            depth: self.depth.clamp(threads, threads * 1024),
            threads,
            block,
            ..*self
        }
    }

    /// Bytes of a buffer: a request, rounded out at both ends.
    fn room(&self, geometry: Geometry) -> usize {
        let page = rustix::param::page_size();
        let align = (geometry.memory_align as usize).max(page);
        (self.request + 2 * geometry.offset_align as usize).next_multiple_of(align)
    }
}

impl SweepCounts {
    fn add(&mut self, other: &SweepCounts) {
        self.requests += other.requests;
        self.read += other.read;
        self.data += other.data;
        self.holes += other.holes;
        self.failed += other.failed;
        self.salvage_reads += other.salvage_reads;
    }
}
