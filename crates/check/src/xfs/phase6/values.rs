//! Values of attributes in blocks of their own: every block that an attribute names is there and sound, and every block is named.

use ondisk::xfs::remote;

use super::blocks::ValueBlock;
use crate::frame::finding::Finding;
use crate::xfs::attribute::leaf::Remote;
use crate::xfs::rules::Rules;
use crate::xfs::sink::Sink;
use crate::xfs::state::State;
use crate::xfs::worker::Worker;
use crate::xfs::xfs_repair::problems::{
    ATTR_RMT_BLOCK, ATTR_RMT_HOLE, ATTR_RMT_LENGTH, ATTR_UNREACHED,
};

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
    // Attributes of a damaged fork may all name the same blocks, so no question about a range looks at each of its blocks.
    let runs = Runs::of(&blocks);
    let mut named = vec![0_i64; blocks.len() + 1];
    for (rank, value) in &remote {
        let ino = state.chunks.ino(*rank);
        let count = remote::blocks(&rules.geometry, value.length.into());
        let first = u64::from(value.block);
        let from = blocks.partition_point(|block| (block.rank, block.offset) < (*rank, first));
        let begins = blocks.get(from);
        let begins = begins.is_some_and(|block| (block.rank, block.offset) == (*rank, first));
        let there = if begins {
            count.min((runs.ends[from] - from) as u64)
        } else {
            0
        };
        let to = from + there as usize;
        named[from] += 1;
        named[to] -= 1;
        // xfs_repair looks no further than the first block that it refuses.
        for next in [&runs.refused, &runs.others].map(|list| list[from]) {
            let Some(block) = blocks.get(next).filter(|_| next < to) else {
                continue;
            };
            let Some((problem, why)) = block.refused else {
                continue;
            };
            let finding = Finding::new(problem).inode(ino);
            let finding = finding.logical(block.offset).block(block.fsblock);
            let finding = finding.note(why);
            if problem == &ATTR_RMT_BLOCK {
                worker.find(finding);
            } else {
                worker.own(finding);
            }
        }
        if there < count {
            // The length is an `int` in `rmtval_get`.
            let is_negative = value.length > i32::MAX as u32;
            let problem = if is_negative {
                &ATTR_RMT_LENGTH
            } else {
                &ATTR_RMT_HOLE
            };
            worker.find(Finding::new(problem).inode(ino).logical(first + there));
        }
    }
    let mut depth = 0;
    let named = named.iter().map(|change| {
        depth += change;
        depth > 0
    });
    for (block, named) in blocks.iter().zip(named) {
        if !named {
            let finding = Finding::new(&ATTR_UNREACHED).inode(state.chunks.ino(block.rank));
            worker.own(finding.logical(block.offset).block(block.fsblock));
        }
    }
}

/// Places in a list of blocks, for each of them and for its end.
struct Runs {
    /// After the last block that follows without a gap.
    ends: Vec<usize>,
    /// The next block that `xfs_repair` refuses.
    refused: Vec<usize>,
    /// The next block that is refused, and not by `xfs_repair`.
    others: Vec<usize>,
}

impl Runs {
    fn of(blocks: &[ValueBlock]) -> Runs {
        let count = blocks.len();
        let mut runs = Runs {
            ends: vec![count; count + 1],
            refused: vec![count; count + 1],
            others: vec![count; count + 1],
        };
        for at in (0..count).rev() {
            let (rank, offset) = (blocks[at].rank, blocks[at].offset);
            let follows = blocks
                .get(at + 1)
                .is_some_and(|next| (next.rank, next.offset) == (rank, offset + 1));
            runs.ends[at] = if follows { runs.ends[at + 1] } else { at + 1 };
            runs.refused[at] = runs.refused[at + 1];
            runs.others[at] = runs.others[at + 1];
            match blocks[at].refused {
                Some((problem, _)) if problem == &ATTR_RMT_BLOCK => runs.refused[at] = at,
                Some(_) => runs.others[at] = at,
                None => {}
            }
        }
        runs
    }
}
