//! The superblock: 1024 bytes at byte 1024 of the device, with copies in some groups.
//!
//! The structure is a plain view; whether its numbers make sense is the business of
//! [`Geometry`](super::Geometry), which a checker may want to fail and still look at the label. Source:
//! Documentation/filesystems/ext4/super.rst, and fs/ext4/ext4.h for the fields that are younger.

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::checksum::{Checksum, Seed, crc32c};
use super::feature::{Compat, Incompat, RoCompat};
use super::hash::HashVersion;
use super::{Error, view, view_mut};

/// `s_magic` of every member of the family.
pub const MAGIC: u16 = {
    let magic = fskind::Kind::Ext4.properties().signature.magic;
    u16::from_le_bytes([magic[0], magic[1]])
};

/// Where the primary superblock begins, in bytes.
pub const OFFSET: u64 = 1024;

/// Bytes of the superblock.
pub const SIZE: usize = 1024;

/// `s_flags`: names hash as signed characters.
pub const FLAG_SIGNED_HASH: u32 = 1;
/// `s_flags`: names hash as unsigned characters.
pub const FLAG_UNSIGNED_HASH: u32 = 2;
/// `s_flags`: made for tests of a development kernel.
pub const FLAG_TEST_FILESYS: u32 = 4;

/// `struct ext4_super_block`. Fields by the kernel's names; joined values are methods.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct Superblock {
    /// Inodes, in use or not.
    pub s_inodes_count: U32,
    /// Blocks, low half.
    pub s_blocks_count_lo: U32,
    /// Blocks kept for root, low half.
    pub s_r_blocks_count_lo: U32,
    /// Free blocks (clusters with bigalloc, counted in blocks), low half.
    pub s_free_blocks_count_lo: U32,
    /// Free inodes.
    pub s_free_inodes_count: U32,
    /// Block of the first group: 1 with blocks of 1 KiB, else 0.
    pub s_first_data_block: U32,
    /// The block size is 1024 shifted left by this.
    pub s_log_block_size: U32,
    /// The cluster size, likewise; without bigalloc equal to `s_log_block_size`.
    pub s_log_cluster_size: U32,
    /// Blocks in a group.
    pub s_blocks_per_group: U32,
    /// Clusters in a group; without bigalloc equal to `s_blocks_per_group`.
    pub s_clusters_per_group: U32,
    /// Inodes in a group.
    pub s_inodes_per_group: U32,
    /// Last mount, seconds, low 32 bits.
    pub s_mtime: U32,
    /// Last write, seconds, low 32 bits.
    pub s_wtime: U32,
    /// Mounts since the last check.
    pub s_mnt_count: U16,
    /// Mounts after which a check is due.
    pub s_max_mnt_count: U16,
    /// [`MAGIC`].
    pub s_magic: U16,
    /// Flags: 1 clean, 2 errors seen, 4 orphans being recovered.
    pub s_state: U16,
    /// On an error: 1 continue, 2 remount read-only, 3 panic.
    pub s_errors: U16,
    /// Minor revision.
    pub s_minor_rev_level: U16,
    /// Last check, seconds, low 32 bits.
    pub s_lastcheck: U32,
    /// Seconds after which a check is due.
    pub s_checkinterval: U32,
    /// 0 Linux, 1 Hurd, 2 Masix, 3 FreeBSD, 4 Lites.
    pub s_creator_os: U32,
    /// 0: fixed inode size and no features; 1: what follows is valid.
    pub s_rev_level: U32,
    /// User who may use reserved blocks, low half.
    pub s_def_resuid: U16,
    /// Group who may use reserved blocks, low half.
    pub s_def_resgid: U16,
    /// First inode that is not reserved.
    pub s_first_ino: U32,
    /// Bytes of an inode in the table.
    pub s_inode_size: U16,
    /// Group that holds this copy of the superblock.
    pub s_block_group_nr: U16,
    /// See [`Compat`].
    pub s_feature_compat: U32,
    /// See [`Incompat`].
    pub s_feature_incompat: U32,
    /// See [`RoCompat`].
    pub s_feature_ro_compat: U32,
    /// UUID of the filesystem.
    pub s_uuid: [u8; 16],
    /// Label, zero-padded.
    pub s_volume_name: [u8; 16],
    /// Directory of the last mount, zero-padded.
    pub s_last_mounted: [u8; 64],
    /// For compression; unused.
    pub s_algorithm_usage_bitmap: U32,
    /// Blocks to preallocate for files; unused.
    pub s_prealloc_blocks: u8,
    /// Blocks to preallocate for directories; unused.
    pub s_prealloc_dir_blocks: u8,
    /// Blocks after each descriptor table that are kept for its growth.
    pub s_reserved_gdt_blocks: U16,
    /// UUID of an external journal.
    pub s_journal_uuid: [u8; 16],
    /// Inode of the journal.
    pub s_journal_inum: U32,
    /// Device number of an external journal.
    pub s_journal_dev: U32,
    /// Head of the list of orphans, linked by `i_dtime`.
    pub s_last_orphan: U32,
    /// Seed of the htree hashes.
    pub s_hash_seed: [U32; 4],
    /// Hash of new indexed directories.
    pub s_def_hash_version: u8,
    /// 1 when `s_jnl_blocks` is a copy of the journal inode's map.
    pub s_jnl_backup_type: u8,
    /// Bytes of a group descriptor, with the 64bit feature.
    pub s_desc_size: U16,
    /// Default mount options, flags.
    pub s_default_mount_opts: U32,
    /// First descriptor block that follows the meta_bg layout.
    pub s_first_meta_bg: U32,
    /// Creation, seconds, low 32 bits.
    pub s_mkfs_time: U32,
    /// Copy of the journal inode's `i_block`, `i_size_high` and `i_size_lo`.
    pub s_jnl_blocks: [U32; 17],
    /// Blocks, high half.
    pub s_blocks_count_hi: U32,
    /// Blocks kept for root, high half.
    pub s_r_blocks_count_hi: U32,
    /// Free blocks, high half.
    pub s_free_blocks_count_hi: U32,
    /// Every inode has at least this many bytes beyond 128.
    pub s_min_extra_isize: U16,
    /// New inodes should have this many.
    pub s_want_extra_isize: U16,
    /// 1 signed directory hash, 2 unsigned directory hash, 4 test filesystem.
    pub s_flags: U32,
    /// RAID stride, blocks.
    pub s_raid_stride: U16,
    /// Seconds between updates of the MMP block.
    pub s_mmp_interval: U16,
    /// Block of multiple mount protection.
    pub s_mmp_block: U64,
    /// Blocks on all data disks of a stripe.
    pub s_raid_stripe_width: U32,
    /// A flexible group is two to this power of groups.
    pub s_log_groups_per_flex: u8,
    /// 1: CRC-32C, the only one.
    pub s_checksum_type: u8,
    /// Version of the encryption.
    pub s_encryption_level: u8,
    /// Zero.
    pub s_reserved_pad: u8,
    /// KiB written in its lifetime.
    pub s_kbytes_written: U64,
    /// Unused.
    pub s_snapshot_inum: U32,
    /// Unused.
    pub s_snapshot_id: U32,
    /// Unused.
    pub s_snapshot_r_blocks_count: U64,
    /// Unused.
    pub s_snapshot_list: U32,
    /// Errors the kernel has seen.
    pub s_error_count: U32,
    /// Time of the first, seconds, low 32 bits.
    pub s_first_error_time: U32,
    /// Inode of the first.
    pub s_first_error_ino: U32,
    /// Block of the first.
    pub s_first_error_block: U64,
    /// Kernel function that saw the first.
    pub s_first_error_func: [u8; 32],
    /// Its source line.
    pub s_first_error_line: U32,
    /// Time of the last, seconds, low 32 bits.
    pub s_last_error_time: U32,
    /// Inode of the last.
    pub s_last_error_ino: U32,
    /// Source line of the last.
    pub s_last_error_line: U32,
    /// Block of the last.
    pub s_last_error_block: U64,
    /// Kernel function that saw the last.
    pub s_last_error_func: [u8; 32],
    /// Mount options, text, zero-padded.
    pub s_mount_opts: [u8; 64],
    /// Inode of the user quota file.
    pub s_usr_quota_inum: U32,
    /// Inode of the group quota file.
    pub s_grp_quota_inum: U32,
    /// Clusters of metadata, or 0 when not computed.
    pub s_overhead_blocks: U32,
    /// Groups with backups, with sparse_super2.
    pub s_backup_bgs: [U32; 2],
    /// Encryption algorithms in use.
    pub s_encrypt_algos: [u8; 4],
    /// Salt of the first encryption tools.
    pub s_encrypt_pw_salt: [u8; 16],
    /// Inode of lost+found.
    pub s_lpf_ino: U32,
    /// Inode of the project quota file.
    pub s_prj_quota_inum: U32,
    /// Seed of the checksums, with metadata_csum_seed.
    pub s_checksum_seed: U32,
    /// Bits 32 to 39 of `s_wtime`.
    pub s_wtime_hi: u8,
    /// Bits 32 to 39 of `s_mtime`.
    pub s_mtime_hi: u8,
    /// Bits 32 to 39 of `s_mkfs_time`.
    pub s_mkfs_time_hi: u8,
    /// Bits 32 to 39 of `s_lastcheck`.
    pub s_lastcheck_hi: u8,
    /// Bits 32 to 39 of `s_first_error_time`.
    pub s_first_error_time_hi: u8,
    /// Bits 32 to 39 of `s_last_error_time`.
    pub s_last_error_time_hi: u8,
    /// Kind of the first error.
    pub s_first_error_errcode: u8,
    /// Kind of the last error.
    pub s_last_error_errcode: u8,
    /// Encoding of names, with casefold: 1 is UTF-8 of Unicode 12.1.
    pub s_encoding: U16,
    /// 1: refuse names that are not valid.
    pub s_encoding_flags: U16,
    /// Inode of the orphan file.
    pub s_orphan_file_inum: U32,
    /// User who may use reserved blocks, high half.
    pub s_def_resuid_hi: U16,
    /// Group who may use reserved blocks, high half.
    pub s_def_resgid_hi: U16,
    /// Zero.
    pub s_reserved: [U32; 93],
    /// CRC-32C of the 1020 bytes before, with metadata_csum.
    pub s_checksum: U32,
}

const _: () = assert!(size_of::<Superblock>() == SIZE);

impl Superblock {
    /// The superblock at the start of `bytes`; no field is checked.
    ///
    /// # Errors
    ///
    /// [`Error::Short`] below 1024 bytes, [`Error::Magic`] when this is no ext2, ext3 or ext4.
    pub fn read(bytes: &[u8]) -> Result<&Self, Error> {
        let this: &Self = view("superblock", bytes)?;
        this.check_magic()?;
        Ok(this)
    }

    /// The same, to be changed in place.
    ///
    /// # Errors
    ///
    /// As [`Superblock::read`].
    pub fn read_mut(bytes: &mut [u8]) -> Result<&mut Self, Error> {
        let this: &mut Self = view_mut("superblock", bytes)?;
        this.check_magic()?;
        Ok(this)
    }

    /// A superblock of zeros with the magic number and revision 1, to be filled in.
    pub fn empty() -> Self {
        let mut this = Self::new_zeroed();
        this.s_magic = MAGIC.into();
        this.s_rev_level = 1.into();
        this
    }

    fn check_magic(&self) -> Result<(), Error> {
        if self.s_magic.get() == MAGIC {
            return Ok(());
        }
        Err(Error::Magic {
            what: "superblock s_magic",
            found: self.s_magic.get().into(),
            expected: MAGIC.into(),
        })
    }

    /// Compatible features; none in revision 0, where the field does not exist yet.
    pub fn compat(&self) -> Compat {
        Compat(self.s_feature_compat.get())
    }

    /// Incompatible features.
    pub fn incompat(&self) -> Incompat {
        Incompat(self.s_feature_incompat.get())
    }

    /// Read-only compatible features.
    pub fn ro_compat(&self) -> RoCompat {
        RoCompat(self.s_feature_ro_compat.get())
    }

    /// Whether a compatible feature is set.
    pub fn has_compat(&self, feature: Compat) -> bool {
        self.compat().contains(feature)
    }

    /// Whether an incompatible feature is set.
    pub fn has_incompat(&self, feature: Incompat) -> bool {
        self.incompat().contains(feature)
    }

    /// Whether a read-only compatible feature is set.
    pub fn has_ro_compat(&self, feature: RoCompat) -> bool {
        self.ro_compat().contains(feature)
    }

    /// Blocks of the filesystem. The high half counts only with the 64bit feature.
    pub fn blocks_count(&self) -> u64 {
        self.joined(self.s_blocks_count_lo, self.s_blocks_count_hi)
    }

    /// Blocks kept for root.
    pub fn r_blocks_count(&self) -> u64 {
        self.joined(self.s_r_blocks_count_lo, self.s_r_blocks_count_hi)
    }

    /// Free blocks.
    pub fn free_blocks_count(&self) -> u64 {
        self.joined(self.s_free_blocks_count_lo, self.s_free_blocks_count_hi)
    }

    /// Sets the number of blocks, both halves.
    pub fn set_blocks_count(&mut self, blocks: u64) {
        self.s_blocks_count_lo = (blocks as u32).into();
        self.s_blocks_count_hi = ((blocks >> 32) as u32).into();
    }

    /// Sets the number of blocks kept for root, both halves.
    pub fn set_r_blocks_count(&mut self, blocks: u64) {
        self.s_r_blocks_count_lo = (blocks as u32).into();
        self.s_r_blocks_count_hi = ((blocks >> 32) as u32).into();
    }

    /// Sets the number of free blocks, both halves.
    pub fn set_free_blocks_count(&mut self, blocks: u64) {
        self.s_free_blocks_count_lo = (blocks as u32).into();
        self.s_free_blocks_count_hi = ((blocks >> 32) as u32).into();
    }

    fn joined(&self, low: U32, high: U32) -> u64 {
        let low = u64::from(low.get());
        if self.has_incompat(Incompat::BIT64) {
            low | u64::from(high.get()) << 32
        } else {
            low
        }
    }

    /// Bytes of a block (`s_log_block_size`). A value above the format's largest counts as that, 64 KiB.
    pub fn block_size(&self) -> u32 {
        1024 << self.s_log_block_size.get().min(6)
    }

    /// Bytes of an inode in the table; 128 in revision 0.
    pub fn inode_size(&self) -> u16 {
        if self.s_rev_level.get() == 0 {
            128
        } else {
            self.s_inode_size.get()
        }
    }

    /// The first inode that is not reserved; 11 in revision 0.
    pub fn first_ino(&self) -> u32 {
        if self.s_rev_level.get() == 0 {
            11
        } else {
            self.s_first_ino.get()
        }
    }

    /// Bytes of a group descriptor: 32 without the 64bit feature, whatever `s_desc_size` says.
    pub fn desc_size(&self) -> u16 {
        if self.has_incompat(Incompat::BIT64) {
            self.s_desc_size.get()
        } else {
            32
        }
    }

    /// The seed of all checksums, when metadata carries them.
    pub fn metadata_seed(&self) -> Option<Seed> {
        self.has_ro_compat(RoCompat::METADATA_CSUM)
            .then(|| self.seed())
    }

    /// The seed whether or not `metadata_csum` is set: values of extended attributes in inodes of
    /// their own are hashed with it in either case.
    pub fn seed(&self) -> Seed {
        if self.has_incompat(Incompat::CSUM_SEED) {
            Seed(self.s_checksum_seed.get())
        } else {
            Seed::of_uuid(&self.s_uuid)
        }
    }

    /// The superblock's own checksum, when it carries one. It starts from all ones, not from the seed:
    /// the UUID is among the bytes.
    pub fn checksum(&self) -> Option<Checksum> {
        self.has_ro_compat(RoCompat::METADATA_CSUM)
            .then(|| Checksum {
                stored: self.s_checksum.get(),
                computed: self.computed_checksum(),
            })
    }

    /// Writes the checksum, when the features ask for one; call it last.
    pub fn seal(&mut self) {
        if self.has_ro_compat(RoCompat::METADATA_CSUM) {
            self.s_checksum = self.computed_checksum().into();
        }
    }

    fn computed_checksum(&self) -> u32 {
        crc32c(!0, &self.as_bytes()[..SIZE - 4])
    }

    /// The seed of the htree hashes; all zeros stand for MD4's own start values.
    pub fn hash_seed(&self) -> [u32; 4] {
        self.s_hash_seed.map(U32::get)
    }

    /// The hash of new indexed directories, `None` for a number that has no meaning. Whether characters
    /// count as signed is not in `s_def_hash_version` but in `s_flags`.
    pub fn default_hash_version(&self) -> Option<HashVersion> {
        HashVersion::from_disk(self.s_def_hash_version, self.unsigned_hash())
    }

    /// Whether names hash as unsigned characters.
    pub fn unsigned_hash(&self) -> bool {
        self.s_flags.get() & FLAG_UNSIGNED_HASH != 0
    }

    /// The last write, seconds since 1970.
    pub fn wtime(&self) -> u64 {
        with_high(self.s_wtime, self.s_wtime_hi)
    }

    /// The last mount, seconds since 1970.
    pub fn mtime(&self) -> u64 {
        with_high(self.s_mtime, self.s_mtime_hi)
    }

    /// The last check, seconds since 1970.
    pub fn lastcheck(&self) -> u64 {
        with_high(self.s_lastcheck, self.s_lastcheck_hi)
    }

    /// The creation, seconds since 1970.
    pub fn mkfs_time(&self) -> u64 {
        with_high(self.s_mkfs_time, self.s_mkfs_time_hi)
    }

    /// The label up to its first zero byte.
    pub fn volume_name(&self) -> &[u8] {
        let end = self.s_volume_name.iter().position(|byte| *byte == 0);
        &self.s_volume_name[..end.unwrap_or(self.s_volume_name.len())]
    }
}

fn with_high(low: U32, high: u8) -> u64 {
    u64::from(low.get()) | u64::from(high) << 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn halves_join_only_with_the_feature() {
        let mut sb = Superblock::empty();
        sb.set_blocks_count(0x1_2345_6789);
        assert_eq!(sb.blocks_count(), 0x2345_6789);
        sb.s_feature_incompat = Incompat::BIT64.0.into();
        assert_eq!(sb.blocks_count(), 0x1_2345_6789);
    }

    #[test]
    fn a_sealed_superblock_matches_until_a_bit_turns() {
        let mut sb = Superblock::empty();
        sb.s_feature_ro_compat = RoCompat::METADATA_CSUM.0.into();
        sb.seal();
        assert!(sb.checksum().is_some_and(Checksum::matches));
        sb.s_mnt_count = 7.into();
        assert!(sb.checksum().is_some_and(|sum| !sum.matches()));
    }

    #[test]
    fn short_and_foreign_bytes_are_errors() {
        assert!(matches!(
            Superblock::read(&[0; 1023]),
            Err(Error::Short { need: 1024, .. })
        ));
        assert!(matches!(
            Superblock::read(&[0; 1024]),
            Err(Error::Magic { found: 0, .. })
        ));
    }

    proptest! {
        #[test]
        fn any_bytes_read_and_write_back(bytes in proptest::collection::vec(any::<u8>(), SIZE)) {
            let sb = Superblock::read_from_bytes(&bytes).unwrap();
            let _ = (sb.blocks_count(), sb.checksum(), sb.default_hash_version(), sb.volume_name());
            prop_assert_eq!(sb.as_bytes(), &bytes[..]);
        }
    }
}
