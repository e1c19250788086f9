//! Pass 2: is each block of a directory sound, and what do the names in it lead to?
//!
//! Pass 1 has left where the blocks of all directories lie, ascending. They are read once, in large requests, and threads take
//! the pieces as they arrive: a block is judged by itself, by the inodes its entries name, and by its directory. e2fsck reads the
//! first blocks of all directories before the others, because the root of an index names the hash that orders its leaves; that costs
//! it a second trip over the device. Here the leaves are hashed by what the superblock names, which is nearly always right, and those
//! of a directory whose root names another are read again.
//!
//! What no single block shows is left to the end: the index as a whole ([`tree`]), directories with two names
//! ([`multiply_linked`]), duplicate names ([`duplicates`]). Findings are put into e2fsck's order by keys ([`order`]).
//!
//! Where `e2fsck -n` stops (a broken chain of entries, a block that cannot be read) this continues with the next block. What the rest of
//! that block named is then missing, and passes 3 and 4 report it; it does not count for the reference's verdict.

pub(crate) mod bad_inode;
mod block;
mod block_view;
mod checksum;
mod duplicates;
mod entry;
mod fast_path;
mod index;
mod inline;
mod multiply_linked;
mod names;
mod reserved;
pub(crate) mod shared;
mod tree;
mod worker;

use std::collections::BTreeSet;

use blockio::{Content, Piece, Span};
use ondisk::ext4::feature::RoCompat;
use ondisk::ext4::inode::flag;

use crate::ext4::directories::Run;
use crate::ext4::e2fsck::log::Log;
use crate::ext4::e2fsck::order;
use crate::ext4::e2fsck::problems::{
    P1_FS_REV_LEVEL, P2_DIR_CORRUPTED, P2_DIRECTORY_HOLE, P2_FEATURE_LARGE_FILES, P2_READ_DIRBLOCK,
};
use crate::ext4::state::State;
use crate::ext4::volume::Volume;
use crate::frame::failure::Failure;
use crate::frame::finding::Finding;
use shared::{Dir, Shared};
use worker::{Harvest, Leaf, Role, Worker};

/// Blocks of a hole that each have a finding of their own; the rest of it has one for all.
const SEPARATE: u64 = 1000;

/// Judges all directories: raises what is wrong with them, counts names in `state.named`, and finds each directory's parent and
/// its `..`.
///
/// # Errors
/// There are no buffers, or the check was stopped.
pub(crate) fn run(volume: &Volume<'_>, state: &State, log: &mut Log) -> Result<(), Failure> {
    judge(&Shared::new(volume, state), log)
}

fn judge(shared: &Shared<'_>, log: &mut Log) -> Result<(), Failure> {
    let mut harvest = Harvest::default();
    holes(shared, log);
    reserved::judge(shared, log);
    inline::sweep(shared, &mut harvest, log)?;
    sweep(shared, &mut harvest, log)?;
    shared.state.attributes.roots.finish(shared.volume, log);
    // These lists are bounded only by what was found.
    let hold = || shared.volume.guard.hold();
    hold()?;
    multiply_linked::settle(shared, std::mem::take(&mut harvest.seconds), log);
    hold()?;
    let twins = twins_of(shared, &harvest, log)?;
    hash_again(shared, &mut harvest)?;
    let lens = lens(shared);
    let Harvest { leaves, nodes, .. } = &mut harvest;
    tree::check(shared, &lens, leaves, nodes, &twins, log);
    large_files(shared.volume, shared.state, log);
    hold()
}

/// Reads the blocks.
fn sweep(shared: &Shared<'_>, harvest: &mut Harvest, log: &mut Log) -> Result<(), Failure> {
    let runs = &shared.state.directories.runs;
    let workers = shared.volume.sweep_watched(
        spans(shared, |_| true),
        || Worker::new(shared, log),
        |worker, piece| {
            if let Some(run) = runs.get(piece.tag as usize) {
                worker.piece(run, piece);
            }
        },
    )?;
    for worker in workers {
        harvest.take(worker, log);
    }
    Ok(())
}

/// The bytes of the runs that are wanted, each with its place in the list.
fn spans(shared: &Shared<'_>, wanted: impl Fn(&Run) -> bool) -> Vec<Span> {
    let block = u64::from(shared.volume.geometry.block_size);
    let runs = shared.state.directories.runs.iter().enumerate();
    runs.filter(|(_, run)| run.physical != 0 && wanted(run))
        .map(|(tag, run)| {
            let start = run.physical.saturating_mul(block);
            Span {
                tag: tag as u64,
                range: start..start.saturating_add(u64::from(run.len) * block),
            }
        })
        .collect()
}

impl<'a> Worker<'a> {
    /// A part of a run.
    fn piece(&mut self, run: &Run, piece: &Piece<'_>) {
        let (volume, roots) = (self.shared.volume, &self.shared.state.attributes.roots);
        roots.look(volume, run, piece, &mut self.log);
        let Some(dir) = self.dir_of(run) else {
            self.no_directory(run, piece);
            return;
        };
        self.pass_over(self.shared.passes_over(run.inode));
        self.blocks_of(&dir, run, piece);
        self.pass_over(false);
    }

    fn blocks_of(&mut self, dir: &Dir<'_>, run: &Run, piece: &Piece<'_>) {
        let size = self.shared.volume.block_size();
        let first = piece.offset / size as u64;
        let place = |nth: u64| {
            let physical = first + nth;
            let logical = u64::from(run.logical) + physical.saturating_sub(run.physical);
            (physical, logical.min(u32::MAX.into()) as u32)
        };
        match &piece.content {
            Content::Data(bytes) => {
                let blocks = bytes.chunks(size);
                for (nth, bytes) in blocks.enumerate() {
                    let (physical, logical) = place(nth as u64);
                    if bytes.len() == size && piece.offset.is_multiple_of(size as u64) {
                        self.block(dir, physical, logical, bytes);
                    } else {
                        self.unread(dir, physical, logical, "the device ends within it", 1);
                    }
                }
            }
            Content::Hole(len) => self.zeros(dir, len.div_ceil(size as u64), place),
            Content::Failed(error) => {
                let blocks = error.len.div_ceil(size as u64).max(1);
                let (physical, logical) = place(0);
                self.unread(dir, physical, logical, &error.to_string(), blocks);
            }
        }
    }

    /// A quota file, an orphan file or a reserved inode with the mode of a directory: pass 1 lists its blocks but makes no
    /// directory of it. Whatever e2fsck finds in such a block, it does not go on.
    fn no_directory(&mut self, run: &Run, piece: &Piece<'_>) {
        let physical = piece.offset / self.shared.volume.block_size() as u64;
        let past = physical.saturating_sub(run.physical).min(u32::MAX.into()) as u32;
        let logical = run.logical.saturating_add(past);
        let finding = Finding::new(&P2_DIR_CORRUPTED)
            .inode(run.inode)
            .block(physical)
            .logical(logical.into())
            .note("the inode has the mode of a directory, and another purpose")
            .order(self.shared.order.of(run.inode, physical, logical, 0))
            .listed(run.inode, logical);
        self.log.add(finding);
    }

    /// Blocks that the device has never written; `place` gives the position of each.
    fn zeros(&mut self, dir: &Dir<'_>, blocks: u64, place: impl Fn(u64) -> (u64, u32)) {
        let zeros = vec![0; self.shared.volume.block_size()];
        for nth in 0..blocks.min(SEPARATE) {
            let (physical, logical) = place(nth);
            self.block(dir, physical, logical, &zeros);
        }
        if let Some(rest) = blocks.checked_sub(SEPARATE).filter(|rest| *rest > 0) {
            let (physical, logical) = place(SEPARATE);
            let finding = Finding::new(&P2_DIR_CORRUPTED)
                .inode(dir.inode())
                .block(physical)
                .logical(logical.into())
                .note("this block and those after it are zeros")
                .order(self.shared.order.of(dir.inode(), physical, logical, 0))
                .listed(dir.inode(), logical);
            self.log.add_times(finding, rest);
        }
    }

    fn dir_of(&self, run: &Run) -> Option<Dir<'a>> {
        let shared = self.shared;
        shared.directory(shared.state.directories.position(run.inode)?)
    }

    /// Blocks that cannot be read, from one on.
    fn unread(&mut self, dir: &Dir<'_>, physical: u64, logical: u32, why: &str, blocks: u64) {
        let order = self.shared.order;
        for nth in 0..blocks.min(SEPARATE) {
            let (block, at) = (physical + nth, logical.saturating_add(nth as u32));
            let finding = Finding::new(&P2_READ_DIRBLOCK)
                .inode(dir.inode())
                .block(block)
                .logical(at.into())
                .note(why)
                .order(order.of(dir.inode(), block, at, 0))
                .listed(dir.inode(), at);
            let left = if nth + 1 == SEPARATE { blocks - nth } else { 1 };
            self.log.add_times(finding, left);
        }
    }
}

/// Reports where directories have no blocks.
fn holes(shared: &Shared<'_>, log: &mut Log) {
    if shared.holes_allowed {
        return;
    }
    let runs = &shared.state.directories.runs;
    for run in runs.iter().take_while(|run| run.physical == 0) {
        log.unreached(shared.passes_over(run.inode));
        for nth in 0..run.len.min(SEPARATE as u32) {
            let logical = run.logical.saturating_add(nth);
            let finding = Finding::new(&P2_DIRECTORY_HOLE)
                .inode(run.inode)
                .logical(logical.into())
                .order(shared.order.of(run.inode, 0, logical, 0))
                .listed(run.inode, logical);
            let last = u64::from(nth) + 1 == SEPARATE;
            let times = if last { run.len - nth } else { 1 };
            log.add_times(finding, times.into());
        }
    }
    log.unreached(false);
}

/// Judges the names of directories in which twins were met; their places in the list, ascending.
fn twins_of(shared: &Shared<'_>, harvest: &Harvest, log: &mut Log) -> Result<Vec<usize>, Failure> {
    let dirs: BTreeSet<usize> = harvest.twins.iter().map(|(_, dir)| *dir).collect();
    if dirs.is_empty() {
        return Ok(Vec::new());
    }
    let list = &shared.state.directories.list;
    let inodes: BTreeSet<u32> = dirs.iter().map(|at| list[*at].inode).collect();
    let runs = &shared.state.directories.runs;
    // Runs and not blocks: a run of thirty bytes stands for millions of blocks.
    let mut runs: Vec<Run> = runs
        .iter()
        .filter(|run| run.physical != 0 && inodes.contains(&run.inode))
        .copied()
        .collect();
    shared.volume.guard.hold()?;
    runs.sort_unstable_by_key(|run| (run.inode, run.logical, run.physical));
    for own in runs.chunk_by(|left, right| left.inode == right.inode) {
        let position = shared.state.directories.position(own[0].inode);
        if let Some(dir) = position.and_then(|at| shared.directory(at)) {
            duplicates::check(shared, &dir, own, log)?;
        }
    }
    Ok(dirs.into_iter().collect())
}

/// Reads the leaves of directories again whose root names another hash than was expected.
fn hash_again(shared: &Shared<'_>, harvest: &mut Harvest) -> Result<(), Failure> {
    let state = shared.state;
    let mut others = std::collections::BTreeMap::new();
    for node in &harvest.nodes {
        if let (Some((number, _)), Some(dir)) = (node.root, shared.directory(node.dir as usize)) {
            let version = shared.hash_of(number);
            if version != shared.expected_hash(&dir) {
                others.insert(node.dir, version);
            }
        }
    }
    if others.is_empty() {
        return Ok(());
    }
    let of_run = |run: &Run| {
        let at = state.directories.position(run.inode)?;
        Some((at, *others.get(&(at as u32))?))
    };
    let (volume, runs) = (shared.volume, &state.directories.runs);
    let found = volume.sweep_watched(
        spans(shared, |run| of_run(run).is_some()),
        Vec::new,
        |found: &mut Vec<(u32, u32, block::Hashes)>, piece| {
            let run = runs.get(piece.tag as usize);
            if let (Some(run), Content::Data(bytes)) = (run, &piece.content)
                && let Some((at, version)) = of_run(run)
                && let Some(dir) = shared.directory(at)
            {
                let size = volume.block_size();
                let first = piece.offset / size as u64;
                for (nth, bytes) in bytes.chunks_exact(size).enumerate() {
                    let past = (first + nth as u64).saturating_sub(run.physical);
                    let logical = run.logical.saturating_add(past as u32);
                    let hashes = block::hashes(shared, &dir, version, bytes);
                    found.push((at as u32, logical, hashes));
                }
            }
        },
    )?;
    let mut found: Vec<_> = found.into_iter().flatten().collect();
    found.sort_unstable_by_key(|(dir, logical, _)| (*dir, *logical));
    for leaf in harvest
        .leaves
        .iter_mut()
        .filter(|leaf| leaf.role == Role::Leaf)
    {
        let key = |leaf: &Leaf| (leaf.dir, leaf.logical);
        let at = found.binary_search_by_key(&key(leaf), |(dir, logical, _)| (*dir, *logical));
        if let Ok(at) = at {
            (leaf.min, leaf.max) = (found[at].2.min, found[at].2.max);
        }
    }
    Ok(())
}

/// Blocks of each indexed directory up to its last that is mapped, by place in the list; 0 for others.
fn lens(shared: &Shared<'_>) -> Vec<u32> {
    let directories = &shared.state.directories;
    let mut lens = vec![0; directories.list.len()];
    if !directories
        .list
        .iter()
        .any(|directory| directory.flags & flag::INDEX != 0)
    {
        return lens;
    }
    for run in directories.runs.iter().filter(|run| run.physical != 0) {
        if let Some(at) = directories.position(run.inode)
            && directories.list[at].flags & flag::INDEX != 0
        {
            lens[at] = lens[at].max(run.logical.saturating_add(run.len));
        }
    }
    lens
}

/// Whether the superblock knows that there are files of more than 2 GiB.
fn large_files(volume: &Volume<'_>, state: &State, log: &mut Log) {
    if !state.large_files {
        return;
    }
    if !volume.sb.has_ro_compat(RoCompat::LARGE_FILE) {
        log.add(Finding::new(&P2_FEATURE_LARGE_FILES).order(order::LAST));
    }
    if volume.sb.s_rev_level.get() == 0 {
        let finding = Finding::new(&P1_FS_REV_LEVEL).order(u64::MAX);
        log.add(finding.found(0_u32).expected(1_u32));
    }
}

#[cfg(test)]
mod tests;
