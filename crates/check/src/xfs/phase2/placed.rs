//! Chunks in their places: without overlaps, their blocks taken, and the inodes that the superblock names among them.

use ondisk::xfs::geometry::CHUNK;
use ondisk::xfs::record::owner;

use super::leaf::free_chunks;
use super::walk::Trees;
use crate::frame::finding::Finding;
use crate::frame::problem::Problem;
use crate::xfs::chunks::Chunk;
use crate::xfs::fingerprint::Mapped;
use crate::xfs::xfs_repair::log::Log;
use crate::xfs::xfs_repair::problems::{
    INOBT_CHUNK_CLAIMED, INOBT_OVERLAP, RBM_FREE, ROOT_CHUNK, ROOT_FREE, RSUM_FREE,
};
use ondisk::xfs::btree::Tree;

/// The chunks of all groups.
pub(super) fn chunks(trees: &Trees<'_>, log: &mut Log) -> Vec<Vec<Chunk>> {
    let geo = &trees.volume.geo;
    let mut all = Vec::with_capacity(geo.ag_count as usize);
    for ag in 0..geo.ag_count {
        let totals = trees.results.of(ag);
        let mut chunks = totals.take_chunks();
        let mut end = 0;
        chunks.retain(|chunk| {
            let sole = u64::from(chunk.start) >= end;
            if sole {
                end = u64::from(chunk.start) + u64::from(CHUNK);
            } else {
                let ino = geo.ino(ag, chunk.start);
                log.add(Finding::new(&INOBT_CHUNK_CLAIMED).group(ag).inode(ino));
                log.add(Finding::new(&INOBT_OVERLAP).group(ag).inode(ino));
                trees.distrust(Tree::Ino);
            }
            sole
        });
        let mut last = None;
        for chunk in &chunks {
            take(trees, ag, chunk, &mut last, log);
        }
        if geo.finobt {
            free_chunks(trees, ag, &chunks, &totals.take_free_chunks(), log);
        }
        all.push(chunks);
    }
    named(trees, &all, log);
    all
}

/// Takes the blocks of a chunk. Large blocks have several chunks each: `last` is the block that was taken for the one before.
fn take(trees: &Trees<'_>, ag: u32, chunk: &Chunk, last: &mut Option<u32>, log: &mut Log) {
    let geo = &trees.volume.geo;
    let in_block = 1_u32 << geo.inopb_log;
    let first = geo.agino_block(chunk.start);
    let mapped = Mapped {
        owner: owner::INODES,
        flags: 0,
        offset: 0,
        advances: false,
    };
    let mut claim = |start: u32, length: u32| {
        if !trees.claims.take(ag, start, length, Some(&mapped)) {
            let ino = geo.ino(ag, chunk.start);
            let note = format!("agbno {start}, {length} blocks");
            log.add(
                Finding::new(&INOBT_CHUNK_CLAIMED)
                    .group(ag)
                    .inode(ino)
                    .note(note),
            );
            trees.distrust(Tree::Ino);
        }
    };
    if in_block >= CHUNK {
        if *last != Some(first) {
            claim(first, 1);
        }
        *last = Some(first);
        return;
    }
    if chunk.holes == 0 {
        claim(first, geo.chunk_blocks());
        return;
    }
    let exist = !chunk.hole_bits();
    let has = |block: u32| exist >> (block * in_block) & ((1 << in_block) - 1) != 0;
    let mut at = 0;
    while at < geo.chunk_blocks() {
        let start = at;
        while at < geo.chunk_blocks() && has(at) {
            at += 1;
        }
        if at > start {
            claim(first + start, at - start);
        }
        at += 1;
    }
}

/// Root, realtime bitmap and summary are in use.
fn named(trees: &Trees<'_>, all: &[Vec<Chunk>], log: &mut Log) {
    let (geo, sb) = (&trees.volume.geo, &trees.volume.sb);
    let root = sb.sb_rootino.get();
    let inodes: [(&'static Problem, u64); 3] = [
        (&ROOT_FREE, root),
        (&RBM_FREE, sb.sb_rbmino.get()),
        (&RSUM_FREE, sb.sb_rsumino.get()),
    ];
    for (problem, ino) in inodes {
        let agino = geo.agino_of(ino);
        let group = all
            .get(geo.ino_ag(ino) as usize)
            .map_or(&[][..], Vec::as_slice);
        let at = group.partition_point(|chunk| chunk.start <= agino);
        let chunk = at.checked_sub(1).map(|at| group[at]);
        let chunk = chunk.filter(|chunk| agino - chunk.start < CHUNK);
        match chunk {
            None if ino == root => log.add(Finding::new(&ROOT_CHUNK).inode(ino)),
            Some(chunk) if chunk.free >> (agino - chunk.start) & 1 == 1 => {
                log.add(Finding::new(problem).inode(ino));
            }
            _ => {}
        }
    }
}
