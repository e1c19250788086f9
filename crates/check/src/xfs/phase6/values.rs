//! Values of attributes in blocks of their own: every block that an attribute names is there and sound, and every block is named.

use ondisk::xfs::remote;

use super::blocks::ValueBlock;
use crate::frame::finding::Finding;
use crate::xfs::attribute::leaf::Remote;
use crate::xfs::rules::Rules;
use crate::xfs::sink::Sink;
use crate::xfs::state::State;
use crate::xfs::worker::Worker;
use crate::xfs::xfs_repair::problems::{ATTR_RMT_BLOCK, ATTR_RMT_HOLE, ATTR_UNREACHED};

/// Compares values, which have the rank of their inode, with the blocks that were found.
pub(super) fn compare(
    state: &State,
    rules: &Rules,
    mut remote: Vec<(u64, Remote)>,
    mut blocks: Vec<ValueBlock>,
    worker: &mut Worker<'_>,
) {
    remote.sort_unstable();
    blocks.sort_unstable_by_key(|block| (block.rank, block.offset));
    let mut named = vec![false; blocks.len()];
    for (rank, value) in &remote {
        let ino = state.chunks.ino(*rank);
        let count = remote::blocks(&rules.geometry, value.length.into());
        let first = u64::from(value.block);
        let from = blocks.partition_point(|block| (block.rank, block.offset) < (*rank, first));
        let mut missing = None;
        for nth in 0..count {
            let offset = first + nth;
            let at = from + nth as usize;
            let block = blocks.get(at);
            let Some(block) = block.filter(|block| (block.rank, block.offset) == (*rank, offset))
            else {
                missing = Some(offset);
                break;
            };
            named[at] = true;
            if let Some((problem, why)) = block.refused {
                let finding = Finding::new(problem).inode(ino);
                let finding = finding.logical(block.offset).block(block.fsblock);
                let finding = finding.note(why);
                if problem.code == ATTR_RMT_BLOCK.code {
                    worker.find(finding);
                } else {
                    worker.own(finding);
                }
            }
        }
        if let Some(offset) = missing {
            worker.find(Finding::new(&ATTR_RMT_HOLE).inode(ino).logical(offset));
        }
    }
    for (block, named) in blocks.iter().zip(named) {
        if !named {
            let finding = Finding::new(&ATTR_UNREACHED).inode(state.chunks.ino(block.rank));
            worker.own(finding.logical(block.offset).block(block.fsblock));
        }
    }
}
