//! The blocks of a tree of reference counts, and which files name it.

use std::collections::BTreeMap;

use ondisk::ocfs2::dinode::dynamic;
use ondisk::ocfs2::extent::{ExtentHead, ExtentRecord};
use ondisk::ocfs2::refcount::{LIST, RefcountHead, TREE, room};
use ondisk::ocfs2::{Dinode, RefcountBlock, RefcountList};

use super::extents::{Leaves, Tree};
use super::sink::Sink;
use crate::frame::finding::Finding;
use crate::frame::problem::Problem;
use crate::ocfs2::fsck_ocfs2::log::Log;
use crate::ocfs2::fsck_ocfs2::problems::{
    RB_BLKNO, RB_GEN, RB_GEN_FIX, RB_PARENT, REFCOUNT_BLOCK_INVALID, REFCOUNT_CLUSTER_COLLISION,
    REFCOUNT_CLUSTER_RANGE, REFCOUNT_CLUSTERS, REFCOUNT_LIST_COUNT, REFCOUNT_LIST_EMPTY,
    REFCOUNT_LIST_USED, REFCOUNT_ROOT_BLOCK_INVALID,
};
use crate::ocfs2::refused::Refused;
use crate::ocfs2::state::{RefTree, Shared};
use crate::ocfs2::volume::{Volume, from, value};

/// Judges the tree that an inode names, when the first inode names it.
pub(super) fn check(volume: &Volume<'_>, state: &mut dyn Sink, log: &mut Log, inode: &Dinode) {
    if !inode.has_dynamic(dynamic::HAS_REFCOUNT) {
        return;
    }
    let root = inode.i_refcount_loc.get();
    let Some(trees) = state.trees() else { return };
    if !trees.contains_key(&root) {
        let mut end = 0;
        let valid = {
            let leaves = Leaves::Counts { root, end };
            let mut tree = Tree::new(volume, state, log, inode, leaves);
            block(&mut tree, root, &mut end, root, 0)
        };
        let tree = RefTree {
            valid,
            end,
            ..RefTree::default()
        };
        if let Some(trees) = state.trees() {
            trees.insert(root, tree);
        }
    }
    let Some(tree) = state.trees().and_then(|trees| trees.get_mut(&root)) else {
        return;
    };
    if !tree.valid {
        let finding = Finding::new(&REFCOUNT_ROOT_BLOCK_INVALID).block(root);
        log.add(finding.inode(inode.i_blkno.get()));
    }
    tree.files.push((inode.i_blkno.get(), BTreeMap::new()));
}

/// Remembers that a file shares clusters; `false` where fsck.ocfs2 fails an assertion: no such tree, no such file, or the same cluster twice.
pub(super) fn share(state: &mut dyn Sink, inode: &Dinode, cluster: u32, clusters: u32) -> bool {
    let Some(trees) = state.trees() else {
        return true;
    };
    let Some(tree) = trees.get_mut(&inode.i_refcount_loc.get()) else {
        return false;
    };
    let own = inode.i_blkno.get();
    let Some((_, extents)) = tree.files.iter_mut().rev().find(|file| file.0 == own) else {
        return false;
    };
    extents
        .insert(cluster.into(), Shared { clusters })
        .is_none()
}

/// A record of the tree's extent list leads to a leaf.
pub(super) fn leaf(tree: &mut Tree<'_, '_>, root: u64, end: &mut u64, number: u64, offset: u32) {
    if !block(tree, root, end, number, offset) {
        let finding = Finding::new(&REFCOUNT_BLOCK_INVALID).block(number);
        tree.log.add(finding.found(root));
    }
}

/// Judges a block of counts; `false` where it has no signature.
fn block(tree: &mut Tree<'_, '_>, root: u64, end: &mut u64, number: u64, offset: u32) -> bool {
    let volume = tree.volume;
    let at = |problem: &'static Problem| Finding::new(problem).block(number);
    let bytes = match volume.refcount_block(number) {
        Ok(bytes) => bytes,
        Err(refused) => return refused != Refused::Magic,
    };
    tree.state.tree_block(number);
    let rb: RefcountBlock = value(RefcountBlock::read(&bytes));
    if rb.rf_blkno.get() != number {
        tree.log
            .add(at(&RB_BLKNO).found(rb.rf_blkno.get()).expected(number));
    }
    if rb.rf_fs_generation.get() != volume.generation() {
        let finding = at(&RB_GEN).found(rb.rf_fs_generation.get());
        tree.log.add(finding.expected(volume.generation()));
        tree.log.add(at(&RB_GEN_FIX));
    }
    if rb.rf_blkno.get() != root && rb.rf_parent.get() != root {
        tree.log
            .add(at(&RB_PARENT).found(rb.rf_parent.get()).expected(root));
    }
    if rb.rf_flags.get() & TREE != 0 {
        // fsck.ocfs2 would recurse on a tree that leads to itself.
        if tree.path().contains(&number) {
            return true;
        }
        let path = tree.path().to_vec();
        let room = volume.block_size().saturating_sub(LIST + ExtentHead::SIZE) / ExtentRecord::SIZE;
        let inode = tree.inode;
        let mut below = Tree::new(
            volume,
            tree.state,
            tree.log,
            &inode,
            Leaves::Counts { root, end: *end },
        );
        below.owner = rb.rf_blkno.get();
        below.follow(number, &path);
        below.list(from(&bytes, LIST), room, offset, None);
        if let Leaves::Counts { end: last, .. } = below.leaves {
            *end = last;
        }
        let clusters = below.clusters;
        if clusters != u64::from(rb.rf_clusters.get()) {
            let finding = at(&REFCOUNT_CLUSTERS).found(rb.rf_clusters.get());
            tree.log.add(finding.expected(clusters));
        }
        return true;
    }
    records(volume, tree.log, number, from(&bytes, LIST), end);
    let list: RefcountHead = value(RefcountHead::read(from(&bytes, LIST)));
    if number != root && list.rl_used.get() == 0 {
        // It is invalid to fsck.ocfs2 only after a yes.
        tree.log.add(at(&REFCOUNT_LIST_EMPTY));
    }
    true
}

fn records(volume: &Volume<'_>, log: &mut Log, number: u64, bytes: &[u8], end: &mut u64) {
    let at = |problem: &'static Problem| Finding::new(problem).block(number);
    let Ok(list) = RefcountList::read(bytes) else {
        return;
    };
    let (count, used) = (list.head().rl_count.get(), list.head().rl_used.get());
    let room = room(volume.block_size());
    if usize::from(count) > room {
        log.add(at(&REFCOUNT_LIST_COUNT).found(count).expected(room as u64));
    }
    let mut limit = room.min(count.into());
    if usize::from(used) > limit {
        log.add(at(&REFCOUNT_LIST_USED).found(used).expected(limit as u64));
    } else {
        limit = used.into();
    }
    for record in list.first(limit) {
        let (first, clusters) = (record.r_cpos.get(), u64::from(record.r_clusters.get()));
        let last = (first.wrapping_add(clusters).wrapping_sub(1)) as u32;
        if volume.out_of_range(volume.layout.block_of(last.into())) {
            log.add(at(&REFCOUNT_CLUSTER_RANGE).found(first));
        }
        if first < *end {
            log.add(at(&REFCOUNT_CLUSTER_COLLISION).found(first).expected(*end));
        }
        *end = first.wrapping_add(clusters);
    }
}
