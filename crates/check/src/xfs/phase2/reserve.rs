//! Space that a mount sets aside in each allocation group so that its trees can grow (`xfs_ag_resv_init` in fs/xfs/libxfs/xfs_ag_resv.c).
//!
//! A tree is to have room for as many records as there can be in the group, in blocks that are half full; the blocks that it has
//! count towards that, and none are needed for the log. Where so much is not free, the kernel warns that the filesystem may run out of space, and goes on
//! without.

use ondisk::xfs::Geometry;
use ondisk::xfs::btree::Tree;
use ondisk::xfs::geometry::CHUNK;

use crate::xfs::volume::Volume;

/// Blocks that a mount would set aside in a group. `blocks`: how many a tree has.
pub(super) fn wanted(volume: &Volume<'_>, ag: u32, blocks: impl Fn(Tree) -> u64) -> u64 {
    let (geo, sb) = (&volume.geo, &volume.sb);
    let has_log = !sb.log_is_external() && geo.ag_of(sb.sb_logstart.get()) == u64::from(ag);
    let log = if has_log { sb.sb_logblocks.get() } else { 0 };
    let length = u64::from(geo.ag_length(ag).saturating_sub(log));
    let (mut asked, mut used) = (0, 0);
    if geo.reflink {
        asked += size(geo, Tree::Refcount, length);
        used += blocks(Tree::Refcount);
    }
    if geo.finobt {
        let chunks = (length << geo.inopb_log) / u64::from(CHUNK);
        asked += size(geo, Tree::Fino, chunks);
        used += blocks(Tree::Fino);
    }
    let mappings = if geo.rmapbt {
        let most = size(geo, Tree::Rmap, length).max(length / 100);
        most.saturating_sub(blocks(Tree::Rmap))
    } else {
        0
    };
    asked.saturating_sub(used) + mappings
}

/// Blocks of a tree whose blocks are all half full.
fn size(geo: &Geometry, tree: Tree, records: u64) -> u64 {
    let half = |leaf: bool| (tree.room(geo, leaf) as u64 / 2).max(2);
    let (mut below, mut blocks, mut leaf) = (records, 0, true);
    while below > 1 {
        below = below.div_ceil(half(leaf));
        blocks += below;
        leaf = false;
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xfs::fixture::rules;

    #[test]
    fn a_tree_of_half_full_blocks_ends_in_one_root() {
        let geometry = rules().geometry;
        let (leaf, node) = (
            Tree::Refcount.room(&geometry, true) as u64 / 2,
            Tree::Refcount.room(&geometry, false) as u64 / 2,
        );
        let of = |records| size(&geometry, Tree::Refcount, records);
        assert_eq!((of(0), of(1), of(2), of(leaf)), (0, 0, 1, 1));
        assert_eq!((of(leaf + 1), of(leaf * node)), (3, node + 1));
        assert_eq!(of(leaf * node + 1), node + 1 + 3);
    }
}
