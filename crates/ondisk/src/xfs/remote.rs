//! Blocks of remote attribute values and of symbolic links, which have the same head in version 5 and none in version 4.

use zerocopy::big_endian::{U32, U64};

use super::Geometry;

/// `XARM`: a block of a remote attribute value.
pub const ATTR_MAGIC: u32 = 0x5841_524d;
/// `XSLM`: a block of a symbolic link.
pub const SYMLINK_MAGIC: u32 = 0x5853_4c4d;
/// Bytes of the target of a symbolic link, with a NUL that is not stored.
pub const MOST_TARGET: u64 = 1024;

structure! {
    /// The head (`struct xfs_attr3_rmt_hdr`, `struct xfs_dsymlink_hdr`).
    "XFS remote block" RemoteHead 56 {
        /// [`ATTR_MAGIC`] or [`SYMLINK_MAGIC`].
        magic: U32,
        /// First byte of the value in this block.
        offset: U32,
        /// Bytes of the value in this block.
        bytes: U32,
        /// Checksum: of the block, of a symbolic link of the extent.
        crc: [u8; 4],
        /// UUID of the filesystem.
        uuid: [u8; 16],
        /// Inode.
        owner: U64,
        /// This block, in units of 512 bytes.
        blkno: U64,
        /// Log sequence number of the last write.
        lsn: U64,
    }
}

/// Bytes of the head.
pub fn header(v5: bool) -> usize {
    if v5 { RemoteHead::SIZE } else { 0 }
}

/// Bytes of a value that one block has.
pub fn payload(geometry: &Geometry) -> usize {
    geometry.block_size as usize - header(geometry.v5)
}

/// Blocks of a value of this many bytes.
pub fn blocks(geometry: &Geometry, bytes: u64) -> u64 {
    bytes.div_ceil(payload(geometry) as u64)
}
