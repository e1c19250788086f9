//! How much memory a check takes, by the superblock's counters.

use blockio::{Geometry, Sweep};
use ondisk::xfs::geometry::CHUNK;

use super::fingerprint::WINDOW;
use super::volume::Volume;
use crate::frame::memory::{Estimate, Footprint, program_and_findings};
use crate::frame::options::Options;

/// Bytes of a chunk: in the table, and while its leaf is read.
const CHUNK_BYTES: u64 = 14 + 2 * 16;
/// Bytes of an inode, times 8: its type, a bit for its name, two for further names and two for its links.
const INODE_BITS: u64 = 8 + 1 + 2 + 2;
/// Bytes of a window of claims that is one run.
const WINDOW_BYTES: u64 = 64;

/// Share of the inodes that may be in buffers at once: one part in this many. xfs_repair takes more memory than the inodes have bytes, and
/// a disk gives its full rate only with some MiB in flight.
const IN_BUFFERS: u64 = 8;
/// Bytes of a request where nothing bounds them: the inodes of a directory of some thousand files are a run of 1 to 2 MiB, which is one
/// request then.
const REQUEST: usize = 4 << 20;

impl Volume<'_> {
    /// Inodes in chunks by the superblock, at most as many as fit.
    fn inodes(&self) -> u64 {
        let most = self.geo.blocks.saturating_mul(1 << self.geo.inopb_log);
        self.sb.sb_icount.get().min(most)
    }

    /// Makes requests long that nothing was said about. [`crate::frame::memory::fit`] makes them shorter again where there is little to
    /// read or memory is limited.
    pub(super) fn lengthen_requests(&mut self) {
        let request = &mut self.options.sweep.request;
        if self.options.scale && *request == Sweep::default().request {
            *request = REQUEST;
        }
    }

    /// The forecast for this many inodes.
    pub(super) fn forecast(&self, inodes: u64) -> Estimate {
        let buffers = Footprint::sweep(self).memory(self.source.geometry());
        Estimate {
            parts: vec![
                ("program", program_and_findings(&self.options)),
                (
                    "inodes",
                    inodes.div_ceil(CHUNK.into()) * CHUNK_BYTES + inodes * INODE_BITS / 8,
                ),
                (
                    "blocks",
                    self.geo.blocks.div_ceil(WINDOW.into()) * WINDOW_BYTES,
                ),
                ("buffers", buffers as u64),
            ],
        }
    }
}

impl Footprint for Volume<'_> {
    fn options(&mut self) -> &mut Options {
        &mut self.options
    }

    fn block_size(&self) -> usize {
        Volume::block_size(self)
    }

    fn sweep(&self) -> Sweep {
        self.sweeper().sweep
    }

    fn source_geometry(&self) -> Geometry {
        self.source.geometry()
    }

    fn bytes_to_read(&self) -> u64 {
        self.inodes().saturating_mul(self.geo.inode_size.into())
    }

    fn in_buffers(&self) -> u64 {
        IN_BUFFERS
    }

    fn estimate(&self) -> Estimate {
        self.forecast(self.inodes())
    }
}
