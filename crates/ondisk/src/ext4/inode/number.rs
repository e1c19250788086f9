//! Inodes with a fixed purpose (Documentation/filesystems/ext4/special_inodes.rst).

/// The list of bad blocks.
pub const BAD: u32 = 1;
/// The root directory.
pub const ROOT: u32 = 2;
/// The user quota file.
pub const USR_QUOTA: u32 = 3;
/// The group quota file.
pub const GRP_QUOTA: u32 = 4;
/// The boot loader.
pub const BOOT_LOADER: u32 = 5;
/// Undeletion, never used.
pub const UNDEL_DIR: u32 = 6;
/// The owner of the blocks kept for the descriptors.
pub const RESIZE: u32 = 7;
/// The journal.
pub const JOURNAL: u32 = 8;
/// Snapshots, never used.
pub const EXCLUDE: u32 = 9;
/// Replicas, never used.
pub const REPLICA: u32 = 10;
