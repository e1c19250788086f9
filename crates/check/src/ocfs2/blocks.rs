//! Blocks read one at a time, through a bounded cache.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use blockio::{BlockSource, Content, Piece, Span, Sweep};

use super::packed::Packed;
use super::refused::Refused;

/// Bytes of blocks that are kept, and the share of a limit of memory: one part in this many.
const CACHED: usize = 32 << 20;
const SHARE: u64 = 4;

/// Requests in flight, and bytes of one at most, where scattered blocks are read together.
const DEPTH: usize = 32;
const REQUEST: usize = 64 << 10;

/// Bytes that a kept block takes beside its own: counts, and its place in the table.
pub(crate) const PER_BLOCK: usize = 64;

/// Fewer blocks are not worth a second thread.
const FEW: usize = 64;

/// One block, or several that were read together.
pub(crate) type Block = Arc<[u8]>;

/// A cache of single blocks. When it is full it begins anew: what is read twice is read twice within a short time.
pub(crate) struct Blocks {
    size: usize,
    /// Bytes that are kept at most.
    most: usize,
    packed: Option<Packed>,
    kept: Mutex<HashMap<u64, Block>>,
}

impl Blocks {
    /// Whether the source is o2image's packed file.
    pub(crate) fn is_packed(&self) -> bool {
        self.packed.is_some()
    }

    /// An empty cache of blocks of `size` bytes, for a check with this limit of memory, bytes.
    pub(crate) fn new(size: usize, packed: Option<Packed>, limit: Option<u64>) -> Blocks {
        let most = limit.map_or(CACHED, |limit| {
            CACHED.min(usize::try_from(limit / SHARE).unwrap_or(CACHED))
        });
        Blocks {
            size,
            most,
            packed,
            kept: Mutex::default(),
        }
    }

    /// A block, from the cache or the source.
    pub(crate) fn read(&self, source: &dyn BlockSource, number: u64) -> Result<Block, Refused> {
        if let Some(block) = self.kept().get(&number) {
            return Ok(Arc::clone(block));
        }
        let block: Block = self.read_run(source, number, 1)?.into();
        self.keep(number, Arc::clone(&block));
        Ok(block)
    }

    /// Bytes of blocks that are kept at most.
    pub(crate) fn most(&self) -> u64 {
        self.most as u64
    }

    /// Bytes of blocks that are kept now.
    pub(crate) fn memory(&self) -> u64 {
        (self.kept().len() * (self.size + PER_BLOCK)) as u64
    }

    fn kept(&self) -> MutexGuard<'_, HashMap<u64, Block>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(&self, number: u64, block: Block) {
        let mut kept = self.kept();
        if kept.len() >= self.most / self.size {
            kept.clear();
        }
        kept.insert(number, block);
    }

    /// Reads blocks into the cache, many requests in flight. What cannot be read is left out; reading it alone gives the error.
    pub(crate) fn prefetch(&self, source: &dyn BlockSource, sweep: &Sweep, mut blocks: Vec<u64>) {
        if self.packed.is_some() {
            return;
        }
        blocks.sort_unstable();
        blocks.dedup();
        blocks.truncate(self.most / self.size);
        {
            let mut kept = self.kept();
            blocks.retain(|block| !kept.contains_key(block));
            if kept.len() + blocks.len() > self.most / self.size {
                kept.clear();
            }
        }
        let threads = if blocks.len() < FEW { 1 } else { sweep.threads };
        let size = self.size as u64;
        let end = source.len() / size;
        let spans = blocks
            .into_iter()
            .filter(|&block| block < end)
            .map(|block| Span {
                tag: block,
                range: block * size..(block + 1) * size,
            });
        let sweep = Sweep {
            threads,
            request: REQUEST.max(self.size),
            depth: DEPTH,
            block: self.size as u32,
            gap: 0,
            ..sweep.clone()
        };
        // An error here occurs again when the block is read by itself, and is reported then.
        let each = |(): &mut (), piece: Piece<'_>| {
            match piece.content {
                Content::Data(bytes) if bytes.len() == self.size => {
                    self.keep(piece.tag, bytes.into());
                }
                Content::Hole(bytes) if bytes == size => {
                    self.keep(piece.tag, vec![0; self.size].into());
                }
                _ => {}
            }
            ControlFlow::Continue(())
        };
        let _ = sweep.run(source, spans, |_| (), each);
    }

    /// A block that is not wholly in the source, with zeros after its end; none of o2image's packed file.
    pub(crate) fn past_end(&self, source: &dyn BlockSource, number: u64) -> Option<Block> {
        let at = number.saturating_mul(self.size as u64);
        if self.packed.is_some() || at.saturating_add(self.size as u64) <= source.len() {
            return None;
        }
        let mut bytes = vec![0; self.size];
        let there = source.len().saturating_sub(at) as usize;
        // Zeros, too, where its first part cannot be read.
        let _ = source.read_at(&mut bytes[..there], at);
        Some(bytes.into())
    }

    /// Blocks in a run, from the source.
    pub(crate) fn read_run(
        &self,
        source: &dyn BlockSource,
        first: u64,
        count: usize,
    ) -> Result<Vec<u8>, Refused> {
        let mut bytes = vec![0; count * self.size];
        if let Some(packed) = &self.packed {
            packed.read(source, first, &mut bytes)?;
            return Ok(bytes);
        }
        // As libocfs2 computes it: numbers far outside the volume may lead back into it.
        let at = first.wrapping_mul(self.size as u64);
        source.read_at(&mut bytes, at).map_err(|_| Refused::Read)?;
        Ok(bytes)
    }
}
