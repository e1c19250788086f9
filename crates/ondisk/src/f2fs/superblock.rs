//! The f2fs superblock (include/linux/f2fs_fs.h, `struct f2fs_super_block`).

use fskind::Kind;
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::Error;
use crate::bytes::{le32, superblock, uuid};

/// Byte offsets of the two copies: 1 KiB into the first and the second block.
pub const OFFSETS: [u64; 2] = [FIRST, 4096 + FIRST];

/// The magic number is the first field.
const FIRST: u64 = Kind::F2fs.properties().signature.offsets[0];

/// Bytes of the superblock up to the features.
pub const SIZE: usize = 2184;

/// `feature`, by the names of mkfs.f2fs(8).
pub const FEATURES: &[(u64, &str)] = &[
    (0x1, "encrypt"),
    (0x2, "blkzoned"),
    (0x4, "atomic_write"),
    (0x8, "extra_attr"),
    (0x10, "project_quota"),
    (0x20, "inode_checksum"),
    (0x40, "flexible_inline_xattr"),
    (0x80, "quota"),
    (0x100, "inode_crtime"),
    (0x200, "lost_found"),
    (0x400, "verity"),
    (0x800, "sb_checksum"),
    (0x1000, "casefold"),
    (0x2000, "compression"),
    (0x4000, "ro"),
];

/// `struct f2fs_super_block` up to the features.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct Superblock {
    /// 0xF2F52010.
    pub magic: [u8; 4],
    /// Major version of the mkfs that made it.
    pub major_ver: U16,
    /// Minor version.
    pub minor_ver: U16,
    /// log2 of the sector size.
    pub log_sectorsize: U32,
    /// log2 of the sectors of a block.
    pub log_sectors_per_block: U32,
    /// log2 of the block size.
    pub log_blocksize: U32,
    /// log2 of the blocks of a segment.
    pub log_blocks_per_seg: U32,
    /// Segments of a section.
    pub segs_per_sec: U32,
    /// Sections of a zone.
    pub secs_per_zone: U32,
    /// Byte offset of the checksum.
    pub checksum_offset: U32,
    /// Blocks.
    pub block_count: U64,
    /// Sections of the main area.
    pub section_count: U32,
    /// Segments.
    pub segment_count: U32,
    /// Segments of checkpoints.
    pub segment_count_ckpt: U32,
    /// Segments of the segment information table.
    pub segment_count_sit: U32,
    /// Segments of the node address table.
    pub segment_count_nat: U32,
    /// Segments of the summary area.
    pub segment_count_ssa: U32,
    /// Segments of the main area.
    pub segment_count_main: U32,
    /// First block of segment 0.
    pub segment0_blkaddr: U32,
    /// First block of checkpoints.
    pub cp_blkaddr: U32,
    /// First block of the segment information table.
    pub sit_blkaddr: U32,
    /// First block of the node address table.
    pub nat_blkaddr: U32,
    /// First block of the summary area.
    pub ssa_blkaddr: U32,
    /// First block of the main area.
    pub main_blkaddr: U32,
    /// Inode of the root directory.
    pub root_ino: U32,
    /// Inode of nodes.
    pub node_ino: U32,
    /// Inode of metadata.
    pub meta_ino: U32,
    /// UUID.
    pub uuid: [u8; 16],
    /// Label, UTF-16, zero-padded.
    pub volume_name: [U16; 512],
    /// File name extensions in the list.
    pub extension_count: U32,
    /// Extensions of cold and hot files.
    pub extension_list: [[u8; 8]; 64],
    /// Blocks of additional checkpoint data.
    pub cp_payload: U32,
    /// Kernel of the last mount.
    pub version: [u8; 256],
    /// Kernel at mkfs.
    pub init_version: [u8; 256],
    /// Features, see [`FEATURES`].
    pub feature: U32,
}

const _: () = assert!(size_of::<Superblock>() == SIZE);

impl Superblock {
    /// The superblock at the start of `bytes`; only its magic number is checked.
    ///
    /// # Errors
    ///
    /// [`Error::Short`] for fewer bytes than [`SIZE`], [`Error::Magic`] for another format.
    pub fn read(bytes: &[u8]) -> Result<&Self, Error> {
        superblock(
            "f2fs superblock",
            Kind::F2fs,
            bytes,
            |this: &Self| &this.magic,
            le32,
        )
    }

    /// Bytes of a block; 0 for a power of two beyond 64 bits, as in all sizes here.
    pub fn block_size(&self) -> u64 {
        power(self.log_blocksize)
    }

    /// Bytes of a sector.
    pub fn sector_size(&self) -> Option<u64> {
        1_u64.checked_shl(self.log_sectorsize.get())
    }

    /// Bytes of a segment.
    pub fn segment_bytes(&self) -> u64 {
        power(self.log_blocks_per_seg).saturating_mul(self.block_size())
    }

    /// Bytes of a section, the unit of cleaning.
    pub fn section_bytes(&self) -> u64 {
        u64::from(self.segs_per_sec.get()).saturating_mul(self.segment_bytes())
    }

    /// Bytes of the filesystem.
    pub fn bytes(&self) -> u64 {
        self.block_count.get().saturating_mul(self.block_size())
    }

    /// UUID in its usual form.
    pub fn uuid(&self) -> String {
        uuid(&self.uuid, 0)
    }

    /// Label; may be empty.
    pub fn label(&self) -> String {
        let units = self.volume_name.iter().map(|unit| unit.get());
        let units: Vec<u16> = units.take_while(|unit| *unit != 0).collect();
        String::from_utf16_lossy(&units)
    }
}

fn power(log: U32) -> u64 {
    1_u64.checked_shl(log.get()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn short_and_foreign_bytes_are_errors() {
        assert!(matches!(
            Superblock::read(&[0; SIZE - 1]),
            Err(Error::Short { need: SIZE, .. })
        ));
        assert!(matches!(
            Superblock::read(&[0; SIZE]),
            Err(Error::Magic { found: 0, .. })
        ));
    }

    proptest! {
        #[test]
        fn any_bytes_read(mut bytes in proptest::collection::vec(any::<u8>(), SIZE)) {
            bytes[0..][..4].copy_from_slice(Kind::F2fs.properties().signature.magic);
            let sb = Superblock::read(&bytes).unwrap();
            let _ = (sb.section_bytes(), sb.bytes(), sb.sector_size(), sb.label());
        }
    }
}
