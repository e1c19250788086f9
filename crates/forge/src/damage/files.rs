//! Finding something to damage: inodes of a kind, the blocks of a file, the entries of a directory.
//!
//! These walks expect a sound filesystem; the first fault they meet ends them with an error, never in a wrong place.

use ondisk::ext4::inode::Content;
use ondisk::ext4::inode::number::ROOT;
use ondisk::ext4::{FileType, Inode, block_map, directory, extent, group_descriptor, htree, inode};

use super::error::{Error, missing};
use super::filesystem::{Filesystem, Map};

/// Contiguous blocks of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// First block of the file.
    pub logical: u64,
    /// First block of the device.
    pub physical: u64,
    /// Blocks.
    pub len: u64,
}

/// The blocks of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blocks {
    /// Its content, by place in the file.
    pub data: Vec<Run>,
    /// Extent nodes or indirect blocks, with the levels below each: 0 for one that points to content.
    pub tree: Vec<(u64, u16)>,
}

impl Blocks {
    /// The block of the device that holds a block of the file.
    pub fn at(&self, logical: u64) -> Option<u64> {
        let run = self
            .data
            .iter()
            .find(|run| (run.logical..run.logical + run.len).contains(&logical))?;
        Some(run.physical + (logical - run.logical))
    }
}

/// A name in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The name.
    pub name: Vec<u8>,
    /// The inode it names.
    pub inode: u32,
    /// The type it carries.
    pub file_type: u8,
    /// Block of the device.
    pub block: u64,
    /// Block of the directory.
    pub logical: u64,
    /// Offset of the entry in it.
    pub offset: usize,
    /// Bytes of it.
    pub rec_len: usize,
}

impl Filesystem<'_> {
    /// Inodes in use by the bitmaps, ascending, reserved ones included.
    pub fn used_inodes(&self) -> Result<Vec<u32>, Error> {
        let per_group = self.geometry().inodes_per_group;
        let mut used = Vec::new();
        for group in 0..self.geometry().groups {
            if self
                .descriptor(group)?
                .has_flags(group_descriptor::INODE_UNINIT)
            {
                continue;
            }
            let bytes = self.bitmap(group, Map::Inodes)?;
            let is_set = |bit: &u32| {
                bytes
                    .get((bit / 8) as usize)
                    .is_some_and(|byte| byte >> (bit % 8) & 1 == 1)
            };
            used.extend(
                (0..per_group)
                    .filter(is_set)
                    .map(|bit| group * per_group + bit + 1),
            );
        }
        Ok(used)
    }

    /// The first non-reserved inode that matches; `what` describes it in the error if there is none.
    pub fn find(
        &self,
        what: &'static str,
        wanted: impl Fn(u32, &Inode<'_>) -> bool,
    ) -> Result<u32, Error> {
        let sb = self.superblock();
        // Damage to these is a case of its own. lost+found is the first that is not reserved.
        let special = [
            sb.s_orphan_file_inum.get(),
            sb.s_prj_quota_inum.get(),
            sb.first_ino(),
        ];
        let ordinary = |ino: &u32| *ino > sb.first_ino() && !special.contains(ino);
        for ino in self.used_inodes()?.into_iter().filter(ordinary) {
            let bytes = self.inode(ino)?;
            let inode = self.view(&bytes)?;
            if inode.raw().i_links_count.get() > 0 && wanted(ino, &inode) {
                return Ok(ino);
            }
        }
        missing(what)
    }

    /// The first regular file with blocks of its own.
    pub fn file_with_blocks(&self) -> Result<u32, Error> {
        self.find("regular file with blocks", |_, inode| {
            is(inode, FileType::Regular)
                && matches!(inode.content(), Content::Extents | Content::BlockMap)
                && inode.size() > 0
                && !inode.has_flags(inode::flag::EA_INODE)
                && inode.raw().i_blocks_lo.get() > 0
        })
    }

    /// The first file mapped by extents whose tree is at least so deep.
    pub fn file_with_extents(&self, depth: u16) -> Result<u32, Error> {
        self.find("regular file with an extent tree that deep", |_, inode| {
            is(inode, FileType::Regular)
                && inode.content() == Content::Extents
                && inode.size() > 0
                && extent::Node::read(&inode.raw().i_block)
                    .is_ok_and(|node| node.depth() >= depth && !node.is_empty())
        })
    }

    /// The first file with a block map that uses word `slot` of it: 0 direct, 12 to 14 the trees.
    pub fn file_with_block_map(&self, slot: usize) -> Result<u32, Error> {
        self.find("regular file with a block map that large", |_, inode| {
            is(inode, FileType::Regular)
                && inode.content() == Content::BlockMap
                && inode.block_words()[slot] != 0
        })
    }

    /// The first inode of that type.
    pub fn first(&self, kind: FileType) -> Result<u32, Error> {
        let what = match kind {
            FileType::Regular => "regular file",
            FileType::Directory => "directory below the root",
            FileType::CharDevice => "character device",
            FileType::BlockDevice => "block device",
            FileType::Fifo => "named pipe",
            FileType::Socket => "socket",
            FileType::Symlink => "symbolic link",
        };
        self.find(what, |_, inode| is(inode, kind))
    }

    /// The first directory below the root that has blocks of its own, no others, no index, and a name in it.
    pub fn directory(&self) -> Result<u32, Error> {
        self.find("plain directory with a name in it", |ino, inode| {
            is(inode, FileType::Directory)
                && matches!(inode.content(), Content::Extents | Content::BlockMap)
                && inode.file_acl() == 0
                && !inode.has_flags(inode::flag::INDEX)
                && self.name_in(ino, |_| true).is_ok()
        })
    }

    /// The first directory whose index has this many levels of nodes below its root, and leaves enough to confuse.
    pub fn indexed_directory(&self, levels: u8) -> Result<u32, Error> {
        for ino in self.used_inodes()? {
            let bytes = self.inode(ino)?;
            let inode = self.view(&bytes)?;
            let indexed = is(&inode, FileType::Directory) && inode.has_flags(inode::flag::INDEX);
            if !indexed {
                continue;
            }
            let root = self
                .blocks(ino)?
                .at(0)
                .map(|block| self.block(block))
                .transpose()?;
            let fits = |root: Vec<u8>| {
                htree::IndexBlock::read_root(&root).is_ok_and(|index| {
                    root.get(30) == Some(&levels) && (levels > 0 || index.count() > 3)
                })
            };
            if root.is_some_and(fits) {
                return Ok(ino);
            }
        }
        missing("indexed directory that deep")
    }

    /// The first inode with inline data.
    pub fn inline(&self, kind: FileType) -> Result<u32, Error> {
        self.find("file or directory kept in its inode", |_, inode| {
            is(inode, kind) && inode.has_flags(inode::flag::INLINE_DATA)
        })
    }

    /// The first inode with a block of attributes, and the block.
    pub fn attribute_block(&self) -> Result<(u32, u64), Error> {
        let ino = self.find("inode with a block of attributes", |_, inode| {
            inode.file_acl() != 0
        })?;
        let bytes = self.inode(ino)?;
        Ok((ino, self.view(&bytes)?.file_acl()))
    }

    /// The first inode with attributes in it that are not its inline data, and the byte at which they begin, after
    /// the magic number.
    pub fn attributes_in_inode(&self) -> Result<(u32, usize), Error> {
        let ino = self.find("inode with attributes in it", |_, inode| {
            !inode.has_flags(inode::flag::INLINE_DATA)
                && inode
                    .body()
                    .get(..4)
                    .is_some_and(|magic| magic == ondisk::ext4::xattr::MAGIC.to_le_bytes())
                && inode.body().get(4..8).is_some_and(|entry| entry != [0; 4])
        })?;
        let bytes = self.inode(ino)?;
        let extra = self.view(&bytes)?.extra_isize();
        Ok((ino, inode::OLD_SIZE + usize::from(extra) + 4))
    }

    /// The blocks of a file or directory: content and tree.
    pub fn blocks(&self, ino: u32) -> Result<Blocks, Error> {
        let bytes = self.inode(ino)?;
        let inode = self.view(&bytes)?;
        let mut blocks = Blocks::default();
        match inode.content() {
            Content::Extents => self.walk_extents(&inode.raw().i_block, 6, &mut blocks)?,
            Content::BlockMap => {
                let words = inode.block_words();
                let map = block_map::BlockMap::new(self.geometry().block_size);
                for (slot, word) in words.into_iter().enumerate() {
                    if let Some((logical, levels)) = map.slot(slot as u32) {
                        self.walk_map(map, word, logical, levels, &mut blocks)?;
                    }
                }
            }
            _ => {}
        }
        Ok(blocks)
    }

    /// `rest` bounds the depth whatever the nodes say.
    fn walk_extents(&self, bytes: &[u8], rest: u16, blocks: &mut Blocks) -> Result<(), Error> {
        let node = extent::Node::read(bytes)?;
        for extent in node.extents() {
            blocks.data.push(Run {
                logical: extent.block.into(),
                physical: extent.start,
                len: extent.len.into(),
            });
        }
        if rest == 0 {
            return Ok(());
        }
        for index in node.indexes() {
            blocks.tree.push((index.leaf, node.depth() - 1));
            let below = self.block(index.leaf)?;
            self.walk_extents(&below, rest - 1, blocks)?;
        }
        Ok(())
    }

    fn walk_map(
        &self,
        map: block_map::BlockMap,
        word: u32,
        logical: u64,
        levels: u32,
        blocks: &mut Blocks,
    ) -> Result<(), Error> {
        if word == 0 {
            return Ok(());
        }
        let physical = u64::from(word);
        if levels == 0 {
            match blocks.data.last_mut() {
                Some(last)
                    if last.logical + last.len == logical
                        && last.physical + last.len == physical =>
                {
                    last.len += 1;
                }
                _ => blocks.data.push(Run {
                    logical,
                    physical,
                    len: 1,
                }),
            }
            return Ok(());
        }
        blocks.tree.push((physical, levels as u16 - 1));
        let below = self.block(physical)?;
        for (nth, word) in block_map::pointers(&below).enumerate() {
            let logical = logical + nth as u64 * map.span(levels - 1);
            self.walk_map(map, word, logical, levels - 1, blocks)?;
        }
        Ok(())
    }

    /// The names in a directory's leaf blocks, `.` and `..` included, those of inline directories not. Unused entries are left out.
    pub fn names(&self, dir: u32) -> Result<Vec<Name>, Error> {
        let size = self.geometry().block_size;
        let mut names = Vec::new();
        for run in self.blocks(dir)?.data {
            for nth in 0..run.len {
                let block = run.physical + nth;
                let bytes = self.block(block)?;
                for entry in directory::entries(&bytes, size) {
                    let entry = entry?;
                    if entry.inode != 0 {
                        names.push(Name {
                            name: entry.name.to_vec(),
                            inode: entry.inode,
                            file_type: entry.file_type,
                            block,
                            logical: run.logical + nth,
                            offset: entry.offset,
                            rec_len: entry.rec_len,
                        });
                    }
                }
            }
        }
        Ok(names)
    }

    /// A name of the root directory. Filesystems that are not among the bases ([`super::base`]) have others; there a file or
    /// directory of the root stands for it, and a further one for each name, as far as the root has them.
    pub fn name_in_root(&self, wanted: &[u8]) -> Result<Name, Error> {
        let mut names = self.names(ROOT)?;
        if let Some(at) = names.iter().position(|name| name.name == wanted) {
            return Ok(names.swap_remove(at));
        }
        let (kind, nth) = match wanted {
            b"deep" => (FileType::Directory, 0),
            b"names" => (FileType::Directory, 1),
            b"f100" => (FileType::Regular, 0),
            b"f150" => (FileType::Regular, 1),
            b"f5k" => (FileType::Regular, 2),
            b"f300k" => (FileType::Regular, 3),
            _ => return missing("such name in the root directory"),
        };
        let mut found = Vec::new();
        for name in names {
            let dots = [&b"."[..], b"..", b"lost+found"].contains(&name.name.as_slice());
            let bytes = self.inode(name.inode)?;
            if !dots && is(&self.view(&bytes)?, kind) {
                found.push(name);
            }
        }
        if nth < found.len() {
            Ok(found.swap_remove(nth))
        } else {
            missing("such file or directory in the root directory")
        }
    }

    /// The first name but `.` and `..` in a directory.
    pub fn name_in(&self, dir: u32, wanted: impl Fn(&Name) -> bool) -> Result<Name, Error> {
        let names = self.names(dir)?;
        let found = names
            .into_iter()
            .find(|name| name.name != b"." && name.name != b".." && wanted(name));
        match found {
            Some(found) => Ok(found),
            None => missing("name as wanted in the directory"),
        }
    }

    /// A free block of the first group, which stays marked as free: bigalloc gives the first block of a cluster.
    pub fn free_block(&self, nth: usize) -> Result<u64, Error> {
        let bits = self.bitmap(0, Map::Blocks)?;
        let clusters = self.geometry().group_clusters(0);
        let is_free = |bit: &u32| {
            bits.get((bit / 8) as usize)
                .is_some_and(|byte| byte >> (bit % 8) & 1 == 0)
        };
        match (0..clusters).filter(is_free).nth(nth) {
            Some(bit) => Ok(self.geometry().group_first_block(0)
                + u64::from(bit) * u64::from(self.geometry().cluster_blocks)),
            None => missing("free block in its first group"),
        }
    }

    /// The first free inode that is not reserved, of a group whose inodes are initialised.
    pub fn free_inode(&self) -> Result<u32, Error> {
        let used = self.used_inodes()?;
        let first = self.superblock().first_ino();
        let per_group = self.geometry().inodes_per_group;
        for group in 0..self.geometry().groups {
            let start = (group * per_group + 1).max(first);
            let mut all = start..=(group + 1) * per_group;
            let initialised = !self
                .descriptor(group)?
                .has_flags(group_descriptor::INODE_UNINIT);
            if let Some(free) = all
                .find(|ino| used.binary_search(ino).is_err())
                .filter(|_| initialised)
            {
                return Ok(free);
            }
        }
        missing("free inode in an initialised group")
    }

    /// The first block of the journal.
    pub fn journal_block(&self) -> Result<u64, Error> {
        let ino = self.superblock().s_journal_inum.get();
        let first = if ino == 0 {
            None
        } else {
            self.blocks(ino)?.at(0)
        };
        match first {
            Some(block) => Ok(block),
            None => missing("internal journal"),
        }
    }

    /// Makes the filesystem end past its device, by as many blocks as its last group has room for,
    /// and returns the first block that cannot be read.
    pub fn beyond_the_device(&mut self) -> Result<u64, Error> {
        let blocks = self.geometry().blocks_count;
        let last = self.geometry().groups - 1;
        let room = self.geometry().group_first_block(last)
            + u64::from(self.geometry().blocks_per_group)
            - blocks;
        let cluster = u64::from(self.geometry().cluster_blocks);
        if room < 8 * cluster || self.medium_blocks() >= blocks + 8 * cluster {
            return missing("room in its last group past which the device ends");
        }
        self.edit_superblock(|sb| sb.set_blocks_count(blocks + 8 * cluster))?;
        Ok(self.medium_blocks().max(blocks).next_multiple_of(cluster))
    }
}

/// Whether it is of that type.
pub(crate) fn is(inode: &Inode<'_>, kind: FileType) -> bool {
    inode.file_type() == Some(kind)
}
