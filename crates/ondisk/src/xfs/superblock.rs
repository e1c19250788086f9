//! The XFS superblock: the first sector of each allocation group (fs/xfs/libxfs/xfs_format.h,
//! `struct xfs_dsb`; all fields big-endian but the checksum).

use fskind::Kind;
use zerocopy::big_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::Error;
use crate::bytes::{be32, superblock, text, uuid, view_mut};

/// Bytes of the superblock that are read; it is padded to a sector.
pub const SIZE: usize = 264;

/// `sb_features_incompat`.
pub const INCOMPAT: &[(u64, &str)] = &[
    (0x1, "ftype"),
    (0x2, "sparse_inodes"),
    (0x4, "meta_uuid"),
    (0x8, "bigtime"),
    (0x10, "needs_repair"),
    (0x20, "nrext64"),
    (0x40, "exchange_range"),
    (0x80, "parent"),
    (0x100, "metadir"),
    (0x200, "zoned"),
    (0x400, "zone_gaps"),
];
/// `sb_features_ro_compat`.
pub const RO_COMPAT: &[(u64, &str)] = &[
    (0x1, "finobt"),
    (0x2, "rmapbt"),
    (0x4, "reflink"),
    (0x8, "inobtcount"),
];
/// `sb_features2`.
pub const FEATURES2: &[(u64, &str)] = &[
    (0x2, "lazy_count"),
    (0x8, "attr2"),
    (0x10, "parent"),
    (0x80, "projid32"),
    (0x100, "crc"),
    (0x200, "ftype"),
];

/// `XFS_SB_VERSION2_LAZYSBCOUNTBIT` of `sb_features2`: superblock counters are written lazily.
pub const LAZY_COUNT: u32 = 0x2;

/// `struct xfs_dsb`.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct Superblock {
    /// `XFSB`.
    pub sb_magicnum: [u8; 4],
    /// Bytes of a block.
    pub sb_blocksize: U32,
    /// Blocks of the data section.
    pub sb_dblocks: U64,
    /// Blocks of the realtime section.
    pub sb_rblocks: U64,
    /// Extents of the realtime section.
    pub sb_rextents: U64,
    /// UUID as users see it.
    pub sb_uuid: [u8; 16],
    /// First block of the internal log; 0: the log is on another device.
    pub sb_logstart: U64,
    /// Inode of the root directory.
    pub sb_rootino: U64,
    /// Inode of the realtime bitmap.
    pub sb_rbmino: U64,
    /// Inode of the realtime summary.
    pub sb_rsumino: U64,
    /// Blocks of a realtime extent.
    pub sb_rextsize: U32,
    /// Blocks of an allocation group; the last one may have fewer.
    pub sb_agblocks: U32,
    /// Allocation groups.
    pub sb_agcount: U32,
    /// Blocks of the realtime bitmap.
    pub sb_rbmblocks: U32,
    /// Blocks of the log.
    pub sb_logblocks: U32,
    /// Version in the low 4 bits, feature flags of version 4 above.
    pub sb_versionnum: U16,
    /// Bytes of a sector.
    pub sb_sectsize: U16,
    /// Bytes of an inode.
    pub sb_inodesize: U16,
    /// Inodes of a block.
    pub sb_inopblock: U16,
    /// Label, zero-padded.
    pub sb_fname: [u8; 12],
    /// log2 of `sb_blocksize`.
    pub sb_blocklog: u8,
    /// log2 of `sb_sectsize`.
    pub sb_sectlog: u8,
    /// log2 of `sb_inodesize`.
    pub sb_inodelog: u8,
    /// log2 of `sb_inopblock`.
    pub sb_inopblog: u8,
    /// log2 of `sb_agblocks`, rounded up.
    pub sb_agblklog: u8,
    /// log2 of `sb_rextents`.
    pub sb_rextslog: u8,
    /// 1 while mkfs runs.
    pub sb_inprogress: u8,
    /// Most space for inodes, percent; 0: no limit.
    pub sb_imax_pct: u8,
    /// Allocated inodes.
    pub sb_icount: U64,
    /// Free inodes among those.
    pub sb_ifree: U64,
    /// Free data blocks.
    pub sb_fdblocks: U64,
    /// Free realtime extents.
    pub sb_frextents: U64,
    /// Inode of the user quota.
    pub sb_uquotino: U64,
    /// Inode of the group quota.
    pub sb_gquotino: U64,
    /// Quota flags.
    pub sb_qflags: U16,
    /// Miscellaneous flags.
    pub sb_flags: u8,
    /// Shared version; 0.
    pub sb_shared_vn: u8,
    /// Alignment of inode chunks, blocks.
    pub sb_inoalignmt: U32,
    /// Stripe unit, blocks; 0: not set.
    pub sb_unit: U32,
    /// Stripe width, blocks; 0: not set.
    pub sb_width: U32,
    /// A directory block is this power of two blocks.
    pub sb_dirblklog: u8,
    /// log2 of `sb_logsectsize`.
    pub sb_logsectlog: u8,
    /// Bytes of a sector of the log.
    pub sb_logsectsize: U16,
    /// Stripe unit of the log, bytes.
    pub sb_logsunit: U32,
    /// More feature flags of version 4, see [`FEATURES2`].
    pub sb_features2: U32,
    /// A copy of `sb_features2`, once misplaced by padding.
    pub sb_bad_features2: U32,
    /// Compatible features; from version 5 on.
    pub sb_features_compat: U32,
    /// Read-only compatible features, see [`RO_COMPAT`]; from version 5 on.
    pub sb_features_ro_compat: U32,
    /// Incompatible features, see [`INCOMPAT`]; from version 5 on.
    pub sb_features_incompat: U32,
    /// Incompatible features of the log; from version 5 on.
    pub sb_features_log_incompat: U32,
    /// CRC-32C of the sector, little-endian; from version 5 on.
    pub sb_crc: [u8; 4],
    /// Alignment of sparse inode chunks, blocks.
    pub sb_spino_align: U32,
    /// Inode of the project quota.
    pub sb_pquotino: U64,
    /// Log sequence number of the last write.
    pub sb_lsn: U64,
    /// UUID that metadata carries, with the `meta_uuid` feature.
    pub sb_meta_uuid: [u8; 16],
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
            "XFS superblock",
            Kind::Xfs,
            bytes,
            |this: &Self| &this.sb_magicnum,
            be32,
        )
    }

    /// The same for writing. No field is judged.
    ///
    /// # Errors
    ///
    /// [`Error::Short`] for fewer bytes than [`SIZE`].
    pub fn read_mut(bytes: &mut [u8]) -> Result<&mut Self, Error> {
        view_mut("XFS superblock", bytes)
    }

    /// The structure at the start of `bytes`, whatever its magic number.
    ///
    /// # Errors
    ///
    /// [`Error::Short`] for fewer bytes than [`SIZE`].
    pub fn read_any(bytes: &[u8]) -> Result<&Self, Error> {
        crate::bytes::view("XFS superblock", bytes)
    }

    /// The version, 1 to 5.
    pub fn version(&self) -> u16 {
        self.sb_versionnum.get() & 0xF
    }

    /// Bytes of a block.
    pub fn block_size(&self) -> u64 {
        self.sb_blocksize.get().into()
    }

    /// Bytes of the data section.
    pub fn bytes(&self) -> u64 {
        self.sb_dblocks.get().saturating_mul(self.block_size())
    }

    /// Bytes of a field that counts blocks.
    pub fn in_bytes(&self, blocks: U32) -> u64 {
        u64::from(blocks.get()).saturating_mul(self.block_size())
    }

    /// Whether the log is on another device.
    pub fn log_is_external(&self) -> bool {
        self.sb_logstart.get() == 0
    }

    /// Whether superblock counters are written lazily.
    pub fn lazy_count(&self) -> bool {
        self.sb_features2.get() & LAZY_COUNT != 0
    }

    /// Bytes of a directory block.
    pub fn directory_block_size(&self) -> u64 {
        // A damaged field must not shift beyond 64 bits.
        self.block_size() << self.sb_dirblklog.min(16)
    }

    /// UUID in its usual form.
    pub fn uuid(&self) -> String {
        uuid(&self.sb_uuid, 0)
    }

    /// Label; may be empty.
    pub fn label(&self) -> String {
        text(&self.sb_fname, 0, self.sb_fname.len())
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
            bytes[0..][..4].copy_from_slice(Kind::Xfs.properties().signature.magic);
            let sb = Superblock::read(&bytes).unwrap();
            let _ = (sb.version(), sb.bytes(), sb.in_bytes(sb.sb_unit), sb.directory_block_size(), sb.label());
        }
    }
}
