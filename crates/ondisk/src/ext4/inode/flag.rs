//! `i_flags`.

/// Secure deletion, never done.
pub const SECRM: u32 = 0x1;
/// Undeletion, never done.
pub const UNRM: u32 = 0x2;
/// Compressed, never done.
pub const COMPR: u32 = 0x4;
/// Writes are synchronous.
pub const SYNC: u32 = 0x8;
/// May not change.
pub const IMMUTABLE: u32 = 0x10;
/// May only grow.
pub const APPEND: u32 = 0x20;
/// dump(8) leaves it out.
pub const NODUMP: u32 = 0x40;
/// The access time stays.
pub const NOATIME: u32 = 0x80;
/// Encrypted.
pub const ENCRYPT: u32 = 0x800;
/// An indexed directory.
pub const INDEX: u32 = 0x1000;
/// An AFS server inode.
pub const IMAGIC: u32 = 0x2000;
/// Data go through the journal.
pub const JOURNAL_DATA: u32 = 0x4000;
/// No tail merging, never done.
pub const NOTAIL: u32 = 0x8000;
/// Changes of the directory are synchronous.
pub const DIRSYNC: u32 = 0x1_0000;
/// Subdirectories are unrelated.
pub const TOPDIR: u32 = 0x2_0000;
/// `i_blocks` counts filesystem blocks.
pub const HUGE_FILE: u32 = 0x4_0000;
/// Mapped by extents.
pub const EXTENTS: u32 = 0x8_0000;
/// Has a Merkle tree past its end.
pub const VERITY: u32 = 0x10_0000;
/// Holds the value of an extended attribute.
pub const EA_INODE: u32 = 0x20_0000;
/// Blocks past the end; no longer set, but old filesystems have it.
pub const EOFBLOCKS: u32 = 0x40_0000;
/// Mapped directly from persistent memory.
pub const DAX: u32 = 0x200_0000;
/// The content is in the inode.
pub const INLINE_DATA: u32 = 0x1000_0000;
/// New files get the project of the directory.
pub const PROJINHERIT: u32 = 0x2000_0000;
/// Names are compared with case folded.
pub const CASEFOLD: u32 = 0x4000_0000;
