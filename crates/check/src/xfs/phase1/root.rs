//! Are the root, the realtime bitmap and its summary the inodes that follow from the geometry?

use ondisk::xfs::btree::Tree;
use ondisk::xfs::dinode::{Inode, MAGIC, mode};
use ondisk::xfs::feature;

use crate::frame::finding::Finding;
use crate::frame::problem::Problem;
use crate::xfs::phase2::most_levels;
use crate::xfs::volume::Volume;
use crate::xfs::xfs_repair::log::Log;
use crate::xfs::xfs_repair::problems::{SB_RBMINO, SB_ROOT_UNALIGNED, SB_ROOTINO, SB_RSUMINO};

/// Judges the three inode numbers of the primary.
pub(super) fn check(volume: &Volume<'_>, log: &mut Log) {
    let sb = &volume.sb;
    let found = sb.sb_rootino.get();
    let mut root = expected(volume);
    if found != root {
        let is_directory = is_directory(volume, found);
        let problem: &'static Problem = if is_directory {
            &SB_ROOT_UNALIGNED
        } else {
            &SB_ROOTINO
        };
        log.add(Finding::new(problem).group(0).found(found).expected(root));
        if is_directory {
            root = found;
        }
    }
    for (problem, found, right) in [
        (&SB_RBMINO, sb.sb_rbmino.get(), root.wrapping_add(1)),
        (&SB_RSUMINO, sb.sb_rsumino.get(), root.wrapping_add(2)),
    ] {
        if found != right {
            log.add(Finding::new(problem).group(0).found(found).expected(right));
        }
    }
}

/// The root's inode as mkfs places it: at the first alignment after what each allocation group has at its start
/// (`xfs_ialloc_calc_rootino`).
pub(crate) fn expected(volume: &Volume<'_>) -> u64 {
    let (geo, sb) = (&volume.geo, &volume.sb);
    // One more than the levels of each tree, or as many as there can be: large blocks need one level alone.
    let room = |tree| most_levels(volume, tree).min(2);
    let mappings = if geo.rmapbt { room(Tree::Rmap) } else { 0 };
    let free_list = room(Tree::Bno) + room(Tree::Cnt) + mappings;
    let optional = [geo.finobt, geo.rmapbt, geo.reflink]
        .iter()
        .filter(|has| **has)
        .count();
    let mut block = geo.header_blocks() + 3 + free_list + optional as u32;
    if !sb.log_is_external() && geo.ag_of(sb.sb_logstart.get()) == 0 {
        block = block.saturating_add(sb.sb_logblocks.get());
    }
    let unit = sb.sb_unit.get();
    let aligned = if sb.has_version(feature::V4_DALIGN) && unit > 0 && geo.inode_align > 1 {
        unit
    } else if sb.has_version(feature::V4_ALIGN) && geo.inode_align > 1 {
        geo.inode_align
    } else {
        1
    };
    let block = block.checked_next_multiple_of(aligned).unwrap_or(block);
    u64::from(block) << geo.inopb_log
}

fn is_directory(volume: &Volume<'_>, ino: u64) -> bool {
    if !volume.geo.is_inode(ino) {
        return false;
    }
    let mut bytes = vec![0; volume.geo.inode_size as usize];
    let read = volume
        .source
        .read_at(&mut bytes, volume.geo.ino_offset(ino));
    let inode = Inode::new(&volume.geo, &bytes);
    read.is_ok() && inode.magic() == MAGIC && inode.file_type() == mode::DIRECTORY
}
