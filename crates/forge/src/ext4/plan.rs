//! What the layout needs to know of a population, in ext4's terms.
//!
//! Two halves make a filesystem. [`Objects`] has the directories and files, with their sizes in
//! blocks, flags and attributes; it knows nothing of groups. The layout gives each of them an inode
//! number and blocks, and writes. One order connects the two: directories ascend by number, and
//! within a directory its *slots* ascend. A slot is room for one inode, in use or left free. Slot 0
//! is the directory itself, the others are what it holds apart from subdirectories, which have
//! numbers of their own. Slots become inode numbers in this order, and so do blocks: files are near
//! their directory, as the kernel would have put them.
//!
//! Objects are queried, never iterated: every answer is a pure function of a directory's number and
//! a slot. Nothing is kept for each file, and several threads may build several groups at once.
//!
//! The root is directory 0 and has inode 2; `lost+found` is made by mke2fs with inode 11, but its name in the
//! root's blocks is written with the root's content ([`Home::LOST_AND_FOUND`]).
//!
//! Sizes of directories depend on the block size, the hash and its seed. Objects are therefore made for a
//! superblock ([`super::Contents::new`]), which mke2fs has written before anything is placed.

use std::ops::Range;

use ondisk::ext4::inode::{InodeMut, flag};
use ondisk::ext4::{FileType, Seed, Superblock};

pub use crate::population::{ObjectId, Piece};

use crate::Error;

/// What a slot holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kind {
    /// Nothing: the inode is free (an inode that was freed and not used again).
    #[default]
    Free,
    /// A regular file.
    File,
    /// The directory itself; slot 0 and no other.
    Directory,
    /// A symbolic link whose target is in the inode, written by [`Objects::finish_inode`] into `i_block`.
    FastSymlink,
    /// A symbolic link with a block, written by [`Objects::content`].
    Symlink,
    /// A character device; [`Objects::finish_inode`] writes its number.
    CharacterDevice,
    /// A block device, likewise.
    BlockDevice,
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// The value of an extended attribute (the feature `ea_inode`); [`Objects::finish_inode`] writes its reference count and
    /// hash, [`Objects::content`] the value.
    Value,
}

impl Kind {
    /// The type for `i_mode` and for directory entries, `None` for a free slot.
    pub fn file_type(self) -> Option<FileType> {
        Some(match self {
            Self::Free => return None,
            Self::File | Self::Value => FileType::Regular,
            Self::Directory => FileType::Directory,
            Self::FastSymlink | Self::Symlink => FileType::Symlink,
            Self::CharacterDevice => FileType::CharDevice,
            Self::BlockDevice => FileType::BlockDevice,
            Self::Fifo => FileType::Fifo,
            Self::Socket => FileType::Socket,
        })
    }

    /// Whether it may have blocks of its own.
    pub fn has_blocks(self) -> bool {
        matches!(
            self,
            Self::File | Self::Directory | Self::Symlink | Self::Value
        )
    }
}

/// One inode, as far as the layout must know it. [`Object::default`] is a free slot.
#[allow(
    clippy::struct_excessive_bools,
    reason = "independent facts, each named"
)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Object {
    /// What it is.
    pub kind: Kind,
    /// Bytes (`i_size`). A directory's size is a whole number of blocks, at least one, unless it is in its inode.
    pub size: u64,
    /// Names. For a directory two and one for each subdirectory (of the root, `lost+found` is one); what is too many for
    /// the format becomes 1, as `dir_nlink` has it.
    pub links: u32,
    /// Permission bits; the type is added.
    pub permissions: u16,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Project (`i_projid`), which inodes of 128 bytes have not.
    pub project: u32,
    /// All times, seconds since 1970; 0 means the time of the filesystem's creation.
    pub time: i64,
    /// Flags for `i_flags` beyond those that the layout sets (`INDEX` of a directory, for example).
    /// With `INLINE_DATA` the content of a file or directory is in its inode: it has no blocks, and
    /// [`Objects::finish_inode`] writes it.
    pub flags: u32,
    /// The blocks come in pieces, see [`Objects::pieces`]; otherwise they are one run, as far as the filesystem's
    /// own metadata allow.
    pub fragmented: bool,
    /// Blocks left free after its last one.
    pub gap: u32,
    /// It has a block of extended attributes, see [`Objects::xattr_block`].
    pub xattr_block: bool,
    /// That block is the one of the last object before it that has one of its own.
    pub xattr_shared: bool,
    /// [`Objects::finish_inode`] has something to write.
    pub finish: bool,
    /// [`Objects::content`] has something to write. Directories with blocks, symbolic links with blocks and values always have.
    pub content: bool,
}

impl Object {
    /// Whether it may have blocks of its own.
    pub(crate) fn has_blocks(&self) -> bool {
        self.kind.has_blocks() && self.flags & flag::INLINE_DATA == 0
    }

    /// Its blocks, where it is a file of one run and there is nothing else to say of it.
    pub(crate) fn plain_blocks(&self, block_size: u32) -> Option<u64> {
        let plain = self.kind == Kind::File
            && !(self.fragmented || self.xattr_block || self.finish || self.content)
            && self.gap == 0;
        plain.then(|| self.size.div_ceil(block_size.into()))
    }
}

/// What quotas charge an object for beside its own blocks and inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Owed {
    /// Bytes.
    pub bytes: u64,
    /// Inodes.
    pub inodes: u64,
}

/// What exists, as the layout needs it. All methods are pure; several threads ask at once.
pub trait Objects: Sync {
    /// Directories with the root, at least 1.
    fn directories(&self) -> u32;

    /// Slots of a directory, at least 1: itself, what it holds apart from subdirectories, and inodes left free. Asked
    /// for every directory in turn and then at random: cheap, and without allocation.
    fn slots(&self, directory: u32) -> u32;

    /// Content of a slot. Must be cheap: it is called three times for each inode.
    fn object(&self, id: ObjectId) -> Object;

    /// Calls `each` for each of these slots, ascending. To be overridden where a whole range is cheaper than its slots
    /// one by one.
    fn visit(&self, directory: u32, slots: Range<u32>, each: &mut dyn FnMut(u32, &Object)) {
        for slot in slots {
            each(slot, &self.object(ObjectId { directory, slot }));
        }
    }

    /// The object that every one of these slots holds, where that is known without a look at each: most of a large population is
    /// alike, and then a whole run of inodes is placed at once. `None` is always right.
    fn alike(&self, directory: u32, slots: Range<u32>) -> Option<Object> {
        let _ = (directory, slots);
        None
    }

    /// The pieces of a fragmented object, ascending by logical block, pushed to the empty `pieces`. Their blocks and holes
    /// should cover the size.
    fn pieces(&self, id: ObjectId, object: &Object, pieces: &mut Vec<Piece>) {
        let _ = (id, object, pieces);
    }

    /// What an object is charged for the values of attributes that have inodes of their own, shared
    /// ones too; those inodes themselves are not charged. Called only in filesystems with quotas.
    /// The kernel counts whole clusters, and one inode for each value.
    fn owed(&self, id: ObjectId) -> Owed {
        let _ = id;
        Owed::default()
    }

    /// Writes what the layout cannot know into an inode that is complete but for its checksum: a short target, a device
    /// number, extended attributes after the fields, a value's reference count.
    ///
    /// # Errors
    ///
    /// Whatever stops the work.
    fn finish_inode(
        &self,
        id: ObjectId,
        home: &Home<'_>,
        inode: &mut InodeMut<'_>,
    ) -> Result<(), Error> {
        let _ = (id, home, inode);
        Ok(())
    }

    /// Writes a whole block of extended attributes, of which the object is the first or only owner, with its checksum for the block number `at`. `block` is zero at first.
    ///
    /// # Errors
    ///
    /// Whatever stops the work.
    fn xattr_block(
        &self,
        id: ObjectId,
        home: &Home<'_>,
        at: u64,
        block: &mut [u8],
    ) -> Result<(), Error> {
        let _ = (id, home, at, block);
        Ok(())
    }

    /// Writes the blocks of an object, checksums of directory blocks included: whole blocks, each once; those that ascend go out
    /// together. What is not written is a hole in the image and reads as zeros; every block of a directory must be written.
    ///
    /// # Errors
    ///
    /// Whatever stops the work; errors of `blocks` are passed on.
    fn content(&self, id: ObjectId, home: &Home<'_>, blocks: &mut dyn Blocks) -> Result<(), Error>;
}

/// Takes the blocks of one object.
pub trait Blocks {
    /// Writes whole blocks from logical block `first` on.
    ///
    /// # Errors
    ///
    /// [`Error::Io`], and [`Error::Population`] for a block that the object does not have.
    fn write(&mut self, first: u32, bytes: &[u8]) -> Result<(), Error>;
}

/// Where inode numbers come from.
pub(crate) trait Numbers: Sync {
    /// The inode number of an object.
    fn inode(&self, id: ObjectId) -> u32;

    /// The inode number of a slot, and how many slots from there on are numbered one by one.
    fn run(&self, id: ObjectId) -> (u32, u32);
}

/// What an object must know of its surroundings to be written.
#[derive(Clone, Copy)]
pub struct Home<'a> {
    /// Its inode number.
    pub ino: u32,
    /// The seed of the checksums of its blocks (inode and generation mixed in), `None` without `metadata_csum`.
    pub seed: Option<Seed>,
    /// The filesystem: block size, features, hash and its seed.
    pub superblock: &'a Superblock,
    pub(crate) numbers: &'a dyn Numbers,
}

impl std::fmt::Debug for Home<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Home")
            .field("ino", &self.ino)
            .field("seed", &self.seed)
            .finish_non_exhaustive()
    }
}

impl Home<'_> {
    /// The inode of `lost+found`.
    pub const LOST_AND_FOUND: u32 = 11;

    /// The inode number of any object: a subdirectory (slot 0), or what another directory's entry
    /// links to. A slot that does not exist has 0.
    pub fn inode(&self, id: ObjectId) -> u32 {
        self.numbers.inode(id)
    }

    /// The inode number of a slot and for how many slots, this one counted, the numbers go on one by one; to number a whole
    /// directory with one or two look-ups.
    pub fn run(&self, id: ObjectId) -> (u32, u32) {
        self.numbers.run(id)
    }

    /// Bytes of a block.
    pub fn block_size(&self) -> u32 {
        self.superblock.block_size()
    }
}
