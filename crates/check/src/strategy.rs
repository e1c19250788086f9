//! How should a checker read? A simulator of the read strategies of fsck.ocfs2 in 2011, on any format with a [`MetadataMap`].
//!
//! Sunil Mushran made fsck.ocfs2 3.7 times as fast by four changes of how it reads, and of nothing else. What they depend on
//! is in every filesystem: small descriptors scattered over the device, large tables of inodes, and directory
//! blocks anywhere. So a model reader that visits these on a volume and has his four switches ([`Strategy`]) shows the
//! same laws, and on one's own disk. It verifies what a reader of such structures must look at: descriptors and inodes by their checksums,
//! directory blocks by the form of their entries. It judges no filesystem: that is what the passes of this crate are for, which read in
//! one ascending sweep and have nothing to switch.
//!
//! His switches:
//!
//! * **precache**: a step over descriptors reads each group as well (in step 0b its inode table), so that step 1 finds the inodes in the
//!   cache. With a cache smaller than the tables they are gone by then, and everything is read twice.
//! * **prefill**: descriptors form chains, each naming the next. One chain after the other is one small read per seek; all heads at once, then all
//!   seconds, are the same bytes in an order that the disk can choose.
//! * **scan buffer**: bytes that step 1 reads at once. Fewer requests, the same bytes.
//! * **batch**: directory blocks that step 2 asks for together, ascending, before it looks at them.
//!
//! This module names no format. [`MetadataMap`] says where a format has its descriptors, inodes and directory blocks. A format whose
//! descriptors name no successor is read as if they did: its map distributes them over [`Strategy::chains`] chains, and a reader that
//! does not prefill follows one after the other. A chain needs at least two links, or
//! prefill has nothing to read earlier ([`Reading::links`]). A descriptor that was never written is read as fsck.ocfs2 reads every
//! descriptor, but has nothing to verify ([`Figures::verified`]).
//!
//! The cache is the reader's own (LRU, blocks of the filesystem) and the source below should be O_DIRECT, or the kernel's
//! cache hides everything.
//!
//! Rejected: a trait object for the map. Verifying an inode takes less time than two indirect calls, and the step's clock runs.

mod metadata_map;
mod reader;

use std::ops::ControlFlow;
use std::time::Instant;

use blockio::layer::{Cache, CacheCounts, Counting, IoCounts};
use blockio::{BlockSource, OpenError, ReadError};
use serde::Serialize;

use crate::frame::usage::Usage;
pub use metadata_map::{Blocks, InodeCount, MetadataMap, Table, Verified};
use reader::{Cached, Reader, Tally};

/// How to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Strategy {
    /// Read the group of each descriptor with it.
    pub precache: bool,
    /// Read descriptors of all chains at once.
    pub prefill: bool,
    /// Bytes of a read of step 1; whole blocks, at least one.
    pub scan_buffer: u32,
    /// Directory blocks asked for together in step 2; 1: one by one.
    pub batch: u32,
    /// Bytes of the reader's cache.
    pub cache: u64,
    /// Chains of descriptors where the format has none of its own, at least 1; 243 in the experiment.
    pub chains: u32,
}

impl Strategy {
    /// fsck.ocfs2 as it was before the changes ("vanilla"), with a cache of this many bytes.
    pub fn vanilla(cache: u64) -> Strategy {
        Strategy {
            precache: true,
            prefill: false,
            scan_buffer: 32 << 10,
            batch: 1,
            cache,
            chains: 243,
        }
    }

    /// With all four changes.
    pub fn improved(cache: u64) -> Strategy {
        Strategy {
            precache: false,
            prefill: true,
            scan_buffer: 4 << 20,
            batch: 1024,
            ..Strategy::vanilla(cache)
        }
    }
}

/// The steps, by fsck.ocfs2's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Step {
    /// Descriptors of blocks: cluster allocation chains, or block bitmaps.
    #[serde(rename = "0a")]
    Clusters,
    /// Descriptors of inodes: inode allocation chains, or inode bitmaps.
    #[serde(rename = "0b")]
    Inodes,
    /// Descriptors of extent blocks: extent block allocation chains.
    #[serde(rename = "0c")]
    Extents,
    /// Inode tables.
    #[serde(rename = "1")]
    Scan,
    /// Directory blocks.
    #[serde(rename = "2")]
    Directories,
}

impl Step {
    /// All of them, in order.
    pub const ALL: [Step; 5] = [
        Step::Clusters,
        Step::Inodes,
        Step::Extents,
        Step::Scan,
        Step::Directories,
    ];

    /// `0a`, `0b`, `0c`, `1`, `2`.
    pub const fn name(self) -> &'static str {
        match self {
            Step::Clusters => "0a",
            Step::Inodes => "0b",
            Step::Extents => "0c",
            Step::Scan => "1",
            Step::Directories => "2",
        }
    }
}

/// The cost of a step.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// The step.
    pub step: Step,
    /// Wall-clock time, seconds.
    pub real_s: f64,
    /// Processor seconds in the program, all threads.
    pub user_s: f64,
    /// Processor seconds in the kernel.
    pub system_s: f64,
    /// Bytes from the source.
    pub disk_bytes: u64,
    /// Bytes from the reader's cache: hits times the block size.
    pub cache_bytes: u64,
    /// Requests to the source.
    pub requests: u64,
    /// Requests that did not begin where the one before ended.
    pub seeks: u64,
    /// Sum of the distances of these seeks, bytes.
    pub seek_bytes: u64,
    /// Blocks that were asked for together, at most; 1: one by one. That is also what a prefill or a batch comes to that does not
    /// fit the cache.
    pub batched: u64,
    /// Descriptors, inodes in use, or directory blocks.
    pub objects: u64,
    /// Of these, what holds something to verify: all but the descriptors that were never written.
    pub verified: u64,
    /// Of these, what is damaged or could not be read.
    pub faults: u64,
}

/// A reading of a volume.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reading {
    /// The strategy.
    pub strategy: Strategy,
    /// Cost of each step, in order.
    pub steps: Vec<Figures>,
    /// Links of the longest chain of descriptors; with 1, prefill changes nothing.
    pub links: u64,
    /// Bytes of descriptors, inode tables in use and directories: what a cache would need to hold.
    pub metadata_bytes: u64,
}

/// Why a volume was not read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The superblock or the descriptors cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// They are inconsistent.
    #[error("{name}: {why}; run `fslab check` on it first")]
    Format {
        /// The source.
        name: String,
        /// What is wrong.
        why: String,
    },
    /// The kernel grants no queue.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The caller stopped it.
    #[error("{name}: the read was interrupted")]
    Stopped {
        /// The source.
        name: String,
    },
}

/// What the caller of a reading is notified of.
#[derive(Clone, Copy, Debug)]
pub enum Moment<'a> {
    /// A step begins; its clock does not run yet.
    Begins(Step),
    /// It continues with the next group, buffer or batch. The clock runs: the callback must cost nothing.
    Goes(Step),
    /// It has ended, its clock is stopped, and this is its cost.
    Ended(&'a Figures),
}

/// Reads all metadata of a volume once, step by step. `map` must be of the same volume as `source`.
///
/// # Errors
/// The kernel grants no queue; damage and unreadable blocks are counted.
pub fn read<M: MetadataMap>(
    source: &dyn BlockSource,
    map: M,
    strategy: &Strategy,
) -> Result<Reading, Error> {
    read_watched(source, map, strategy, &mut |_| ControlFlow::Continue(()))
}

/// As [`read`], for a caller that reads counters of its own around each step, or may end it: `Break` stops it
/// at the next group, buffer or batch.
///
/// # Errors
/// As [`read`]; [`Error::Stopped`].
pub fn read_watched<M: MetadataMap>(
    source: &dyn BlockSource,
    map: M,
    strategy: &Strategy,
    watch: &mut dyn FnMut(Moment<'_>) -> ControlFlow<()>,
) -> Result<Reading, Error> {
    let name = source.name();
    let stopped = || Error::Stopped {
        name: name.to_string(),
    };
    let cache = Cache::new(Counting::new(source), strategy.cache, map.block_size());
    let order = map.steps();
    let mut reader = Reader::new(&cache, map, strategy);
    let mut steps = Vec::new();
    for &step in order {
        if watch(Moment::Begins(step)).is_break() {
            return Err(stopped());
        }
        let before = Clocks::now(&cache);
        let tally = reader.step(step, &mut || match watch(Moment::Goes(step)) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(stopped()),
        })?;
        let figures = Clocks::now(&cache).since(&before, step, tally);
        if watch(Moment::Ended(&figures)).is_break() {
            return Err(stopped());
        }
        steps.push(figures);
    }
    Ok(Reading {
        strategy: *strategy,
        steps,
        links: reader.links(),
        metadata_bytes: reader.metadata_bytes(),
    })
}

/// All clocks and counters at a moment.
struct Clocks {
    at: Instant,
    usage: Usage,
    io: IoCounts,
    cache: CacheCounts,
}

impl Clocks {
    fn now(cache: &Cached<'_>) -> Clocks {
        Clocks {
            at: Instant::now(),
            usage: Usage::now(),
            io: cache.inner().counts(),
            cache: cache.counts(),
        }
    }

    fn since(&self, before: &Clocks, step: Step, tally: Tally) -> Figures {
        let io = self.io.since(&before.io);
        let cpu = |now: std::time::Duration, then| now.saturating_sub(then).as_secs_f64();
        Figures {
            step,
            real_s: self.at.duration_since(before.at).as_secs_f64(),
            user_s: cpu(self.usage.user, before.usage.user),
            system_s: cpu(self.usage.system, before.usage.system),
            disk_bytes: io.bytes,
            cache_bytes: self.cache.since(&before.cache).hit_bytes,
            requests: io.requests,
            seeks: io.seeks,
            seek_bytes: io.travelled,
            batched: tally.batched,
            objects: tally.objects,
            verified: tally.verified,
            faults: tally.faults,
        }
    }
}

#[cfg(test)]
mod tests;
