//! o2image's packed files: the metadata blocks of a volume, one after the other.
//!
//! A header, the blocks in ascending order from the first block of the file on, and at the end a bitmap of the blocks that are in the file.

use zerocopy::little_endian::{U32, U64};

/// `hdr_magic`.
pub const MAGIC: [u8; 4] = [0x5f, 0xd4, 0xa3, 0x72];
/// `hdr_magic_2`.
pub const NAME: [u8; 16] = *b"OCFS2 IMAGE\0\0\0\0\0";
/// Bytes of a block of the bitmap.
pub const BITMAP_BLOCK: u64 = 4096;

structure! {
    /// The header (`struct ocfs2_image_hdr`), without its list of superblocks.
    "o2image header" ImageHeader 0x40 {
        /// [`MAGIC`].
        hdr_magic: [u8; 4],
        /// When it was made, seconds since 1970.
        hdr_timestamp: U32,
        /// [`NAME`].
        hdr_magic_2: [u8; 16],
        /// 1.
        hdr_version: U64,
        /// Blocks of the volume.
        hdr_fsblkcnt: U64,
        /// Bytes of a block.
        hdr_fsblksz: U64,
        /// Blocks in the file.
        hdr_imgblkcnt: U64,
        /// [`BITMAP_BLOCK`].
        hdr_bmpblksz: U64,
    }
}

impl ImageHeader {
    /// Whether the file is one of o2image's.
    pub fn is_image(&self) -> bool {
        self.hdr_magic == MAGIC && self.hdr_magic_2.starts_with(b"OCFS2 IMAGE")
    }
}
