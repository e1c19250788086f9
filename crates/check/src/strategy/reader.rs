//! The steps.
//!
//! What is asked for ahead must still be in the cache when it is looked at. So a level of the chains, or a batch of directory blocks, that
//! does not fit is not asked for ahead at all, and chains that do not fit as a whole are looked at level by level.

use std::ops::Range;

use blockio::layer::{Cache, Counting};
use blockio::{BlockSource, Buffer, Queue, Request};

use super::metadata_map::{Blocks, MetadataMap, Table, Verified};
use super::{Error, Step, Strategy};

/// Requests of a prefetch that are in flight.
const DEPTH: usize = 64;
/// Most bytes of one request of a batch.
const LONGEST: u64 = 1 << 20;
/// Most bytes of one request of precache.
const LONGEST_GROUP: u64 = 4 << 20;

/// The reader's cache over the counted source.
pub(super) type Cached<'a> = Cache<Counting<&'a dyn BlockSource>>;

/// Reads the steps of a volume, one after the other.
pub(super) struct Reader<'a, M> {
    cache: &'a Cached<'a>,
    map: M,
    strategy: &'a Strategy,
    /// Links of the longest chain that was met.
    links: u64,
    /// Directory blocks that step 1 found.
    directories: Vec<u64>,
    buffer: Vec<u8>,
}

/// The result of a step.
#[derive(Clone, Copy)]
pub(super) struct Tally {
    pub(super) objects: u64,
    pub(super) verified: u64,
    pub(super) faults: u64,
    /// Blocks asked for together, at most.
    pub(super) batched: u64,
}

/// Asked before each group, buffer and batch whether to go on.
type GoOn<'g> = &'g mut dyn FnMut() -> Result<(), Error>;

impl Tally {
    /// Nothing so far, one block at a time.
    const NONE: Tally = Tally {
        objects: 0,
        verified: 0,
        faults: 0,
        batched: 1,
    };

    fn count(&mut self, verified: Verified) {
        self.objects += 1;
        self.verified += u64::from(verified.verifiable);
        self.faults += u64::from(!verified.sound);
    }
}

impl<'a, M: MetadataMap> Reader<'a, M> {
    pub(super) fn new(cache: &'a Cached<'a>, map: M, strategy: &'a Strategy) -> Reader<'a, M> {
        Reader {
            cache,
            map,
            strategy,
            links: 0,
            directories: Vec::new(),
            buffer: Vec::new(),
        }
    }

    pub(super) fn step(&mut self, step: Step, go_on: GoOn<'_>) -> Result<Tally, Error> {
        match step {
            Step::Clusters | Step::Inodes | Step::Extents => self.descriptors(step, go_on),
            Step::Scan => self.scan(go_on),
            Step::Directories => self.entries(go_on),
        }
    }

    /// Links of the longest chain.
    pub(super) fn links(&self) -> u64 {
        self.links
    }

    /// Bytes of everything the steps are to read.
    pub(super) fn metadata_bytes(&self) -> u64 {
        let tables: u64 = self.map.tables().iter().map(Table::len).sum();
        let over_descriptors =
            |step: &&Step| matches!(step, Step::Clusters | Step::Inodes | Step::Extents);
        let steps = self.map.steps().iter().filter(over_descriptors);
        let descriptors: u64 = steps.map(|step| self.map.descriptors(*step)).sum();
        let blocks = descriptors + self.directories.len() as u64;
        tables + blocks * u64::from(self.map.block_size())
    }

    /// The byte at which a block begins.
    fn byte(&self, block: u64) -> u64 {
        block.saturating_mul(u64::from(self.map.block_size()))
    }

    /// Blocks that the cache holds.
    fn room(&self) -> u64 {
        self.strategy.cache / u64::from(self.map.block_size())
    }

    /// Descriptors, along their chains.
    fn descriptors(&mut self, step: Step, go_on: GoOn<'_>) -> Result<Tally, Error> {
        let heads = self.map.heads(step, self.strategy.chains);
        // A level that does not fit would be gone before it is looked at.
        if self.strategy.prefill && heads.len() as u64 <= self.room() {
            self.by_levels(step, heads, go_on)
        } else {
            self.by_chains(step, heads, go_on)
        }
    }

    /// One chain after the other, one block at a time.
    fn by_chains(
        &mut self,
        step: Step,
        heads: Vec<M::Link>,
        go_on: GoOn<'_>,
    ) -> Result<Tally, Error> {
        let mut tally = Tally::NONE;
        let mut left = self.map.descriptors(step);
        for head in heads {
            let mut link = Some(head);
            let mut links = 0;
            while let Some(at) = link.filter(|_| left > 0) {
                go_on()?;
                left -= 1;
                links += 1;
                link = self.look(step, at, &mut tally);
            }
            self.links = self.links.max(links);
        }
        Ok(tally)
    }

    /// The first links of all chains together, then the second links, and so on. They are verified chain by chain at the end where
    /// all of them fit the cache, else level by level.
    fn by_levels(
        &mut self,
        step: Step,
        heads: Vec<M::Link>,
        go_on: GoOn<'_>,
    ) -> Result<Tally, Error> {
        let mut tally = Tally {
            batched: heads.len().max(1) as u64,
            ..Tally::NONE
        };
        let mut left = self.map.descriptors(step);
        let all_fit = left <= self.room();
        let mut fetcher = Fetcher::new(self.cache, self.map.block_size())?;
        let mut chains: Vec<Vec<M::Link>> = vec![Vec::new(); heads.len()];
        let mut level: Vec<(usize, M::Link)> = heads.into_iter().enumerate().collect();
        let mut levels = 0;
        while !level.is_empty() && left > 0 {
            go_on()?;
            level.truncate(usize::try_from(left).unwrap_or(usize::MAX));
            left -= level.len() as u64;
            levels += 1;
            let map = &self.map;
            let blocks: Vec<u64> = level.iter().map(|(_, at)| map.block(step, *at)).collect();
            let mut next = vec![None; level.len()];
            fetcher.fetch(&blocks, |nth, bytes| {
                next[nth] = map.next(step, level[nth].1, bytes);
            });
            for (chain, at) in &level {
                if all_fit {
                    chains[*chain].push(*at);
                } else {
                    go_on()?;
                    self.look(step, *at, &mut tally);
                }
            }
            let followed = level.iter().zip(next);
            level = followed
                .filter_map(|((chain, _), next)| Some((*chain, next?)))
                .collect();
        }
        self.links = self.links.max(levels);
        for at in chains.into_iter().flatten() {
            go_on()?;
            self.look(step, at, &mut tally);
        }
        Ok(tally)
    }

    /// Reads and verifies a descriptor, and its group with precache; the next one of its chain.
    fn look(&mut self, step: Step, at: M::Link, tally: &mut Tally) -> Option<M::Link> {
        let size = self.map.block_size() as usize;
        let place = self.byte(self.map.block(step, at));
        self.buffer.resize(size, 0);
        let read = self.cache.read_at(&mut self.buffer, place);
        let bytes = read.is_ok().then_some(self.buffer.as_slice());
        tally.count(self.map.verify(step, at, bytes));
        let next = self.map.next(step, at, bytes);
        if self.strategy.precache {
            for range in self.map.group(step, at) {
                self.precache(range);
            }
        }
        next
    }

    /// A whole group, in requests as long as one may be.
    fn precache(&mut self, group: Range<u64>) {
        let mut at = group.start;
        while at < group.end {
            let len = (group.end - at).min(LONGEST_GROUP);
            // Step 1 reports what cannot be read.
            let _ = self.read(at, len as usize);
            at += len;
        }
    }

    /// Inode tables.
    fn scan(&mut self, go_on: GoOn<'_>) -> Result<Tally, Error> {
        let block = self.map.block_size();
        let buffer = (self.strategy.scan_buffer / block * block).max(block);
        let mut tally = Tally::NONE;
        let cache = self.cache;
        let read = |at: u64| {
            let mut bytes = vec![0; block as usize];
            let place = at.saturating_mul(block.into());
            cache.read_at(&mut bytes, place).ok()?;
            Some(bytes)
        };
        for table in self.map.tables() {
            let mut offset = 0;
            while offset < table.len() {
                go_on()?;
                let len = (table.len() - offset).min(buffer.into());
                self.buffer.resize(len as usize, 0);
                let place = table.bytes.start.saturating_add(offset);
                if cache.read_at(&mut self.buffer, place).is_ok() {
                    let mut blocks = Blocks {
                        read: &read,
                        directories: &mut self.directories,
                    };
                    let count = self.map.inodes(&table, offset, &self.buffer, &mut blocks);
                    tally.objects += count.in_use;
                    tally.faults += count.faults;
                } else {
                    tally.faults += 1;
                }
                offset += len;
            }
        }
        tally.verified = tally.objects;
        self.directories.sort_unstable();
        self.directories.dedup();
        Ok(tally)
    }

    /// Directory blocks, ascending.
    fn entries(&mut self, go_on: GoOn<'_>) -> Result<Tally, Error> {
        let size = self.map.block_size();
        let batch = self.strategy.batch.max(1) as usize;
        let mut tally = Tally::NONE;
        let all = std::mem::take(&mut self.directories);
        // A batch larger than the cache would be gone before it is looked at.
        let mut fetcher = if batch > 1 && batch as u64 <= self.room() {
            Some(Fetcher::new(self.cache, size)?)
        } else {
            None
        };
        for blocks in all.chunks(batch) {
            go_on()?;
            if let Some(fetcher) = &mut fetcher {
                fetcher.fetch(blocks, |_, _| ());
                tally.batched = tally.batched.max(blocks.len() as u64);
            }
            for &block in blocks {
                let sound = self.read(self.byte(block), size as usize)
                    && self.map.directory_block(block, &self.buffer);
                tally.count(Verified {
                    verifiable: true,
                    sound,
                });
            }
        }
        self.directories = all;
        Ok(tally)
    }

    /// Bytes through the cache into the buffer; whether they could be read.
    fn read(&mut self, at: u64, len: usize) -> bool {
        self.buffer.resize(len, 0);
        self.cache.read_at(&mut self.buffer, at).is_ok()
    }
}

/// Reads many blocks into the cache at once. One queue serves a whole step: to set one up costs system calls, and the step's clock runs.
struct Fetcher<'a> {
    queue: Box<dyn Queue + 'a>,
    /// Bytes of a block.
    block_size: u32,
    free: Vec<Buffer>,
}

impl<'a> Fetcher<'a> {
    fn new(cache: &'a Cached<'a>, block_size: u32) -> Result<Fetcher<'a>, Error> {
        Ok(Fetcher {
            queue: cache.queue(DEPTH)?,
            block_size,
            free: Vec::new(),
        })
    }

    /// Reads these blocks, neighbours in one request. `each` gets the bytes of each block with its index in the list, in the order
    /// in which they arrive; none where they cannot be read.
    fn fetch(&mut self, blocks: &[u64], mut each: impl FnMut(usize, Option<&[u8]>)) {
        let size = u64::from(self.block_size);
        let runs = runs(blocks, LONGEST / size);
        for (tag, run) in (0..).zip(&runs) {
            let mut request = Request {
                tag,
                offset: blocks[run.start].saturating_mul(size),
                len: run.len() * size as usize,
                buffer: self.free.pop().unwrap_or_else(Buffer::empty),
            };
            while let Err(back) = self.queue.submit(request) {
                request = back;
                self.take(&runs, &mut each);
            }
        }
        while self.take(&runs, &mut each) {}
    }

    /// Takes one completion; whether there was one. An error occurs again when the block is looked at.
    fn take(&mut self, runs: &[Range<usize>], each: &mut impl FnMut(usize, Option<&[u8]>)) -> bool {
        let Some(done) = self.queue.wait() else {
            return false;
        };
        let size = self.block_size as usize;
        let bytes = done.bytes().ok();
        for (nth, index) in runs[done.tag as usize].clone().enumerate() {
            each(
                index,
                bytes.and_then(|bytes| bytes.get(nth * size..(nth + 1) * size)),
            );
        }
        self.free.push(done.buffer);
        true
    }
}

/// Consecutive blocks together, at most `longest`, as ranges of the list.
fn runs(blocks: &[u64], longest: u64) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (nth, &block) in blocks.iter().enumerate() {
        match runs.last_mut() {
            Some(run)
                if blocks[run.end - 1].checked_add(1) == Some(block)
                    && (run.len() as u64) < longest.max(1) =>
            {
                run.end += 1;
            }
            _ => runs.push(nth..nth + 1),
        }
    }
    runs
}
