//! The XFS superblock: fs/xfs/libxfs/xfs_format.h `struct xfs_dsb`, big-endian, at byte 0.

use super::{Facts, Features, Journal, field, names, text, uuid};

const RO_COMPAT: [(u64, &str); 4] = [
    (0x1, "finobt"),
    (0x2, "rmapbt"),
    (0x4, "reflink"),
    (0x8, "inobtcount"),
];

const INCOMPAT: [(u64, &str); 11] = [
    (0x1, "ftype"),
    (0x2, "sparse"),
    (0x4, "meta_uuid"),
    (0x8, "bigtime"),
    (0x10, "needsrepair"),
    (0x20, "nrext64"),
    (0x40, "exchange"),
    (0x80, "parent"),
    (0x100, "metadir"),
    (0x200, "zoned"),
    (0x400, "zone_gaps"),
];

/// `sb_features2`: these are no compatibility word of their own, and are listed as compatible.
const FEATURES2: [(u64, &str); 6] = [
    (0x2, "lazy-count"),
    (0x8, "attr2"),
    (0x10, "parent2"),
    (0x80, "projid32bit"),
    (0x100, "crc"),
    (0x200, "ftype2"),
];

const LAZY_COUNT: u64 = 0x2;

pub(super) fn parse(device: &[u8]) -> Option<Facts> {
    let sb = device.get(..512).filter(|sb| sb.starts_with(b"XFSB"))?;
    let u16_at = |at| field(sb, at).map(|b| u64::from(u16::from_be_bytes(b)));
    let u32_at = |at| field(sb, at).map(|b| u64::from(u32::from_be_bytes(b)));
    let u64_at = |at| field(sb, at).map(u64::from_be_bytes);
    let block_size = u32_at(4)?;
    let in_blocks = |at| u32_at(at).map(|n| n.saturating_mul(block_size));
    let features2 = u32_at(200)?;
    // The three words count from version 5 on; before they are padding.
    let v5 = u16_at(100)? & 0xf == 5;
    let word = |at| if v5 { u32_at(at) } else { Some(0) };
    Some(Facts {
        format: "xfs",
        uuid: uuid(field(sb, 32)?),
        label: text(&field::<12>(sb, 108)?),
        block_size,
        bytes: u64_at(8)?.saturating_mul(block_size),
        sector_size: u16_at(102),
        inode_size: u16_at(104),
        inodes: u64_at(128),
        groups: u32_at(88),
        group_bytes: in_blocks(84),
        features: Features {
            compat: [names(word(208)?, &[]), names(features2, &FEATURES2)].concat(),
            incompat: names(word(216)?, &INCOMPAT),
            ro_compat: names(word(212)?, &RO_COMPAT),
        },
        journal: Some(Journal {
            bytes: in_blocks(96),
            external: u64_at(48)? == 0,
            stripe_unit: u32_at(196),
            lazy_count: Some(features2 & LAZY_COUNT != 0),
            fast_commit: None,
        }),
        stripe_unit: in_blocks(184),
        stripe_width: in_blocks(188),
        ..Facts::default()
    })
}
