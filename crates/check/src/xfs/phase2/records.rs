//! Records of one tree of one group, read block by block: for slow paths, when a fault has to be located.

use std::collections::BTreeSet;

use ondisk::bytes::{be16, be32};
use ondisk::xfs::btree::Tree;

use super::group::{Headers, has_tree, most_levels};
use crate::xfs::volume::Volume;

/// Hands all records of a tree to `each`. Blocks that cannot be read or that are of no tree are left out, as are those met twice, and all that follows once the check is
/// cancelled.
pub(crate) fn each(
    volume: &Volume<'_>,
    headers: &Headers,
    ag: u32,
    tree: Tree,
    mut each: impl FnMut(&[u8]),
) {
    let Some((root, levels)) = headers.root(tree).filter(|_| has_tree(volume, tree)) else {
        return;
    };
    if levels == 0 || levels > most_levels(volume, tree) {
        return;
    }
    let geo = &volume.geo;
    let mut met = BTreeSet::new();
    let mut stack = vec![(root, levels - 1)];
    while let Some((agbno, level)) = stack.pop() {
        if volume.progress.cancelled() {
            return;
        }
        if !geo.is_agblock(ag, agbno) || !met.insert(agbno) {
            continue;
        }
        let Ok(bytes) = volume.read(geo.fsblock(ag, agbno), 1) else {
            continue;
        };
        if be32(&bytes, 0) != tree.magic(geo.v5) {
            continue;
        }
        let used = usize::from(be16(&bytes, 6)).min(tree.room(geo, level == 0));
        if level == 0 {
            for index in 0..used {
                let at = tree.record_at(geo, index);
                each(&bytes[at..at + tree.record_size()]);
            }
        } else {
            let children = (0..used).rev();
            stack.extend(children.map(|index| (tree.pointer(geo, &bytes, index), level - 1)));
        }
    }
}

/// The free extents of a group by block, as start and length, ascending.
pub(crate) fn free(volume: &Volume<'_>, headers: &Headers, ag: u32) -> Vec<(u32, u32)> {
    let mut extents = Vec::new();
    each(volume, headers, ag, Tree::Bno, |record| {
        extents.push((be32(record, 0), be32(record, 4)));
    });
    extents.sort_unstable();
    extents
}
