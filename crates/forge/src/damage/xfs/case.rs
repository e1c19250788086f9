//! A case: one fault, made on purpose, and how xfs_repair reports it.

use super::find::Find;
use super::volume::Volume;
use crate::damage::Error;
use ondisk::xfs::btree::Tree;

/// The sound filesystem that a case is tested on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Base {
    /// Version 5 as mkfs.xfs 6.1 makes it.
    Plain,
    /// The same with reverse mappings.
    Mapped,
    /// Version 4.
    Old,
}

/// A named fault.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// Its name: the code in small letters, and what distinguishes it from others of the same code.
    pub name: &'static str,
    /// The code of the problem.
    pub code: &'static str,
    /// The damage, in one line.
    pub about: &'static str,
    /// Words of a line that `xfs_repair -n` prints; none where it ends with 0.
    pub says: Option<&'static str>,
    /// The filesystem that it is tested on; others with the same features do as well.
    pub base: Base,
    edits: &'static [Edit],
    stale: bool,
}

/// A change of a field.
#[derive(Debug, Clone, Copy)]
pub(super) struct Edit {
    pub(super) at: At,
    /// Bytes from the structure's start.
    pub(super) offset: usize,
    /// Bytes of the field.
    pub(super) width: usize,
    pub(super) value: Value,
}

/// The structure with the field. Those without a group are of the first group that has one.
#[derive(Debug, Clone, Copy)]
pub(super) enum At {
    /// The superblock of a group.
    Superblock(u32),
    Agf(u32),
    Agi(u32),
    Agfl(u32),
    /// The root of a tree of group 1.
    Root(Tree),
    /// The first leaf of a tree of group 1.
    Leaf(Tree),
    /// A record of the first leaf, counted from 0.
    Record(Tree, usize),
    /// A pointer of the root.
    Pointer(Tree, usize),
    /// An inode.
    Inode(Find),
    /// What follows the core of an inode.
    Literal(Find),
    /// The attribute fork of an inode.
    AttributeFork(Find),
    /// An entry of a directory in its inode, counted from 0.
    LocalEntry(usize),
    /// The first data block of a directory.
    Data(Find),
    /// An entry of the first data block of a directory, counted from 0 with `.` and `..`.
    Entry(Find, usize),
    /// The numbers at the end of a directory of one block.
    Tail,
    /// A hash entry of a directory of one block, counted from 0.
    Hash(usize),
    /// The first block after the data blocks: the only leaf, or the root of a tree.
    Index(Find),
    /// The first leaf block of a directory with a tree.
    TreeLeaf,
    /// The first block of the free index.
    FreeIndex,
    /// The leaf of an attribute fork.
    AttributeLeaf,
    /// An entry of it.
    AttributeEntry(usize),
    /// A block of a remote value.
    RemoteValue,
    /// The block of a symbolic link.
    Target,
    /// The first leaf of a fork's btree.
    ForkLeaf,
    /// The first sector of the log.
    Log,
}

/// The new value of a field.
#[derive(Debug, Clone, Copy)]
pub(super) enum Value {
    Set(u64),
    /// Added, modulo the field's width.
    Add(u64),
    Or(u64),
    Without(u64),
}

/// A fault that xfs_repair reports with these words.
pub(super) const fn row(
    name: &'static str,
    code: &'static str,
    about: &'static str,
    says: &'static str,
    edits: &'static [Edit],
) -> Case {
    Case {
        name,
        code,
        about,
        says: Some(says),
        base: Base::Plain,
        edits,
        stale: false,
    }
}

/// A fault that xfs_repair does not see.
pub(super) const fn silent(
    name: &'static str,
    code: &'static str,
    about: &'static str,
    edits: &'static [Edit],
) -> Case {
    Case {
        says: None,
        ..row(name, code, about, "", edits)
    }
}

pub(super) const fn edit(at: At, offset: usize, width: usize, value: Value) -> Edit {
    Edit {
        at,
        offset,
        width,
        value,
    }
}

impl Case {
    pub(super) const fn on(mut self, base: Base) -> Self {
        self.base = base;
        self
    }

    /// The checksum stays that of the old bytes.
    pub(super) const fn stale(mut self) -> Self {
        self.stale = true;
        self
    }

    /// Makes the fault.
    ///
    /// # Errors
    ///
    /// The filesystem lacks what the case needs, is already damaged, or cannot be written.
    pub fn apply(&self, volume: &mut Volume<'_>) -> Result<(), Error> {
        let seal = volume.seal;
        volume.seal &= !self.stale;
        let result = self.edits.iter().try_for_each(|edit| volume.apply(edit));
        volume.seal = seal;
        result
    }
}
