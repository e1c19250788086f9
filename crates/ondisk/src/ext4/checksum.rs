//! The seed of ext4's checksums: CRC-16 in old group descriptors, CRC-32C in everything newer.
//!
//! With `metadata_csum` all checksums start from one seed, that of the filesystem's UUID or the one
//! stored in the superblock (`metadata_csum_seed`, so that the UUID may change later). See
//! Documentation/filesystems/ext4/checksums.rst.

pub use crate::checksum::{Checksum, crc16, crc32_be, crc32c};

/// The start value of every `metadata_csum` checksum of one filesystem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Seed(pub u32);

impl Seed {
    /// The seed that belongs to a UUID: its CRC-32C from all ones.
    pub fn of_uuid(uuid: &[u8; 16]) -> Self {
        Self(crc32c(!0, uuid))
    }

    /// The checksum of `bytes` from this seed on.
    pub fn over(self, bytes: &[u8]) -> u32 {
        crc32c(self.0, bytes)
    }

    /// The seed of structures that belong to an inode (extent blocks, directory blocks): the number and
    /// generation of the inode are mixed in, so that a block of another file, or of an earlier file
    /// with the same number, is not taken for this one's.
    #[must_use]
    pub fn of_inode(self, ino: u32, generation: u32) -> Self {
        let mut bytes = [0; 8];
        bytes[..4].copy_from_slice(&ino.to_le_bytes());
        bytes[4..].copy_from_slice(&generation.to_le_bytes());
        Self(self.over(&bytes))
    }
}
