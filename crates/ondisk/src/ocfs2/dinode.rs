//! The inode: one block each (`struct ocfs2_dinode`). Its number is its block number.
//!
//! The head has a fixed size; the body ([`BODY`]) is a list of extents, of chains, a log, a bitmap, file contents, or the target of
//! a symbolic link, by the kind of inode.

use zerocopy::little_endian::{U16, U32, U64};

use super::check::BlockCheck;
use crate::bytes::{le32, le64};

/// `i_signature` of every inode but the superblock.
pub const SIGNATURE: [u8; 8] = *b"INODE01\0";
/// Offset of the body (`id2`).
pub const BODY: usize = 0xc0;
/// Offset of file contents in an inode with inline data (`id_data`).
pub const INLINE_DATA: usize = BODY + 8;
/// Offset of `i_check`.
pub const CHECK: usize = 0x80;
/// `i_suballoc_slot` of an inode from the global allocator.
pub const GLOBAL_SLOT: u16 = 0xffff;

/// Bits of `i_flags`.
pub mod flag {
    /// In use.
    pub const VALID: u32 = 0x1;
    /// In an orphan directory.
    pub const ORPHANED: u32 = 0x4;
    /// A system file.
    pub const SYSTEM: u32 = 0x10;
    /// The superblock.
    pub const SUPER_BLOCK: u32 = 0x20;
    /// Holds a window of the local allocator.
    pub const LOCAL_ALLOC: u32 = 0x40;
    /// An allocator's bitmap.
    pub const BITMAP: u32 = 0x80;
    /// A journal.
    pub const JOURNAL: u32 = 0x100;
    /// The heartbeat file.
    pub const HEARTBEAT: u32 = 0x200;
    /// A chain allocator.
    pub const CHAIN: u32 = 0x400;
    /// A truncate log.
    pub const DEALLOC: u32 = 0x800;
    /// A quota file.
    pub const QUOTA: u32 = 0x1000;
    /// In an orphan directory because of a direct write.
    pub const DIO_ORPHANED: u32 = 0x2000;
}

/// Bits of `i_dyn_features`.
pub mod dynamic {
    /// Contents are in the inode.
    pub const INLINE_DATA: u16 = 0x1;
    /// Has extended attributes.
    pub const HAS_XATTR: u16 = 0x2;
    /// Extended attributes at the end of the inode.
    pub const INLINE_XATTR: u16 = 0x4;
    /// A directory with an index.
    pub const INDEXED_DIR: u16 = 0x8;
    /// Has a reference count tree.
    pub const HAS_REFCOUNT: u16 = 0x10;
}

structure! {
    /// The head of an inode.
    "OCFS2 inode" Dinode 0xc0 {
        /// [`SIGNATURE`], or the superblock's.
        i_signature: [u8; 8],
        /// Generation of the inode.
        i_generation: U32,
        /// Slot of the allocator that the inode is from; [`GLOBAL_SLOT`] for the global one.
        i_suballoc_slot: U16,
        /// Its bit in the group.
        i_suballoc_bit: U16,
        /// Links, high half.
        i_links_count_hi: U16,
        /// Bytes of inline extended attributes.
        i_xattr_inline_size: U16,
        /// Clusters in use.
        i_clusters: U32,
        /// Owner.
        i_uid: U32,
        /// Group.
        i_gid: U32,
        /// Bytes.
        i_size: U64,
        /// Type and permissions.
        i_mode: U16,
        /// Links, low half.
        i_links_count: U16,
        /// See [`flag`].
        i_flags: U32,
        /// Last access, seconds since 1970.
        i_atime: U64,
        /// Last change of the inode, seconds since 1970.
        i_ctime: U64,
        /// Last change of the contents, seconds since 1970.
        i_mtime: U64,
        /// Deletion, seconds since 1970.
        i_dtime: U64,
        /// Block of this inode.
        i_blkno: U64,
        /// The extent block of the last leaf; 0 where the inode holds all extents.
        i_last_eb_blk: U64,
        /// Generation of the filesystem.
        i_fs_generation: U32,
        /// Nanoseconds of `i_atime`.
        i_atime_nsec: U32,
        /// Nanoseconds of `i_ctime`.
        i_ctime_nsec: U32,
        /// Nanoseconds of `i_mtime`.
        i_mtime_nsec: U32,
        /// Attributes (chattr).
        i_attr: U32,
        /// Slot of the orphan directory that holds it.
        i_orphaned_slot: U16,
        /// See [`dynamic`].
        i_dyn_features: U16,
        /// Block of extended attributes; 0: none.
        i_xattr_loc: U64,
        /// Checksum of the block.
        i_check: BlockCheck,
        /// Root of the directory's index; 0: none.
        i_dx_root: U64,
        /// Root of the reference count tree; 0: none.
        i_refcount_loc: U64,
        /// Block of the group that the inode is from; 0: not recorded.
        i_suballoc_loc: U64,
        /// Slot of the orphan directory that holds it because of a direct write.
        i_dio_orphaned_slot: U16,
        /// Zero.
        i_reserved1: [u8; 6],
        /// Zero.
        i_reserved2: [u8; 16],
        /// By the kind of inode: device number, used and total bits of an allocator, or flags of a journal.
        id1: [u8; 8],
    }
}

impl Dinode {
    /// Links: both halves.
    pub fn links(&self) -> u32 {
        u32::from(self.i_links_count_hi.get()) << 16 | u32::from(self.i_links_count.get())
    }

    /// Sets both halves of the links.
    pub fn set_links(&mut self, links: u32) {
        self.i_links_count.set(links as u16);
        self.i_links_count_hi.set((links >> 16) as u16);
    }

    /// Whether `i_flags` has all these bits.
    pub fn has_flag(&self, flag: u32) -> bool {
        self.i_flags.get() & flag == flag
    }

    /// Whether `i_dyn_features` has all these bits.
    pub fn has_dynamic(&self, feature: u16) -> bool {
        self.i_dyn_features.get() & feature == feature
    }

    /// `bitmap1.i_used`: bits of an allocator in use.
    pub fn used(&self) -> u32 {
        le32(&self.id1, 0)
    }

    /// `bitmap1.i_total`: bits of an allocator.
    pub fn total(&self) -> u32 {
        le32(&self.id1, 4)
    }

    /// Sets [`Self::used`] and [`Self::total`].
    pub fn set_bitmap(&mut self, used: u32, total: u32) {
        self.id1[..4].copy_from_slice(&used.to_le_bytes());
        self.id1[4..].copy_from_slice(&total.to_le_bytes());
    }

    /// `dev1.i_rdev`: the number of a device file.
    pub fn rdev(&self) -> u64 {
        le64(&self.id1, 0)
    }

    /// Sets [`Self::rdev`].
    pub fn set_rdev(&mut self, device: u64) {
        self.id1 = device.to_le_bytes();
    }

    /// `journal1.ij_flags`: 1 where the journal was not closed.
    pub fn journal_flags(&self) -> u32 {
        le32(&self.id1, 0)
    }

    /// `journal1.ij_recovery_generation`.
    pub fn recovery_generation(&self) -> u32 {
        le32(&self.id1, 4)
    }

    /// Sets [`Self::journal_flags`] and [`Self::recovery_generation`].
    pub fn set_journal(&mut self, flags: u32, generation: u32) {
        self.set_bitmap(flags, generation);
    }

    /// Bytes of the body's end that extended attributes take.
    pub fn xattr_tail(&self) -> usize {
        if self.has_dynamic(dynamic::INLINE_XATTR) {
            usize::from(self.i_xattr_inline_size.get())
        } else {
            0
        }
    }
}

structure! {
    /// The head of inline contents; they follow it ([`INLINE_DATA`]).
    "OCFS2 inline data" InlineHead 8 {
        /// Bytes of room for contents.
        id_count: U16,
        /// Zero.
        id_reserved0: U16,
        /// Zero.
        id_reserved1: U32,
    }
}

/// Bytes of room for inline contents beside `xattr` bytes of inline attributes.
pub fn inline_room(block_size: usize, xattr: usize) -> usize {
    block_size.saturating_sub(INLINE_DATA).saturating_sub(xattr)
}

/// Bytes of room for the target of a symbolic link in the inode, its final NUL included.
pub fn symlink_room(block_size: usize) -> usize {
    block_size.saturating_sub(BODY)
}
