//! The ext2/3/4 superblock: Documentation/filesystems/ext4/super.rst, little-endian, at byte 1024.

use super::{Facts, Features, Journal, field, names, text, uuid};

const COMPAT: [(u64, &str); 10] = [
    (0x1, "dir_prealloc"),
    (0x2, "imagic_inodes"),
    (0x4, "has_journal"),
    (0x8, "ext_attr"),
    (0x10, "resize_inode"),
    (0x20, "dir_index"),
    (0x200, "sparse_super2"),
    (0x400, "fast_commit"),
    (0x800, "stable_inodes"),
    (0x1000, "orphan_file"),
];

const INCOMPAT: [(u64, &str); 17] = [
    (0x1, "compression"),
    (0x2, "filetype"),
    (0x4, "needs_recovery"),
    (0x8, "journal_dev"),
    (0x10, "meta_bg"),
    (0x40, "extent"),
    (0x80, "64bit"),
    (0x100, "mmp"),
    (0x200, "flex_bg"),
    (0x400, "ea_inode"),
    (0x1000, "dirdata"),
    (0x2000, "metadata_csum_seed"),
    (0x4000, "large_dir"),
    (0x8000, "inline_data"),
    (0x1_0000, "encrypt"),
    (0x2_0000, "casefold"),
    (0x4_0000, "atomic_write"),
];

const RO_COMPAT: [(u64, &str); 15] = [
    (0x1, "sparse_super"),
    (0x2, "large_file"),
    (0x4, "btree_dir"),
    (0x8, "huge_file"),
    (0x10, "uninit_bg"),
    (0x20, "dir_nlink"),
    (0x40, "extra_isize"),
    (0x100, "quota"),
    (0x200, "bigalloc"),
    (0x400, "metadata_csum"),
    (0x1000, "read-only"),
    (0x2000, "project"),
    (0x4000, "shared_blocks"),
    (0x8000, "verity"),
    (0x1_0000, "orphan_present"),
];

const MAGIC: u16 = 0xef53;

pub(super) fn parse(device: &[u8]) -> Option<Facts> {
    let sb = device.get(1024..2048)?;
    let u16_at = |at| field(sb, at).map(u16::from_le_bytes);
    let u32_at = |at| field(sb, at).map(|b| u64::from(u32::from_le_bytes(b)));
    if u16_at(0x38)? != MAGIC {
        return None;
    }
    let block_size = 1024_u64.checked_shl(u32::try_from(u32_at(0x18)?).ok()?)?;
    let (compat, incompat, ro_compat) = (u32_at(0x5c)?, u32_at(0x60)?, u32_at(0x64)?);
    let high = if incompat & 0x80 == 0 {
        0
    } else {
        u32_at(0x150)?
    };
    let blocks = u32_at(0x4)? | high << 32;
    let per_group = u32_at(0x20)?;
    let first = u32_at(0x14)?;
    let groups = blocks.saturating_sub(first).div_ceil(per_group.max(1));
    let time = |at| u32_at(at).filter(|t| *t != 0);
    let revision = u32_at(0x4c)?;
    Some(Facts {
        format: "ext",
        uuid: uuid(field(sb, 0x68)?),
        label: text(&field::<16>(sb, 0x78)?),
        block_size,
        bytes: blocks.saturating_mul(block_size),
        inode_size: Some(if revision == 0 {
            128
        } else {
            u64::from(u16_at(0x58)?)
        }),
        inodes: u32_at(0x0),
        groups: Some(groups),
        group_bytes: Some(per_group.saturating_mul(block_size)),
        flex_groups: (incompat & 0x200 != 0)
            .then(|| 1_u64.checked_shl(u32::from(sb[0x174])))
            .flatten(),
        features: Features {
            compat: names(compat, &COMPAT),
            incompat: names(incompat, &INCOMPAT),
            ro_compat: names(ro_compat, &RO_COMPAT),
        },
        journal: journal(sb, compat),
        stripe_unit: u16_at(0x164).map(|blocks| u64::from(blocks).saturating_mul(block_size)),
        stripe_width: u32_at(0x170).map(|blocks| blocks.saturating_mul(block_size)),
        created: time(0x108),
        last_mounted: time(0x2c),
        mount_count: u16_at(0x34).map(u64::from),
        last_checked: time(0x40),
        lifetime_kib: field(sb, 0x178).map(u64::from_le_bytes),
        errors: u32_at(0x194),
        state: Some(state(u16_at(0x3a)?)),
        ..Facts::default()
    })
}

fn state(word: u16) -> &'static str {
    if word & 2 != 0 {
        "errors"
    } else if word & 1 != 0 {
        "clean"
    } else {
        "not clean"
    }
}

fn journal(sb: &[u8], compat: u64) -> Option<Journal> {
    if compat & 0x4 == 0 {
        return None;
    }
    let u32_at = |at| field(sb, at).map(|b| u64::from(u32::from_le_bytes(b)));
    // s_jnl_blocks is a copy of the journal inode's block map, with its size in the last two
    // words; s_jnl_backup_type says whether it is filled.
    let bytes = (sb[0xfd] != 0)
        .then(|| Some(u32_at(0x14c)? | u32_at(0x148)? << 32))
        .flatten();
    Some(Journal {
        bytes,
        external: u32_at(0xe0)? == 0 && u32_at(0xe4)? != 0,
        fast_commit: Some(compat & 0x400 != 0),
        ..Journal::default()
    })
}
