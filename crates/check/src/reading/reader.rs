//! The four steps.

use blockio::layer::{Cache, Counting};
use blockio::{BlockSource, Buffer, Request};
use ondisk::ext4::block_map::{self, DIRECT};
use ondisk::ext4::inode::Content;
use ondisk::ext4::{FileType, Inode, bitmap, directory, extent};

use super::map::Map;
use super::{Error, Step, Strategy};

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

/// Objects and faults.
type Count = (u64, u64);

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

    pub(super) fn step(&mut self, step: Step) -> Result<Count, Error> {
        match step {
            Step::Clusters => self.descriptors(false),
            Step::Inodes => self.descriptors(true),
            Step::Scan => Ok(self.scan()),
            Step::Directories => self.entries(),
        }
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

    /// Bitmaps, along their chains.
    fn descriptors(&mut self, of_inodes: bool) -> Result<Count, Error> {
        if self.strategy.prefill {
            let longest = self.chains.iter().map(Vec::len).max().unwrap_or(0);
            for level in 0..longest {
                let links = self.chains.iter().filter_map(|chain| chain.get(level));
                let blocks = links.map(|&g| self.map.groups[g].bitmap(of_inodes).0);
                let blocks: Vec<u64> = blocks.collect();
                self.fetch(&blocks)?;
            }
        }
        let mut count = (0, 0);
        let order: Vec<usize> = self.chains.iter().flatten().copied().collect();
        for group in order {
            count.0 += 1;
            count.1 += u64::from(!self.descriptor(group, of_inodes));
            if of_inodes && self.strategy.precache {
                let table = self.map.groups[group].table.clone();
                let mut at = table.start;
                while at < table.end {
                    // The whole group in one read, as far as one request goes.
                    let len = (table.end - at).min(4 << 20) as usize;
                    // Step 1 says what cannot be read.
                    let _ = self.read(at, len);
                    at += len as u64;
                }
            }
        }
        Ok(count)
    }

    /// Whether a bitmap is sound.
    fn descriptor(&mut self, group: usize, of_inodes: bool) -> bool {
        let map = self.map;
        let (block, is_there) = map.groups[group].bitmap(of_inodes);
        let len = map.geometry.block_size as usize;
        let Some(bytes) = self.read(map.byte(block), len) else {
            return false;
        };
        let Some(seed) = map.seed.filter(|_| is_there) else {
            return true;
        };
        let descriptor = &map.groups[group].descriptor;
        let sum = if of_inodes {
            bitmap::inode_checksum(seed, &map.geometry, descriptor, bytes)
        } else {
            bitmap::block_checksum(seed, &map.geometry, descriptor, bytes)
        };
        sum.is_ok_and(|sum| sum.stored == sum.computed)
    }

    /// Inode tables, ascending.
    fn scan(&mut self) -> Count {
        let map = self.map;
        let block = map.geometry.block_size;
        let buffer = (self.strategy.scan_buffer / block * block).max(block) as usize;
        let mut order: Vec<usize> = (0..map.groups.len()).collect();
        order.sort_by_key(|&group| map.groups[group].table.start);
        let mut count = (0, 0);
        for group in order {
            let table = map.groups[group].table.clone();
            let mut at = table.start;
            let mut inode = map.groups[group].first_inode;
            while at < table.end {
                let len = (table.end - at).min(buffer as u64) as usize;
                let slots = len / usize::from(map.geometry.inode_size);
                match self.read(at, len).map(<[u8]>::to_vec) {
                    Some(bytes) => {
                        let (found, wrong) = self.inodes(inode, &bytes);
                        count.0 += found;
                        count.1 += wrong;
                    }
                    None => count.1 += 1,
                }
                inode = inode.saturating_add(slots as u32);
                at += len as u64;
            }
        }
        self.directories.sort_unstable();
        self.directories.dedup();
        count
    }

    /// The inodes of a piece of a table, whose first is number `first`.
    fn inodes(&mut self, first: u32, bytes: &[u8]) -> Count {
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

    /// An indirect block so many levels above the data.
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
    fn entries(&mut self) -> Result<Count, Error> {
        let block = self.map.geometry.block_size;
        let batch = self.strategy.batch.max(1) as usize;
        // A batch larger than the cache would be gone before it is looked at.
        let fetches = batch > 1 && batch as u64 * u64::from(block) <= self.strategy.cache;
        let mut count = (0, 0);
        let all = std::mem::take(&mut self.directories);
        for blocks in all.chunks(batch) {
            if fetches {
                self.fetch(blocks)?;
            }
            for &at in blocks {
                count.0 += 1;
                let bytes = self.read(self.map.byte(at), block as usize);
                let sound = bytes.is_some_and(|bytes| {
                    directory::entries(bytes, block).all(|entry| entry.is_ok())
                });
                count.1 += u64::from(!sound);
            }
        }
        self.directories = all;
        Ok(count)
    }

    /// Reads blocks into the cache, many at once, neighbours together.
    fn fetch(&self, blocks: &[u64]) -> Result<(), Error> {
        let size = u64::from(self.map.geometry.block_size);
        let mut queue = self.cache.queue(DEPTH)?;
        let mut free = Vec::new();
        for run in runs(blocks, LONGEST / size) {
            let mut request = Request {
                tag: run.start,
                offset: self.map.byte(run.start),
                len: ((run.end - run.start) * size) as usize,
                buffer: free.pop().unwrap_or_else(Buffer::empty),
            };
            while let Err(back) = queue.submit(request) {
                request = back;
                free.extend(queue.wait().map(|done| done.buffer));
            }
        }
        // What could not be read is met again by whoever looks at it.
        while queue.wait().is_some() {}
        Ok(())
    }

    /// Bytes through the cache; none where they cannot be read.
    fn read(&mut self, at: u64, len: usize) -> Option<&[u8]> {
        self.buffer.resize(len, 0);
        self.cache.read_at(&mut self.buffer, at).ok()?;
        Some(&self.buffer)
    }
}

/// Neighbouring blocks together, at most so many.
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
