//! Reference counts.

use std::sync::PoisonError;

use ondisk::bytes::be32;
use ondisk::xfs::btree::Tree;
use ondisk::xfs::record::{REFC_COW, owner};

use super::super::block::Node;
use super::super::uses::Use;
use super::super::walk::{Trees, Visit};
use super::extend;
use crate::frame::problem::Problem;
use crate::xfs::fingerprint::Mapped;
use crate::xfs::xfs_repair::log::Log;
use crate::xfs::xfs_repair::problems::{
    REFC_COUNT, REFC_COW_CLAIMED, REFC_COW_COUNT, REFC_COW_LEFT, REFC_LENGTH, REFC_MERGE, REFC_ONE,
    REFC_ORDER, REFC_START,
};

/// Judges a leaf, takes its staging extents and keeps the others.
pub(super) fn judge(
    trees: &Trees<'_>,
    visit: &Visit,
    bytes: &[u8],
    used: usize,
    log: &mut Log,
) -> Node {
    let geo = &trees.volume.geo;
    let totals = trees.results.of(visit.ag);
    let mut node = Node::default();
    let mut shared = Vec::new();
    let mut last: Option<(u32, u32, u32)> = None;
    for index in 0..used {
        let at = Tree::Refcount.record_at(geo, index);
        let (stored, length, count) = (be32(bytes, at), be32(bytes, at + 4), be32(bytes, at + 8));
        let start = stored & !REFC_COW;
        let staging = stored & REFC_COW != 0;
        let mut raise = |problem: &'static Problem| {
            let note = format!("agbno {start}, {length} blocks, {count} owners");
            log.add(trees.finding(problem, visit).note(note));
            trees.distrust(Tree::Refcount);
        };
        if staging && count != 1 {
            raise(&REFC_COW_COUNT);
        }
        if !staging && count == 1 {
            raise(&REFC_ONE);
        }
        if !geo.is_agblock(visit.ag, start) {
            raise(&REFC_START);
            continue;
        }
        let end = u64::from(start) + u64::from(length);
        if length == 0 || end > geo.ag_length(visit.ag).into() {
            raise(&REFC_LENGTH);
            continue;
        }
        if !staging && count == 0 {
            raise(&REFC_COUNT);
        }
        if let Some(last) = last {
            let last_end = last.0.wrapping_add(last.1);
            if stored < last_end {
                raise(&REFC_ORDER);
            } else if stored == last_end && count == last.2 {
                raise(&REFC_MERGE);
            }
        }
        if staging {
            raise(&REFC_COW_LEFT);
            let mapped = Mapped {
                owner: owner::COW,
                flags: 0,
                offset: 0,
                advances: false,
            };
            if trees.claims.take(visit.ag, start, length, Some(&mapped)) {
                trees.uses.add(visit.ag, start, length, Use::Staging);
            } else {
                raise(&REFC_COW_CLAIMED);
            }
        } else if count > 1 {
            shared.push((start, length, count));
        }
        extend(&mut node, [stored.into(), 0, 0], end);
        last = Some((stored, length, count));
    }
    let mut all = totals.shared.lock().unwrap_or_else(PoisonError::into_inner);
    all.append(&mut shared);
    node
}
