//! What blocks of a level say of each other: siblings, order, keys of the level above. `xfs_repair` looks at little of it.

use ondisk::xfs::btree::Tree;
use ondisk::xfs::geometry::NULL_AGBLOCK;

use super::block::{Node, plain};
use super::overlaps::Extent;
use super::walk::{Key, Trees, Visit};
use crate::xfs::xfs_repair::log::Log;
use crate::xfs::xfs_repair::problems::{
    AGBT_KEY, AGBT_ORDER_LEAVES, AGBT_SIBLING, FREE_ADJACENT, REFC_MISSING, RMAP_LOWKEY,
    RMAP_MISSING,
};

/// Judges the blocks of a level. Those of a group are in the order of their parents.
pub(super) fn judge(
    trees: &Trees<'_>,
    tree: Tree,
    visits: &[Visit],
    nodes: &[Option<Node>],
    log: &mut Log,
) {
    let pairs = visits.iter().zip(nodes);
    let mut before: Option<(&Visit, Option<&Node>)> = None;
    let mut mapped = Extent::default();
    for (visit, node) in pairs {
        let left = before.filter(|left| left.0.ag == visit.ag);
        if left.is_none() {
            mapped = Extent::default();
        }
        if let Some(node) = node {
            if let Some(blocks) = mapped.take(&node.mapped, trees.volume.geo.reflink) {
                trees.results.of(visit.ag).overlap(blocks);
            }
            siblings(trees, visit, node, left, log);
            key(trees, tree, visit, node, left.and_then(|left| left.1), log);
            if let Some((_, Some(left))) = left {
                order(trees, tree, visit, node, left, log);
            }
        }
        close(trees, before, left.is_none(), log);
        before = Some((visit, node.as_ref()));
    }
    close(trees, before, true, log);
}

/// The last block of a level has none to its right.
fn close(trees: &Trees<'_>, before: Option<(&Visit, Option<&Node>)>, is_last: bool, log: &mut Log) {
    if let Some((visit, Some(node))) = before.filter(|_| is_last)
        && node.right != NULL_AGBLOCK
    {
        log.add(trees.finding(&AGBT_SIBLING, visit).note(format!(
            "the last block of its level has the right sibling {}",
            node.right
        )));
    }
}

fn siblings(
    trees: &Trees<'_>,
    visit: &Visit,
    node: &Node,
    left: Option<(&Visit, Option<&Node>)>,
    log: &mut Log,
) {
    let expected = left.map_or(NULL_AGBLOCK, |left| left.0.agbno);
    if node.left != expected {
        let note = format!(
            "the left sibling is {}, and should be {expected}",
            node.left
        );
        log.add(trees.finding(&AGBT_SIBLING, visit).note(note));
    }
    if let Some((left, Some(sibling))) = left
        && sibling.right != visit.agbno
    {
        let note = format!(
            "the right sibling is {}, and should be {}",
            sibling.right, visit.agbno
        );
        log.add(trees.finding(&AGBT_SIBLING, left).note(note));
    }
}

/// The key that the parent has for a block. Free space and chunks are never looked up by `xfs_repair`; mappings and counts are, and it does
/// not find those between the key and the first record.
fn key(
    trees: &Trees<'_>,
    tree: Tree,
    visit: &Visit,
    node: &Node,
    left: Option<&Node>,
    log: &mut Log,
) {
    if visit.is_root || !node.is_filled {
        return;
    }
    let (key, first): (Key, Key) = if tree == Tree::Rmap {
        (plain(visit.low), plain(node.first))
    } else {
        (visit.low, node.first)
    };
    if key == first && !visit.is_passed {
        return;
    }
    let passed = key > first || left.is_some_and(|left| left.is_filled && left.last >= key);
    let lost = passed && !visit.is_first || visit.is_passed;
    let problem = match (tree, lost) {
        (Tree::Rmap, true) => &RMAP_MISSING,
        (Tree::Rmap, false) => &RMAP_LOWKEY,
        (Tree::Refcount, true) => &REFC_MISSING,
        _ => &AGBT_KEY,
    };
    log.add(
        trees
            .finding(problem, visit)
            .found(key[0])
            .expected(first[0])
            .note(if lost {
                "key of the block above; records are not found by it"
            } else {
                "key of the block above"
            }),
    );
}

fn order(trees: &Trees<'_>, tree: Tree, visit: &Visit, node: &Node, left: &Node, log: &mut Log) {
    if !node.is_filled || !left.is_filled {
        return;
    }
    let (last, first) = if tree == Tree::Rmap {
        (plain(left.last), plain(node.first))
    } else {
        (left.last, node.first)
    };
    if first <= last {
        log.add(trees.finding(&AGBT_ORDER_LEAVES, visit));
    } else if tree == Tree::Bno && left.end == first[0] && node.children.is_empty() {
        log.add(
            trees
                .finding(&FREE_ADJACENT, visit)
                .note(format!("agbno {}", first[0])),
        );
    }
}
