//! The btrfs superblock: fs/btrfs/ctree.h `struct btrfs_super_block`, little-endian, at 64 KiB.

use super::{Facts, Features, field, names, text, uuid};

const INCOMPAT: [(u64, &str); 16] = [
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
    (0x1000, "zoned"),
    (0x2000, "extent_tree_v2"),
    (0x4000, "raid_stripe_tree"),
    (0x1_0000, "simple_quota"),
];

const RO_COMPAT: [(u64, &str); 4] = [
    (0x1, "free_space_tree"),
    (0x2, "free_space_tree_valid"),
    (0x4, "verity"),
    (0x8, "block_group_tree"),
];

pub(super) fn parse(device: &[u8]) -> Option<Facts> {
    let sb = device.get(65536..65536 + 4096)?;
    if field(sb, 64)? != *b"_BHRfS_M" {
        return None;
    }
    let u32_at = |at| field(sb, at).map(|b| u64::from(u32::from_le_bytes(b)));
    let u64_at = |at| field(sb, at).map(u64::from_le_bytes);
    Some(Facts {
        format: "btrfs",
        uuid: uuid(field(sb, 32)?),
        label: text(&field::<256>(sb, 299)?),
        block_size: u32_at(144)?,
        bytes: u64_at(112)?,
        node_size: u32_at(148),
        features: Features {
            compat: names(u64_at(172)?, &[]),
            incompat: names(u64_at(188)?, &INCOMPAT),
            ro_compat: names(u64_at(180)?, &RO_COMPAT),
        },
        ..Facts::default()
    })
}
