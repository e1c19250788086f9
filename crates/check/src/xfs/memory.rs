//! How much memory a check takes: by the superblock's counters before it begins, and by what there is after the inodes were read.
//!
//! The superblock counts inodes and blocks. How many of the inodes are directories, and in how many pieces the blocks are in use, is known
//! after phase 3, and the largest lists are made after it.

use std::sync::atomic::Ordering::Relaxed;

use blockio::{Geometry, Span, Sweep};
use ondisk::xfs::directory::LEAF_OFFSET;
use ondisk::xfs::geometry::CHUNK;

use super::chunks::Chunks;
use super::claims::Claims;
use super::directories::Directory;
use super::hash_tree::Member;
use super::inode::symlink::Part;
use super::named::NamedRun;
use super::phase2::{self, Count};
use super::state::State;
use super::volume::Volume;
use crate::frame::memory::{Estimate, Footprint, program_and_findings};
use crate::frame::options::Options;
use crate::frame::prefetch;

/// Bytes of a chunk: in the table, and while its leaf is read.
const CHUNK_BYTES: u64 = 14 + 2 * 16;
/// Bytes of an inode, times 8: its type, a bit for its name, two for further names and two for its links.
const INODE_BITS: u64 = 8 + 1 + 2 + 2;
/// Share of the inodes that may be in buffers at once: one part in this many. xfs_repair takes more memory than the inodes have bytes, and
/// a disk gives its full rate only with some MiB in flight.
const IN_BUFFERS: u64 = 8;
/// Bytes of a request where nothing bounds them: the inodes of a directory of some thousand files are a run of 1 to 2 MiB, which is one
/// request then.
const REQUEST: usize = 4 << 20;

/// Levels of a fork's btree below its root that are held while it is walked.
const TREE_LEVELS: usize = 3;

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

    /// The forecast for this many inodes, as far as the superblock says: without directories, and without blocks in small pieces.
    pub(super) fn forecast(&self, inodes: u64) -> Estimate {
        let geo = &self.geo;
        let groups = u64::from(geo.ag_count);
        let each = phase2::group_memory() + Chunks::group_memory() + phase2::walk_memory(1);
        let recovered = self
            .journal
            .recovered
            .map_or(0, |recovered| recovered.memory);
        Estimate::new(vec![
            ("program", program_and_findings(&self.options)),
            (
                "inodes",
                inodes.div_ceil(CHUNK.into()) * CHUNK_BYTES + inodes * INODE_BITS / 8,
            ),
            ("blocks", Claims::empty_memory(geo)),
            ("groups", groups * each),
            ("log", recovered),
            (
                "buffers",
                Footprint::sweep(self).memory(self.source.geometry()) as u64,
            ),
        ])
    }

    /// The forecast after phase 3, of the phases that follow, and what those before have taken.
    pub(super) fn forecast_with(&self, state: &State) -> Estimate {
        let geo = &self.geo;
        let ranks = state.chunks.ranks();
        let bytes = |count: u64, size: usize| count * size as u64;
        let leaf = LEAF_OFFSET >> geo.block_log;
        let amounts = state.named.amounts(leaf);
        let directories = state.directories.list().len() as u64;
        let gathered = state.directories.gathered();
        let targets = gathered.targets.len() as u64;
        let children = directories.max(gathered.children.len() as u64);
        let named = bytes(amounts.runs, size_of::<NamedRun>());
        let spans = bytes(amounts.apart, size_of::<Span>());
        // Members have children in lists of their own, and values are compared with the attributes that name them.
        let members = bytes(amounts.members, size_of::<Member>() + 2 * size_of::<u64>());
        let targets = bytes(targets, size_of::<(u64, Part)>() + size_of::<Span>());
        let names = bytes(children, size_of::<(u64, u64)>());
        // While blocks are read, they are listed; afterwards, directories are followed to the root.
        let following = bytes(directories, size_of::<Option<usize>>() + 1);
        let (shared, most_shared) = state.claims.shared_memory();
        let counting = if shared > 0 {
            2 * most_shared + ranks / 4
        } else {
            0
        };
        let lists = (named + spans + members)
            .max(members + following)
            .max(counting);
        let records = bytes(
            state.shared.iter().map(|list| list.len() as u64).sum(),
            size_of::<Count>(),
        );
        let mut estimate = self.forecast(ranks);
        let mut add = |part: &str, bytes: u64| {
            let parts = estimate.parts.iter_mut();
            parts
                .filter(|one| one.0 == part)
                .for_each(|one| one.1 += bytes);
        };
        add("blocks", state.claims.fragments() + shared + records);
        add("blocks", state.uses.memory() + state.realtime.memory());
        if state.has_fork_trees.load(Relaxed) {
            let sweep = Footprint::sweep(self);
            let (source, (_, below)) = (
                self.source.geometry(),
                prefetch::sizes(&self.options, self.block_size()),
            );
            let reading = prefetch::sweep(&sweep).memory(source);
            let trees = self.options.threads * (TREE_LEVELS * below + reading);
            add("buffers", trees.saturating_sub(sweep.memory(source)) as u64);
        }
        // The walks of phase 2 and the lists of phases 3 to 6 are not in memory at the same time.
        let walks = phase2::walk_memory(state.tree_blocks);
        let kept =
            bytes(directories, size_of::<Directory>()) + names + targets + gathered.usage.memory();
        estimate
            .parts
            .push(("directories", (kept + lists).max(walks)));
        estimate
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
