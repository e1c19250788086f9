//! What is known only at the end: the sums over all groups, and the superblocks with them.
//!
//! Descriptors go out with their unit. Their backups stay as mke2fs wrote them, as the kernel leaves them too: a backup has the
//! places of bitmaps and tables, which is what e2fsck takes from it. In 72 TiB they are 28 copies of 36 MiB.

use ondisk::ext4::GroupDescriptor;
use ondisk::ext4::superblock::OFFSET;
use zerocopy::IntoBytes;

use crate::ext4::layout::Layout;
use crate::{Error, Written};

/// Sums over all groups.
#[derive(Debug, Default)]
pub(super) struct Summary {
    free_clusters: u64,
    free_inodes: u64,
    directories: u64,
}

impl Summary {
    /// Adds a group.
    pub(super) fn add(&mut self, desc: &GroupDescriptor) {
        self.free_clusters += u64::from(desc.free_blocks());
        self.free_inodes += u64::from(desc.free_inodes());
        self.directories += u64::from(desc.used_dirs());
    }

    pub(super) fn written(&self, layout: &Layout) -> Written {
        let geometry = &layout.geometry;
        let free = self.free_clusters * u64::from(geometry.cluster_blocks);
        let own = u64::from(layout.first_free_inode() - 1);
        Written {
            size: layout.size(),
            bytes: layout.image.written(),
            inodes: u64::from(geometry.inodes_count()) - self.free_inodes - own,
            directories: self.directories,
            blocks: geometry.blocks_count - free,
            free_blocks: free,
            free_inodes: self.free_inodes,
            maker: layout.maker.clone(),
        }
    }

    /// Writes the superblocks, the primary one last. `before` are the bytes written by mke2fs.
    pub(super) fn write(&self, layout: &Layout, before: u64) -> Result<(), Error> {
        let geometry = &layout.geometry;
        let mut sb = layout.superblock;
        sb.set_free_blocks_count(self.free_clusters * u64::from(geometry.cluster_blocks));
        sb.s_free_inodes_count = (self.free_inodes as u32).into();
        let kilobytes = sb.s_kbytes_written.get();
        if kilobytes > 0 {
            let own = (layout.image.written() - before).div_ceil(1024);
            sb.s_kbytes_written = (kilobytes + own).into();
        }
        let state = sb.s_state;
        for group in geometry.super_groups() {
            let block = geometry.group_layout(group).superblock;
            let Some(block) = block.filter(|_| group > 0) else {
                continue;
            };
            sb.s_block_group_nr = (group as u16).into();
            // As mke2fs leaves them: a copy is not a clean filesystem by itself.
            sb.s_state = 0.into();
            sb.seal();
            let at = block * u64::from(geometry.block_size);
            layout.image.write(at, sb.as_bytes())?;
        }
        sb.s_block_group_nr = 0.into();
        sb.s_state = state;
        sb.seal();
        layout.image.write(OFFSET, sb.as_bytes())
    }
}
