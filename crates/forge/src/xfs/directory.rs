//! Directories: the bytes of each form, computed by letting the directory grow name by name.
//!
//! A small directory is in its inode. The next form is one block with names and hash entries, then data blocks with one leaf block, then data
//! blocks with a tree of leaf blocks and an index of free space. A name goes to the first data block with room, at the start of the largest
//! free area there; a full leaf block is split in halves. Removed names leave free areas and stale hash entries, which later names take up.

mod area;
mod growth;
mod index;
mod local;
mod removal;
#[cfg(test)]
mod tests;

use crate::Error;
use crate::population::{History, Names, Target};

pub(super) use area::Data;
pub(super) use index::Leaf;

/// The entry `.`, in place of the number of a name.
pub(super) const DOT: u32 = u32::MAX;
/// The entry `..`.
pub(super) const DOT_DOT: u32 = u32::MAX - 1;
/// A hash entry whose name was removed.
pub(super) const STALE: u32 = u32::MAX - 2;

/// Names that a directory can have here, removed ones included: it is put together in memory, some 60 bytes for each.
pub(super) const MOST_NAMES: u64 = 1 << 24;

/// Bytes of a hash entry.
const HASH_ENTRY: u32 = 8;
/// Bytes at the end of a directory of one block: the numbers of hash entries and of stale ones.
pub(super) const BLOCK_TAIL: u32 = 8;
/// Bytes at the end of the leaf block of a directory without a tree: the number of data blocks.
const LEAF_TAIL: u32 = 4;

/// Sizes that decide how a directory grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rules {
    /// Bytes of the inode that entries may take.
    pub(super) local_room: u32,
    /// Whether inode numbers may need 64 bits.
    pub(super) wide: bool,
    /// Bytes of a directory block.
    pub(super) block: u32,
    /// Bytes of the header of a data, leaf, node or free index block.
    pub(super) header: u32,
    /// Whether entries have a file type.
    pub(super) file_type: bool,
}

impl Rules {
    /// Bytes of an entry of a data block: inode, length, name, type and tag, rounded up to 8.
    pub(super) fn entry(&self, name: u32) -> u32 {
        (8 + 1 + name + u32::from(self.file_type) + 2).next_multiple_of(8)
    }

    /// Bytes of an entry in an inode.
    pub(super) fn local_entry(&self, name: u32) -> u32 {
        1 + 2 + name + u32::from(self.file_type) + self.number()
    }

    /// Bytes of the header in an inode: counts and the parent.
    pub(super) fn local_header(&self) -> u32 {
        2 + self.number()
    }

    fn number(&self) -> u32 {
        if self.wide { 8 } else { 4 }
    }

    /// Hash entries of a leaf block of a tree, and children of a node.
    pub(super) fn leaf_room(&self) -> usize {
        ((self.block - self.header) / HASH_ENTRY) as usize
    }

    /// Data blocks that a block of the free index covers.
    pub(super) fn free_room(&self) -> usize {
        ((self.block - self.header) / 2) as usize
    }

    /// Whether a leaf block without a tree has room for hash entries and the best free area of each data block.
    fn fits_leaf(&self, entries: usize, blocks: usize) -> bool {
        let need = entries * HASH_ENTRY as usize + blocks * 2;
        need + (self.header + LEAF_TAIL) as usize <= self.block as usize
    }

    /// Where the first name after `.` and `..` is.
    fn first(&self) -> u32 {
        self.header + self.entry(1) + self.entry(2)
    }

    /// The number of 8 bytes at which an entry of a block is: what hash entries hold.
    fn pointer(&self, block: u32, offset: u32) -> u32 {
        ((u64::from(block) * u64::from(self.block) + u64::from(offset)) >> 3) as u32
    }
}

/// How a directory is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// In the inode.
    Local,
    /// Names and hash entries in one block.
    Block,
    /// Data blocks and one leaf block.
    Leaf,
    /// Data blocks, leaf blocks under nodes, and a free index.
    Node,
}

/// A block of a directory, by the part of the file and its number there, in directory blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    Data(u32),
    /// A leaf or a node.
    Leaf(u32),
    Free(u32),
}

#[derive(Debug)]
struct Name {
    /// Its first byte in [`Shape::bytes`].
    at: u32,
    len: u8,
    hash: u32,
    /// Where its entry is, see [`Rules::pointer`].
    pointer: u32,
    target: Target,
}

/// One directory, without inode numbers.
#[derive(Debug)]
pub(super) struct Shape {
    pub(super) form: Form,
    names: Vec<Name>,
    bytes: Vec<u8>,
    live: u32,
    /// In the inode: names in the order of their offsets in a block.
    pub(super) local: Vec<(u32, u32)>,
    /// Data blocks; none for a block that was freed.
    pub(super) data: Vec<Option<Data>>,
    /// Leaf blocks in the order of their hashes; one for the forms of one block and of one leaf.
    pub(super) leaves: Vec<Leaf>,
    /// Blocks in the order of their allocation.
    pub(super) births: Vec<Place>,
    /// Levels of nodes, the lowest first: number and first child of each.
    pub(super) levels: Vec<Vec<(u32, usize)>>,
    next_leaf: u32,
    free_blocks: u32,
    /// Data blocks that were freed before the last one.
    holes: usize,
    /// For each size of entry, a block before which none has room.
    from: [u32; 40],
}

impl Shape {
    /// Grows a directory.
    ///
    /// # Errors
    ///
    /// [`Error::Option`] for more names than can be made.
    pub(super) fn grow(rules: &Rules, names: &Names, history: &History<'_>) -> Result<Self, Error> {
        use crate::population::Change;
        if history.names() > MOST_NAMES {
            return Err(too_many(history.names()));
        }
        let mut this = Self::empty();
        let mut place = [0; 255];
        history.changes::<Error>(&mut |change| {
            match change {
                Change::Removal => this.remove_gone(rules),
                // XFS has no lost+found until a repair makes one.
                Change::Name(_, _, Target::LostAndFound) => {}
                Change::Name(_, _, target) => {
                    let len = change.name(names, history.recipe.set, &mut place);
                    this.add(rules, &place[..len.into()], target);
                }
            }
            Ok(())
        })?;
        this.finish(rules);
        Ok(this)
    }

    fn empty() -> Self {
        Self {
            form: Form::Local,
            names: Vec::new(),
            bytes: Vec::new(),
            live: 0,
            local: Vec::new(),
            data: Vec::new(),
            leaves: Vec::new(),
            births: Vec::new(),
            levels: Vec::new(),
            next_leaf: 0,
            free_blocks: 0,
            holes: 0,
            from: [0; 40],
        }
    }

    /// The bytes and the target of a name.
    pub(super) fn name(&self, id: u32) -> Option<(&[u8], Target)> {
        let name = self.names.get(id as usize)?;
        let at = name.at as usize;
        let bytes = self.bytes.get(at..at + usize::from(name.len))?;
        Some((bytes, name.target))
    }

    /// Where a hash entry points: 0 for a stale one.
    pub(super) fn pointer(&self, rules: &Rules, id: u32) -> u32 {
        match id {
            STALE => 0,
            DOT => rules.pointer(0, rules.header),
            DOT_DOT => rules.pointer(0, rules.header + rules.entry(1)),
            id => self.names.get(id as usize).map_or(0, |name| name.pointer),
        }
    }

    /// Bytes of memory it takes.
    pub(super) fn memory(&self) -> usize {
        self.bytes.capacity() + self.names.capacity() * 44 + self.births.len() * 80 + 256
    }
}

/// Too many names for one directory.
pub(super) fn too_many(names: u64) -> Error {
    Error::Option(format!(
        "a directory with {names} names, those that were removed counted, cannot be made: {MOST_NAMES} are possible; put fewer into each"
    ))
}
