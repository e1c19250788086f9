//! The indexes of directories: an entry for each name, in the leaf to which its hash leads.
//!
//! Pass 2 looks up each name, as fsck.ocfs2 does, and so finds names without an entry. Here it is the entries that are judged.

use std::collections::HashSet;

use ondisk::ocfs2::hash::{self, NameHash, Sign};
use ondisk::ocfs2::index::{INLINE, LEAF_LIST, ROOT_LIST, leaf_room, root_room};
use ondisk::ocfs2::{DxEntry, DxLeaf, DxRoot, ExtentRecord, index::DxList};
use zerocopy::little_endian::U32;

use super::index_sum::IndexSum;
use super::{free_list, names};
use crate::frame::failure::Failure;
use crate::frame::finding::Finding;
use crate::frame::problem::Problem;
use crate::ocfs2::fsck_ocfs2::log::Log;
use crate::ocfs2::fsck_ocfs2::problems::{DX_EXTRA, DX_LEAF_FIELDS, DX_PLACE, DX_ROOT_FIELDS};
use crate::ocfs2::refused::Refused;
use crate::ocfs2::state::State;
use crate::ocfs2::tree::{self, Next};
use crate::ocfs2::volume::{Volume, from, value};

/// Leaves that are read together.
const BATCH: usize = 1024;
/// Extents of one index at most: more than any sound one has.
const MOST_EXTENTS: usize = 1 << 20;

/// The names of a directory with an index, as pass 2 has met them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Named {
    /// The root of the index.
    pub(crate) root: u64,
    /// The names.
    pub(crate) names: IndexSum,
}

/// Judges the entries of all indexes, and the lists of blocks with room that begin in their roots. Gives the number of indexes.
///
/// # Errors
/// The check was cancelled, or outgrew its memory.
pub(super) fn check(volume: &Volume<'_>, state: &State, log: &mut Log) -> Result<u64, Failure> {
    for (&directory, named) in &state.index_sums {
        volume.go_on()?;
        let mut index = Index {
            volume,
            log,
            directory,
            root: named.root,
            entries: IndexSum::default(),
            complete: true,
            extra: None,
        };
        let Some(free) = index.walk() else { continue };
        let (blocks, next) = (&state.directory_blocks, &state.free_next);
        free_list::check(directory, free, blocks, next, index.log);
        if !index.complete || index.entries == named.names {
            continue;
        }
        // An entry has no name. Which, is found by reading both again.
        if let Ok(names) = Names::of(volume, directory) {
            index.extra = Some(names);
            index.walk();
        }
    }
    Ok(state.index_sums.len() as u64)
}

/// An index during its check.
struct Index<'a, 'v> {
    volume: &'a Volume<'v>,
    log: &'a mut Log,
    directory: u64,
    root: u64,
    entries: IndexSum,
    /// All entries were seen.
    complete: bool,
    /// The names of the directory, where entries without one are looked for.
    extra: Option<Names>,
}

impl Index<'_, '_> {
    fn at(&self, problem: &'static Problem, block: u64) -> Finding {
        Finding::new(problem).inode(self.directory).block(block)
    }

    /// Visits all entries, and gives the first block with room for names; none where the index cannot be used, which was reported before.
    fn walk(&mut self) -> Option<u64> {
        let bytes = self.volume.index_root(self.root).ok()?;
        let root: DxRoot = value(DxRoot::read(&bytes));
        let list = from(&bytes, ROOT_LIST);
        if root.dr_flags & INLINE != 0 {
            let room = root_room(self.volume.block_size());
            self.list(self.root, list, room, |_| true);
        } else {
            let extents = self.extents(list, root.dr_last_eb_blk.get()).ok()?;
            self.leaves(&extents);
        }
        let counted = self.entries.count();
        if self.extra.is_none() && self.complete && u64::from(root.dr_num_entries.get()) != counted
        {
            let finding = self.at(&DX_ROOT_FIELDS, self.root);
            let finding = finding.found(root.dr_num_entries.get()).expected(counted);
            self.log.own(finding.note("dr_num_entries"));
        }
        Some(root.dr_free_blk.get())
    }

    /// The extents of the leaves, ascending.
    fn extents(&self, list: &[u8], last: u64) -> Result<Vec<ExtentRecord>, Refused> {
        let mut extents = Vec::new();
        tree::list(self.volume, list, last, &mut |record| {
            extents.push(*record);
            if extents.len() < MOST_EXTENTS {
                Next::Continue
            } else {
                Next::Stop
            }
        })?;
        Ok(extents)
    }

    fn leaves(&mut self, extents: &[ExtentRecord]) {
        for (nth, record) in extents.iter().enumerate() {
            let next = extents
                .get(nth + 1)
                .map_or(u64::from(u32::MAX) + 1, |next| next.e_cpos.get().into());
            let per_cluster = self.volume.layout.blocks_per_cluster();
            let count = u64::from(record.leaf_clusters()) * per_cluster;
            let first = record.e_blkno.get();
            for from in (0..count).step_by(BATCH) {
                let batch = from..count.min(from + BATCH as u64);
                let blocks = batch.clone().map(|at| first.wrapping_add(at));
                self.volume.prefetch(blocks.collect());
                for at in batch {
                    self.leaf(record, next, at);
                    if !self.complete {
                        // A damaged extent may claim the volume.
                        return;
                    }
                }
            }
        }
    }

    /// The leaf at a block of an extent, whose hashes end before `next`.
    fn leaf(&mut self, record: &ExtentRecord, next: u64, at: u64) {
        let number = record.e_blkno.get().wrapping_add(at);
        let Ok(bytes) = self.volume.index_leaf(number) else {
            self.complete = false;
            return;
        };
        let leaf: DxLeaf = value(DxLeaf::read(&bytes));
        let right = leaf.dl_blkno.get() == number
            && leaf.dl_fs_generation.get() == self.volume.generation();
        if !right && self.extra.is_none() {
            self.log.own(self.at(&DX_LEAF_FIELDS, number));
        }
        let per_cluster = self.volume.layout.blocks_per_cluster();
        let (cpos, length) = (record.e_cpos.get(), u32::from(record.leaf_clusters()));
        let leads_here = |hash: NameHash| {
            let cluster = if hash.major >= cpos.wrapping_add(length) {
                length.wrapping_sub(1)
            } else {
                hash.major.wrapping_sub(cpos)
            };
            let block = u64::from(cluster) * per_cluster + u64::from(hash.minor) % per_cluster;
            hash.major >= cpos && u64::from(hash.major) < next && block == at
        };
        let room = leaf_room(self.volume.block_size());
        self.list(number, from(&bytes, LEAF_LIST), room, leads_here);
    }

    /// The entries of a block.
    fn list(&mut self, block: u64, bytes: &[u8], room: usize, here: impl Fn(NameHash) -> bool) {
        let Ok(list) = DxList::read(bytes) else {
            self.complete = false;
            return;
        };
        let used = usize::from(list.head().de_num_used.get());
        if used > room {
            // What is past the block is not there.
            self.complete = false;
        }
        for (nth, entry) in list.first(used.min(room)).enumerate() {
            let hash = NameHash {
                major: entry.dx_major_hash.get(),
                minor: entry.dx_minor_hash.get(),
            };
            self.entry(block, nth, entry, hash, here(hash));
        }
    }

    fn entry(&mut self, block: u64, nth: usize, entry: &DxEntry, hash: NameHash, here: bool) {
        let within = entry.dx_dirent_blk.get();
        let what = |finding: Finding| {
            let finding = finding.logical(nth as u64).found(within);
            finding.note(format!("hash {:#x}, {:#x}", hash.major, hash.minor))
        };
        if let Some(names) = &self.extra {
            if !names.has(hash, within) {
                self.log.own(what(self.at(&DX_EXTRA, block)));
            }
            return;
        }
        self.entries.add(hash, within);
        if !here {
            self.log.own(what(self.at(&DX_PLACE, block)));
        }
    }
}

/// The hashes of all names of a directory, by both signs, with their blocks.
struct Names {
    hashes: HashSet<(NameHash, u64)>,
    /// Blocks whose names are not all known.
    unread: HashSet<u64>,
}

impl Names {
    fn of(volume: &Volume<'_>, directory: u64) -> Result<Names, Refused> {
        let mut found = Names {
            hashes: HashSet::new(),
            unread: HashSet::new(),
        };
        let seed = volume.sb.s_dx_seed.map(U32::get);
        names::each(volume, directory, &mut |block, name| {
            let Some(name) = name else {
                found.unread.insert(block);
                return;
            };
            for sign in [Sign::Signed, Sign::Unsigned] {
                let hash = hash::name_hash(seed, name, sign);
                found.hashes.insert((hash, block));
            }
        })?;
        Ok(found)
    }

    fn has(&self, hash: NameHash, block: u64) -> bool {
        self.hashes.contains(&(hash, block)) || self.unread.contains(&block)
    }
}
