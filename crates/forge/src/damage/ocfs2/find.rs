//! Structures by what they are.

use ondisk::ocfs2::dinode::{BODY, Dinode, dynamic};
use ondisk::ocfs2::{ExtentList, directory};

use super::volume::{Named, Volume};
use crate::damage::Error;

/// An inode that a case needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Find {
    /// A regular file with two clusters or more in its inode's list.
    File,
    /// A regular file with several extents in its inode's list.
    Pieces,
    /// A regular file whose extents are in a tree of one level.
    Tree,
    /// An empty regular file.
    Empty,
    /// A regular file in its inode.
    Inline,
    /// A symbolic link with a block.
    Link,
    /// A directory in its inode, with five names at least and no subdirectory.
    InlineDirectory,
    /// A directory with an index and blocks.
    Indexed,
    /// A directory with blocks, indexed or not.
    Blocks,
    /// A file with attributes in its inode.
    Note,
    /// A file with a block of attributes.
    Attributes,
}

impl Find {
    /// What it is, after "the filesystem has no".
    fn name(self) -> &'static str {
        match self {
            Self::File => "regular file of three clusters in one extent",
            Self::Pieces => "regular file of three extents",
            Self::Tree => "regular file with a tree of extents",
            Self::Empty => "empty regular file",
            Self::Inline => "regular file in its inode",
            Self::Link => "symbolic link with a block",
            Self::InlineDirectory => "directory of five names in its inode",
            Self::Indexed => "directory with an index",
            Self::Blocks => "directory with blocks",
            Self::Note => "file with attributes in its inode",
            Self::Attributes => "file with a block of attributes",
        }
    }

    fn matches(self, volume: &Volume<'_>, at: u64, block: &[u8]) -> Result<bool, Error> {
        let head = Dinode::read(block)?;
        let kind = head.i_mode.get() & 0xf000;
        let inline = head.has_dynamic(dynamic::INLINE_DATA);
        let (regular, directory) = (kind == 0x8000, kind == 0x4000);
        let list = ExtentList::read(&block[BODY..])?;
        let (depth, used) = (
            list.head().l_tree_depth.get(),
            list.head().l_next_free_rec.get(),
        );
        let extents = regular && !inline && head.i_clusters.get() > 0;
        let plain = !head.has_dynamic(dynamic::HAS_XATTR) && head.links() == 1;
        let indexed = directory && head.has_dynamic(dynamic::INDEXED_DIR);
        Ok(match self {
            Self::File => extents && plain && depth == 0 && used == 1 && head.i_clusters.get() > 2,
            Self::Pieces => extents && plain && depth == 0 && used > 2,
            Self::Tree => extents && plain && depth == 1,
            Self::Empty => regular && !inline && plain && head.i_size.get() == 0,
            Self::Inline => regular && inline && plain,
            Self::Link => kind == 0xa000 && head.i_clusters.get() > 0 && plain,
            Self::InlineDirectory => {
                directory && inline && head.links() == 2 && volume.entries(at)?.len() > 6
            }
            Self::Indexed => indexed,
            Self::Blocks => directory && !inline,
            Self::Note => regular && head.has_dynamic(dynamic::INLINE_XATTR),
            Self::Attributes => head.i_xattr_loc.get() != 0,
        })
    }
}

impl Volume<'_> {
    /// The first inode of a kind.
    pub(super) fn find(&self, what: Find) -> Result<u64, Error> {
        let found = self.inodes(|at, block| Ok(what.matches(self, at, block)?.then_some(at)))?;
        found.ok_or(Error::Missing { what: what.name() })
    }

    /// The entry that leads to an inode, and the directory that has it.
    pub(super) fn entry_of(&self, inode: u64) -> Result<(u64, Named), Error> {
        let search = |at: u64| -> Result<Option<(u64, Named)>, Error> {
            let mut entries = self.entries(at)?.into_iter().skip(2);
            Ok(entries
                .find(|entry| entry.inode == inode)
                .map(|entry| (at, entry)))
        };
        if let Some(found) = search(self.root)? {
            return Ok(found);
        }
        let found = self.inodes(|at, block| {
            if Dinode::read(block)?.i_mode.get() & 0xf000 == 0x4000 {
                search(at)
            } else {
                Ok(None)
            }
        })?;
        found.ok_or(Error::Missing {
            what: "name of that inode",
        })
    }

    /// The first block of a directory with the offset of its first names' entries.
    pub(super) fn entry(&self, what: Find, nth: usize) -> Result<Named, Error> {
        let mut entries = self.entries(self.find(what)?)?.into_iter();
        entries.nth(nth).ok_or(Error::Missing {
            what: "name at that place",
        })
    }

    /// The trailer of a directory's first block: block and offset.
    pub(super) fn trailer(&self, what: Find) -> Result<(u64, usize), Error> {
        let (block, _, end) = *self
            .areas(self.find(what)?)?
            .first()
            .ok_or(Error::Missing {
                what: "directory block",
            })?;
        if end == self.block_size {
            return Err(Error::Missing {
                what: "directory block with a trailer",
            });
        }
        Ok((block, directory::Trailer::offset(self.block_size)))
    }
}
