//! Inodes: the core, and where the two forks are in the rest.

use zerocopy::big_endian::{U16, U32, U64};

use super::Geometry;
use crate::bytes::{be16, be32, be64};

/// `IN`.
pub const MAGIC: u16 = 0x494e;

structure! {
    /// An inode of version 3 (`struct xfs_dinode`). Versions 1 and 2 end before `di_crc`.
    "XFS inode" Dinode 176 {
        /// [`MAGIC`].
        di_magic: U16,
        /// File type and permissions.
        di_mode: U16,
        /// 3 in version 5; 1 or 2 in version 4.
        di_version: u8,
        /// Format of the data fork, see [`Format`].
        di_format: u8,
        /// Links in version 1; zero since.
        di_onlink: U16,
        /// Owner.
        di_uid: U32,
        /// Group.
        di_gid: U32,
        /// Links.
        di_nlink: U32,
        /// Project, low half.
        di_projid_lo: U16,
        /// Project, high half.
        di_projid_hi: U16,
        /// Data extents with `nrext64`; zero otherwise (in versions 1 and 2 the last 16 bits count flushes).
        di_big_nextents: U64,
        /// Last access.
        di_atime: U64,
        /// Last change of the contents.
        di_mtime: U64,
        /// Last change of the inode.
        di_ctime: U64,
        /// Bytes of the file.
        di_size: U64,
        /// Blocks of both forks, those of their btrees included.
        di_nblocks: U64,
        /// Extent size hint, blocks.
        di_extsize: U32,
        /// Data extents; attribute extents with `nrext64`.
        di_nextents: U32,
        /// Attribute extents; zero with `nrext64`.
        di_anextents: U16,
        /// Start of the attribute fork in the literal area, units of 8 bytes; 0: there is none.
        di_forkoff: u8,
        /// Format of the attribute fork.
        di_aformat: u8,
        /// Unused (DMAPI).
        di_dmevmask: U32,
        /// Unused (DMAPI).
        di_dmstate: U16,
        /// See [`flag`].
        di_flags: U16,
        /// Generation.
        di_gen: U32,
        /// The next inode of a list of unlinked ones, within the allocation group; all ones: none.
        di_next_unlinked: U32,
        /// Checksum of the inode.
        di_crc: [u8; 4],
        /// Changes so far.
        di_changecount: U64,
        /// Log sequence number of the last write.
        di_lsn: U64,
        /// See [`flag2`].
        di_flags2: U64,
        /// Extent size hint of copies on write, blocks.
        di_cowextsize: U32,
        /// Zero.
        di_pad2: [u8; 12],
        /// Creation.
        di_crtime: U64,
        /// Number of this inode.
        di_ino: U64,
        /// UUID of the filesystem.
        di_uuid: [u8; 16],
    }
}

/// Bytes of the core.
#[inline]
pub fn core_size(v5: bool) -> usize {
    if v5 { Dinode::SIZE } else { 100 }
}

/// Formats of a fork (`enum xfs_dinode_fmt`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A device number.
    Dev = 0,
    /// The contents.
    Local = 1,
    /// A list of extents.
    Extents = 2,
    /// The root of a btree of extents.
    Btree = 3,
    /// Unused.
    Uuid = 4,
    /// Unused: a metadata btree of a newer format.
    Other = 5,
}

impl Format {
    /// The format with this number; none above 4.
    #[inline]
    pub fn from_byte(byte: u8) -> Option<Format> {
        Some(match byte {
            0 => Format::Dev,
            1 => Format::Local,
            2 => Format::Extents,
            3 => Format::Btree,
            4 => Format::Uuid,
            _ => return None,
        })
    }
}

/// Bits of `di_flags`.
pub mod flag {
    /// Contents are on the realtime device.
    pub const REALTIME: u16 = 1 << 0;
    /// Space was reserved before it was written.
    pub const PREALLOC: u16 = 1 << 1;
    /// The realtime bitmap is of the newer form.
    pub const NEWRTBM: u16 = 1 << 2;
    /// Writes only append.
    pub const APPEND: u16 = 1 << 4;
    /// New files of the directory are on the realtime device.
    pub const RTINHERIT: u16 = 1 << 8;
    /// New files of the directory have its project.
    pub const PROJINHERIT: u16 = 1 << 9;
    /// The directory takes no symbolic links.
    pub const NOSYMLINKS: u16 = 1 << 10;
    /// `di_extsize` is valid.
    pub const EXTSIZE: u16 = 1 << 11;
    /// New files of the directory have its extent size hint.
    pub const EXTSZINHERIT: u16 = 1 << 12;
    /// All bits that exist.
    pub const ANY: u16 = 0x7fff;
}

/// Bits of `di_flags2`.
pub mod flag2 {
    /// Access without the page cache.
    pub const DAX: u64 = 1 << 0;
    /// Blocks may be shared.
    pub const REFLINK: u64 = 1 << 1;
    /// `di_cowextsize` is valid.
    pub const COWEXTSIZE: u64 = 1 << 2;
    /// Timestamps of 64 bits.
    pub const BIGTIME: u64 = 1 << 3;
    /// Extent counters of 64 bits.
    pub const NREXT64: u64 = 1 << 4;
    /// All bits that exist.
    pub const ANY: u64 = 0x1f;
}

/// File types of `di_mode`.
pub mod mode {
    /// The bits of the type.
    pub const TYPE: u16 = 0o170_000;
    /// Pipe.
    pub const FIFO: u16 = 0o010_000;
    /// Character device.
    pub const CHAR: u16 = 0o020_000;
    /// Directory.
    pub const DIRECTORY: u16 = 0o040_000;
    /// Block device.
    pub const BLOCK: u16 = 0o060_000;
    /// Regular file.
    pub const REGULAR: u16 = 0o100_000;
    /// Symbolic link.
    pub const SYMLINK: u16 = 0o120_000;
    /// Socket.
    pub const SOCKET: u16 = 0o140_000;
}

/// An inode in its bytes.
#[derive(Debug, Clone, Copy)]
pub struct Inode<'a> {
    bytes: &'a [u8],
    v5: bool,
}

impl<'a> Inode<'a> {
    /// The inode in these bytes, which should be as many as the inode has. Fields past their end read as zero.
    #[inline]
    pub fn new(geometry: &Geometry, bytes: &'a [u8]) -> Inode<'a> {
        Inode {
            bytes,
            v5: geometry.v5,
        }
    }

    /// All of its bytes.
    #[inline]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// `di_magic`.
    #[inline]
    pub fn magic(&self) -> u16 {
        be16(self.bytes, 0)
    }

    /// `di_mode`.
    #[inline]
    pub fn mode(&self) -> u16 {
        be16(self.bytes, 2)
    }

    /// The type of the file, one of [`mode`].
    #[inline]
    pub fn file_type(&self) -> u16 {
        self.mode() & mode::TYPE
    }

    /// `di_version`.
    #[inline]
    pub fn version(&self) -> u8 {
        self.byte(4)
    }

    /// `di_format`.
    #[inline]
    pub fn format(&self) -> u8 {
        self.byte(5)
    }

    /// `di_onlink`.
    #[inline]
    pub fn onlink(&self) -> u16 {
        be16(self.bytes, 6)
    }

    /// `di_uid`.
    #[inline]
    pub fn uid(&self) -> u32 {
        be32(self.bytes, 8)
    }

    /// `di_gid`.
    #[inline]
    pub fn gid(&self) -> u32 {
        be32(self.bytes, 12)
    }

    /// `di_nlink`, of version 1 `di_onlink`.
    #[inline]
    pub fn nlink(&self) -> u32 {
        if self.version() == 1 {
            self.onlink().into()
        } else {
            be32(self.bytes, 16)
        }
    }

    /// Both halves of the project.
    #[inline]
    pub fn projid(&self) -> u32 {
        u32::from(be16(self.bytes, 22)) << 16 | u32::from(be16(self.bytes, 20))
    }

    /// The 64 bits at `di_big_nextents`.
    #[inline]
    pub fn v3_pad(&self) -> u64 {
        be64(self.bytes, 24)
    }

    /// `di_size`.
    #[inline]
    pub fn size(&self) -> u64 {
        be64(self.bytes, 56)
    }

    /// `di_nblocks`.
    #[inline]
    pub fn nblocks(&self) -> u64 {
        be64(self.bytes, 64)
    }

    /// `di_extsize`.
    #[inline]
    pub fn extsize(&self) -> u32 {
        be32(self.bytes, 72)
    }

    /// Extents of the data fork.
    #[inline]
    pub fn nextents(&self) -> u64 {
        if self.has_nrext64() {
            self.v3_pad()
        } else {
            be32(self.bytes, 76).into()
        }
    }

    /// Extents of the attribute fork.
    #[inline]
    pub fn anextents(&self) -> u32 {
        if self.has_nrext64() {
            be32(self.bytes, 76)
        } else {
            be16(self.bytes, 80).into()
        }
    }

    /// The 16 bits at `di_anextents`.
    #[inline]
    pub fn nrext64_pad(&self) -> u16 {
        be16(self.bytes, 80)
    }

    /// `di_forkoff`.
    #[inline]
    pub fn forkoff(&self) -> u8 {
        self.byte(82)
    }

    /// `di_aformat`.
    #[inline]
    pub fn aformat(&self) -> u8 {
        self.byte(83)
    }

    /// `di_flags`.
    #[inline]
    pub fn flags(&self) -> u16 {
        be16(self.bytes, 90)
    }

    /// `di_gen`.
    #[inline]
    pub fn generation(&self) -> u32 {
        be32(self.bytes, 92)
    }

    /// `di_next_unlinked`.
    #[inline]
    pub fn next_unlinked(&self) -> u32 {
        be32(self.bytes, 96)
    }

    /// `di_flags2`; 0 before version 3.
    #[inline]
    pub fn flags2(&self) -> u64 {
        if self.version() >= 3 {
            be64(self.bytes, 120)
        } else {
            0
        }
    }

    /// `di_cowextsize`.
    #[inline]
    pub fn cowextsize(&self) -> u32 {
        be32(self.bytes, 128)
    }

    /// `di_ino`.
    #[inline]
    pub fn ino(&self) -> u64 {
        be64(self.bytes, 152)
    }

    /// `di_uuid`.
    #[inline]
    pub fn uuid(&self) -> &'a [u8] {
        self.bytes.get(160..176).unwrap_or_default()
    }

    /// A timestamp by its offset: 32 access, 40 contents, 48 change, 144 creation.
    #[inline]
    pub fn time(&self, at: usize) -> u64 {
        be64(self.bytes, at)
    }

    /// Whether extent counters have 64 bits.
    #[inline]
    pub fn has_nrext64(&self) -> bool {
        self.flags2() & flag2::NREXT64 != 0
    }

    /// Whether timestamps have 64 bits.
    #[inline]
    pub fn has_bigtime(&self) -> bool {
        self.flags2() & flag2::BIGTIME != 0
    }

    /// Whether it is a realtime file.
    #[inline]
    pub fn is_realtime(&self) -> bool {
        self.flags() & flag::REALTIME != 0
    }

    /// The bytes after the core.
    #[inline]
    pub fn literal(&self) -> &'a [u8] {
        self.bytes.get(core_size(self.v5)..).unwrap_or_default()
    }

    /// The data fork.
    #[inline]
    pub fn data_fork(&self) -> &'a [u8] {
        let literal = self.literal();
        match usize::from(self.forkoff()) * 8 {
            0 => literal,
            at => &literal[..at.min(literal.len())],
        }
    }

    /// The attribute fork; empty where there is none.
    #[inline]
    pub fn attr_fork(&self) -> &'a [u8] {
        match usize::from(self.forkoff()) * 8 {
            0 => &[],
            at => self.literal().get(at..).unwrap_or_default(),
        }
    }

    #[inline]
    fn byte(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or(0)
    }
}
