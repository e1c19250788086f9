//! The names of the system files, and the backups of the superblock.

/// System files of the volume, in mkfs.ocfs2's order. The quota files exist with quota only.
pub const GLOBAL: [&str; 7] = [
    "bad_blocks",
    "global_inode_alloc",
    "slot_map",
    "heartbeat",
    "global_bitmap",
    "aquota.user",
    "aquota.group",
];

/// System files of each slot, in mkfs.ocfs2's order; see [`slot_file`]. The quota files exist with quota only.
pub const PER_SLOT: [&str; 8] = [
    "orphan_dir",
    "extent_alloc",
    "inode_alloc",
    "journal",
    "local_alloc",
    "truncate_log",
    "aquota.user",
    "aquota.group",
];

/// Most slots.
pub const MAX_SLOTS: u16 = 255;

/// The name of a slot's system file.
pub fn slot_file(name: &str, slot: u16) -> String {
    format!("{name}:{slot:04}")
}

/// Byte of each backup of the superblock: 1 GiB and then four times as far each.
pub const BACKUPS: [u64; 6] = [1 << 30, 4 << 30, 16 << 30, 64 << 30, 256 << 30, 1 << 40];
