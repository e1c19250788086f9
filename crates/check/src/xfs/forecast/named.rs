//! Blocks that inodes of the sample name, and phase 6 reads: of directories, attributes and targets of links.

use ondisk::xfs::dinode::{Format, Inode, mode};
use ondisk::xfs::extent;

use crate::xfs::volume::Volume;

/// Extents in the inode, as the format of a fork.
const EXTENTS: u8 = Format::Extents as u8;

/// Blocks of an inode's attributes, or of the target of a link. They are listed, and so are those of a directory.
pub(super) fn list(volume: &Volume<'_>, inode: &Inode<'_>, named: &mut Vec<(u64, u64)>) -> u64 {
    let mut add = |fork: &[u8], count: u64| -> u64 {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let extents = extent::list(fork, count);
        let extents = extents.filter(|extent| volume.geo.is_block(extent.block));
        let blocks = extents.map(|extent| {
            let bytes = extent.count << volume.geo.block_log;
            named.push((volume.geo.block_offset(extent.block), bytes));
            extent.count
        });
        blocks.sum()
    };
    let has_blocks = inode.format() == EXTENTS;
    let data = match inode.file_type() {
        mode::SYMLINK if has_blocks => add(inode.data_fork(), inode.nextents()),
        mode::DIRECTORY if has_blocks => {
            add(inode.data_fork(), inode.nextents());
            0
        }
        _ => 0,
    };
    let has_attributes = inode.forkoff() > 0 && inode.aformat() == EXTENTS;
    if has_attributes {
        data + add(inode.attr_fork(), inode.anextents().into())
    } else {
        data
    }
}

/// What is read between blocks that phase 6 reads, as a share of them.
pub(super) fn between(volume: &Volume<'_>, named: &mut [(u64, u64)]) -> f64 {
    let gap = volume.options.sweep.gap;
    named.sort_unstable();
    let gaps = named.windows(2).map(|pair| {
        let end = pair[0].0.saturating_add(pair[0].1);
        pair[1].0.saturating_sub(end)
    });
    let between: u64 = gaps.filter(|bytes| *bytes <= gap).sum();
    let all = named.iter().map(|(_, bytes)| *bytes);
    between as f64 / all.fold(0, u64::saturating_add).max(1) as f64
}
