//! Devices, pipes, sockets and links: whether `i_block` matches the mode.
//!
//! Nothing here reads a block, but [`Mapper`], and [`Probe`], which looks whether an inode with a mode of none of these is a
//! directory after all. A link whose target lies in a block is handed back as [`Link::InBlock`], for a reading in order.

use ondisk::ext4::block_map::{BlockMap, pointers};
use ondisk::ext4::extent::{Lookup, Node};
use ondisk::ext4::inode::flag;
use ondisk::ext4::{FileType, Inode, directory, htree};

use crate::ext4::options::Reference;
use crate::ext4::volume::Volume;

/// Bytes of `i_block`.
const ROOM: usize = 60;

/// Whether `i_block` begins like an extent tree, by the rule of the reference.
pub(crate) fn is_extent_root(inode: &Inode<'_>) -> bool {
    /// Entries that fit.
    const MOST: u16 = 4;
    let word = |at: usize| {
        let bytes = &inode.raw().i_block;
        u16::from_le_bytes([bytes[at], bytes[at + 1]])
    };
    let (entries, max) = (word(2), word(4));
    word(0) == ondisk::ext4::extent::MAGIC && entries <= max && (MOST - 2..=MOST).contains(&max)
}

/// Whether a link's target is short enough for `i_block`; nothing else is checked.
pub(crate) fn is_fast_link(inode: &Inode<'_>) -> bool {
    inode.file_type() == Some(FileType::Symlink) && (1..ROOM as u64).contains(&inode.size())
}

/// Whether `i_block` maps blocks at all, by the rule of the reference (`ext2fs_inode_has_valid_blocks2`).
///
/// For links it goes by what they occupy, not by their size. A short link whose only block is that of a value inode was taken for a
/// long one until e2fsprogs 1.47.4.
pub(crate) fn maps_blocks(volume: &Volume<'_>, inode: &Inode<'_>) -> bool {
    match inode.file_type() {
        Some(FileType::Directory | FileType::Regular) => !inode.has_flags(flag::INLINE_DATA),
        Some(FileType::Symlink) => link_maps_blocks(volume, inode),
        _ => false,
    }
}

fn link_maps_blocks(volume: &Volume<'_>, inode: &Inode<'_>) -> bool {
    let raw = inode.raw();
    if volume.attribute_block(inode) == 0 {
        if raw.i_blocks_lo.get() == 0 {
            return false;
        }
        if volume.ext4.reference != Reference::E2fsck1470 {
            return !is_fast_link(inode);
        }
        return !inode.has_flags(flag::INLINE_DATA);
    }
    let size = raw.i_size_lo.get();
    size >= ROOM as u32 || (size > 4 && inode.block_words()[1] == 0)
}

/// Whether an inode with the mode of a device, pipe or socket can be one.
pub(crate) fn is_device_like(inode: &Inode<'_>) -> bool {
    if inode.flags() & (flag::INDEX | flag::EXTENTS) != 0 {
        return false;
    }
    // Kernels leave the words after the device number in place. They count only where flags show that no kernel made this.
    inode.flags() & (flag::IMMUTABLE | flag::APPEND) == 0
        || inode.block_words()[4..].iter().all(|word| *word == 0)
}

/// What a link turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    /// It is none: size, flags or target contradict.
    Bad,
    /// Sound, with its target in the inode.
    Sound,
    /// Decided by the target in this block, see [`is_target`].
    InBlock(u64),
}

/// Judges a link. `inline_size` is the size of its inline content, if that can be read.
pub(crate) fn link(
    volume: &Volume<'_>,
    inode: &Inode<'_>,
    inline_size: impl FnOnce() -> Option<u64>,
) -> Link {
    let raw = inode.raw();
    let size = raw.i_size_lo.get();
    if raw.i_size_high.get() != 0 || size == 0 || inode.has_flags(flag::INDEX) {
        return Link::Bad;
    }
    let extents = inode.has_flags(flag::EXTENTS);
    if inode.has_flags(flag::INLINE_DATA) {
        let fits = !extents && inline_size() == Some(size.into());
        return if fits { Link::Sound } else { Link::Bad };
    }
    let encrypted = inode.has_flags(flag::ENCRYPT);
    if is_fast_link(inode) {
        let fits = !extents && is_target(&raw.i_block, size, encrypted);
        return if fits { Link::Sound } else { Link::Bad };
    }
    let words = inode.block_words();
    let block = if extents {
        only_block(inode)
    } else {
        let alone = words[1..].iter().all(|word| *word == 0);
        alone.then_some(u64::from(words[0]))
    };
    match block {
        Some(block) if volume.is_block(block) => Link::InBlock(block),
        _ => Link::Bad,
    }
}

/// The block of an extent tree that maps block 0 and nothing else.
fn only_block(inode: &Inode<'_>) -> Option<u64> {
    let node = Node::read(&inode.raw().i_block).ok()?;
    let extent = node.extents().next().filter(|_| node.len() == 1)?;
    (extent.block == 0 && extent.len == 1).then_some(extent.start)
}

/// Whether these bytes hold a target of the inode's length. An encrypted one stores its length.
pub(crate) fn is_target(bytes: &[u8], size: u32, encrypted: bool) -> bool {
    let len = match bytes {
        [low, high, ..] if encrypted => usize::from(u16::from_le_bytes([*low, *high])) + 2,
        _ => bytes
            .iter()
            .position(|byte| *byte == 0)
            .unwrap_or(bytes.len()),
    };
    len < bytes.len() && len == size as usize
}

/// Follows the map of one inode, as it is, for a block that is wanted before or beside the walk over all of them.
pub(crate) struct Mapper<'a> {
    pub(crate) volume: &'a Volume<'a>,
    pub(crate) block: &'a mut Vec<u8>,
    /// Blocks that were never written are holes.
    pub(crate) written: bool,
}

/// A map that cannot be followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lost;

impl Mapper<'_> {
    /// The block that a logical block is mapped to, wherever that may be; nothing for a hole.
    pub(crate) fn block_at(
        &mut self,
        ino: u32,
        inode: &Inode<'_>,
        logical: u32,
    ) -> Result<Option<u64>, Lost> {
        if inode.has_flags(flag::INLINE_DATA) {
            return Err(Lost);
        }
        if inode.has_flags(flag::EXTENTS) {
            self.by_extents(ino, inode, logical)
        } else {
            self.by_pointers(inode, logical)
        }
    }

    fn by_extents(
        &mut self,
        ino: u32,
        inode: &Inode<'_>,
        logical: u32,
    ) -> Result<Option<u64>, Lost> {
        let root = Node::read(&inode.raw().i_block).map_err(|_| Lost)?;
        let mut lookup = root.lookup(logical);
        for _ in 0..=ondisk::ext4::extent::MAX_DEPTH {
            match lookup {
                Lookup::Extent(extent) if self.written && extent.unwritten => return Ok(None),
                Lookup::Extent(extent) => {
                    let into = logical.wrapping_sub(extent.block);
                    let block = extent.start.saturating_add(into.into());
                    // The library takes block 0 for a hole here, too.
                    return Ok(Some(block).filter(|block| *block != 0));
                }
                Lookup::Hole => return Ok(None),
                Lookup::Below(index) => {
                    self.fetch(index.leaf)?;
                    let node = Node::read(self.block).map_err(|_| Lost)?;
                    let sum = self
                        .volume
                        .seed
                        .and_then(|seed| node.checksum(inode.seed(seed, ino)));
                    if sum.is_some_and(|sum| !sum.matches()) {
                        return Err(Lost);
                    }
                    lookup = node.lookup(logical);
                }
            }
        }
        Err(Lost)
    }

    fn by_pointers(&mut self, inode: &Inode<'_>, logical: u32) -> Result<Option<u64>, Lost> {
        let map = BlockMap::new(self.volume.geometry.block_size);
        let path = map.path(logical.into()).ok_or(Lost)?;
        let words = inode.block_words();
        let mut pointer = words.get(path.slot as usize).copied().unwrap_or(0);
        for offset in path.offsets.iter().take(path.levels as usize) {
            if pointer == 0 {
                return Ok(None);
            }
            self.fetch(pointer.into())?;
            pointer = pointers(self.block).nth(*offset as usize).unwrap_or(0);
        }
        Ok(Some(u64::from(pointer)).filter(|block| *block != 0))
    }

    fn fetch(&mut self, block: u64) -> Result<(), Lost> {
        if !self.volume.is_block(block) {
            return Err(Lost);
        }
        self.volume.read_into(block, self.block).map_err(|_| Lost)
    }
}

/// Looks at inodes whose mode is that of no file, directory or link, for a directory whose mode was damaged.
pub(crate) struct Probe<'a> {
    pub(crate) volume: &'a Volume<'a>,
    pub(crate) block: &'a mut Vec<u8>,
}

impl Probe<'_> {
    /// Whether the first block holds `.` for this inode, and then `..`.
    ///
    /// The reference also requires the blocks to be unclaimed so far, which depends on the order of its walk; that `.` names this
    /// inode shows more.
    pub(crate) fn is_directory(
        &mut self,
        ino: u32,
        inode: &Inode<'_>,
        inline_size: impl FnOnce() -> Option<u64>,
    ) -> bool {
        use ondisk::ext4::feature::Incompat;
        let words = inode.block_words();
        let known = matches!(
            inode.file_type(),
            Some(FileType::Directory | FileType::Regular | FileType::Symlink)
        );
        if known || words[0] == 0 {
            return false;
        }
        let sb = &self.volume.sb;
        if sb.has_incompat(Incompat::INLINE_DATA) && inode.has_flags(flag::INLINE_DATA) {
            return inline_size().is_some_and(|size| size % 4 == 0)
                && is_inline_directory(self.volume, inode);
        }
        let device = matches!(
            inode.file_type(),
            Some(FileType::CharDevice | FileType::BlockDevice)
        );
        let by_extents = sb.has_incompat(Incompat::EXTENTS) && inode.has_flags(flag::EXTENTS);
        let first = if by_extents {
            let mut mapper = Mapper {
                volume: self.volume,
                block: &mut *self.block,
                written: false,
            };
            match mapper.block_at(ino, inode, 0) {
                Ok(Some(block)) => block,
                _ => return false,
            }
        } else {
            let mut used = words.iter().filter(|word| **word != 0);
            if !used.all(|word| self.volume.is_block(u64::from(*word))) {
                return false;
            }
            let more_than_a_device = words[4..].iter().any(|word| *word != 0);
            if device && inode.raw().i_links_count.get() == 1 && !more_than_a_device {
                return false;
            }
            u64::from(words[0])
        };
        self.volume.read_into(first, self.block).is_ok() && self.is_first_block(ino, inode)
    }

    fn is_first_block(&self, ino: u32, inode: &Inode<'_>) -> bool {
        let block = self.block.as_slice();
        let size = self.volume.geometry.block_size;
        if !self.is_sealed(ino, inode) {
            return false;
        }
        let mut entries = directory::entries(block, size).map_while(Result::ok);
        let (Some(dot), Some(dot_dot)) = (entries.next(), entries.next()) else {
            return false;
        };
        dot.name == b"."
            && dot.inode == ino
            && dot.rec_len < block.len() - 12
            && dot_dot.name == b".."
    }

    /// Whether the block carries a checksum that is right for this inode, where checksums are in use.
    fn is_sealed(&self, ino: u32, inode: &Inode<'_>) -> bool {
        let Some(seed) = self.volume.seed else {
            return true;
        };
        let seed = inode.seed(seed, ino);
        let leaf = directory::checksum(self.block, seed);
        let sum = leaf.or_else(|| {
            htree::IndexBlock::read_root(self.block)
                .ok()?
                .checksum(seed)
        });
        sum.is_some_and(ondisk::ext4::Checksum::matches)
    }
}

/// Whether `i_block` begins like the entries of an inline directory.
fn is_inline_directory(volume: &Volume<'_>, inode: &Inode<'_>) -> bool {
    let words = inode.block_words();
    let inodes = volume.sb.s_inodes_count.get();
    let first = volume.sb.first_ino();
    let parent = words[0];
    let child = words[1];
    let rec_len = directory::rec_len_from_disk(words[2] as u16, volume.geometry.block_size);
    parent < inodes
        && (parent >= first || parent == ondisk::ext4::inode::number::ROOT)
        && child < inodes
        && (child >= first || child == 0)
        && rec_len <= ROOM - 4
}

/// Whether all of the 15 words are block numbers or 0: what could be a block map.
pub(crate) fn could_be_block_map(volume: &Volume<'_>, inode: &Inode<'_>) -> bool {
    let words = inode.block_words();
    words
        .iter()
        .all(|word| u64::from(*word) < volume.geometry.blocks_count)
}
