//! Passes 0a to 0c: the chains of every allocator.
//!
//! The heads of all chains are read in one ascending batch, then all their successors, and so on: a chain is a list of blocks scattered over the
//! volume, and followed one by one it costs a seek for each group. The chains are then judged in the reference's order from memory.

mod bitmap;
mod chain;
mod discontig;
mod group;
mod load;
mod prefill;

use ondisk::ocfs2::dinode::flag;
use ondisk::ocfs2::system;

use super::blocks::Block;
use super::coverage::Coverage;
use super::fsck_ocfs2::Exit;
use super::fsck_ocfs2::log::Log;
use super::fsck_ocfs2::problems::{ALLOC_NOT_USABLE, GROUP_CORRUPT, SYSTEM_FILE_UNUSABLE};
use super::inode_map::{InodeMap, Slots};
use super::lookup;
use super::own::tree_blocks::TreeBlocks;
use super::refused::Refused;
use super::state::{Allocator, State};
use super::volume::{Volume, head, signed};
use crate::frame::finding::Finding;

/// Pass 0a. Gives the number of groups.
pub(crate) fn clusters(volume: &Volume<'_>, state: &mut State, log: &mut Log) -> u64 {
    let before_first = volume.cluster_of(volume.layout.first_group);
    state.mark(volume, log, 0, before_first);
    let bitmap = SystemFile::find(volume, "global_bitmap".to_owned());
    let Some((number, inode)) = bitmap.reported(log) else {
        return 0;
    };
    if let Err(refused) = bitmap::only_group(volume, log, &inode) {
        unusable(log, number, refused);
    }
    bitmap::clusters(volume, log, &inode);
    let mut blocks = prefill::run(volume, &[&inode], bitmap::places(volume));
    let judged = bitmap::check(volume, state, log, &inode, &mut blocks);
    if let Err(refused) = judged {
        unusable(log, number, refused);
    }
    let (bitmap, loaded) = load::load(volume, number, &inode, &mut blocks);
    (state.bitmap, state.bitmap_loaded) = (bitmap, loaded.is_ok());
    state.bitmap.groups.len() as u64
}

/// Pass 0b. Gives the number of groups.
pub(crate) fn inodes(volume: &Volume<'_>, state: &mut State, log: &mut Log) -> u64 {
    let names = (0..volume.slots()).map(|slot| system::slot_file("inode_alloc", slot));
    let names = std::iter::once("global_inode_alloc".to_owned()).chain(names);
    let found: Vec<_> = names.map(|name| SystemFile::find(volume, name)).collect();
    let heads: Vec<&Block> = found.iter().filter_map(SystemFile::inode).collect();
    let mut blocks = prefill::run(volume, &heads, Vec::new());
    // fsck.ocfs2 looks for each when it has judged those before it.
    for found in found {
        let Some((number, inode)) = found.reported(log) else {
            state.inodes.push(Allocator::default());
            continue;
        };
        if let Err(refused) = chain::check(volume, state, log, &inode, None, &mut blocks) {
            unusable(log, number, refused);
        }
        let (allocator, loaded) = load::load(volume, number, &inode, &mut blocks);
        match loaded {
            Ok(()) => {}
            Err(load::Failed::Abort) => {
                let finding = Finding::new(&GROUP_CORRUPT).inode(number);
                log.end(
                    Exit::ABORT,
                    finding.note("the extents of a discontiguous group do not add up"),
                );
            }
            Err(load::Failed::Refused(refused)) => {
                let finding = Finding::new(&GROUP_CORRUPT).inode(number);
                log.end(Exit::FAILED, finding.note(refused.words()));
            }
        }
        state.inodes.push(allocator);
    }
    let runs = state.inodes.iter().flat_map(|one| one.regions.values());
    state.slots = Slots::new(runs.map(|region| (region.start, region.bits)).collect());
    state.coverage = Coverage::new(&state.inodes);
    state.kinds = Some(InodeMap::new(&state.slots));
    state.claims = Some(InodeMap::new(&state.slots));
    state.links = Some(InodeMap::new(&state.slots));
    state.references = Some(InodeMap::new(&state.slots));
    state.inodes.iter().map(|one| one.groups.len() as u64).sum()
}

/// Pass 0c. Gives the number of groups.
pub(crate) fn extents(volume: &Volume<'_>, state: &mut State, log: &mut Log) -> u64 {
    let names = (0..volume.slots()).map(|slot| system::slot_file("extent_alloc", slot));
    let found: Vec<_> = names.map(|name| SystemFile::find(volume, name)).collect();
    let heads: Vec<&Block> = found.iter().filter_map(SystemFile::inode).collect();
    let mut blocks = prefill::run(volume, &heads, Vec::new());
    let groups = blocks.len() as u64;
    let mut allocators = Vec::new();
    for found in found {
        let Some((number, inode)) = found.reported(log) else {
            continue;
        };
        if let Err(refused) = chain::check(volume, state, log, &inode, None, &mut blocks) {
            unusable(log, number, refused);
        }
        // What cannot be loaded of it fsck.ocfs2 does not miss: it compares no extent block with its bit.
        allocators.push(load::load(volume, number, &inode, &mut blocks).0);
    }
    state.tree_blocks = TreeBlocks::new(allocators);
    groups
}

/// A system file that was looked for: its number and its inode.
struct SystemFile {
    name: String,
    found: Result<(u64, Block), Refused>,
}

impl SystemFile {
    fn find(volume: &Volume<'_>, name: String) -> SystemFile {
        let found = lookup::system(volume, &name);
        let found = found.and_then(|number| volume.inode(number).map(|inode| (number, inode)));
        SystemFile { name, found }
    }

    fn inode(&self) -> Option<&Block> {
        self.found.as_ref().ok().map(|(_, inode)| inode)
    }

    /// The number and the inode; that there is none is a finding.
    fn reported(self, log: &mut Log) -> Option<(u64, Block)> {
        match self.found {
            Ok(found) => Some(found),
            Err(refused) => {
                let finding = Finding::new(&SYSTEM_FILE_UNUSABLE).name(self.name.as_bytes());
                log.end(refused.exit(), finding.note(refused.words()));
                None
            }
        }
    }
}

fn unusable(log: &mut Log, number: u64, refused: Refused) {
    let finding = Finding::new(&ALLOC_NOT_USABLE).inode(number);
    log.end(refused.exit(), finding.note(refused.words()));
}

/// Whether an allocator's inode is one.
fn is_allocator(inode: &[u8]) -> Result<(), Refused> {
    let dinode = head(inode);
    if !signed(inode, ondisk::ocfs2::dinode::SIGNATURE) {
        Err(Refused::Magic)
    } else if !dinode.has_flag(flag::VALID) || !dinode.has_flag(flag::CHAIN) {
        Err(Refused::Corrupt)
    } else {
        Ok(())
    }
}
