//! Where structures are.

use ondisk::xfs::btree::Tree;
use ondisk::xfs::dinode::{Inode, core_size};
use ondisk::xfs::directory::{
    FREE_OFFSET, Item, LEAF_OFFSET, block_leaf, block_tail, data_header, item,
};
use ondisk::xfs::{Extent, attribute, checksum, shortform};

use super::case::At;
use super::find::Find;
use super::volume::{Found, Volume};
use crate::damage::Error;
use crate::damage::error::missing;

/// The group whose trees are damaged.
const GROUP: u32 = 1;

impl Volume<'_> {
    pub(super) fn locate(&self, at: At) -> Result<Found, Error> {
        let geometry = &self.geometry;
        let header = |ag, sector, sum| Found {
            at: geometry.header_offset(ag, sector),
            len: geometry.sector_size as usize,
            start: 0,
            sum: Some(sum),
        };
        Ok(match at {
            At::Superblock(ag) => header(ag, 0, checksum::SUPERBLOCK),
            At::Agf(ag) => header(ag, 1, checksum::AGF),
            At::Agi(ag) => header(ag, 2, checksum::AGI),
            At::Agfl(ag) => header(ag, 3, checksum::AGFL),
            At::Root(tree) => self.short(self.root_of(GROUP, tree)?, 0),
            At::Pointer(tree, nth) => {
                self.short(self.root_of(GROUP, tree)?, tree.pointer_at(geometry, nth))
            }
            At::Leaf(tree) => self.leaf(tree, 0)?,
            At::Record(tree, nth) => self.leaf(tree, self.record_at(tree, nth))?,
            At::Inode(what) => self.in_inode(what, 0)?,
            At::Literal(what) => self.in_inode(what, core_size(geometry.v5))?,
            At::AttributeFork(what) => {
                let bytes = self.inode(self.find(what)?)?;
                let inode = Inode::new(geometry, &bytes);
                let at = core_size(geometry.v5) + usize::from(inode.forkoff()) * 8;
                self.in_inode(what, at)?
            }
            At::LocalEntry(nth) => self.local_entry(nth)?,
            At::Data(what) => self.in_directory(what, 0, checksum::DIRECTORY, 0)?,
            At::Entry(what, nth) => self.entry(what, nth)?,
            At::Tail | At::Hash(_) => self.tail(at)?,
            At::Index(what) => self.in_directory(what, LEAF_OFFSET, checksum::DA, 0)?,
            At::TreeLeaf => {
                let node = self.in_directory(Find::NodeDirectory, LEAF_OFFSET, checksum::DA, 0)?;
                let node = self.bytes(node.at, node.len)?;
                let offset = u64::from(self.first_child(&node)) << geometry.block_log;
                self.in_directory(Find::NodeDirectory, offset, checksum::DA, 0)?
            }
            At::FreeIndex => {
                self.in_directory(Find::NodeDirectory, FREE_OFFSET, checksum::DIRECTORY, 0)?
            }
            At::AttributeLeaf => self.attribute_block(Find::LeafAttributes, 0, checksum::DA, 0)?,
            At::AttributeEntry(nth) => {
                let start = attribute::header(geometry.v5) + nth * attribute::LeafEntry::SIZE;
                self.attribute_block(Find::LeafAttributes, 0, checksum::DA, start)?
            }
            At::RemoteValue => {
                self.attribute_block(Find::RemoteAttributes, 1, checksum::REMOTE, 0)?
            }
            At::Target => {
                let bytes = self.inode(self.find(Find::RemoteLink)?)?;
                let inode = Inode::new(geometry, &bytes);
                let extent = Extent::read(inode.data_fork());
                Found {
                    at: geometry.block_offset(extent.block),
                    len: (extent.count as usize) << geometry.block_log,
                    start: 0,
                    sum: Some(checksum::REMOTE),
                }
            }
            At::ForkLeaf => {
                let bytes = self.inode(self.find(Find::Tree)?)?;
                let inode = Inode::new(geometry, &bytes);
                let Some(first) = self.fork_leaves(inode.data_fork())?.first().copied() else {
                    return missing("btree of a fork");
                };
                self.long(first, checksum::LONG_BTREE)
            }
            At::Log => Found {
                at: geometry.block_offset(self.log),
                len: 512,
                start: 0,
                sum: None,
            },
        })
    }

    /// A block of a tree of the group.
    fn short(&self, agbno: u32, start: usize) -> Found {
        Found {
            at: self.geometry.offset(GROUP, agbno),
            len: self.geometry.block_size as usize,
            start,
            sum: Some(checksum::SHORT_BTREE),
        }
    }

    fn long(&self, block: u64, sum: usize) -> Found {
        Found {
            at: self.geometry.block_offset(block),
            len: self.geometry.block_size as usize,
            start: 0,
            sum: Some(sum),
        }
    }

    /// The first leaf of a tree.
    fn leaf(&self, tree: Tree, start: usize) -> Result<Found, Error> {
        match self.leaves(GROUP, tree)?.first() {
            Some(&at) => Ok(self.short(at, start)),
            None => missing("btree of that kind"),
        }
    }

    fn in_inode(&self, what: Find, start: usize) -> Result<Found, Error> {
        Ok(Found {
            at: self.geometry.ino_offset(self.find(what)?),
            len: self.geometry.inode_size as usize,
            start,
            sum: Some(checksum::INODE),
        })
    }

    fn local_entry(&self, nth: usize) -> Result<Found, Error> {
        let bytes = self.inode(self.find(Find::LocalDirectory)?)?;
        let inode = Inode::new(&self.geometry, &bytes);
        let directory = shortform::Directory::new(self.geometry.ftype, inode.data_fork());
        let mut at = directory.header();
        for _ in 0..nth {
            match directory.entry(at) {
                Some(entry) => at += entry.length,
                None => return missing("entry of that number"),
            }
        }
        self.in_inode(Find::LocalDirectory, core_size(self.geometry.v5) + at)
    }

    /// The block of a directory that has a byte of its file.
    fn in_directory(
        &self,
        what: Find,
        offset: u64,
        sum: usize,
        start: usize,
    ) -> Result<Found, Error> {
        let bytes = self.inode(self.find(what)?)?;
        let inode = Inode::new(&self.geometry, &bytes);
        let offset = offset >> self.geometry.block_log;
        let extents = self.extents(&inode)?;
        let found = extents
            .iter()
            .find(|extent| (extent.offset..extent.end()).contains(&offset));
        let Some(extent) = found else {
            return missing("directory block at that place");
        };
        let block = extent.block + (offset - extent.offset);
        Ok(Found {
            at: self.geometry.block_offset(block),
            len: self.geometry.directory_block(),
            start,
            sum: Some(sum),
        })
    }

    fn entry(&self, what: Find, nth: usize) -> Result<Found, Error> {
        let found = self.in_directory(what, 0, checksum::DIRECTORY, 0)?;
        let block = self.bytes(found.at, found.len)?;
        let mut at = data_header(self.geometry.v5);
        let mut left = nth;
        while let Some(one) = item(self.geometry.ftype, &block, at, block.len()) {
            match one {
                Item::Free { length, .. } => at += length,
                Item::Entry(entry) if left > 0 => {
                    left -= 1;
                    at += entry.length;
                }
                Item::Entry(_) => return Ok(Found { start: at, ..found }),
            }
        }
        missing("entry of that number")
    }

    /// The end of a directory of one block.
    fn tail(&self, what: At) -> Result<Found, Error> {
        let found = self.in_directory(Find::BlockDirectory, 0, checksum::DIRECTORY, 0)?;
        let block = self.bytes(found.at, found.len)?;
        let start = match what {
            At::Hash(nth) => {
                let count = block_tail(&block).0;
                match block_leaf(&block, count) {
                    Some(at) => at + nth * 8,
                    None => return missing("sound directory of one block"),
                }
            }
            _ => block.len() - 8,
        };
        Ok(Found { start, ..found })
    }

    fn attribute_block(
        &self,
        what: Find,
        offset: u64,
        sum: usize,
        start: usize,
    ) -> Result<Found, Error> {
        let bytes = self.inode(self.find(what)?)?;
        let inode = Inode::new(&self.geometry, &bytes);
        let extent = Extent::read(inode.attr_fork());
        if extent.count <= offset {
            return missing("block of attributes");
        }
        Ok(Found {
            start,
            ..self.long(extent.block + offset, sum)
        })
    }
}
