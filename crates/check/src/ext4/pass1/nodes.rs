//! Blocks that a mapping leads through: extent nodes and indirect blocks.
//!
//! They lie anywhere, and a walk wants them one after the other. So walks are made in batches: the blocks that the roots of
//! many inodes name are read beforehand in ascending order, and a walk that comes to a node of nodes
//! reads the next few hundred of its children the same way. What is held is bounded; what is not held is read by itself.

use std::ops::ControlFlow;

use blockio::{Content, ReadError, Span, Sweep};

use super::super::memory::{SHELVES_BELOW, nodes_sweep, shelves};
use super::super::volume::Volume;

/// So few blocks are not worth a sweep.
const FEW: usize = 4;

/// The blocks read beforehand at one level.
#[derive(Default)]
struct Shelf {
    /// Their numbers, ascending.
    blocks: Vec<u64>,
    /// Their contents in that order.
    bytes: Vec<u8>,
    /// Which of them could be read.
    held: Vec<bool>,
}

/// Reads them.
pub(super) struct Nodes<'a> {
    volume: &'a Volume<'a>,
    sweep: Sweep,
    shelves: Vec<Shelf>,
    buffers: Vec<Vec<u8>>,
}

impl<'a> Nodes<'a> {
    pub(super) fn new(volume: &'a Volume<'a>) -> Nodes<'a> {
        Nodes {
            volume,
            sweep: nodes_sweep(volume),
            shelves: Vec::new(),
            buffers: Vec::new(),
        }
    }

    /// Blocks that are held at once at most.
    pub(super) fn capacity(&self) -> usize {
        self.room(0)
    }

    /// Blocks of a level that are.
    fn room(&self, level: usize) -> usize {
        let block = self.volume.block_size();
        let (first, below) = shelves(&self.volume.options, block);
        let bytes = if level == 0 { first } else { below };
        bytes / block
    }

    /// Reads these beforehand; what the level held is forgotten. Blocks that there is no room for are left out.
    pub(super) fn fetch(&mut self, level: usize, mut wanted: Vec<u64>) {
        let level = match level {
            0 => 0,
            level => 1 + (level - 1) % SHELVES_BELOW,
        };
        if self.shelves.len() <= level {
            self.shelves.resize_with(level + 1, Shelf::default);
        }
        let (first, end) = (
            u64::from(self.volume.geometry.first_data_block),
            self.volume.geometry.blocks_count,
        );
        wanted.retain(|block| *block != 0 && (first..end).contains(block));
        wanted.sort_unstable();
        wanted.dedup();
        wanted.truncate(self.room(level));
        let size = self.volume.block_size();
        let shelf = &mut self.shelves[level];
        shelf.blocks.clear();
        if wanted.len() <= FEW {
            return;
        }
        shelf.bytes.clear();
        shelf.bytes.resize(wanted.len() * size, 0);
        shelf.held.clear();
        shelf.held.resize(wanted.len(), false);
        shelf.blocks = wanted;
        let Shelf {
            blocks,
            bytes,
            held,
        } = shelf;
        let spans = blocks.iter().enumerate().map(|(nth, block)| Span {
            tag: nth as u64,
            range: block * size as u64..(block + 1) * size as u64,
        });
        // Whatever goes wrong here goes wrong again when the block is read by itself, and is told then.
        let _ = self.sweep.each(self.volume.source, spans, |piece| {
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
        let size = self.volume.block_size();
        self.shelves.iter().find_map(|shelf| {
            let nth = shelf.blocks.binary_search(&block).ok()?;
            shelf.held[nth].then(|| &shelf.bytes[nth * size..(nth + 1) * size])
        })
    }

    /// The contents of a block, in a buffer to be given back by [`Nodes::give_back`]. `siblings` are the blocks that will be asked for
    /// next: where this one is not held, they are read beforehand along with it.
    ///
    /// # Errors
    /// It cannot be read.
    pub(super) fn read(
        &mut self,
        level: usize,
        block: u64,
        siblings: impl Iterator<Item = u64>,
    ) -> Result<Vec<u8>, ReadError> {
        let size = self.volume.block_size();
        if self.held(block).is_none() {
            let room = self.room(level + 1).saturating_sub(1);
            let window = siblings.take(room).chain([block]).collect();
            self.fetch(level + 1, window);
        }
        let mut buffer = self.buffers.pop().unwrap_or_default();
        buffer.resize(size, 0);
        if let Some(bytes) = self.held(block) {
            buffer.copy_from_slice(bytes);
            return Ok(buffer);
        }
        match self
            .volume
            .source
            .read_at(&mut buffer, block.saturating_mul(size as u64))
        {
            Ok(()) => Ok(buffer),
            Err(error) => {
                self.buffers.push(buffer);
                Err(error)
            }
        }
    }

    /// Takes a buffer back.
    pub(super) fn give_back(&mut self, buffer: Vec<u8>) {
        self.buffers.push(buffer);
    }
}
