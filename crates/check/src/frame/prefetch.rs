//! Blocks that a mapping leads through (extent nodes, indirect blocks, B-tree nodes), read ahead of the walk.
//!
//! They are scattered over the device, and a walk needs them one after the other. So walks are made in batches: the blocks that the roots
//! of many inodes name are read beforehand in ascending order, and a walk that comes to a node of nodes
//! reads the next few hundred of its children the same way. Memory is bounded; a block that is not held is read by itself.

use std::ops::{ControlFlow, Range};

use blockio::{BlockSource, Content, ReadError, Span, Sweep};

use super::options::Options;

/// This few blocks are not worth a sweep.
const FEW: usize = 4;

/// Levels below the first that have buffers of their own. No sound tree has more; the nodes of a deeper one reuse the buffers of those
/// far above.
pub(crate) const LEVELS_BELOW: usize = 5;

/// Bytes that a thread holds for the first level and for each level below: less where requests
/// are small, because there is little to read or memory is limited, and never less than eight blocks.
pub(crate) fn sizes(options: &Options, block: usize) -> (usize, usize) {
    const MOST: usize = 4 << 20;
    let least = 8 * block;
    let first = options.sweep.request.saturating_mul(2).min(MOST).max(least);
    (first, (first / 4).max(least))
}

/// The sweep that reads a level, from the sweep of a pass.
pub(crate) fn sweep(sweep: &Sweep) -> Sweep {
    Sweep {
        request: sweep.request.min(256 << 10),
        depth: (sweep.depth / sweep.threads.max(1)).clamp(2, 8),
        threads: 1,
        ..sweep.clone()
    }
}

/// Blocks held for one level of a tree.
#[derive(Default)]
struct Level {
    /// Block numbers, ascending.
    blocks: Vec<u64>,
    /// Their contents in that order.
    bytes: Vec<u8>,
    /// Which of them could be read.
    held: Vec<bool>,
}

/// Reads blocks of mappings ahead of a walk, for one thread.
pub(crate) struct Prefetch<'a> {
    source: &'a dyn BlockSource,
    /// Size of a block, bytes.
    block: usize,
    /// Blocks of the filesystem.
    legal: Range<u64>,
    /// Bytes held for the first level and for each below.
    sizes: (usize, usize),
    sweep: Sweep,
    levels: Vec<Level>,
    buffers: Vec<Vec<u8>>,
}

impl<'a> Prefetch<'a> {
    /// For the `legal` blocks of a source; `pass` is the sweep of a pass, whose options are `options`.
    pub(crate) fn new(
        source: &'a dyn BlockSource,
        legal: Range<u64>,
        pass: &Sweep,
        options: &Options,
    ) -> Prefetch<'a> {
        let block = pass.block as usize;
        Prefetch {
            source,
            block,
            legal,
            sizes: sizes(options, block),
            sweep: sweep(pass),
            levels: Vec::new(),
            buffers: Vec::new(),
        }
    }

    /// Blocks of the first level that are held at most.
    pub(crate) fn capacity(&self) -> usize {
        self.room(0)
    }

    /// Blocks of a level that are held at most.
    fn room(&self, level: usize) -> usize {
        let (first, below) = self.sizes;
        let bytes = if level == 0 { first } else { below };
        bytes / self.block
    }

    /// Reads these blocks and drops what the level held. Blocks that there is no room for are left out.
    pub(crate) fn fetch(&mut self, level: usize, mut wanted: Vec<u64>) {
        let level = match level {
            0 => 0,
            level => 1 + (level - 1) % LEVELS_BELOW,
        };
        if self.levels.len() <= level {
            self.levels.resize_with(level + 1, Level::default);
        }
        wanted.retain(|block| *block != 0 && self.legal.contains(block));
        wanted.sort_unstable();
        wanted.dedup();
        wanted.truncate(self.room(level));
        let size = self.block;
        let level = &mut self.levels[level];
        level.blocks.clear();
        if wanted.len() <= FEW {
            return;
        }
        level.bytes.clear();
        level.bytes.resize(wanted.len() * size, 0);
        level.held.clear();
        level.held.resize(wanted.len(), false);
        level.blocks = wanted;
        let Level {
            blocks,
            bytes,
            held,
        } = level;
        let spans = blocks.iter().enumerate().map(|(nth, block)| Span {
            tag: nth as u64,
            range: block * size as u64..(block + 1) * size as u64,
        });
        // An error here occurs again when the block is read by itself, and is reported then.
        let _ = self.sweep.each(self.source, spans, |piece| {
            let nth = piece.tag as usize;
            match piece.content {
                Content::Data(data) if data.len() == size => {
                    bytes[nth * size..(nth + 1) * size].copy_from_slice(data);
                    held[nth] = true;
                }
                Content::Hole(len) if len == size as u64 => held[nth] = true,
                _ => {}
            }
            ControlFlow::Continue(())
        });
    }

    fn held(&self, block: u64) -> Option<&[u8]> {
        let size = self.block;
        self.levels.iter().find_map(|level| {
            let nth = level.blocks.binary_search(&block).ok()?;
            level.held[nth].then(|| &level.bytes[nth * size..(nth + 1) * size])
        })
    }

    /// The contents of a block, in a buffer to be returned by [`Prefetch::give_back`]. `siblings` are the blocks that will be needed
    /// next: where this one is not held, they are read along with it.
    ///
    /// # Errors
    /// The block cannot be read.
    pub(crate) fn read(
        &mut self,
        level: usize,
        block: u64,
        siblings: impl Iterator<Item = u64>,
    ) -> Result<Vec<u8>, ReadError> {
        if self.held(block).is_none() {
            let room = self.room(level + 1).saturating_sub(1);
            let window = siblings.take(room).chain([block]).collect();
            self.fetch(level + 1, window);
        }
        let mut buffer = self.buffers.pop().unwrap_or_default();
        buffer.resize(self.block, 0);
        if let Some(bytes) = self.held(block) {
            buffer.copy_from_slice(bytes);
            return Ok(buffer);
        }
        let at = block.saturating_mul(self.block as u64);
        match self.source.read_at(&mut buffer, at) {
            Ok(()) => Ok(buffer),
            Err(error) => {
                self.buffers.push(buffer);
                Err(error)
            }
        }
    }

    /// Takes a buffer back.
    pub(crate) fn give_back(&mut self, buffer: Vec<u8>) {
        self.buffers.push(buffer);
    }
}
