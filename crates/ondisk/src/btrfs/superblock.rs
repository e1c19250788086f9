//! The btrfs superblock (include/uapi/linux/btrfs_tree.h, `struct btrfs_super_block`).

use std::mem::offset_of;

use fskind::Kind;
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::Error;
use crate::bytes::{le32, superblock, text, uuid};

/// Byte offset of the first copy.
pub const OFFSET: u64 = 64 << 10;

/// Bytes of a copy, with the arrays after the fields that are read.
pub const BLOCK: usize = 4096;

/// Bytes of the fields that are read.
pub const SIZE: usize = 555;

/// The feature of zoned devices, in `incompat_flags`.
pub const ZONED: u64 = 0x1000;

/// `incompat_flags`.
pub const INCOMPAT: &[(u64, &str)] = &[
    (0x1, "mixed_backref"),
    (0x2, "default_subvol"),
    (0x4, "mixed_groups"),
    (0x8, "compress_lzo"),
    (0x10, "compress_zstd"),
    (0x20, "big_metadata"),
    (0x40, "extended_iref"),
    (0x80, "raid56"),
    (0x100, "skinny_metadata"),
    (0x200, "no_holes"),
    (0x400, "metadata_uuid"),
    (0x800, "raid1c34"),
    (ZONED, "zoned"),
    (0x2000, "extent_tree_v2"),
    (0x4000, "raid_stripe_tree"),
    (0x10000, "simple_quota"),
];
/// `compat_ro_flags`.
pub const RO_COMPAT: &[(u64, &str)] = &[
    (0x1, "free_space_tree"),
    (0x2, "free_space_tree_valid"),
    (0x4, "verity"),
    (0x8, "block_group_tree"),
];

/// `struct btrfs_super_block` up to the label.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct Superblock {
    /// Checksum of what follows, by `csum_type`.
    pub csum: [u8; 32],
    /// UUID.
    pub fsid: [u8; 16],
    /// Byte offset of this copy.
    pub bytenr: U64,
    /// Flags.
    pub flags: U64,
    /// `_BHRfS_M`.
    pub magic: [u8; 8],
    /// Number of the transaction that wrote it.
    pub generation: U64,
    /// Logical address of the tree of roots.
    pub root: U64,
    /// Logical address of the chunk tree.
    pub chunk_root: U64,
    /// Logical address of the log tree; 0: none.
    pub log_root: U64,
    /// Unused.
    pub log_root_transid: U64,
    /// Bytes of all devices.
    pub total_bytes: U64,
    /// Bytes in use.
    pub bytes_used: U64,
    /// Object of the root directory of the tree of roots.
    pub root_dir_objectid: U64,
    /// Devices.
    pub num_devices: U64,
    /// Bytes of a sector, the unit of data.
    pub sectorsize: U32,
    /// Bytes of a metadata node.
    pub nodesize: U32,
    /// Unused.
    pub leafsize: U32,
    /// Bytes of a stripe element.
    pub stripesize: U32,
    /// Bytes in use of the array of system chunks.
    pub sys_chunk_array_size: U32,
    /// Generation of the chunk tree.
    pub chunk_root_generation: U64,
    /// Compatible features.
    pub compat_flags: U64,
    /// Read-only compatible features, see [`RO_COMPAT`].
    pub compat_ro_flags: U64,
    /// Incompatible features, see [`INCOMPAT`].
    pub incompat_flags: U64,
    /// Checksum algorithm, see [`Superblock::checksum_name`].
    pub csum_type: U16,
    /// Level of the tree of roots.
    pub root_level: u8,
    /// Level of the chunk tree.
    pub chunk_root_level: u8,
    /// Level of the log tree.
    pub log_root_level: u8,
    /// `struct btrfs_dev_item` of this device.
    pub dev_item: [u8; 98],
    /// Label, zero-terminated.
    pub label: [u8; 256],
}

const _: () = assert!(size_of::<Superblock>() == SIZE);
const _: () = assert!(
    OFFSET + offset_of!(Superblock, magic) as u64 == Kind::Btrfs.properties().signature.offsets[0]
);

impl Superblock {
    /// The superblock at the start of `bytes`; only its magic number is checked.
    ///
    /// # Errors
    ///
    /// [`Error::Short`] for fewer bytes than [`SIZE`], [`Error::Magic`] for another format.
    pub fn read(bytes: &[u8]) -> Result<&Self, Error> {
        superblock(
            "btrfs superblock",
            Kind::Btrfs,
            bytes,
            |this: &Self| &this.magic,
            le32,
        )
    }

    /// Whether it is of a zoned device.
    pub fn is_zoned(&self) -> bool {
        self.incompat_flags.get() & ZONED != 0
    }

    /// The checksum algorithm; `None` for a number without a meaning.
    pub fn checksum_name(&self) -> Option<&'static str> {
        match self.csum_type.get() {
            0 => Some("crc32c"),
            1 => Some("xxhash64"),
            2 => Some("sha256"),
            3 => Some("blake2b"),
            _ => None,
        }
    }

    /// UUID in its usual form.
    pub fn uuid(&self) -> String {
        uuid(&self.fsid, 0)
    }

    /// Label; may be empty.
    pub fn label(&self) -> String {
        text(&self.label, 0, self.label.len())
    }
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
            bytes[64..][..8].copy_from_slice(Kind::Btrfs.properties().signature.magic);
            let sb = Superblock::read(&bytes).unwrap();
            let _ = (sb.is_zoned(), sb.checksum_name(), sb.uuid(), sb.label());
        }
    }
}
