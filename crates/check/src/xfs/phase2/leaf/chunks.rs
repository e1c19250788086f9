//! Inode chunks: of the inode btree, and of the btree of free inodes.

use std::sync::PoisonError;
use std::sync::atomic::Ordering::Relaxed;

use ondisk::xfs::btree::Tree;
use ondisk::xfs::feature;
use ondisk::xfs::geometry::CHUNK;
use ondisk::xfs::record::InobtRecord;

use super::super::block::Node;
use super::super::walk::{Trees, Visit};
use super::extend;
use crate::frame::finding::Finding;
use crate::frame::problem::Problem;
use crate::xfs::chunks::Chunk;
use crate::xfs::xfs_repair::log::Log;
use crate::xfs::xfs_repair::problems::{
    FINOBT_FREECOUNT, FINOBT_FULL, FINOBT_HOLE, FINOBT_MASK, FINOBT_MISMATCH, FINOBT_NEW,
    INOBT_ALIGN, INOBT_COUNT, INOBT_END, INOBT_FREECOUNT, INOBT_HOLE_USED, INOBT_ORDER,
    INOBT_START,
};

/// Judges a leaf and keeps its chunks.
pub(super) fn judge(
    trees: &Trees<'_>,
    tree: Tree,
    visit: &Visit,
    bytes: &[u8],
    used: usize,
    log: &mut Log,
) -> Node {
    let geo = &trees.volume.geo;
    let mut node = Node::default();
    let mut chunks = Vec::with_capacity(used);
    let (mut inodes, mut free) = (0_u64, 0_u64);
    for index in 0..used {
        let at = tree.record_at(geo, index);
        let Some(Ok(record)) = bytes.get(at..).map(InobtRecord::read) else {
            break;
        };
        let start = record.ir_startino.get();
        if node.is_filled && u64::from(start) < node.last[0] + u64::from(CHUNK) {
            let note = format!("inode {start} after inode {}", node.last[0]);
            log.add(trees.finding(&INOBT_ORDER, visit).note(note));
            trees.distrust(tree);
        }
        extend(&mut node, [start.into(), 0, 0], 0);
        inodes += u64::from(record.count(geo.sparse_inodes));
        free += u64::from(record.free_count(geo.sparse_inodes));
        if let Some(chunk) = chunk(trees, tree, visit, record, log) {
            chunks.push(chunk);
        }
    }
    let totals = trees.results.of(visit.ag);
    if tree == Tree::Ino {
        totals.inodes.fetch_add(inodes, Relaxed);
        totals.free_inodes.fetch_add(free, Relaxed);
        let mut all = totals.chunks.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(chunks);
    } else {
        totals.free_inodes_by_fino.fetch_add(free, Relaxed);
        let mut all = totals
            .free_chunks
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        all.append(&mut chunks);
    }
    node
}

/// Judges a record; none where its inodes cannot exist.
fn chunk(
    trees: &Trees<'_>,
    tree: Tree,
    visit: &Visit,
    record: &InobtRecord,
    log: &mut Log,
) -> Option<Chunk> {
    let (geo, sb) = (&trees.volume.geo, &trees.volume.sb);
    let start = record.ir_startino.get();
    let mut raise = |problem: &'static Problem, note: String| {
        let finding = trees.finding(problem, visit);
        log.add(finding.inode(geo.ino(visit.ag, start)).note(note));
        trees.distrust(tree);
    };
    let in_block = 1_u32 << geo.inopb_log;
    let within = !start.is_multiple_of(in_block.min(CHUNK));
    let aligned = sb.has_version(feature::V4_ALIGN) && geo.inode_align > 1;
    let block = geo.agino_block(start);
    if start == 0 || within || aligned && !block.is_multiple_of(geo.inode_align) {
        raise(&INOBT_ALIGN, format!("agbno {block}"));
    }
    let exists = |agino: u32| {
        u64::from(agino) < 1 << geo.agino_bits() && geo.is_agblock(visit.ag, geo.agino_block(agino))
    };
    if !exists(start) {
        raise(&INOBT_START, format!("agino {start}"));
        return None;
    }
    let last = start.saturating_add(CHUNK - 1);
    if !exists(last) {
        raise(&INOBT_END, format!("agino {last}"));
        return None;
    }
    let chunk = Chunk {
        start,
        holes: record.hole_mask(geo.sparse_inodes),
        free: record.ir_free.get(),
    };
    let holes = chunk.hole_bits();
    let free = (chunk.free & !holes).count_ones();
    let stored = record.free_count(geo.sparse_inodes);
    if tree == Tree::Ino && holes & !chunk.free != 0 {
        raise(&INOBT_HOLE_USED, "an inode in a hole is not free".into());
    }
    if stored != free {
        let problem = if tree == Tree::Ino {
            &INOBT_FREECOUNT
        } else {
            &FINOBT_FREECOUNT
        };
        raise(
            problem,
            format!("{stored} free inodes, and the mask has {free}"),
        );
    }
    if tree == Tree::Fino && stored == 0 {
        raise(&FINOBT_FULL, "no free inode".into());
    }
    let count = CHUNK - holes.count_ones();
    if record.count(geo.sparse_inodes) != count {
        let note = format!(
            "{} inodes, and the holes leave {count}",
            record.count(geo.sparse_inodes)
        );
        raise(&INOBT_COUNT, note);
    }
    Some(chunk)
}

/// Compares the chunks of the btree of free inodes with those of the inode btree, which ascend.
pub(in crate::xfs::phase2) fn free_chunks(
    trees: &Trees<'_>,
    ag: u32,
    chunks: &[Chunk],
    free: &[Chunk],
    log: &mut Log,
) {
    for record in free {
        let at = chunks.partition_point(|chunk| chunk.start <= record.start);
        let chunk = at.checked_sub(1).map(|at| chunks[at]);
        let next = chunks
            .get(at)
            .is_some_and(|next| next.start - record.start < CHUNK);
        let problem: &'static Problem = match chunk {
            Some(chunk) if chunk.start == record.start => {
                if record.holes & !chunk.holes != 0 || chunk.holes & !record.holes != 0 {
                    &FINOBT_HOLE
                } else if (record.free ^ chunk.free) & !chunk.hole_bits() != 0 {
                    &FINOBT_MASK
                } else {
                    continue;
                }
            }
            Some(chunk) if record.start - chunk.start < CHUNK => &FINOBT_MISMATCH,
            _ if next => &FINOBT_MISMATCH,
            _ => &FINOBT_NEW,
        };
        let ino = trees.volume.geo.ino(ag, record.start);
        log.add(Finding::new(problem).group(ag).inode(ino));
        trees.distrust(Tree::Fino);
    }
}
