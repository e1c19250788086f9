//! A filesystem whose structures are changed one at a time.
//!
//! Each structure is read, handed to the damaging code, given the checksum that fits its new bytes, and written back:
//! a fault under a wrong checksum would only show that checksums work. A case that wants the checksum wrong asks for it
//! ([`Seal::Keep`]). Nothing else is made to fit: a block that is taken out of a file stays marked as used.

use ondisk::ext4::group_descriptor::DescriptorChecksum;
use ondisk::ext4::inode::InodeMut;
use ondisk::ext4::journal::JournalSuperblock;
use ondisk::ext4::{
    Geometry, GroupDescriptor, Inode, Seed, Superblock, bitmap, directory, extent, htree,
    superblock, xattr,
};
use zerocopy::IntoBytes;

use super::error::{Error, missing};
use super::medium::Medium;

/// What becomes of the checksum over changed bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Seal {
    /// It is computed again, so that the damage itself must be noticed.
    #[default]
    Again,
    /// It stays as it was, and is now most likely wrong.
    Keep,
}

/// Which of a group's two bitmaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Map {
    /// Of its clusters.
    Blocks,
    /// Of its inodes.
    Inodes,
}

/// An opened filesystem, about to be broken.
pub struct Filesystem<'m> {
    medium: &'m mut dyn Medium,
    sb: Superblock,
    geometry: Geometry,
    /// What becomes of checksums from now on.
    pub seal: Seal,
}

impl<'m> Filesystem<'m> {
    /// Opens it by its first superblock.
    ///
    /// # Errors
    /// There is none, or it contradicts itself.
    pub fn open(medium: &'m mut dyn Medium) -> Result<Filesystem<'m>, Error> {
        let mut bytes = vec![0; superblock::SIZE];
        read(medium, "the superblock", superblock::OFFSET, &mut bytes)?;
        let sb = *Superblock::read(&bytes)?;
        let geometry = Geometry::new(&sb)?;
        Ok(Filesystem {
            medium,
            sb,
            geometry,
            seal: Seal::Again,
        })
    }

    /// Its superblock, in its current state.
    pub fn superblock(&self) -> &Superblock {
        &self.sb
    }

    /// Its arithmetic before the damage; a damaged superblock does not change it.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Bytes of a block.
    pub fn block_size(&self) -> usize {
        self.geometry.block_size as usize
    }

    /// Blocks of the medium that follow the filesystem or belong to it.
    pub fn medium_blocks(&self) -> u64 {
        self.medium.size() / u64::from(self.geometry.block_size)
    }

    /// Changes the first superblock.
    pub fn edit_superblock(&mut self, edit: impl FnOnce(&mut Superblock)) -> Result<(), Error> {
        let mut sb = self.sb;
        edit(&mut sb);
        if self.seal == Seal::Again {
            sb.seal();
        }
        self.sb = sb;
        let bytes = sb.as_bytes();
        write(self.medium, "the superblock", superblock::OFFSET, bytes)
    }

    /// Changes the superblock and every copy of it alike.
    pub fn edit_superblocks(&mut self, edit: impl Fn(&mut Superblock)) -> Result<(), Error> {
        self.edit_superblock(&edit)?;
        let size = u64::from(self.geometry.block_size);
        let layouts: Vec<u64> = self
            .geometry
            .group_layouts()
            .skip(1)
            .filter_map(|at| at.superblock)
            .collect();
        for block in layouts {
            let mut bytes = vec![0; superblock::SIZE];
            read(self.medium, "a backup superblock", block * size, &mut bytes)?;
            let mut sb = *Superblock::read(&bytes)?;
            edit(&mut sb);
            sb.seal();
            write(
                self.medium,
                "a backup superblock",
                block * size,
                sb.as_bytes(),
            )?;
        }
        Ok(())
    }

    /// A group's descriptor.
    pub fn descriptor(&self, group: u32) -> Result<GroupDescriptor, Error> {
        let (_, bytes) = self.descriptor_bytes(group)?;
        Ok(GroupDescriptor::read(&bytes, self.geometry.desc_size)?)
    }

    fn descriptor_bytes(&self, group: u32) -> Result<(u64, Vec<u8>), Error> {
        let Some((block, offset)) = self.geometry.desc_position(group) else {
            return missing("such group");
        };
        let at = block * u64::from(self.geometry.block_size) + u64::from(offset);
        let mut bytes = vec![0; self.geometry.desc_size.into()];
        read(self.medium, "a group descriptor", at, &mut bytes)?;
        Ok((at, bytes))
    }

    /// Changes a group's descriptor in the table in use.
    pub fn edit_descriptor(
        &mut self,
        group: u32,
        edit: impl FnOnce(&mut GroupDescriptor),
    ) -> Result<(), Error> {
        let (at, mut bytes) = self.descriptor_bytes(group)?;
        let mut desc = GroupDescriptor::read(&bytes, self.geometry.desc_size)?;
        edit(&mut desc);
        desc.write(&mut bytes)?;
        if self.seal == Seal::Again {
            DescriptorChecksum::of(&self.sb).seal(group, &mut bytes);
        }
        write(self.medium, "a group descriptor", at, &bytes)
    }

    /// Changes a group's descriptor in the table in use and copies the result over every backup, so that no
    /// checker can take refuge in one.
    pub fn edit_descriptors(
        &mut self,
        group: u32,
        edit: impl FnOnce(&mut GroupDescriptor),
    ) -> Result<(), Error> {
        self.edit_descriptor(group, edit)?;
        let (_, bytes) = self.descriptor_bytes(group)?;
        let index = group / self.geometry.descs_per_block();
        let offset = u64::from(group % self.geometry.descs_per_block()) * bytes.len() as u64;
        let holders: Vec<u64> = (1..self.geometry.groups)
            .filter_map(|holder| self.geometry.backup_desc_block(holder, index))
            .collect();
        for block in holders {
            let at = block * u64::from(self.geometry.block_size) + offset;
            write(self.medium, "a backup of a group descriptor", at, &bytes)?;
        }
        Ok(())
    }

    /// A block.
    pub fn block(&self, block: u64) -> Result<Vec<u8>, Error> {
        let mut bytes = vec![0; self.block_size()];
        let at = block.saturating_mul(bytes.len() as u64);
        read(self.medium, "a block", at, &mut bytes)?;
        Ok(bytes)
    }

    /// Writes a block without updating its checksum.
    pub fn put_block(&mut self, block: u64, bytes: &[u8]) -> Result<(), Error> {
        let at = block.saturating_mul(self.block_size() as u64);
        if at.saturating_add(bytes.len() as u64) > self.medium.size() {
            // Where damage done before leads: nothing is there to be damaged.
            return missing("such block");
        }
        write(self.medium, "a block", at, bytes)
    }

    /// Changes a block without looking at what it is.
    pub fn edit_block(&mut self, block: u64, edit: impl FnOnce(&mut [u8])) -> Result<(), Error> {
        let mut bytes = self.block(block)?;
        edit(&mut bytes);
        self.put_block(block, &bytes)
    }

    /// Byte of the medium at which an inode begins.
    pub fn inode_position(&self, ino: u32) -> Result<u64, Error> {
        let position = self
            .geometry
            .index_of_inode(ino)
            .map(|(group, _)| self.descriptor(group));
        let Some(desc) = position.transpose()? else {
            return missing("such inode");
        };
        match self.geometry.inode_position(ino, &desc) {
            // A descriptor that was damaged before may name any block; there is no inode then.
            Some((block, offset)) => {
                let at = block.checked_mul(u64::from(self.geometry.block_size));
                match at.and_then(|at| at.checked_add(offset.into())) {
                    Some(at) => Ok(at),
                    None => missing("such inode"),
                }
            }
            None => missing("such inode"),
        }
    }

    /// The bytes of an inode.
    pub fn inode(&self, ino: u32) -> Result<Vec<u8>, Error> {
        let at = self.inode_position(ino)?;
        let mut bytes = vec![0; self.geometry.inode_size.into()];
        read(self.medium, "an inode", at, &mut bytes)?;
        Ok(bytes)
    }

    /// An inode's bytes as its fields, for reading only.
    pub fn view<'b>(&self, bytes: &'b [u8]) -> Result<Inode<'b>, Error> {
        Ok(Inode::read(bytes, self.geometry.inode_size)?)
    }

    /// Changes an inode.
    pub fn edit_inode(
        &mut self,
        ino: u32,
        edit: impl FnOnce(&mut InodeMut<'_>) -> Result<(), ondisk::ext4::Error>,
    ) -> Result<(), Error> {
        let at = self.inode_position(ino)?;
        let mut bytes = self.inode(ino)?;
        let mut slot = InodeMut::new(&mut bytes, self.geometry.inode_size)?;
        edit(&mut slot)?;
        if let (Some(seed), Seal::Again) = (self.sb.metadata_seed(), self.seal) {
            slot.seal(seed, ino)?;
        }
        write(self.medium, "an inode", at, &bytes)
    }

    /// Changes an inode and leaves its checksum as it is.
    pub fn edit_inode_loosely(
        &mut self,
        ino: u32,
        edit: impl FnOnce(&mut InodeMut<'_>) -> Result<(), ondisk::ext4::Error>,
    ) -> Result<(), Error> {
        let before = std::mem::replace(&mut self.seal, Seal::Keep);
        let done = self.edit_inode(ino, edit);
        self.seal = before;
        done
    }

    /// The seed of the checksums of an inode's blocks.
    fn seed_of(&self, ino: u32) -> Result<Option<Seed>, Error> {
        let bytes = self.inode(ino)?;
        let inode = self.view(&bytes)?;
        let seed = self.sb.metadata_seed().filter(|_| self.seal == Seal::Again);
        Ok(seed.map(|seed| inode.seed(seed, ino)))
    }

    /// Changes a block of an inode's extent tree. A node that is no longer one gets no checksum.
    pub fn edit_extent_node(
        &mut self,
        ino: u32,
        block: u64,
        edit: impl FnOnce(&mut [u8]),
    ) -> Result<(), Error> {
        let seed = self.seed_of(ino)?;
        self.edit_block(block, |bytes| {
            edit(bytes);
            if let Some(seed) = seed {
                let _ = extent::seal(bytes, seed);
            }
        })
    }

    /// Changes a block of a directory, an index block if it was one. What cannot carry a checksum gets none.
    pub fn edit_directory_block(
        &mut self,
        ino: u32,
        block: u64,
        edit: impl FnOnce(&mut [u8]),
    ) -> Result<(), Error> {
        let seed = self.seed_of(ino)?;
        let size = self.geometry.block_size;
        self.edit_block(block, |bytes| {
            let kind = BlockKind::of(bytes, size);
            edit(bytes);
            match (seed, kind) {
                (None, _) => {}
                (Some(seed), BlockKind::Leaf) => {
                    directory::seal(bytes, seed);
                }
                (Some(seed), BlockKind::Root) => {
                    let _ = htree::seal(bytes, true, seed);
                }
                (Some(seed), BlockKind::Node) => {
                    let _ = htree::seal(bytes, false, seed);
                }
            }
        })
    }

    /// Changes a block of extended attributes.
    pub fn edit_attribute_block(
        &mut self,
        block: u64,
        edit: impl FnOnce(&mut [u8]),
    ) -> Result<(), Error> {
        let seed = self.sb.metadata_seed().filter(|_| self.seal == Seal::Again);
        self.edit_block(block, |bytes| {
            edit(bytes);
            let sum = seed.and_then(|seed| xattr::checksum(bytes, block, seed).ok());
            if let Some(sum) = sum {
                bytes[16..20].copy_from_slice(&sum.computed.to_le_bytes());
            }
        })
    }

    /// A group's bitmap.
    pub fn bitmap(&self, group: u32, map: Map) -> Result<Vec<u8>, Error> {
        let desc = self.descriptor(group)?;
        self.block(match map {
            Map::Blocks => desc.block_bitmap(),
            Map::Inodes => desc.inode_bitmap(),
        })
    }

    /// Changes a group's bitmap; its checksum is in the descriptor.
    pub fn edit_bitmap(
        &mut self,
        group: u32,
        map: Map,
        edit: impl FnOnce(&mut [u8]),
    ) -> Result<(), Error> {
        let desc = self.descriptor(group)?;
        let mut bytes = self.bitmap(group, map)?;
        edit(&mut bytes);
        let seed = self.sb.metadata_seed().filter(|_| self.seal == Seal::Again);
        match map {
            Map::Blocks => self.put_block(desc.block_bitmap(), &bytes)?,
            Map::Inodes => self.put_block(desc.inode_bitmap(), &bytes)?,
        }
        let Some(seed) = seed else {
            return Ok(());
        };
        let sum = match map {
            Map::Blocks => bitmap::block_checksum(seed, &self.geometry, &desc, &bytes)?,
            Map::Inodes => bitmap::inode_checksum(seed, &self.geometry, &desc, &bytes)?,
        };
        self.edit_descriptor(group, |desc| match map {
            Map::Blocks => desc.set_block_bitmap_csum(sum.computed),
            Map::Inodes => desc.set_inode_bitmap_csum(sum.computed),
        })
    }

    /// Changes the superblock of the journal, whose first block is given.
    pub fn edit_journal(
        &mut self,
        block: u64,
        edit: impl FnOnce(&mut JournalSuperblock),
    ) -> Result<(), Error> {
        let seal = self.seal;
        let mut bytes = self.block(block)?;
        let mut sb = *JournalSuperblock::read(&bytes)?;
        edit(&mut sb);
        if seal == Seal::Again {
            sb.seal();
        }
        bytes[..sb.as_bytes().len()].copy_from_slice(sb.as_bytes());
        self.put_block(block, &bytes)
    }
}

/// What a block of a directory is, by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockKind {
    Leaf,
    Root,
    Node,
}

impl BlockKind {
    /// A root has `.`, `..` and a plausible hash after them; a node one empty entry over the whole block.
    pub(crate) fn of(bytes: &[u8], block_size: u32) -> BlockKind {
        if directory::tail(bytes).is_some() {
            BlockKind::Leaf
        } else if htree::IndexBlock::read_root(bytes).is_ok_and(|root| root.count() <= root.limit())
        {
            BlockKind::Root
        } else if htree::IndexBlock::read_node(bytes, block_size)
            .is_ok_and(|node| node.count() <= node.limit() && node.limit() > 0)
        {
            BlockKind::Node
        } else {
            BlockKind::Leaf
        }
    }
}

fn read(medium: &dyn Medium, what: &'static str, at: u64, bytes: &mut [u8]) -> Result<(), Error> {
    medium
        .read(at, bytes)
        .map_err(|source| Error::Read { what, at, source })
}

fn write(medium: &mut dyn Medium, what: &'static str, at: u64, bytes: &[u8]) -> Result<(), Error> {
    medium
        .write(at, bytes)
        .map_err(|source| Error::Write { what, at, source })
}
