//! The extents of a discontiguous group.

use ondisk::ocfs2::chain::extent_room;
use ondisk::ocfs2::{ExtentList, GroupDescriptor};

use crate::frame::finding::Finding;
use crate::frame::problem::Problem;
use crate::ocfs2::fsck_ocfs2::log::Log;
use crate::ocfs2::fsck_ocfs2::problems::{
    DISCONTIG_BG_CLUSTERS, DISCONTIG_BG_CORRUPT_LEAVES, DISCONTIG_BG_COUNT, DISCONTIG_BG_DEPTH,
    DISCONTIG_BG_LEAF_CLUSTERS, DISCONTIG_BG_LESS_CLUSTERS, DISCONTIG_BG_LIST_CORRUPT,
    DISCONTIG_BG_NEXT_FREE_REC, DISCONTIG_BG_REC_CORRUPT, DISCONTIG_BG_REC_RANGE,
};
use crate::ocfs2::volume::Volume;

/// The extents that were counted.
struct Sum {
    /// Clusters of the extents that are not too long.
    clusters: u32,
    /// Extents that are filled in.
    filled: usize,
    /// The extent that is too long.
    long: Option<u32>,
}

/// Judges the extents of a group of `per_group` clusters.
pub(super) fn check(
    volume: &Volume<'_>,
    log: &mut Log,
    per_group: u16,
    group: &GroupDescriptor,
    list: &ExtentList<'_>,
) {
    let at = |problem: &'static Problem| Finding::new(problem).block(group.bg_blkno.get());
    let listed = list.head();
    if listed.l_tree_depth.get() != 0 {
        log.add(at(&DISCONTIG_BG_DEPTH).found(listed.l_tree_depth.get()));
    }
    let room = extent_room(volume.block_size());
    if usize::from(listed.l_count.get()) > room {
        let finding = at(&DISCONTIG_BG_COUNT).found(listed.l_count.get());
        log.add(finding.expected(room as u64));
    }
    let sum = match sum(volume, per_group.into(), list) {
        Ok(sum) => sum,
        Err(problem) => {
            log.add(at(problem));
            return;
        }
    };
    let used = listed.l_next_free_rec.get();
    if usize::from(used) != sum.filled {
        let finding = at(&DISCONTIG_BG_NEXT_FREE_REC).found(used);
        log.add(finding.expected(sum.filled as u64));
    }
    let per_group = u32::from(per_group);
    match sum.long {
        None if sum.clusters < per_group => {
            let finding = at(&DISCONTIG_BG_LESS_CLUSTERS).found(sum.clusters);
            log.add(finding.expected(per_group));
        }
        None => {}
        Some(long) if sum.clusters == per_group => {
            log.add(at(&DISCONTIG_BG_REC_CORRUPT).found(long));
        }
        Some(long) => {
            let finding = at(&DISCONTIG_BG_LEAF_CLUSTERS).found(long);
            log.add(finding.expected(per_group.saturating_sub(sum.clusters)));
        }
    }
}

fn sum(
    volume: &Volume<'_>,
    per_group: u32,
    list: &ExtentList<'_>,
) -> Result<Sum, &'static Problem> {
    let listed = list.head();
    let used = listed.l_next_free_rec.get().min(listed.l_count.get());
    let mut sum = Sum {
        clusters: 0,
        filled: 0,
        long: None,
    };
    for record in list.first(used.into()) {
        let (block, clusters) = (record.e_blkno.get(), u32::from(record.leaf_clusters()));
        if block == 0 && clusters == 0 {
            break;
        }
        let length = volume.layout.block_of(clusters.into());
        let last = block.wrapping_add(length).wrapping_sub(1);
        if volume.out_of_range(block) || volume.out_of_range(last) {
            return Err(&DISCONTIG_BG_REC_RANGE);
        }
        if clusters > per_group {
            if sum.long.is_some() {
                return Err(&DISCONTIG_BG_CORRUPT_LEAVES);
            }
            sum.long = Some(clusters);
        } else if sum.clusters + clusters <= per_group {
            sum.clusters += clusters;
        } else if sum.clusters < per_group {
            return Err(&DISCONTIG_BG_CLUSTERS);
        } else if sum.long.is_some() {
            return Err(&DISCONTIG_BG_LIST_CORRUPT);
        } else {
            break;
        }
        sum.filled += 1;
    }
    Ok(sum)
}
