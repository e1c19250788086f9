//! How much memory a check takes: by the groups of the allocators before pass 1, and by what there is after it.
//!
//! The groups say how many inodes there may be. How many of them are directories, and how much of the volume is in use, pass 1 finds out.

use blockio::{Geometry, Sweep};

use super::blocks::PER_BLOCK;
use super::own::index::Named;
use super::pass1::BUFFER;
use super::state::{JUDGED, Parent, State};
use super::volume::Volume;
use crate::frame::memory::{Estimate, Footprint, program_and_findings};
use crate::frame::options::Options;

/// What a node of a tree takes for an entry, beside those that are not filled: ascending numbers leave it half full.
const TREE: u64 = 2;
/// Bytes of inodes of the maps: type, claimed types, links and names.
const PER_INODE: u64 = 6;
/// Bytes of the names of one directory that are compared at most, with their places in the table.
const NAMES: u64 = 24 << 20;

/// Bytes that `entries` of this type take in a tree.
fn tree<K, V>(entries: u64) -> u64 {
    entries * TREE * (size_of::<K>() + size_of::<V>()) as u64
}

/// A volume before pass 1, whose check is to fit into memory: as if the volume were full, and had no directories.
pub(super) struct Before<'a, 'v> {
    volume: &'a mut Volume<'v>,
    /// All but the buffers.
    parts: Vec<(&'static str, u64)>,
    /// Blocks of the inode groups.
    inodes: u64,
    /// Bytes of blocks that are kept.
    kept: u64,
}

impl<'a, 'v> Before<'a, 'v> {
    pub(super) fn new(volume: &'a mut Volume<'v>, state: &State) -> Self {
        let size = volume.block_size();
        let maps = u64::from(volume.clusters()).div_ceil(8);
        let inodes = state.slots.len() as u64;
        Before {
            parts: vec![
                ("program", program_and_findings(&volume.options)),
                ("clusters", maps + state.bitmap.memory(size)),
                ("inodes", inodes * PER_INODE + allocators(volume, state)),
                ("extents", state.tree_blocks.memory(size)),
            ],
            kept: kept(volume, inodes),
            inodes,
            volume,
        }
    }
}

impl Footprint for Before<'_, '_> {
    fn options(&mut self) -> &mut Options {
        &mut self.volume.options
    }

    fn block_size(&self) -> usize {
        self.volume.block_size()
    }

    fn sweep(&self) -> Sweep {
        self.volume.sweep()
    }

    fn source_geometry(&self) -> Geometry {
        self.volume.source.geometry()
    }

    fn bytes_to_read(&self) -> u64 {
        self.inodes * self.volume.block_size() as u64
    }

    fn estimate(&self) -> Estimate {
        let mut parts = self.parts.clone();
        parts.push(("buffers", self.kept + in_flight(self.volume)));
        Estimate::new(parts)
    }
}

/// The forecast after pass 1, of the passes that follow, and what those before have taken.
pub(super) fn after(volume: &Volume<'_>, state: &State) -> Estimate {
    let size = volume.block_size() as u64;
    let (mut blocks, mut own, mut longest, mut run) = (0_u64, 0_u64, 0_u64, 0_u64);
    let mut last = 0;
    for (directory, logical) in state.directory_blocks.values() {
        blocks += 1;
        own += u64::from(*logical != JUDGED);
        run = if *directory == last { run + 1 } else { 1 };
        last = *directory;
        longest = run.max(longest);
    }
    let directories = state.directories.len() as u64;
    // Pass 2 lists the blocks once more, and looks at names of one directory together. Directories with blocks may have indexes, and several
    // blocks a list of those with room.
    let several = blocks.saturating_sub(directories);
    let lists = tree::<u64, Parent>(directories)
        + tree::<u64, (u64, u64)>(blocks)
        + blocks * 3 * size_of::<u64>() as u64
        + tree::<u64, Named>(own.min(directories))
        + tree::<u64, u64>(several)
        + (3 * longest * size).min(NAMES)
        + 16 * state.parents.len() as u64
        + directories * size_of::<u64>() as u64;
    let owners = (state.usage.by_user.len() + state.usage.by_group.len()) as u64;
    let files = state.trees.values().flat_map(|tree| &tree.files);
    let files: usize = files.map(|file| 1 + file.1.len()).sum();
    let inodes = state.slots.len() as u64;
    // Passes 1b to 1d scan the inodes once more, a run at a time.
    let again = if state.shared.is_empty() {
        0
    } else {
        (BUFFER as u64).min(volume.options.of_the_whole(inodes * size))
    };
    Estimate::new(vec![
        ("program", program_and_findings(&volume.options)),
        (
            "clusters",
            state.used.memory() + state.shared.memory() + state.bitmap.memory(size as usize),
        ),
        ("inodes", inodes * PER_INODE + allocators(volume, state)),
        (
            "extents",
            state.tree_blocks.memory(size as usize) + tree::<u64, u64>(files as u64),
        ),
        ("directories", lists + tree::<u32, (u64, u64)>(owners)),
        (
            "buffers",
            kept(volume, 2 * own) + again.max(in_flight(volume)),
        ),
    ])
}

/// Bytes of the groups of the inode allocators, and of the lists of their runs.
fn allocators(volume: &Volume<'_>, state: &State) -> u64 {
    let groups = state
        .inodes
        .iter()
        .map(|one| one.memory(volume.block_size()));
    groups.sum::<u64>() + state.slots.memory() + state.coverage.memory()
}

/// Bytes of requests in flight.
fn in_flight(volume: &Volume<'_>) -> u64 {
    volume.sweep().memory(volume.source.geometry()) as u64
}

/// Bytes of blocks that are kept, where `single` blocks are read one by one.
fn kept(volume: &Volume<'_>, single: u64) -> u64 {
    let single = volume.options.of_the_whole(single);
    let bytes = single * (volume.block_size() + PER_BLOCK) as u64;
    bytes.max(volume.blocks.memory()).min(volume.blocks.most())
}
