//! Free extents, by block and by size.

use std::sync::atomic::Ordering::Relaxed;

use ondisk::bytes::be32;
use ondisk::xfs::btree::Tree;

use super::super::block::Node;
use super::super::uses::Use;
use super::super::walk::{Trees, Visit};
use super::extend;
use crate::xfs::fingerprint::mix;
use crate::xfs::xfs_repair::log::Log;
use crate::xfs::xfs_repair::problems::{
    BNO_ORDER, CNT_ORDER, CNT_TIE, FREE_ADJACENT, FREE_INOBT, FSBT_LENGTH, FSBT_MULTIPLE,
    FSBT_START,
};

/// Judges a leaf. By block, the extents are taken; by size they are only compared with those by block.
pub(super) fn judge(
    trees: &Trees<'_>,
    tree: Tree,
    visit: &Visit,
    bytes: &[u8],
    used: usize,
    log: &mut Log,
) -> Node {
    let geo = &trees.volume.geo;
    let totals = trees.results.of(visit.ag);
    let by_block = tree == Tree::Bno;
    let mut node = Node::default();
    let (mut sum, mut free, mut longest) = (0_u64, 0, 0);
    for index in 0..used {
        let at = tree.record_at(geo, index);
        let (start, length) = (be32(bytes, at), be32(bytes, at + 4));
        let place = || {
            trees
                .finding(&FSBT_START, visit)
                .note(format!("agbno {start}, {length} blocks"))
        };
        let mut raise = |problem| {
            let mut finding = place();
            finding.problem = problem;
            log.add(finding);
        };
        if !geo.is_agblock(visit.ag, start) {
            raise(&FSBT_START);
            continue;
        }
        let end = u64::from(start) + u64::from(length);
        if length == 0 || end > geo.ag_length(visit.ag).into() {
            raise(&FSBT_LENGTH);
            continue;
        }
        let key = if by_block {
            [start.into(), 0, 0]
        } else {
            [length.into(), start.into(), 0]
        };
        if node.is_filled {
            if by_block && u64::from(start) < node.end {
                raise(&BNO_ORDER);
            } else if by_block && u64::from(start) == node.end {
                raise(&FREE_ADJACENT);
            } else if !by_block && key[0] < node.last[0] {
                raise(&CNT_ORDER);
            } else if !by_block && key <= node.last {
                raise(&CNT_TIE);
            }
        }
        extend(&mut node, key, end);
        sum = sum.wrapping_add(mix(u64::from(start) << 32 | u64::from(length)));
        free += u64::from(length);
        longest = longest.max(length);
        if by_block && !trees.claims.take(visit.ag, start, length, None) {
            raise(multiple(trees, visit.ag, start, length));
        }
    }
    totals.free[usize::from(!by_block)].fetch_add(free, Relaxed);
    let signed = if by_block { sum } else { sum.wrapping_neg() };
    totals.free_sum.fetch_add(signed, Relaxed);
    if by_block {
        totals.longest.fetch_max(longest.into(), Relaxed);
    }
    node
}

/// The problem of a free extent whose blocks are used. `xfs_repair` accepts blocks of inode btrees that are free.
fn multiple(
    trees: &Trees<'_>,
    ag: u32,
    start: u32,
    length: u32,
) -> &'static crate::frame::problem::Problem {
    if trees.uses.are_only(ag, start, length, Use::Inodes) {
        &FREE_INOBT
    } else {
        &FSBT_MULTIPLE
    }
}
