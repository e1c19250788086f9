//! The OCFS2 superblock (fs/ocfs2/ocfs2_fs.h, `struct ocfs2_dinode` with `struct ocfs2_super_block`).
//!
//! It is an inode like any other, in the third block of the volume. The block size is a field of it,
//! so a reader tries the four sizes that exist; an old superblock of another block size is recognised
//! by that field.

use fskind::Kind;
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::Error;
use crate::bytes::{le32, superblock, text, uuid};

/// The superblock's block.
pub const BLOCK: u64 = 2;

/// The block sizes, bytes.
pub const BLOCK_SIZES: [u64; 4] = [512, 1024, 2048, 4096];

/// Bytes of the inode up to the seed of directory hashes.
pub const SIZE: usize = 0xc0 + 0xc8;

/// Errors were found (`s_state`).
pub const STATE_ERRORS: u16 = 1;

// Features by the names of mkfs.ocfs2(8).
/// `s_feature_compat`.
pub const COMPAT: &[(u64, &str)] = &[(0x1, "backup-super"), (0x2, "strict-journal-super")];
/// `s_feature_incompat`.
pub const INCOMPAT: &[(u64, &str)] = &[
    (0x2, "heartbeat-device"),
    (0x4, "resize-inprogress"),
    (0x8, "local"),
    (0x10, "sparse"),
    (0x20, "tunefs-inprogress"),
    (0x40, "inline-data"),
    (0x80, "userspace-stack"),
    (0x100, "extended-slotmap"),
    (0x200, "xattr"),
    (0x400, "indexed-dirs"),
    (0x800, "metaecc"),
    (0x1000, "refcount"),
    (0x2000, "discontig-bg"),
    (0x4000, "clusterinfo"),
    (0x8000, "append-dio"),
];
/// `s_feature_ro_compat`.
pub const RO_COMPAT: &[(u64, &str)] = &[(0x1, "unwritten"), (0x2, "usrquota"), (0x4, "grpquota")];

/// The superblock with the head of its inode.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct Superblock {
    /// `OCFSV2`.
    pub i_signature: [u8; 6],
    /// Zero.
    pub i_signature_pad: [u8; 2],
    /// Generation of the inode.
    pub i_generation: U32,
    /// Slot of the allocator that the inode is from.
    pub i_suballoc_slot: U16,
    /// Its bit there.
    pub i_suballoc_bit: U16,
    /// Links, high half.
    pub i_links_count_hi: U16,
    /// Bytes of inline extended attributes.
    pub i_xattr_inline_size: U16,
    /// Clusters of the volume.
    pub i_clusters: U32,
    /// Owner.
    pub i_uid: U32,
    /// Group.
    pub i_gid: U32,
    /// Bytes.
    pub i_size: U64,
    /// Type and permissions.
    pub i_mode: U16,
    /// Links, low half.
    pub i_links_count: U16,
    /// Flags.
    pub i_flags: U32,
    /// Last access, seconds.
    pub i_atime: U64,
    /// Last change of the inode, seconds.
    pub i_ctime: U64,
    /// Last change of the data, seconds.
    pub i_mtime: U64,
    /// Deletion, seconds.
    pub i_dtime: U64,
    /// Block of this inode.
    pub i_blkno: U64,
    /// Last extent block.
    pub i_last_eb_blk: U64,
    /// Generation of the filesystem.
    pub i_fs_generation: U32,
    /// Nanoseconds of `i_atime`.
    pub i_atime_nsec: U32,
    /// Nanoseconds of `i_ctime`.
    pub i_ctime_nsec: U32,
    /// Nanoseconds of `i_mtime`.
    pub i_mtime_nsec: U32,
    /// Attributes.
    pub i_attr: U32,
    /// Slot of the orphan directory that holds it.
    pub i_orphaned_slot: U16,
    /// Features of the inode.
    pub i_dyn_features: U16,
    /// Block of extended attributes.
    pub i_xattr_loc: U64,
    /// CRC-32 and ECC of the block.
    pub i_check: [u8; 8],
    /// Root of a directory index.
    pub i_dx_root: U64,
    /// Root of the reference counts.
    pub i_refcount_loc: U64,
    /// Group of the allocator that the inode is from.
    pub i_suballoc_loc: U64,
    /// Zero.
    pub i_reserved2: [u8; 24],
    /// Depends on the kind of inode.
    pub id1: [u8; 8],
    /// Major revision.
    pub s_major_rev_level: U16,
    /// Minor revision.
    pub s_minor_rev_level: U16,
    /// Mounts since the last check.
    pub s_mnt_count: U16,
    /// Mounts after which a check is due.
    pub s_max_mnt_count: U16,
    /// State of the filesystem.
    pub s_state: U16,
    /// What to do on an error.
    pub s_errors: U16,
    /// Seconds after which a check is due.
    pub s_checkinterval: U32,
    /// Last check, seconds since 1970; 0: never.
    pub s_lastcheck: U64,
    /// Operating system.
    pub s_creator_os: U32,
    /// Compatible features, see [`COMPAT`].
    pub s_feature_compat: U32,
    /// Incompatible features, see [`INCOMPAT`].
    pub s_feature_incompat: U32,
    /// Read-only compatible features, see [`RO_COMPAT`].
    pub s_feature_ro_compat: U32,
    /// Block of the root directory.
    pub s_root_blkno: U64,
    /// Block of the system directory.
    pub s_system_dir_blkno: U64,
    /// log2 of the block size.
    pub s_blocksize_bits: U32,
    /// log2 of the cluster size.
    pub s_clustersize_bits: U32,
    /// Nodes that may mount it at once.
    pub s_max_slots: U16,
    /// What tunefs.ocfs2 is doing.
    pub s_tunefs_flag: U16,
    /// Hash of the UUID.
    pub s_uuid_hash: U32,
    /// Block of the first cluster group.
    pub s_first_cluster_group: U64,
    /// Label, zero-padded.
    pub s_label: [u8; 64],
    /// UUID.
    pub s_uuid: [u8; 16],
    /// Cluster stack, four characters.
    pub s_stack: [u8; 4],
    /// Flags of the cluster stack.
    pub s_stack_flags: [u8; 4],
    /// Name of the cluster, zero-padded.
    pub s_cluster: [u8; 16],
    /// Bytes of inline extended attributes of new inodes.
    pub s_xattr_inline_size: U16,
    /// Zero.
    pub s_reserved0: U16,
    /// Seed of the hashes of directory indexes.
    pub s_dx_seed: [U32; 3],
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
            "OCFS2 superblock",
            Kind::Ocfs2,
            bytes,
            |this: &Self| &this.i_signature,
            le32,
        )
    }

    /// Bytes of a block; `None` for a power of two beyond 64 bits.
    pub fn block_size(&self) -> Option<u64> {
        1_u64.checked_shl(self.s_blocksize_bits.get())
    }

    /// Bytes of a cluster; `None` for a power of two beyond 64 bits.
    pub fn cluster_size(&self) -> Option<u64> {
        1_u64.checked_shl(self.s_clustersize_bits.get())
    }

    /// Bytes of the volume.
    pub fn bytes(&self) -> u64 {
        let cluster = self.cluster_size().unwrap_or_default();
        u64::from(self.i_clusters.get()).saturating_mul(cluster)
    }

    /// UUID in its usual form.
    pub fn uuid(&self) -> String {
        uuid(&self.s_uuid, 0)
    }

    /// Label; may be empty.
    pub fn label(&self) -> String {
        text(&self.s_label, 0, self.s_label.len())
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

    #[test]
    fn a_signature_is_searched_in_the_block_of_each_size() {
        let blocks = BLOCK_SIZES.map(|size| BLOCK * size);
        assert_eq!(Kind::Ocfs2.properties().signature.offsets, blocks);
    }

    proptest! {
        #[test]
        fn any_bytes_read(mut bytes in proptest::collection::vec(any::<u8>(), SIZE)) {
            bytes[0..][..6].copy_from_slice(Kind::Ocfs2.properties().signature.magic);
            let sb = Superblock::read(&bytes).unwrap();
            let _ = (sb.block_size(), sb.cluster_size(), sb.bytes(), sb.label());
        }
    }
}
