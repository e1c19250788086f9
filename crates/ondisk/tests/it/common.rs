//! What the tests of real images share: making them, and a walk over everything in them.

#![allow(dead_code, reason = "each test file uses its own part")]

pub(crate) mod dumpe2fs;
pub(crate) mod files;
mod index;
pub(crate) mod journal;
pub(crate) mod make;
pub(crate) mod walk;

use ondisk::ext4::{Geometry, GroupDescriptor, Inode, Superblock};

/// An image in memory.
pub(crate) struct Image {
    pub(crate) bytes: Vec<u8>,
}

impl Image {
    pub(crate) fn superblock(&self) -> Option<&Superblock> {
        Superblock::read(self.bytes.get(1024..)?).ok()
    }

    /// A block, `None` outside of the image.
    pub(crate) fn block(&self, geometry: &Geometry, block: u64) -> Option<&[u8]> {
        let size = geometry.block_size as usize;
        let start = usize::try_from(block).ok()?.checked_mul(size)?;
        self.bytes.get(start..start.checked_add(size)?)
    }

    /// The bytes of a group's descriptor.
    pub(crate) fn descriptor(&self, geometry: &Geometry, group: u32) -> Option<&[u8]> {
        let (block, offset) = geometry.desc_position(group)?;
        let start = offset as usize;
        self.block(geometry, block)?
            .get(start..start + usize::from(geometry.desc_size))
    }

    /// An inode.
    pub(crate) fn inode(&self, geometry: &Geometry, ino: u32) -> Option<Inode<'_>> {
        let (group, _) = geometry.index_of_inode(ino)?;
        let bytes = self.descriptor(geometry, group)?;
        let desc = GroupDescriptor::read(bytes, geometry.desc_size).ok()?;
        let (block, offset) = geometry.inode_position(ino, &desc)?;
        let bytes = self.block(geometry, block)?;
        Inode::read(bytes.get(offset as usize..)?, geometry.inode_size).ok()
    }
}
