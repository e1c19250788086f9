//! The four steps.
//!
//! What is asked for ahead must still be in the cache when it is looked at. So a level of the chains, or a batch of directory blocks, that
//! does not fit is not asked for ahead at all, and chains that do not fit as a whole are looked at level by level.

use blockio::layer::{Cache, Counting};
use blockio::{BlockSource, Buffer, Queue, Request};
use ondisk::ext4::block_map::{self, DIRECT};
use ondisk::ext4::inode::Content;
use ondisk::ext4::{FileType, Inode, bitmap, directory, extent};

use crate::strategy::map::Map;
use crate::strategy::{Error, Step, Strategy};

/// Requests of a prefetch that are in flight.
const DEPTH: usize = 64;
/// Most bytes of one request of a batch.
const LONGEST: u64 = 1 << 20;

/// What has been learned so far.
pub(super) struct Reader<'a> {
    cache: &'a Cache<Counting<&'a dyn BlockSource>>,
    map: &'a Map,
    strategy: &'a Strategy,
    /// Groups in the order of their chains.
    chains: Vec<Vec<usize>>,
    /// Directory blocks that step 1 found.
    directories: Vec<u64>,
    buffer: Vec<u8>,
}

/// What a step met.
#[derive(Clone, Copy)]
pub(super) struct Tally {
    pub(super) objects: u64,
    pub(super) verified: u64,
    pub(super) faults: u64,
    /// Blocks asked for together.
    pub(super) batched: u64,
}

/// Asked before each group, buffer and batch whether to go on.
type GoOn<'g> = &'g mut dyn FnMut() -> Result<(), Error>;

/// Whether a block holds something to verify, and is sound.
struct Looked {
    verified: bool,
    sound: bool,
}

impl Tally {
    /// Nothing so far, one block at a time.
    const NONE: Tally = Tally {
        objects: 0,
        verified: 0,
        faults: 0,
        batched: 1,
    };

    fn met(&mut self, looked: &Looked) {
        self.objects += 1;
        self.verified += u64::from(looked.verified);
        self.faults += u64::from(!looked.sound);
    }
}

impl<'a> Reader<'a> {
    pub(super) fn new(
        cache: &'a Cache<Counting<&'a dyn BlockSource>>,
        map: &'a Map,
        strategy: &'a Strategy,
    ) -> Reader<'a> {
        let chains = (strategy.chains.max(1) as usize).min(map.groups.len().max(1));
        let mut of = vec![Vec::new(); chains];
        for group in 0..map.groups.len() {
            of[group % chains].push(group);
        }
        Reader {
            cache,
            map,
            strategy,
            chains: of,
            directories: Vec::new(),
            buffer: Vec::new(),
        }
    }

    pub(super) fn step(&mut self, step: Step, go_on: GoOn<'_>) -> Result<Tally, Error> {
        match step {
            Step::Clusters => self.descriptors(false, go_on),
            Step::Inodes => self.descriptors(true, go_on),
            Step::Scan => self.scan(go_on),
            Step::Directories => self.entries(go_on),
        }
    }

    /// Links of the longest chain.
    pub(super) fn links(&self) -> u64 {
        self.chains.iter().map(Vec::len).max().unwrap_or(0) as u64
    }

    /// Bytes of all that was to be read.
    pub(super) fn metadata_bytes(&self) -> u64 {
        let block = u64::from(self.map.geometry.block_size);
        let tables: u64 = self
            .map
            .groups
            .iter()
            .map(|g| g.table.end - g.table.start)
            .sum();
        tables + (2 * self.map.groups.len() + self.directories.len()) as u64 * block
    }

    /// Blocks that the cache holds.
    fn room(&self) -> u64 {
        self.strategy.cache / u64::from(self.map.geometry.block_size)
    }

    /// Bitmaps, along their chains.
    fn descriptors(&mut self, of_inodes: bool, go_on: GoOn<'_>) -> Result<Tally, Error> {
        let mut tally = Tally::NONE;
        let chained: Vec<usize> = self.chains.iter().flatten().copied().collect();
        // A level that does not fit would be gone before it is looked at.
        if !self.strategy.prefill || self.chains.len() as u64 > self.room() {
            self.look(&chained, of_inodes, &mut tally, go_on)?;
            return Ok(tally);
        }
        tally.batched = self.chains.len() as u64;
        let mut fetcher = Fetcher::new(self.cache, self.map)?;
        let all_fit = chained.len() as u64 <= self.room();
        for level in 0..self.links() as usize {
            let links = self.chains.iter().filter_map(|chain| chain.get(level));
            let level: Vec<usize> = links.copied().collect();
            go_on()?;
            let blocks = level
                .iter()
                .map(|&g| self.map.groups[g].bitmap(of_inodes).0);
            fetcher.fetch(&blocks.collect::<Vec<u64>>());
            if !all_fit {
                self.look(&level, of_inodes, &mut tally, go_on)?;
            }
        }
        if all_fit {
            self.look(&chained, of_inodes, &mut tally, go_on)?;
        }
        Ok(tally)
    }

    /// Verifies the bitmaps of groups, and reads their tables with precache.
    fn look(
        &mut self,
        groups: &[usize],
        of_inodes: bool,
        tally: &mut Tally,
        go_on: GoOn<'_>,
    ) -> Result<(), Error> {
        for &group in groups {
            go_on()?;
            tally.met(&self.descriptor(group, of_inodes));
            if of_inodes && self.strategy.precache {
                self.precache(group);
            }
        }
        Ok(())
    }

    /// The whole table of a group, as far as one request goes.
    fn precache(&mut self, group: usize) {
        const MOST: u64 = 4 << 20;
        let table = self.map.groups[group].table.clone();
        let mut at = table.start;
        while at < table.end {
            let len = (table.end - at).min(MOST);
            // Step 1 reports what cannot be read.
            let _ = self.read(at, len as usize);
            at += len;
        }
    }

    /// A bitmap.
    fn descriptor(&mut self, group: usize, of_inodes: bool) -> Looked {
        let map = self.map;
        let (block, is_there) = map.groups[group].bitmap(of_inodes);
        let looked = |sound| Looked {
            verified: is_there,
            sound,
        };
        let len = map.geometry.block_size as usize;
        let Some(bytes) = self.read(map.byte(block), len) else {
            return looked(false);
        };
        let Some(seed) = map.seed.filter(|_| is_there) else {
            return looked(true);
        };
        let descriptor = &map.groups[group].descriptor;
        let sum = if of_inodes {
            bitmap::inode_checksum(seed, &map.geometry, descriptor, bytes)
        } else {
            bitmap::block_checksum(seed, &map.geometry, descriptor, bytes)
        };
        looked(sum.is_ok_and(|sum| sum.stored == sum.computed))
    }

    /// Inode tables, ascending.
    fn scan(&mut self, go_on: GoOn<'_>) -> Result<Tally, Error> {
        let map = self.map;
        let block = map.geometry.block_size;
        let buffer = (self.strategy.scan_buffer / block * block).max(block) as usize;
        let mut order: Vec<usize> = (0..map.groups.len()).collect();
        order.sort_by_key(|&group| map.groups[group].table.start);
        let mut tally = Tally::NONE;
        for group in order {
            let table = map.groups[group].table.clone();
            let mut at = table.start;
            let mut inode = map.groups[group].first_inode;
            while at < table.end {
                go_on()?;
                let len = (table.end - at).min(buffer as u64) as usize;
                let slots = len / usize::from(map.geometry.inode_size);
                if self.read(at, len).is_some() {
                    // Lent to the inodes, whose extent blocks are read into another.
                    let bytes = std::mem::take(&mut self.buffer);
                    let (found, wrong) = self.inodes(inode, &bytes);
                    self.buffer = bytes;
                    tally.objects += found;
                    tally.faults += wrong;
                } else {
                    tally.faults += 1;
                }
                inode = inode.saturating_add(slots as u32);
                at += len as u64;
            }
        }
        tally.verified = tally.objects;
        self.directories.sort_unstable();
        self.directories.dedup();
        Ok(tally)
    }

    /// The inodes of a piece of a table, whose first is number `first`: how many are in use, and faults.
    fn inodes(&mut self, first: u32, bytes: &[u8]) -> (u64, u64) {
        let size = self.map.geometry.inode_size;
        let mut count = (0, 0);
        for (number, slot) in (first..).zip(bytes.chunks_exact(size.into())) {
            let Ok(inode) = Inode::read(slot, size) else {
                continue;
            };
            if inode.raw().i_links_count.get() == 0 {
                continue;
            }
            count.0 += 1;
            if let Some(seed) = self.map.seed {
                let sum = inode.checksum(seed, number);
                count.1 += u64::from(sum.stored != sum.computed);
            }
            if inode.file_type() == Some(FileType::Directory) {
                count.1 += self.directory(&inode);
            }
        }
        count
    }

    /// Takes the blocks of a directory down; what is wrong with its map.
    fn directory(&mut self, inode: &Inode<'_>) -> u64 {
        let words = inode.block_words();
        match inode.content() {
            Content::Extents => {
                let root: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
                self.extents(&root, extent::MAX_DEPTH)
            }
            Content::BlockMap => {
                let direct = words[..DIRECT as usize].iter();
                self.directories
                    .extend(direct.filter(|w| **w != 0).map(|w| u64::from(*w)));
                let levels = (1..).zip(&words[DIRECT as usize..]);
                levels
                    .map(|(level, word)| self.indirect(*word, level))
                    .sum()
            }
            _ => 0,
        }
    }

    /// A node of an extent tree; deeper than `most` it is damaged.
    fn extents(&mut self, bytes: &[u8], most: u16) -> u64 {
        let Ok(node) = extent::Node::read(bytes) else {
            return 1;
        };
        if node.depth() == 0 {
            for extent in node.extents() {
                let blocks = extent.start..extent.start + u64::from(extent.len);
                self.directories.extend(blocks);
            }
            return 0;
        }
        if most == 0 || node.depth() > most {
            return 1;
        }
        let below: Vec<u64> = node.indexes().map(|index| index.leaf).collect();
        let mut wrong = 0;
        for block in below {
            let len = self.map.geometry.block_size as usize;
            wrong += match self.read(self.map.byte(block), len).map(<[u8]>::to_vec) {
                Some(bytes) => self.extents(&bytes, most - 1),
                None => 1,
            };
        }
        wrong
    }

    /// An indirect block, `levels` levels above the data.
    fn indirect(&mut self, block: u32, level: u32) -> u64 {
        if block == 0 {
            return 0;
        }
        let len = self.map.geometry.block_size as usize;
        let bytes = self.read(self.map.byte(block.into()), len);
        let Some(bytes) = bytes.map(<[u8]>::to_vec) else {
            return 1;
        };
        let pointers = block_map::pointers(&bytes).filter(|pointer| *pointer != 0);
        if level == 1 {
            self.directories.extend(pointers.map(u64::from));
            return 0;
        }
        let below: Vec<u32> = pointers.collect();
        below
            .iter()
            .map(|&block| self.indirect(block, level - 1))
            .sum()
    }

    /// Directory blocks, ascending.
    fn entries(&mut self, go_on: GoOn<'_>) -> Result<Tally, Error> {
        let block = self.map.geometry.block_size;
        let batch = self.strategy.batch.max(1) as usize;
        let mut tally = Tally::NONE;
        let all = std::mem::take(&mut self.directories);
        // A batch larger than the cache would be gone before it is looked at.
        let mut fetcher = if batch > 1 && batch as u64 <= self.room() {
            Some(Fetcher::new(self.cache, self.map)?)
        } else {
            None
        };
        for blocks in all.chunks(batch) {
            go_on()?;
            if let Some(fetcher) = &mut fetcher {
                fetcher.fetch(blocks);
                tally.batched = tally.batched.max(blocks.len() as u64);
            }
            for &at in blocks {
                let bytes = self.read(self.map.byte(at), block as usize);
                let sound = bytes.is_some_and(|bytes| {
                    directory::entries(bytes, block).all(|entry| entry.is_ok())
                });
                tally.met(&Looked {
                    verified: true,
                    sound,
                });
            }
        }
        self.directories = all;
        Ok(tally)
    }

    /// Bytes through the cache; none where they cannot be read.
    fn read(&mut self, at: u64, len: usize) -> Option<&[u8]> {
        self.buffer.resize(len, 0);
        self.cache.read_at(&mut self.buffer, at).ok()?;
        Some(&self.buffer)
    }
}

/// Reads many blocks into the cache at once. One queue serves a whole step: to set one up costs system calls, and the step's clock runs.
struct Fetcher<'a> {
    queue: Box<dyn Queue + 'a>,
    map: &'a Map,
    free: Vec<Buffer>,
}

impl<'a> Fetcher<'a> {
    fn new(
        cache: &'a Cache<Counting<&'a dyn BlockSource>>,
        map: &'a Map,
    ) -> Result<Fetcher<'a>, Error> {
        Ok(Fetcher {
            queue: cache.queue(DEPTH)?,
            map,
            free: Vec::new(),
        })
    }

    /// Neighbours in one request.
    fn fetch(&mut self, blocks: &[u64]) {
        let size = u64::from(self.map.geometry.block_size);
        for run in runs(blocks, LONGEST / size) {
            let mut request = Request {
                tag: run.start,
                offset: self.map.byte(run.start),
                len: ((run.end - run.start) * size) as usize,
                buffer: self.free.pop().unwrap_or_else(Buffer::empty),
            };
            while let Err(back) = self.queue.submit(request) {
                request = back;
                self.free.extend(self.queue.wait().map(|done| done.buffer));
            }
        }
        // An error occurs again when the block is looked at.
        while let Some(done) = self.queue.wait() {
            self.free.push(done.buffer);
        }
    }
}

/// Consecutive blocks together, at most `most`.
fn runs(blocks: &[u64], longest: u64) -> Vec<std::ops::Range<u64>> {
    let mut runs: Vec<std::ops::Range<u64>> = Vec::new();
    for &block in blocks {
        match runs.last_mut() {
            Some(run) if run.end == block && run.end - run.start < longest.max(1) => run.end += 1,
            _ => runs.push(block..block + 1),
        }
    }
    runs
}
