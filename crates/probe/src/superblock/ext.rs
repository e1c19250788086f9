//! What is recorded of the superblock of ext2, ext3 and ext4, and of its group descriptors and
//! journal inode.

mod facts;

use std::io;
use std::os::unix::fs::FileExt;

use fskind::Family;
use ondisk::ext4::feature::{Compat, RoCompat};
use ondisk::ext4::group_descriptor::INODE_ZEROED;
use ondisk::ext4::superblock::{OFFSET, SIZE};
use ondisk::ext4::{self, Geometry, GroupDescriptor, Inode};

use super::absent;

/// An ext superblock.
#[derive(Clone, Debug)]
pub struct Superblock(Box<ext4::Superblock>);

impl Superblock {
    /// Reads it from a device or image.
    ///
    /// # Errors
    /// `InvalidData` when there is none; what reading the device failed with.
    pub fn read(device: &impl FileExt) -> io::Result<Superblock> {
        let mut bytes = [0; SIZE];
        device.read_exact_at(&mut bytes, OFFSET)?;
        let found = ext4::Superblock::read(&bytes).ok();
        // With these values every size below can be computed, whatever else is damaged.
        let is_sane = |sb: &&ext4::Superblock| {
            sb.s_log_block_size <= 6 && sb.s_blocks_per_group > 0 && sb.s_inodes_per_group > 0
        };
        let found = found.filter(is_sane).ok_or_else(|| absent(Family::Ext))?;
        Ok(Superblock(Box::new(*found)))
    }

    /// Bytes of a block.
    pub fn block_size(&self) -> u64 {
        1024 << self.0.s_log_block_size.get()
    }

    /// Blocks of the filesystem.
    pub fn blocks(&self) -> u64 {
        self.0.blocks_count()
    }

    /// Block groups.
    pub fn groups(&self) -> u64 {
        let data = self
            .blocks()
            .saturating_sub(self.0.s_first_data_block.get().into());
        data.div_ceil(self.0.s_blocks_per_group.get().into())
    }

    /// Whether group descriptors have checksums, without which their flags mean nothing.
    pub fn descriptors_have_flags(&self) -> bool {
        self.0.has_ro_compat(RoCompat::GDT_CSUM) || self.0.has_ro_compat(RoCompat::METADATA_CSUM)
    }

    fn geometry(&self) -> io::Result<Geometry> {
        Geometry::new(&self.0).map_err(|error| damaged(&error))
    }

    /// Groups whose inode table the kernel has not yet filled with zeros, by their descriptors'
    /// INODE_ZEROED flag. A mounted ext4 keeps its descriptors in the device's page cache; read
    /// through it, they are current without a sync.
    ///
    /// # Errors
    /// `InvalidData` for a superblock whose geometry is impossible; what reading the descriptors
    /// failed with.
    pub fn groups_not_zeroed(&self, device: &impl FileExt) -> io::Result<u64> {
        if !self.descriptors_have_flags() {
            return Ok(0);
        }
        let geometry = self.geometry()?;
        let mut left = 0;
        let mut groups = geometry.groups as usize;
        let mut bytes = vec![0; geometry.block_size as usize];
        for block in (0..geometry.desc_blocks()).map_while(|index| geometry.desc_block(index)) {
            device.read_exact_at(&mut bytes, block.saturating_mul(self.block_size()))?;
            let size = usize::from(geometry.desc_size);
            for descriptor in bytes.chunks_exact(size).take(groups) {
                let descriptor = GroupDescriptor::read(descriptor, geometry.desc_size);
                let flags = descriptor
                    .map_err(|error| damaged(&error))?
                    .raw
                    .bg_flags
                    .get();
                left += u64::from(flags & INODE_ZEROED == 0);
            }
            groups = groups.saturating_sub(bytes.len() / size);
        }
        Ok(left)
    }

    /// Bytes of the journal, `None` when it is on another device: from the superblock's copy of its
    /// inode, or else from the inode.
    fn journal_bytes(&self, device: &impl FileExt) -> io::Result<Option<u64>> {
        let number = self.0.s_journal_inum.get();
        if number == 0 {
            return Ok(None);
        }
        // The copy ends with i_size_high and i_size_lo.
        let [.., high, low] = self.0.s_jnl_blocks;
        let copied = u64::from(low.get()) | u64::from(high.get()) << 32;
        if self.0.s_jnl_backup_type == 1 && copied != 0 {
            return Ok(Some(copied));
        }
        let geometry = self.geometry()?;
        let missing = || damaged(&format!("inode {number} of the journal does not exist"));
        let (group, _) = geometry.index_of_inode(number).ok_or_else(missing)?;
        let at = geometry.desc_position(group).ok_or_else(missing)?;
        let bytes = self.bytes_at(device, at, geometry.desc_size)?;
        let descriptor =
            GroupDescriptor::read(&bytes, geometry.desc_size).map_err(|error| damaged(&error))?;
        let at = geometry
            .inode_position(number, &descriptor)
            .ok_or_else(missing)?;
        let bytes = self.bytes_at(device, at, geometry.inode_size)?;
        let inode = Inode::read(&bytes, geometry.inode_size).map_err(|error| damaged(&error))?;
        Ok(Some(inode.size()))
    }

    /// Bytes at an offset in a block.
    fn bytes_at(
        &self,
        device: &impl FileExt,
        (block, offset): (u64, u32),
        length: u16,
    ) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length.into()];
        let start = block.saturating_mul(self.block_size());
        device.read_exact_at(&mut bytes, start.saturating_add(offset.into()))?;
        Ok(bytes)
    }

    fn journal_is_external(&self) -> bool {
        self.0.s_journal_inum == 0
    }

    fn has_journal(&self) -> bool {
        self.0.has_compat(Compat::HAS_JOURNAL)
    }
}

fn damaged(problem: &impl ToString) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, problem.to_string())
}

#[cfg(test)]
mod tests;
