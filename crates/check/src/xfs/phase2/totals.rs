//! Counters of the groups and of the superblock against the trees.

use ondisk::xfs::btree::Tree;
use ondisk::xfs::geometry::{CHUNK, NULL_AGINO};

use super::group::has_tree;
use super::reserve;
use super::walk::Trees;
use crate::frame::finding::Finding;
use crate::frame::problem::Problem;
use crate::xfs::chunks::Chunk;
use crate::xfs::xfs_repair::log::Log;
use crate::xfs::xfs_repair::problems::{
    AGF_BTREEBLKS, AGF_FREEBLKS, AGF_LONGEST, AGI_COUNT, AGI_FREECOUNT, AGI_FREECOUNT_F, AGI_HINTS,
    CNTR_RESERVED, FINOBT_BLOCKS, FREE_ONE_TREE, INOBT_BLOCKS, REFC_BLOCKS, RMAP_BLOCKS,
    SB_FDBLOCKS, SB_ICOUNT, SB_IFREE,
};

/// Compares them.
pub(super) fn compare(trees: &Trees<'_>, chunks: &[Vec<Chunk>], log: &mut Log) {
    let geo = &trees.volume.geo;
    let (mut inodes, mut free_inodes, mut free) = (0, 0, 0);
    for ag in 0..geo.ag_count {
        let totals = trees.results.of(ag);
        free += space(trees, ag, log);
        let chunks = chunks.get(ag as usize).map_or(&[][..], Vec::as_slice);
        group_inodes(trees, ag, chunks, log);
        let (count, free_count, _) = totals.inodes();
        inodes += count;
        free_inodes += free_count;
    }
    let sb = &trees.volume.sb;
    for (problem, found, expected) in [
        (&SB_ICOUNT, sb.sb_icount.get(), inodes),
        (&SB_IFREE, sb.sb_ifree.get(), free_inodes),
        (&SB_FDBLOCKS, sb.sb_fdblocks.get(), free),
    ] {
        if found != expected {
            log.add(Finding::new(problem).found(found).expected(expected));
        }
    }
}

struct Compare<'a> {
    ag: u32,
    log: &'a mut Log,
}

impl Compare<'_> {
    fn counts(&mut self, problem: &'static Problem, found: u32, expected: u64) {
        if u64::from(found) != expected {
            let finding = Finding::new(problem).group(self.ag);
            self.log.add(finding.found(found).expected(expected));
        }
    }
}

/// Space of a group. Gives what the superblock counts as free of it.
fn space(trees: &Trees<'_>, ag: u32, log: &mut Log) -> u64 {
    let geo = &trees.volume.geo;
    let (totals, headers) = (trees.results.of(ag), &trees.groups[ag as usize]);
    let Some(agf) = &headers.agf else { return 0 };
    let beyond_root = |tree: Tree| totals.blocks(tree).saturating_sub(1);
    let btrees: u64 = [Tree::Bno, Tree::Cnt, Tree::Rmap]
        .map(beyond_root)
        .iter()
        .sum();
    let mut compare = Compare { ag, log };
    compare.counts(
        &AGF_FREEBLKS,
        agf.agf_freeblks.get(),
        totals.free_by_block(),
    );
    compare.counts(&AGF_LONGEST, agf.agf_longest.get(), totals.longest());
    if geo.lazy_count {
        compare.counts(&AGF_BTREEBLKS, agf.agf_btreeblks.get(), btrees);
    }
    if geo.rmapbt {
        compare.counts(
            &RMAP_BLOCKS,
            agf.agf_rmap_blocks.get(),
            totals.blocks(Tree::Rmap),
        );
    }
    if geo.reflink {
        compare.counts(
            &REFC_BLOCKS,
            agf.agf_refcount_blocks.get(),
            totals.blocks(Tree::Refcount),
        );
    }
    if !totals.free_agree() {
        let finding = Finding::new(&FREE_ONE_TREE).group(ag);
        log.add(finding.note(format!(
            "{} blocks are free by block, {} by size",
            totals.free_by_block(),
            totals.free_by_size()
        )));
    }
    let listed = headers.free_list.len() as u64;
    let (has, wanted) = (
        totals.free_by_block() + listed,
        reserve::wanted(trees.volume, ag, |tree| totals.blocks(tree)),
    );
    // Of a group whose free space is damaged there is more to say than that.
    if has < wanted
        && totals.free_agree()
        && totals.free_by_block() == u64::from(agf.agf_freeblks.get())
    {
        let finding = Finding::new(&CNTR_RESERVED).group(ag);
        log.add(finding.found(has).expected(format!("at least {wanted}")));
    }
    totals.free_by_size() + listed + btrees
}

fn group_inodes(trees: &Trees<'_>, ag: u32, chunks: &[Chunk], log: &mut Log) {
    let geo = &trees.volume.geo;
    let (totals, headers) = (trees.results.of(ag), &trees.groups[ag as usize]);
    let Some(agi) = &headers.agi else { return };
    let (inodes, free, free_by_fino) = totals.inodes();
    let mut compare = Compare { ag, log };
    compare.counts(&AGI_COUNT, agi.agi_count.get(), inodes);
    compare.counts(&AGI_FREECOUNT, agi.agi_freecount.get(), free);
    if has_tree(trees.volume, Tree::Fino) {
        compare.counts(&AGI_FREECOUNT_F, agi.agi_freecount.get(), free_by_fino);
    }
    if geo.inobtcount {
        compare.counts(
            &INOBT_BLOCKS,
            agi.agi_iblocks.get(),
            totals.blocks(Tree::Ino),
        );
        if geo.finobt {
            compare.counts(
                &FINOBT_BLOCKS,
                agi.agi_fblocks.get(),
                totals.blocks(Tree::Fino),
            );
        }
    }
    let new = agi.agi_newino.get();
    let at = chunks.partition_point(|chunk| chunk.start <= new);
    let is_chunk = at
        .checked_sub(1)
        .is_some_and(|at| new - chunks[at].start < CHUNK);
    if new != NULL_AGINO && !is_chunk {
        let finding = Finding::new(&AGI_HINTS).group(ag);
        log.add(finding.found(new).note("agi_newino leads to no chunk"));
    }
    if agi.agi_dirino.get() != NULL_AGINO {
        let finding = Finding::new(&AGI_HINTS).group(ag);
        log.add(
            finding
                .found(agi.agi_dirino.get())
                .note("agi_dirino is not null"),
        );
    }
}
