//! An LRU cache of blocks.
//!
//! Its rules are those of the published experiments with fsck.ocfs2 (2011), so that these can be
//! repeated: blocks of one size, the least recently used replaced, a bound in bytes, and counters of
//! its own, in blocks: what the tool prints as `cache` is hits times the block size. The blocks of a
//! read that the cache lacks are read from below, neighbours in one request, and stay. That is
//! what the experiments showed to be double-edged: a scan larger than the cache evicts all that a
//! later pass would have hit. A reader that scans once should read the source below, not the cache.
//!
//! One lock for all: exact LRU has one order. Blocks are copied under it (0.1 us for 4 KiB), reads
//! from below happen outside of it. Two threads that miss the same block both read it.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;

use super::lru::Lru;
use crate::error::{OpenError, ReadError, within};
use crate::queue::{Completion, Queue, Request};
use crate::source::BlockSource;

/// What the cache has done since it was made, or between two snapshots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CacheCounts {
    /// Blocks that were asked for and there.
    pub hits: u64,
    /// Blocks that were asked for and not there.
    pub misses: u64,
    /// Blocks that had to go.
    pub evictions: u64,
    /// Hits times the block size: `cache` in `I/O read disk/cache` of fsck.ocfs2 -t, bytes.
    pub hit_bytes: u64,
}

impl CacheCounts {
    /// What has happened since `earlier`, a snapshot of the same cache.
    #[must_use]
    pub fn since(&self, earlier: &CacheCounts) -> CacheCounts {
        CacheCounts {
            hits: self.hits.saturating_sub(earlier.hits),
            misses: self.misses.saturating_sub(earlier.misses),
            evictions: self.evictions.saturating_sub(earlier.evictions),
            hit_bytes: self.hit_bytes.saturating_sub(earlier.hit_bytes),
        }
    }
}

/// A source with a cache in front.
pub struct Cache<S> {
    inner: S,
    block: u64,
    state: Mutex<State>,
}

struct State {
    lru: Lru,
    hits: u64,
    misses: u64,
}

impl<S: BlockSource> Cache<S> {
    /// Caches up to `bytes` of `inner` in blocks of `block_size` bytes (at least 1): never a byte
    /// more, so whole blocks up to there. Its tables take [`Cache::overhead`] more.
    ///
    /// Memory is taken as it fills.
    pub fn new(inner: S, bytes: u64, block_size: u32) -> Cache<S> {
        let block = u64::from(block_size.max(1));
        let capacity = usize::try_from(bytes / block).unwrap_or(usize::MAX);
        let state = State {
            lru: Lru::new(block as usize, capacity),
            hits: 0,
            misses: 0,
        };
        Cache {
            inner,
            block,
            state: Mutex::new(state),
        }
    }

    /// The source below.
    pub fn inner(&self) -> &S {
        &self.inner
    }

    /// What it has done so far.
    pub fn counts(&self) -> CacheCounts {
        let state = self.state();
        CacheCounts {
            hits: state.hits,
            misses: state.misses,
            evictions: state.lru.evicted(),
            hit_bytes: state.hits.saturating_mul(self.block),
        }
    }

    /// Bytes of blocks it holds now.
    pub fn held(&self) -> u64 {
        self.state().lru.blocks() as u64 * self.block
    }

    /// Bytes of memory it has taken for blocks; never more than it was made for.
    pub fn allocated(&self) -> u64 {
        self.state().lru.allocated() as u64
    }

    /// Bytes that its tables take at most when it is full: 16 for the order of a block, and up to 35
    /// for its place in the index, whose table is between 7/16 and 7/8 full, while it grows in
    /// two copies.
    pub fn overhead(&self) -> u64 {
        self.state().lru.capacity() as u64 * (2 * 16 + 35 * 3 / 2)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The part of `offset .. offset + len` inside a block: in the block, and in the buffer.
    fn overlap(&self, block: u64, offset: u64, len: usize) -> (usize, Range<usize>) {
        let first = block * self.block;
        let start = first.max(offset);
        let end = (first.saturating_add(self.block)).min(offset + len as u64);
        let inside = (start - first) as usize;
        (inside, (start - offset) as usize..(end - offset) as usize)
    }

    /// Copies what is there into `buf`; the runs of blocks that are not.
    fn copy_hits(&self, buf: &mut [u8], offset: u64) -> Vec<Range<u64>> {
        let mut missing: Vec<Range<u64>> = Vec::new();
        let last = (offset + buf.len() as u64).div_ceil(self.block);
        let mut state = self.state();
        for block in offset / self.block..last {
            let (inside, part) = self.overlap(block, offset, buf.len());
            if let Some(bytes) = state.lru.get(block) {
                let n = part.len();
                buf[part].copy_from_slice(&bytes[inside..inside + n]);
                state.hits += 1;
                continue;
            }
            state.misses += 1;
            match missing.last_mut() {
                Some(run) if run.end == block => run.end += 1,
                _ => missing.push(block..block + 1),
            }
        }
        missing
    }

    /// Reads a run of blocks from below, into `buf` and into the cache.
    fn read_run(&self, run: &Range<u64>, buf: &mut [u8], offset: u64) -> Result<(), ReadError> {
        let first = run.start * self.block;
        let end = run.end.saturating_mul(self.block).min(self.len());
        let asked = (offset.max(first), (offset + buf.len() as u64).min(end));
        let part = &mut buf[(asked.0 - offset) as usize..(asked.1 - offset) as usize];
        if (first, end) == asked {
            self.inner.read_at(part, first)?;
            self.keep(first, part);
            return Ok(());
        }
        // The read begins or ends inside a block.
        let mut whole = vec![0; (end - first) as usize];
        if self.inner.read_at(&mut whole, first).is_err() {
            // What was not asked for may be what cannot be read.
            return self.inner.read_at(part, asked.0);
        }
        let inside = (asked.0 - first) as usize;
        part.copy_from_slice(&whole[inside..inside + part.len()]);
        self.keep(first, &whole);
        Ok(())
    }

    /// Takes in the whole blocks of what was read at `offset`; the last block of the source counts as
    /// whole.
    fn keep(&self, offset: u64, bytes: &[u8]) {
        let end = offset + bytes.len() as u64;
        let mut state = self.state();
        for block in offset.div_ceil(self.block)..end.div_ceil(self.block) {
            let first = block * self.block;
            let last = first.saturating_add(self.block).min(self.len());
            if last <= end {
                let part = (first - offset) as usize..(last - offset) as usize;
                state.lru.insert(block, &bytes[part]);
            }
        }
    }

    /// Whether all blocks of a range are there.
    fn holds_all(&self, offset: u64, len: usize) -> bool {
        let last = (offset + len as u64).div_ceil(self.block);
        let state = self.state();
        (offset / self.block..last).all(|block| state.lru.holds(block))
    }
}

impl<S: BlockSource> crate::source::Layer for Cache<S> {
    type Below = S;

    fn below(&self) -> &S {
        &self.inner
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<(), ReadError> {
        within(self.name(), self.len(), offset, buf.len() as u64)?;
        if buf.is_empty() {
            return Ok(());
        }
        let end = offset + buf.len() as u64;
        for run in self.copy_hits(buf, offset) {
            // What the caller does not get goes on to the end of its read, not of the run.
            self.read_run(&run, buf, offset).map_err(|e| ReadError {
                len: end.saturating_sub(e.offset),
                ..e
            })?;
        }
        Ok(())
    }

    fn queue(&self, depth: usize) -> Result<Box<dyn Queue + '_>, OpenError> {
        Ok(Box::new(CacheQueue {
            cache: self,
            inner: self.inner.queue(depth)?,
            ready: Vec::new(),
        }))
    }
}

/// Requests whose blocks are all there never leave; others are read whole, and all their blocks are
/// misses: one large request is what a prefetch is for.
struct CacheQueue<'a, S> {
    cache: &'a Cache<S>,
    inner: Box<dyn Queue + 'a>,
    ready: Vec<Completion>,
}

impl<S: BlockSource> CacheQueue<'_, S> {
    /// Serves a request from the cache alone; if a block has gone meanwhile, `read_at` reads it.
    fn serve(&mut self, request: Request) {
        let completion = request.read(self.cache);
        self.ready.push(completion);
    }
}

impl<S: BlockSource> Queue for CacheQueue<'_, S> {
    fn depth(&self) -> usize {
        self.inner.depth()
    }

    fn in_flight(&self) -> usize {
        self.inner.in_flight() + self.ready.len()
    }

    fn submit(&mut self, request: Request) -> Result<(), Request> {
        if !self.has_room() {
            return Err(request);
        }
        let (offset, len) = (request.offset, request.len);
        let cache = self.cache;
        if within(cache.name(), cache.len(), offset, len as u64).is_err() {
            return self.inner.submit(request);
        }
        if len == 0 || cache.holds_all(offset, len) {
            self.serve(request);
            return Ok(());
        }
        let blocks = (offset + len as u64).div_ceil(cache.block) - offset / cache.block;
        self.inner.submit(request)?;
        cache.state().misses += blocks;
        Ok(())
    }

    fn flush(&mut self) {
        self.inner.flush();
    }

    fn wait(&mut self) -> Option<Completion> {
        if let Some(completion) = self.ready.pop() {
            self.inner.flush();
            return Some(completion);
        }
        let completion = self.inner.wait()?;
        if let Ok(bytes) = completion.bytes() {
            self.cache.keep(completion.offset, bytes);
        }
        Some(completion)
    }
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init)] // One bad range is a list of one.
mod tests {
    use super::*;
    use crate::buffer::Buffer;
    use crate::layer::{Counting, Faulty};
    use crate::ram::Ram;

    fn bytes(len: usize) -> Vec<u8> {
        (0..len).map(|i| (i / 3 % 251) as u8).collect()
    }

    fn cache(blocks: u64) -> Cache<Counting<Ram>> {
        Cache::new(Counting::new(Ram::new(&bytes(10_000))), blocks * 512, 512)
    }

    #[test]
    fn neighbours_that_miss_are_read_in_one_request_and_hits_in_none() {
        let cache = cache(16);
        let mut buf = vec![0; 512];
        cache.read_at(&mut buf, 1024).unwrap(); // block 2
        let mut buf = vec![0; 2600];
        cache.read_at(&mut buf, 100).unwrap(); // blocks 0..=5
        assert_eq!(buf, bytes(10_000)[100..2700]);
        let below = cache.inner().counts();
        // 2; then 0..=1 and 3..=5 around it.
        assert_eq!((below.requests, below.bytes), (3, 512 * 6));
        cache.read_at(&mut buf, 300).unwrap();
        assert_eq!(cache.inner().counts(), below);
        let counts = cache.counts();
        assert_eq!((counts.hits, counts.misses, counts.evictions), (7, 6, 0));
        assert_eq!(counts.hit_bytes, 7 * 512);
        assert_eq!(cache.held(), 6 * 512);
    }

    #[test]
    fn a_scan_larger_than_the_cache_hits_nothing_the_second_time() {
        let cache = cache(10);
        for _ in 0..2 {
            for block in 0..19 {
                cache.read_at(&mut [0; 512], block * 512).unwrap();
            }
        }
        let counts = cache.counts();
        assert_eq!((counts.hits, counts.misses), (0, 38));
        assert_eq!(counts.evictions, 28);
        assert_eq!((cache.held(), cache.allocated()), (5120, 5120));
    }

    #[test]
    fn the_last_block_may_be_short() {
        let cache = cache(20);
        let mut buf = vec![0; 10];
        cache.read_at(&mut buf, 9990).unwrap();
        cache.read_at(&mut buf, 9980).unwrap();
        assert_eq!(buf, bytes(10_000)[9980..9990]);
        assert_eq!(cache.counts().hits, 1);
        assert!(cache.read_at(&mut buf, 9991).is_err());
    }

    #[test]
    fn what_was_not_asked_for_fails_nobody() {
        let faulty = Faulty::new(Ram::new(&bytes(4096)), [600..601], libc::EIO);
        let cache = Cache::new(faulty, 4096, 512);
        let mut buf = vec![0; 80];
        cache.read_at(&mut buf, 520).unwrap();
        assert_eq!(buf, bytes(4096)[520..600]);
        let error = cache.read_at(&mut buf, 530).unwrap_err();
        assert_eq!((error.offset, error.len), (600, 10));
        assert_eq!(cache.held(), 0);
    }

    #[test]
    fn what_a_queue_has_read_is_a_hit_for_single_reads() {
        let cache = cache(16);
        let mut queue = cache.queue(4).unwrap();
        let submit = |queue: &mut Box<dyn Queue + '_>, offset, len| {
            let buffer = Buffer::empty();
            let tag = offset;
            queue
                .submit(Request {
                    tag,
                    offset,
                    len,
                    buffer,
                })
                .unwrap();
        };
        submit(&mut queue, 512, 2048); // blocks 1..=4
        submit(&mut queue, 100_000, 1);
        assert_eq!(
            queue.wait().unwrap().bytes().unwrap(),
            &bytes(10_000)[512..2560]
        );
        assert!(queue.wait().unwrap().result.is_err());
        let mut buf = vec![0; 2048];
        cache.read_at(&mut buf, 512).unwrap();
        assert_eq!(cache.inner().counts().requests, 2);
        submit(&mut queue, 600, 1000); // from the cache
        assert_eq!(queue.in_flight(), 1);
        assert_eq!(
            queue.wait().unwrap().bytes().unwrap(),
            &bytes(10_000)[600..1600]
        );
        assert!(queue.wait().is_none());
        assert_eq!(cache.inner().counts().requests, 2);
        assert_eq!((cache.counts().hits, cache.counts().misses), (4 + 3, 4));
    }
}
