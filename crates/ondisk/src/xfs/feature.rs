//! Bits of the superblock's feature fields. Their names are in [`super::superblock::INCOMPAT`] and its neighbours.

use super::Superblock;

/// `sb_versionnum`: extended attributes were used.
pub const V4_ATTR: u16 = 0x0010;
/// `sb_versionnum`: 32-bit link counts.
pub const V4_NLINK: u16 = 0x0020;
/// `sb_versionnum`: quota was used.
pub const V4_QUOTA: u16 = 0x0040;
/// `sb_versionnum`: `sb_inoalignmt` is valid.
pub const V4_ALIGN: u16 = 0x0080;
/// `sb_versionnum`: `sb_unit` and `sb_width` are valid.
pub const V4_DALIGN: u16 = 0x0100;
/// `sb_versionnum`: IRIX's shared read-only mounts.
pub const V4_SHARED: u16 = 0x0200;
/// `sb_versionnum`: log of version 2.
pub const V4_LOGV2: u16 = 0x0400;
/// `sb_versionnum`: sectors other than 512 bytes.
pub const V4_SECTOR: u16 = 0x0800;
/// `sb_versionnum`: unwritten extents.
pub const V4_EXTFLAG: u16 = 0x1000;
/// `sb_versionnum`: directories of version 2.
pub const V4_DIRV2: u16 = 0x2000;
/// `sb_versionnum`: names are compared without case (`ascii-ci`).
pub const V4_BORG: u16 = 0x4000;
/// `sb_versionnum`: `sb_features2` is valid.
pub const V4_MOREBITS: u16 = 0x8000;

/// `sb_features2`: superblock counters are written lazily.
pub const LAZY_COUNT: u32 = 0x2;
/// `sb_features2`: attribute forks at any offset.
pub const ATTR2: u32 = 0x8;
/// `sb_features2`: 32-bit project numbers.
pub const PROJID32: u32 = 0x80;
/// `sb_features2`: checksums, version 5.
pub const CRC: u32 = 0x100;
/// `sb_features2`: file types in directories of version 4.
pub const V4_FTYPE: u32 = 0x200;

/// `sb_features_ro_compat`: btree of free inodes.
pub const FINOBT: u32 = 0x1;
/// `sb_features_ro_compat`: btree of reverse mappings.
pub const RMAPBT: u32 = 0x2;
/// `sb_features_ro_compat`: shared blocks, btree of reference counts.
pub const REFLINK: u32 = 0x4;
/// `sb_features_ro_compat`: sizes of the inode btrees in the AGI.
pub const INOBTCOUNT: u32 = 0x8;

/// `sb_features_incompat`: file types in directories.
pub const FTYPE: u32 = 0x1;
/// `sb_features_incompat`: sparse inode chunks.
pub const SPINODES: u32 = 0x2;
/// `sb_features_incompat`: metadata has `sb_meta_uuid`.
pub const META_UUID: u32 = 0x4;
/// `sb_features_incompat`: 64-bit timestamps.
pub const BIGTIME: u32 = 0x8;
/// `sb_features_incompat`: `xfs_repair` has to be run.
pub const NEEDSREPAIR: u32 = 0x10;
/// `sb_features_incompat`: 64-bit extent counters.
pub const NREXT64: u32 = 0x20;
/// `sb_features_incompat`: exchange of file ranges.
pub const EXCHRANGE: u32 = 0x40;
/// `sb_features_incompat`: parent pointers.
pub const PARENT: u32 = 0x80;

impl Superblock {
    /// Whether it is of version 5: checksums, and the feature fields are valid.
    pub fn is_v5(&self) -> bool {
        self.version() == 5
    }

    /// Whether a bit of `sb_versionnum` is set.
    pub fn has_version(&self, bit: u16) -> bool {
        self.sb_versionnum.get() & bit != 0
    }

    /// Whether a bit of `sb_features2` is set and valid.
    pub fn has_features2(&self, bit: u32) -> bool {
        (self.is_v5() || self.has_version(V4_MOREBITS)) && self.sb_features2.get() & bit != 0
    }

    /// Whether a bit of `sb_features_ro_compat` is set; never in version 4.
    pub fn has_ro_compat(&self, bit: u32) -> bool {
        self.is_v5() && self.sb_features_ro_compat.get() & bit != 0
    }

    /// Whether a bit of `sb_features_incompat` is set; never in version 4.
    pub fn has_incompat(&self, bit: u32) -> bool {
        self.is_v5() && self.sb_features_incompat.get() & bit != 0
    }

    /// Whether directory entries have file types.
    pub fn has_ftype(&self) -> bool {
        self.has_incompat(FTYPE) || !self.is_v5() && self.has_features2(V4_FTYPE)
    }

    /// The UUID that metadata carries.
    pub fn metadata_uuid(&self) -> [u8; 16] {
        if self.has_incompat(META_UUID) {
            self.sb_meta_uuid
        } else {
            self.sb_uuid
        }
    }
}
