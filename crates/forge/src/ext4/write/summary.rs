//! Structures known only at the end: descriptors, counts, superblocks.

use ondisk::ext4::feature::RoCompat;
use ondisk::ext4::group_descriptor::DescriptorChecksum;
use ondisk::ext4::superblock::{OFFSET, SIZE, Superblock};
use ondisk::ext4::{Geometry, GroupDescriptor};
use zerocopy::IntoBytes;

use crate::Error;
use crate::Written;
use crate::ext4::layout::Layout;
use crate::ext4::place::System;
use crate::image_file::ImageFile;

/// Sums over all groups, and their descriptors.
#[derive(Debug)]
pub(super) struct Summary {
    desc_size: usize,
    checksum: DescriptorChecksum,
    /// Every descriptor, as on disk.
    table: Vec<u8>,
    free_clusters: u64,
    free_inodes: u64,
    directories: u64,
    /// Clusters of tables.
    overhead: u64,
}

impl Summary {
    pub(super) fn new(layout: &Layout) -> Self {
        let geometry = &layout.geometry;
        let bytes = geometry.desc_blocks() as usize * geometry.block_size as usize;
        Self {
            desc_size: geometry.desc_size.into(),
            checksum: DescriptorChecksum::of(&layout.superblock),
            table: vec![0; bytes],
            free_clusters: 0,
            free_inodes: 0,
            directories: 0,
            overhead: 0,
        }
    }

    /// Takes in the descriptor of a group.
    pub(super) fn add(&mut self, group: u32, desc: &GroupDescriptor) -> Result<(), Error> {
        let place = group as usize * self.desc_size;
        let bytes = &mut self.table[place..place + self.desc_size];
        desc.write(bytes)?;
        self.checksum.seal(group, bytes);
        self.free_clusters += u64::from(desc.free_blocks());
        self.free_inodes += u64::from(desc.free_inodes());
        self.directories += u64::from(desc.used_dirs());
        Ok(())
    }

    /// Adds clusters of the filesystem's own tables.
    pub(super) fn add_overhead(&mut self, clusters: u64) {
        self.overhead += clusters;
    }

    pub(super) fn written(&self, layout: &Layout, size: u64, bytes: u64) -> Written {
        let geometry = &layout.geometry;
        let free = self.free_clusters * u64::from(geometry.cluster_blocks);
        let own = u64::from(layout.first_free_inode() - 1);
        Written {
            size,
            bytes,
            inodes: u64::from(geometry.inodes_count()) - self.free_inodes - own,
            directories: self.directories,
            blocks: geometry.blocks_count - free,
            free_blocks: free,
            free_inodes: self.free_inodes,
        }
    }

    /// Writes descriptors and superblocks, the primary one last.
    pub(super) fn write(
        &self,
        layout: &Layout,
        system: &System,
        image: &ImageFile,
    ) -> Result<(), Error> {
        let geometry = &layout.geometry;
        let block_size = u64::from(geometry.block_size);
        let mut sb = self.superblock(layout, system);
        for group in (0..geometry.groups).rev() {
            let here = geometry.group_layout(group);
            if !here.descriptors.is_empty() {
                let first = first_table_block(geometry, group);
                let blocks = here.descriptors.end - here.descriptors.start;
                let from = first * geometry.block_size as usize;
                let bytes = &self.table[from..from + (blocks * block_size) as usize];
                image.write(here.descriptors.start * block_size, bytes)?;
            }
            let Some(block) = here.superblock.filter(|_| group > 0) else {
                continue;
            };
            sb.s_block_group_nr = (group as u16).into();
            // As mke2fs leaves them: a copy is not a clean filesystem by itself.
            sb.s_state = 0.into();
            sb.seal();
            image.write(block * block_size, sb.as_bytes())?;
        }
        sb.s_block_group_nr = 0.into();
        sb.s_state = 1.into();
        if kilobytes(&sb) {
            sb.s_kbytes_written = image.written().div_ceil(1024).into();
        }
        sb.seal();
        debug_assert_eq!(sb.as_bytes().len(), SIZE);
        image.write(OFFSET, sb.as_bytes())
    }

    fn superblock(&self, layout: &Layout, system: &System) -> Superblock {
        let geometry = &layout.geometry;
        let cluster = u64::from(geometry.cluster_blocks);
        let mut sb = layout.superblock;
        sb.set_free_blocks_count(self.free_clusters * cluster);
        sb.s_free_inodes_count = (self.free_inodes as u32).into();
        let journal = u64::from(layout.journal_blocks).div_ceil(cluster);
        let overhead = self.overhead + journal + u64::from(geometry.first_data_block);
        sb.s_overhead_blocks = (overhead as u32).into();
        sb.s_mmp_block = system.mmp.into();
        if layout.journal_blocks > 0 {
            backup_journal(&mut sb, layout, system);
        }
        if kilobytes(&sb) {
            sb.s_kbytes_written = 1.into();
        }
        sb
    }
}

/// The fields that mke2fs sets only where some feature of ext4 is.
fn kilobytes(sb: &Superblock) -> bool {
    use ondisk::ext4::feature::Incompat;
    sb.has_incompat(Incompat::FLEX_BG)
        || [
            RoCompat::HUGE_FILE,
            RoCompat::GDT_CSUM,
            RoCompat::DIR_NLINK,
            RoCompat::METADATA_CSUM,
            RoCompat::EXTRA_ISIZE,
        ]
        .into_iter()
        .any(|feature| sb.has_ro_compat(feature))
}

/// The number of the table's first block that a group holds.
fn first_table_block(geometry: &Geometry, group: u32) -> usize {
    if geometry.in_meta_bg(group) {
        (group / geometry.descs_per_block()) as usize
    } else {
        0
    }
}

/// The copy of the journal inode's map, for a checker that finds the inode damaged.
fn backup_journal(sb: &mut Superblock, layout: &Layout, system: &System) {
    let mut slot = vec![0; usize::from(layout.geometry.inode_size)];
    let inodes = super::inode::Inodes::new(layout);
    let object = super::system::journal_object(layout);
    if let Ok(inode) = inodes.fill(&mut slot, 0, &object, &system.journal)
        && let Ok(inode) = inode.inode()
    {
        sb.s_jnl_backup_type = 1;
        for (word, value) in sb.s_jnl_blocks.iter_mut().zip(inode.block_words()) {
            *word = value.into();
        }
        sb.s_jnl_blocks[15] = ((object.size >> 32) as u32).into();
        sb.s_jnl_blocks[16] = (object.size as u32).into();
    }
}
