//! Blocks read one at a time, through a bounded cache.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use blockio::BlockSource;

use super::packed::Packed;
use super::refused::Refused;

/// Bytes of blocks that are kept.
pub(crate) const CACHED: usize = 32 << 20;

/// One block, or several that were read together.
pub(crate) type Block = Arc<[u8]>;

/// A cache of single blocks. When it is full it begins anew: what is read twice is read twice within a short time.
pub(crate) struct Blocks {
    size: usize,
    packed: Option<Packed>,
    kept: Mutex<HashMap<u64, Block>>,
}

impl Blocks {
    /// Whether the source is o2image's packed file.
    pub(crate) fn is_packed(&self) -> bool {
        self.packed.is_some()
    }

    /// An empty cache of blocks of `size` bytes.
    pub(crate) fn new(size: usize, packed: Option<Packed>) -> Blocks {
        Blocks {
            size,
            packed,
            kept: Mutex::default(),
        }
    }

    /// A block, from the cache or the source.
    pub(crate) fn read(&self, source: &dyn BlockSource, number: u64) -> Result<Block, Refused> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(block) = kept.get(&number) {
            return Ok(Arc::clone(block));
        }
        let block: Block = self.read_run(source, number, 1)?.into();
        if kept.len() >= CACHED / self.size {
            kept.clear();
        }
        kept.insert(number, Arc::clone(&block));
        Ok(block)
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
        let at = first.checked_mul(self.size as u64).ok_or(Refused::Read)?;
        source.read_at(&mut bytes, at).map_err(|_| Refused::Read)?;
        Ok(bytes)
    }
}
