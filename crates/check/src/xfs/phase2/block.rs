//! A block of a btree of an allocation group, by itself.

use ondisk::bytes::{be16, be32, be64};
use ondisk::xfs::btree::{ShortBlock, Tree};
use ondisk::xfs::checksum::{self, is_right};
use ondisk::xfs::geometry::NULL_AGBLOCK;

use super::tree_name::{BLKNO, CRC, LEVEL, MAGIC, NRECS, OWNER, REFUSED, SIBLING, UUID};
use super::walk::{Key, Trees, Visit};
use super::{leaf, overlaps};
use crate::frame::problem::Problem;
use crate::xfs::xfs_repair::log::Log;
use crate::xfs::xfs_repair::problems::{
    AGBT_LEVEL_COUNT, RMAP_HIGH_KEY, RMAP_KEY_FLAGS, RMAP_UNWRITTEN_KEY,
};

/// What a block says of its neighbours.
#[derive(Clone, Debug, Default)]
pub(super) struct Node {
    /// The key of its first record, or its first key.
    pub(super) first: Key,
    /// The key of its last record.
    pub(super) last: Key,
    /// Block after the last free extent, mapping or shared extent.
    pub(super) end: u64,
    /// Whether it has a record.
    pub(super) is_filled: bool,
    pub(super) left: u32,
    pub(super) right: u32,
    /// How far its records reach; of leaves of mappings alone.
    pub(super) mapped: overlaps::Extent,
    /// Blocks below; of nodes alone.
    pub(super) children: Vec<Visit>,
}

/// Bits of a mapping's offset that exist.
const OFFSET_BITS: u64 = ondisk::xfs::record::RMAP_OFFSET
    | ondisk::xfs::record::RMAP_ATTR
    | ondisk::xfs::record::RMAP_BMBT
    | ondisk::xfs::record::RMAP_UNWRITTEN;

/// Judges a block; none where it is not used.
pub(super) fn judge(
    trees: &Trees<'_>,
    tree: Tree,
    level: u32,
    visit: &Visit,
    bytes: &[u8],
    log: &mut Log,
) -> Option<Node> {
    let geo = &trees.volume.geo;
    let mut raise = |problem: &'static Problem, note: String| {
        log.add(trees.finding(problem, visit).note(note));
        trees.distrust(tree);
    };
    let at = tree as usize;
    let magic = be32(bytes, 0);
    if magic != tree.magic(geo.v5) {
        raise(MAGIC[at], format!("bad magic number {magic:#x}"));
        return None;
    }
    if geo.v5 {
        header(trees, tree, visit, bytes, &mut raise);
    }
    let (found, count) = (be16(bytes, 4), be16(bytes, 6));
    if u32::from(found) != level {
        raise(
            LEVEL[at],
            format!("level {found} where {level} is expected"),
        );
        if found == 0 || level == 0 {
            return None;
        }
    }
    if u32::from(found) >= super::group::most_levels(trees.volume, tree).max(1) {
        raise(REFUSED[at], format!("level {found}"));
    }
    let room = tree.room(geo, level == 0);
    let used = usize::from(count);
    if used > room || !visit.is_root && used < room / 2 {
        let inner = matches!(tree, Tree::Ino | Tree::Fino) && level > 0;
        let problem = if inner { &AGBT_LEVEL_COUNT } else { NRECS[at] };
        raise(
            problem,
            format!("{used} records; {} to {room} are possible", room / 2),
        );
    }
    if used > room {
        raise(REFUSED[at], format!("{used} records"));
    }
    let (left, right) = (be32(bytes, 8), be32(bytes, 12));
    for sibling in [left, right] {
        if sibling != NULL_AGBLOCK && (sibling == visit.agbno || !geo.is_agblock(visit.ag, sibling))
        {
            raise(SIBLING[at], format!("sibling {sibling}"));
        }
    }
    let used = used.min(room);
    let mut node = if level == 0 {
        leaf::judge(trees, tree, visit, bytes, used, log)
    } else {
        keys(trees, tree, visit, bytes, used, log)
    };
    (node.left, node.right) = (left, right);
    Some(node)
}

/// The header of version 5.
fn header(
    trees: &Trees<'_>,
    tree: Tree,
    visit: &Visit,
    bytes: &[u8],
    raise: &mut impl FnMut(&'static Problem, String),
) {
    let geo = &trees.volume.geo;
    let at = tree as usize;
    if !is_right(bytes, checksum::SHORT_BTREE) {
        raise(CRC[at], "bad CRC".into());
    }
    let Ok(head) = ShortBlock::read(bytes) else {
        return;
    };
    trees.lsn.take(head.bb_lsn.get());
    let expected = geo.daddr(geo.fsblock(visit.ag, visit.agbno));
    if head.bb_blkno.get() != expected {
        raise(
            BLKNO[at],
            format!("{}, and it is {expected}", head.bb_blkno.get()),
        );
    }
    if head.bb_owner.get() != visit.ag {
        raise(OWNER[at], format!("group {}", head.bb_owner.get()));
    }
    if head.bb_uuid != geo.uuid {
        raise(UUID[at], "the UUID is of another filesystem".into());
    }
}

/// A key at an offset.
fn key_at(tree: Tree, bytes: &[u8], at: usize) -> Key {
    match tree {
        Tree::Cnt => [be32(bytes, at + 4).into(), be32(bytes, at).into(), 0],
        Tree::Rmap => [
            be32(bytes, at).into(),
            be64(bytes, at + 4),
            be64(bytes, at + 12),
        ],
        Tree::Bno | Tree::Refcount | Tree::Ino | Tree::Fino => [be32(bytes, at).into(), 0, 0],
    }
}

/// Keys and pointers of a node.
fn keys(
    trees: &Trees<'_>,
    tree: Tree,
    visit: &Visit,
    bytes: &[u8],
    used: usize,
    log: &mut Log,
) -> Node {
    let geo = &trees.volume.geo;
    let mut node = Node::default();
    for index in 0..used {
        let at = tree.key_at(geo, index);
        let low = key_at(tree, bytes, at);
        let mut high = [u64::MAX; 3];
        if tree == Tree::Rmap {
            high = key_at(tree, bytes, at + 20);
            mapping_keys(trees, visit, low, high, log);
        }
        if index == 0 {
            node.first = low;
        }
        node.last = low;
        node.is_filled = true;
        node.children.push(Visit {
            ag: visit.ag,
            agbno: tree.pointer(geo, bytes, index),
            is_root: false,
            is_first: index == 0,
            is_passed: (index, used) == (1, 2) && node.first > low,
            low,
            high,
        });
    }
    node
}

/// The two keys of a child in the btree of mappings.
fn mapping_keys(trees: &Trees<'_>, visit: &Visit, low: Key, high: Key, log: &mut Log) {
    for key in [low, high] {
        if key[2] & !OFFSET_BITS != 0 {
            let finding = trees.finding(&RMAP_KEY_FLAGS, visit);
            log.add(finding.note(format!("offset {:#x}", key[2])));
            trees.distrust(Tree::Rmap);
        } else if key[2] & ondisk::xfs::record::RMAP_UNWRITTEN != 0 {
            log.add(trees.finding(&RMAP_UNWRITTEN_KEY, visit));
        }
    }
    if visit.high != [u64::MAX; 3] && plain(high) > plain(visit.high) {
        log.add(trees.finding(&RMAP_HIGH_KEY, visit));
        trees.distrust(Tree::Rmap);
    }
}

/// A key of mappings as the btree orders it: without flags.
pub(super) fn plain(key: Key) -> Key {
    [key[0], key[1], key[2] & ondisk::xfs::record::RMAP_OFFSET]
}
