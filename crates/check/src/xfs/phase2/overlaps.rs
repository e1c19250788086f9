//! Blocks of which two records of the btree of reverse mappings speak. Several files may share a block; nothing else is shared.
//!
//! For `xfs_repair` what the first record says of a block is so unless something said otherwise before: headers, the log, the free list and
//! the btrees of free space and of mappings. It passes over records of free blocks.

use super::leaf::Mapping;
use super::records;
use super::uses::Use;
use super::walk::Trees;
use crate::frame::finding::Finding;
use crate::xfs::xfs_repair::log::Log;
use crate::xfs::xfs_repair::problems::RMAP_X_UNKNOWN;
use ondisk::xfs::record::owner;

/// Overlaps of a group that are looked at.
pub(super) const MOST: usize = 1000;

/// How far records reach, of files and of all else.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    first: [u64; 2],
    end: [u64; 2],
}

impl Default for Extent {
    fn default() -> Extent {
        Extent {
            first: [u64::MAX; 2],
            end: [0; 2],
        }
    }
}

impl Extent {
    /// One of a record.
    pub(super) fn of(record: &Mapping) -> Extent {
        let mut extent = Extent::default();
        let kind = usize::from(owner::is_special(record.mapped.owner));
        extent.first[kind] = record.start.into();
        extent.end[kind] = u64::from(record.start) + u64::from(record.length);
        extent
    }

    /// Takes records that follow; the blocks that overlap, if some do: first block and the block after the last.
    pub(super) fn take(&mut self, next: &Extent, shared: bool) -> Option<(u32, u64)> {
        let [of_files, of_others] = next.first;
        let [files, others] = self.end;
        let any = files.max(others);
        let met = if of_others < any {
            Some((of_others, any))
        } else {
            let any = if shared { others } else { any };
            (of_files < any).then_some((of_files, any))
        };
        for kind in 0..2 {
            self.first[kind] = self.first[kind].min(next.first[kind]);
            self.end[kind] = self.end[kind].max(next.end[kind]);
        }
        met.map(|(start, end)| (start as u32, end.min(next.end[0].max(next.end[1]))))
    }
}

/// Judges the overlaps that were met.
pub(super) fn judge(trees: &Trees<'_>, log: &mut Log) {
    let geo = &trees.volume.geo;
    for ag in 0..geo.ag_count {
        let overlaps = trees.results.of(ag).take_overlaps();
        if overlaps.is_empty() {
            continue;
        }
        let free = records::free(trees.volume, &trees.groups[ag as usize], ag);
        for (start, end) in overlaps {
            let length = (end - u64::from(start)) as u32;
            let at = free.partition_point(|extent| extent.0 <= start);
            let is_free = at
                .checked_sub(1)
                .is_some_and(|at| u64::from(free[at].0) + u64::from(free[at].1) >= end);
            let known = [Use::Headers, Use::Log, Use::FreeList, Use::Space];
            if is_free
                || known
                    .iter()
                    .any(|what| trees.uses.are_only(ag, start, length, *what))
            {
                continue;
            }
            let block = geo.fsblock(ag, start);
            let finding = Finding::new(&RMAP_X_UNKNOWN).group(ag).block(block);
            log.add(finding.note(format!("agbno {start}, {length} blocks, by two records")));
        }
    }
}
