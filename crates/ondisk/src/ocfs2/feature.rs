//! Bits of the superblock's feature fields. Their names are in [`super::superblock::INCOMPAT`] and its neighbours.

use super::superblock::Superblock;

/// Backups of the superblock exist (compat).
pub const BACKUP_SUPER: u32 = 0x1;
/// Journals have jbd2's strict features (compat).
pub const STRICT_JOURNAL: u32 = 0x2;
/// A heartbeat device, no filesystem (incompat).
pub const HEARTBEAT_DEVICE: u32 = 0x2;
/// Mounted by one node without a cluster (incompat).
pub const LOCAL: u32 = 0x8;
/// Files may have holes (incompat).
pub const SPARSE: u32 = 0x10;
/// File contents in the inode (incompat).
pub const INLINE_DATA: u32 = 0x40;
/// A cluster stack in user space (incompat).
pub const USERSPACE_STACK: u32 = 0x80;
/// Slots of 8 bytes (incompat).
pub const EXTENDED_SLOT_MAP: u32 = 0x100;
/// Extended attributes (incompat).
pub const XATTR: u32 = 0x200;
/// Indexes of directories (incompat).
pub const INDEXED_DIRS: u32 = 0x400;
/// Checksums of metadata (incompat).
pub const META_ECC: u32 = 0x800;
/// Shared clusters (incompat).
pub const REFCOUNT: u32 = 0x1000;
/// Groups of several extents (incompat).
pub const DISCONTIG_BG: u32 = 0x2000;
/// The cluster's name is in the superblock (incompat).
pub const CLUSTER_INFO: u32 = 0x4000;
/// Extents that are allocated and not written (ro compat).
pub const UNWRITTEN: u32 = 0x1;
/// Quota by user (ro compat).
pub const USER_QUOTA: u32 = 0x2;
/// Quota by group (ro compat).
pub const GROUP_QUOTA: u32 = 0x4;

impl Superblock {
    /// Whether all these bits are in `s_feature_incompat`.
    pub fn has_incompat(&self, bits: u32) -> bool {
        self.s_feature_incompat.get() & bits == bits
    }

    /// Whether all these bits are in `s_feature_compat`.
    pub fn has_compat(&self, bits: u32) -> bool {
        self.s_feature_compat.get() & bits == bits
    }

    /// Whether all these bits are in `s_feature_ro_compat`.
    pub fn has_ro_compat(&self, bits: u32) -> bool {
        self.s_feature_ro_compat.get() & bits == bits
    }
}
