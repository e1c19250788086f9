//! The ext family's superblock, group descriptors and journal inode (kernel documentation,
//! filesystems/ext4: "Super Block", "Block Group Descriptors", "Journal").

use std::io;
use std::os::unix::fs::FileExt;

use crate::bytes::{le16, le32};

mod features;
mod told;

/// Where the superblock lies, and how long it is.
const OFFSET: u64 = 1024;
const LENGTH: usize = 1024;
const MAGIC: u16 = 0xEF53;

const COMPAT_HAS_JOURNAL: u32 = 0x4;
const COMPAT_FAST_COMMIT: u32 = 0x400;
const INCOMPAT_META_BG: u32 = 0x10;
const INCOMPAT_64BIT: u32 = 0x80;
const INCOMPAT_FLEX_BG: u32 = 0x200;
const RO_COMPAT_GDT_CSUM: u32 = 0x10;
const RO_COMPAT_METADATA_CSUM: u32 = 0x400;
const GROUP_INODE_ZEROED: u16 = 0x4;

/// An ext superblock.
#[derive(Clone, Debug)]
pub struct Superblock {
    bytes: Vec<u8>,
}

impl Superblock {
    /// Reads it from a device or image.
    ///
    /// # Errors
    /// `InvalidData` when there is none; what reading the device failed with.
    pub fn read(device: &impl FileExt) -> io::Result<Superblock> {
        let mut bytes = vec![0; LENGTH];
        device.read_exact_at(&mut bytes, OFFSET)?;
        let superblock = Superblock { bytes };
        let sane = le16(&superblock.bytes, 0x38) == MAGIC
            && superblock.u32(0x18) <= 6
            && superblock.u32(0x20) > 0
            && superblock.u32(0x28) > 0;
        sane.then_some(superblock)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "no ext superblock"))
    }

    fn u32(&self, at: usize) -> u32 {
        le32(&self.bytes, at)
    }

    /// Bytes of a block.
    pub fn block_size(&self) -> u64 {
        1024 << self.u32(0x18)
    }

    /// Blocks of the filesystem.
    pub fn blocks(&self) -> u64 {
        let high = if self.u32(0x60) & INCOMPAT_64BIT != 0 {
            self.u32(0x150)
        } else {
            0
        };
        u64::from(self.u32(0x4)) | u64::from(high) << 32
    }

    /// Block groups.
    pub fn groups(&self) -> u64 {
        let data = self.blocks().saturating_sub(u64::from(self.u32(0x14)));
        data.div_ceil(u64::from(self.u32(0x20)))
    }

    /// Whether group descriptors have checksums, without which their flags mean nothing.
    pub fn descriptors_have_flags(&self) -> bool {
        self.u32(0x64) & (RO_COMPAT_GDT_CSUM | RO_COMPAT_METADATA_CSUM) != 0
    }

    fn descriptor_size(&self) -> u64 {
        let size = u64::from(le16(&self.bytes, 0xFE));
        // No descriptor is longer than the smallest block: damage must not divide by zero.
        if self.u32(0x60) & INCOMPAT_64BIT != 0 && (32..=1024).contains(&size) {
            size
        } else {
            32
        }
    }

    /// Byte offset of a group's descriptor. With meta_bg from group `first_meta_bg` on, each
    /// block of descriptors lies in the first group that it describes.
    fn descriptor_offset(&self, group: u64) -> u64 {
        let per_block = self.block_size() / self.descriptor_size();
        let descriptor_block = group / per_block;
        let within = group % per_block * self.descriptor_size();
        let first_data = u64::from(self.u32(0x14));
        let meta_bg = self.u32(0x60) & INCOMPAT_META_BG != 0;
        let block = if meta_bg && descriptor_block >= u64::from(self.u32(0x104)) {
            let home = descriptor_block * per_block;
            let has_super = u64::from(self.has_backup(home));
            // Wrapping: a damaged field leads to a failed read, not to a panic.
            home.wrapping_mul(u64::from(self.u32(0x20)))
                .wrapping_add(first_data + has_super)
        } else {
            first_data + 1 + descriptor_block
        };
        block.wrapping_mul(self.block_size()).wrapping_add(within)
    }

    /// Whether a group has a copy of the superblock: 0, 1 and powers of 3, 5, 7 with sparse_super.
    fn has_backup(&self, group: u64) -> bool {
        let power = |base: u64| {
            let mut value = base;
            while value < group {
                value = value.saturating_mul(base);
            }
            value == group
        };
        self.u32(0x64) & 1 == 0 || group <= 1 || power(3) || power(5) || power(7)
    }

    /// Groups whose inode table the kernel has not yet filled with zeros, by their descriptors'
    /// INODE_ZEROED flag. Read through the device's page cache, where a mounted ext4 keeps its
    /// descriptors, so no sync is needed to see the present state.
    ///
    /// # Errors
    /// What reading the descriptors failed with.
    pub fn groups_not_zeroed(&self, device: &impl FileExt) -> io::Result<u64> {
        if !self.descriptors_have_flags() {
            return Ok(0);
        }
        let per_block = self.block_size() / self.descriptor_size();
        let mut left = 0;
        let mut block = vec![0; self.block_size() as usize];
        for group in 0..self.groups() {
            let index = group % per_block;
            if index == 0 {
                device.read_exact_at(&mut block, self.descriptor_offset(group))?;
            }
            let at = (index * self.descriptor_size()) as usize;
            left += u64::from(le16(&block, at + 0x12) & GROUP_INODE_ZEROED == 0);
        }
        Ok(left)
    }

    /// Bytes of the internal journal, `None` when it is on another device: from the superblock's copy of its inode, else the inode.
    fn journal_bytes(&self, device: &impl FileExt) -> io::Result<Option<u64>> {
        let inode = self.journal_inode();
        if inode == 0 {
            return Ok(None);
        }
        // s_jnl_backup_type 1: i_block[15], then i_size high and low.
        let copied = u64::from(self.u32(0x10C + 64)) | u64::from(self.u32(0x10C + 60)) << 32;
        if self.bytes.get(0xFD) == Some(&1) && copied != 0 {
            return Ok(Some(copied));
        }
        let per_group = u64::from(self.u32(0x28));
        let index = u64::from(inode) - 1;
        let mut table = [0; 4];
        device.read_exact_at(
            &mut table,
            self.descriptor_offset(index / per_group).wrapping_add(8),
        )?;
        let at = u64::from(u32::from_le_bytes(table)) * self.block_size()
            + index % per_group * self.inode_size();
        let mut body = [0; 128];
        device.read_exact_at(&mut body, at)?;
        Ok(Some(
            u64::from(le32(&body, 4)) | u64::from(le32(&body, 0x6C)) << 32,
        ))
    }

    /// 0: the journal is on another device.
    fn journal_inode(&self) -> u32 {
        self.u32(0xE0)
    }

    fn has_journal(&self) -> bool {
        self.u32(0x5C) & COMPAT_HAS_JOURNAL != 0
    }

    fn inode_size(&self) -> u64 {
        // Revision 0 has no such field.
        if self.u32(0x4C) == 0 {
            128
        } else {
            u64::from(le16(&self.bytes, 0x58))
        }
    }
}

#[cfg(test)]
mod tests;
