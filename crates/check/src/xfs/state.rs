//! What the phases share.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use ondisk::xfs::Geometry;

use super::chunks::{Chunk, Chunks};
use super::claims::Claims;
use super::directories::Directories;
use super::named::Named;
use super::phase2::log::Position;
use super::phase2::{Count, Headers, Uses};
use super::realtime::Realtime;
use super::types::Types;
use super::volume::Volume;
use crate::frame::maps::{LinkCounts, NameCounts, OutOfMemory};
use crate::frame::report::FileCounts;

/// What the phases share. Phase 2 makes it; the others fill it, from several threads.
pub(crate) struct State {
    /// The inode chunks, and ranks of inodes.
    pub(crate) chunks: Chunks,
    /// The type of each inode.
    pub(crate) types: Types,
    /// Names of each inode, by rank: `.` and `..` not counted.
    pub(crate) names: NameCounts,
    /// Links that each inode in use says it has, by rank.
    pub(crate) links: LinkCounts,
    /// Which blocks are taken.
    pub(crate) claims: Claims,
    /// Extents of the realtime part that are taken.
    pub(crate) realtime: Realtime,
    /// Blocks that phase 6 reads.
    pub(crate) named: Named,
    /// The directories.
    pub(crate) directories: Directories,
    /// Largest log sequence number of metadata.
    pub(crate) lsn: LargestLsn,
    /// What cannot be relied on.
    pub(crate) suspect: Suspect,
    /// Headers of the allocation groups.
    pub(crate) groups: Vec<Headers>,
    /// What blocks are used for, other than by files.
    pub(crate) uses: Uses,
    /// Records of reference counts, by allocation group, ascending.
    pub(crate) shared: Vec<Vec<Count>>,
    /// Where the log stands.
    pub(crate) position: Option<Position>,
    /// Files by type.
    pub(crate) files: Files,
    /// Blocks of the largest kind of btree of the groups.
    pub(crate) tree_blocks: u64,
    /// Whether any inode has a btree of its own.
    pub(crate) has_fork_trees: AtomicBool,
}

/// What phase 2 keeps of headers and btrees.
pub(crate) struct Trees {
    pub(crate) lsn: LargestLsn,
    pub(crate) suspect: Suspect,
    pub(crate) groups: Vec<Headers>,
    pub(crate) uses: Uses,
    pub(crate) shared: Vec<Vec<Count>>,
    pub(crate) position: Option<Position>,
    pub(crate) tree_blocks: u64,
}

/// Parts that damage has made useless as a reference for others.
#[derive(Debug, Default)]
pub(crate) struct Suspect {
    /// An inode btree: `xfs_repair` skips phases 6 and 7.
    pub(crate) inodes: AtomicBool,
    /// A btree of reverse mappings: it is not compared.
    pub(crate) mappings: AtomicBool,
    /// A btree of reference counts: it is not compared.
    pub(crate) counts: AtomicBool,
}

/// The largest log sequence number that metadata had. Cycle and block are signed, as `xfs_repair` compares them.
#[derive(Debug, Default)]
pub(crate) struct LargestLsn(AtomicU64);

/// A log sequence number as `xfs_repair` orders it.
pub(crate) fn lsn_order(lsn: u64) -> (i32, i32) {
    ((lsn >> 32) as i32, lsn as i32)
}

impl LargestLsn {
    /// Takes one; all ones means none.
    pub(crate) fn take(&self, lsn: u64) {
        let larger = |than: u64| lsn != u64::MAX && lsn_order(lsn) > lsn_order(than);
        if larger(self.0.load(Relaxed)) {
            let update = |old: u64| larger(old).then_some(lsn);
            // What another thread has put there meanwhile is larger.
            let _ = self.0.fetch_update(Relaxed, Relaxed, update);
        }
    }

    /// The largest so far.
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// Files by type, added up by the workers of phase 3.
#[derive(Debug, Default)]
pub(crate) struct Files(std::sync::Mutex<FileCounts>);

impl Files {
    /// Adds a worker's counts.
    pub(crate) fn add(&self, counts: &FileCounts) {
        let mut sum = self
            .0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        sum.inodes += counts.inodes;
        sum.regular += counts.regular;
        sum.directories += counts.directories;
        sum.char_devices += counts.char_devices;
        sum.block_devices += counts.block_devices;
        sum.fifos += counts.fifos;
        sum.sockets += counts.sockets;
        sum.symlinks += counts.symlinks;
        sum.fragmented_files += counts.fragmented_files;
        sum.fragmented_directories += counts.fragmented_directories;
    }

    /// All together.
    pub(crate) fn get(&self) -> FileCounts {
        *self
            .0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl State {
    /// The state after phase 2.
    ///
    /// # Errors
    /// There is no memory for the maps.
    pub(crate) fn new(
        volume: &Volume<'_>,
        chunks: Vec<Vec<Chunk>>,
        claims: Claims,
        trees: Trees,
    ) -> Result<State, OutOfMemory> {
        let geo: &Geometry = &volume.geo;
        let chunks = Chunks::new(geo, chunks);
        let ranks = chunks.ranks();
        Ok(State {
            types: Types::new(&chunks)?,
            names: NameCounts::new(ranks)?,
            links: LinkCounts::new(ranks)?,
            claims,
            realtime: Realtime::new(volume)?,
            named: Named::new(geo.blocks),
            directories: Directories::default(),
            lsn: trees.lsn,
            suspect: trees.suspect,
            groups: trees.groups,
            uses: trees.uses,
            shared: trees.shared,
            position: trees.position,
            files: Files::default(),
            tree_blocks: trees.tree_blocks,
            has_fork_trees: false.into(),
            chunks,
        })
    }

    /// Whether inodes are read a second time, for their claims alone.
    pub(crate) fn is_second(&self) -> bool {
        self.claims.is_second()
    }
}
