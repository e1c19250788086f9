//! Inodes by what they are.

use ondisk::xfs::btree::Tree;
use ondisk::xfs::dinode::{Inode, mode};
use ondisk::xfs::directory::LEAF_OFFSET;
use ondisk::xfs::{Extent, da};

use super::volume::Volume;
use crate::damage::Error;

/// What an inode must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Find {
    Root,
    /// A regular file with an extent.
    File,
    /// A directory in its inode that has names.
    LocalDirectory,
    BlockDirectory,
    LeafDirectory,
    NodeDirectory,
    LocalLink,
    RemoteLink,
    Device,
    LocalAttributes,
    LeafAttributes,
    RemoteAttributes,
    /// A file whose extents are in a btree.
    Tree,
    /// A free inode.
    Free,
}

impl Find {
    fn name(self) -> &'static str {
        match self {
            Find::Root => "root",
            Find::File => "file with blocks",
            Find::LocalDirectory => "directory in its inode",
            Find::BlockDirectory => "directory of one block",
            Find::LeafDirectory => "directory with one leaf",
            Find::NodeDirectory => "directory with a tree",
            Find::LocalLink => "symbolic link in its inode",
            Find::RemoteLink => "symbolic link with a block",
            Find::Device => "device",
            Find::LocalAttributes => "file with attributes in its inode",
            Find::LeafAttributes => "file with a block of attributes",
            Find::RemoteAttributes => "attribute with a block of its own",
            Find::Tree => "file with a btree",
            Find::Free => "free inode",
        }
    }

    /// Whether it is this inode.
    fn matches(self, volume: &Volume<'_>, inode: &Inode<'_>) -> Result<bool, Error> {
        let (kind, format) = (inode.file_type(), inode.format());
        let directory = kind == mode::DIRECTORY;
        Ok(match self {
            Find::Root | Find::Free => false,
            Find::File => {
                kind == mode::REGULAR && format == 2 && inode.nextents() > 0 && inode.forkoff() == 0
            }
            Find::LocalDirectory => {
                directory
                    && format == 1
                    && inode.data_fork().first().is_some_and(|count| *count > 1)
            }
            Find::BlockDirectory | Find::LeafDirectory | Find::NodeDirectory => {
                directory && format > 1 && volume.form(inode)? == Some(self)
            }
            Find::LocalLink => kind == mode::SYMLINK && format == 1,
            Find::RemoteLink => kind == mode::SYMLINK && format == 2,
            Find::Device => kind == mode::CHAR && inode.forkoff() == 0,
            Find::LocalAttributes => {
                kind == mode::REGULAR && inode.forkoff() > 0 && inode.aformat() == 1
            }
            Find::LeafAttributes => {
                kind == mode::REGULAR && inode.forkoff() > 0 && inode.aformat() == 2
            }
            Find::RemoteAttributes => {
                let first = Extent::read(inode.attr_fork());
                kind == mode::REGULAR
                    && inode.aformat() == 2
                    && inode.anextents() == 1
                    && first.count > 1
            }
            Find::Tree => kind == mode::REGULAR && format == 3,
        })
    }
}

impl Volume<'_> {
    /// The form of a directory with blocks.
    fn form(&self, inode: &Inode<'_>) -> Result<Option<Find>, Error> {
        let leaf = LEAF_OFFSET >> self.geometry.block_log;
        let extents = self.extents(inode)?;
        let index = extents.iter().find(|extent| extent.offset >= leaf);
        let Some(index) = index else {
            return Ok((!extents.is_empty()).then_some(Find::BlockDirectory));
        };
        let block = self.directory_block(index.block)?;
        Ok(match da::magic(&block) {
            da::LEAF1 | da::LEAF1_3 => Some(Find::LeafDirectory),
            da::NODE | da::NODE3 => Some(Find::NodeDirectory),
            _ => None,
        })
    }

    /// The first inode of a kind; its number.
    pub(super) fn find(&self, what: Find) -> Result<u64, Error> {
        if what == Find::Root {
            return Ok(self.root);
        }
        for ag in 0..self.geometry.ag_count {
            for (start, free) in self.chunks(ag)? {
                for nth in 0..64 {
                    let ino = self.geometry.ino(ag, start + nth);
                    let is_free = free >> nth & 1 == 1;
                    if is_free || ino <= self.root + 2 && ino >= self.root {
                        if is_free && what == Find::Free {
                            return Ok(ino);
                        }
                        continue;
                    }
                    if what == Find::Free {
                        continue;
                    }
                    let bytes = self.inode(ino)?;
                    if what.matches(self, &Inode::new(&self.geometry, &bytes))? {
                        return Ok(ino);
                    }
                }
            }
        }
        Err(Error::Missing { what: what.name() })
    }

    /// First inode and free inodes of the chunks of a group.
    fn chunks(&self, ag: u32) -> Result<Vec<(u32, u64)>, Error> {
        use ondisk::xfs::record::InobtRecord;
        let mut chunks = Vec::new();
        for block in self.leaves(ag, Tree::Ino)? {
            let bytes = self.block(ag, block)?;
            let count = usize::from(ondisk::bytes::be16(&bytes, 6));
            for nth in 0..count.min(Tree::Ino.room(&self.geometry, true)) {
                let at = Tree::Ino.record_at(&self.geometry, nth);
                let record = InobtRecord::read(&bytes[at..])?;
                chunks.push((record.ir_startino.get(), record.ir_free.get()));
            }
        }
        Ok(chunks)
    }
}
