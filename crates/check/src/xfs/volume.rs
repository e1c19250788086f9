//! An opened filesystem: where its bytes come from, and what its superblock says.

use std::ops::Range;

use blockio::{BlockSource, ReadError, Span, Sweep};
use ondisk::xfs::{Geometry, Superblock};
use progress::Progress;

use super::recovery::Journal;
use crate::frame::failure::Failure;
use crate::frame::memory::Guard;
use crate::frame::options::Options;
use crate::frame::sweep::Sweeper;

/// An opened filesystem.
pub(crate) struct Volume<'a> {
    /// The image or device.
    pub(crate) source: &'a dyn BlockSource,
    /// The superblock.
    pub(crate) sb: Superblock,
    /// Its arithmetic.
    pub(crate) geo: Geometry,
    /// Where the log is, and what was replayed of it.
    pub(crate) journal: Journal<'a>,
    /// The caller's options.
    pub(crate) options: Options,
    /// Enforces the memory limit.
    pub(crate) guard: Guard,
    /// Takes progress and cancels.
    pub(crate) progress: &'a dyn Progress,
}

impl Volume<'_> {
    /// Size of a block, bytes.
    pub(crate) fn block_size(&self) -> usize {
        self.geo.block_size as usize
    }

    /// The bytes of `count` blocks from block number `fsblock` on.
    pub(crate) fn range(&self, fsblock: u64, count: u64) -> Range<u64> {
        let start = self.geo.block_offset(fsblock);
        start..start.saturating_add(count.saturating_mul(self.geo.block_size.into()))
    }

    /// Reads `count` blocks from block number `fsblock` on: for slow paths, one request at a time.
    pub(crate) fn read(&self, fsblock: u64, count: usize) -> Result<Vec<u8>, ReadError> {
        let mut bytes = vec![0; count * self.block_size()];
        self.source
            .read_at(&mut bytes, self.geo.block_offset(fsblock))?;
        Ok(bytes)
    }

    /// Asked between two pieces of work of a slow path, which no sweep stops.
    ///
    /// # Errors
    /// The check was cancelled, or outgrew its memory.
    pub(crate) fn go_on(&self) -> Result<(), Failure> {
        if self.progress.cancelled() {
            return Err(Failure::Stopped);
        }
        if self.guard.is_full() {
            return self.guard.hold();
        }
        Ok(())
    }

    /// How passes read.
    pub(crate) fn sweeper(&self) -> Sweeper<'_> {
        self.sweeper_of(self.geo.block_size)
    }

    /// The same; what is never torn has this many bytes, a power of two up to 1 MiB.
    pub(crate) fn sweeper_of(&self, unit: u32) -> Sweeper<'_> {
        Sweeper {
            source: self.source,
            sweep: Sweep {
                block: unit,
                threads: self.options.threads,
                ..self.options.sweep.clone()
            },
            progress: self.progress,
            guard: &self.guard,
        }
    }

    /// A span of `count` blocks from block number `fsblock` on.
    pub(crate) fn span(&self, tag: u64, fsblock: u64, count: u64) -> Span {
        Span {
            tag,
            range: self.range(fsblock, count),
        }
    }
}
