//! The orphan file.

use ondisk::ext4::feature::{Compat, RoCompat};
use ondisk::ext4::orphan;

use super::super::case::{Case, case};
use super::super::error::missing;
use super::{Error, Filesystem, fields};

pub(super) static CASES: &[Case] = &[
    case(
        "1-orphan-file-bad-mode",
        0x01_008f,
        "rich-1k",
        "the orphan file is a directory",
        |fs| {
            let ino = file(fs)?;
            fields(fs, ino, |raw| raw.i_mode = 0o040_600.into())
        },
    ),
    case(
        "1-orphan-file-not-clear",
        0x01_0090,
        "rich-1k",
        "an orphan file without the feature",
        |fs| {
            file(fs)?;
            fs.edit_superblock(|sb| {
                sb.s_feature_compat = sb.compat().without(Compat::ORPHAN_FILE).0.into();
            })
        },
    ),
    case(
        "6-orphan-file-without-journal",
        0x06_0007,
        "orphan-1k",
        "an orphan file without a journal",
        |fs| {
            file(fs)?;
            fs.edit_superblock(|sb| {
                sb.s_feature_compat = sb.compat().without(Compat::HAS_JOURNAL).0.into();
                sb.s_journal_inum = 0.into();
            })
        },
    ),
    case(
        "6-orphan-file-corrupted",
        0x06_0009,
        "orphan-1k",
        "a block of the orphan file without its magic number",
        |fs| {
            let block = first_block(fs)?;
            fs.edit_block(block, |bytes| {
                let at = bytes.len() - 8;
                bytes[at] ^= 1;
            })
        },
    ),
    case(
        "6-orphan-file-corrupted-csum",
        0x06_0009,
        "rich-1k",
        "a block of the orphan file with a wrong checksum",
        |fs| {
            let block = first_block(fs)?;
            fs.edit_block(block, |bytes| {
                let at = bytes.len() - 4;
                bytes[at] ^= 1;
            })
        },
    ),
    case(
        "6-orphan-block-dirty",
        0x06_000c,
        "orphan-1k",
        "the orphan file names an inode, the superblock announces none",
        |fs| {
            let ino = file(fs)?;
            let block = first_block(fs)?;
            let bytes = fs.inode(ino)?;
            let seed = fs.superblock().metadata_seed();
            let seed = seed
                .map(|seed| Ok::<_, Error>(fs.view(&bytes)?.seed(seed, ino)))
                .transpose()?;
            let orphan = fs.file_with_blocks()?;
            let mut bytes = fs.block(block)?;
            orphan::write(&mut bytes, &[orphan], block, seed)?;
            fs.put_block(block, &bytes)
        },
    ),
    case(
        "6-orphan-present-clean-file",
        0x06_000d,
        "orphan-1k",
        "the superblock announces orphans, the file names none",
        |fs| {
            file(fs)?;
            fs.edit_superblock(|sb| {
                sb.s_feature_ro_compat = sb.ro_compat().with(RoCompat::ORPHAN_PRESENT).0.into();
            })
        },
    ),
    case(
        "6-orphan-present-no-file",
        0x06_000e,
        "ext3-1k",
        "the superblock announces orphans without an orphan file",
        |fs| {
            fs.edit_superblock(|sb| {
                sb.s_feature_ro_compat = sb.ro_compat().with(RoCompat::ORPHAN_PRESENT).0.into();
            })
        },
    ),
];

fn file(fs: &Filesystem<'_>) -> Result<u32, Error> {
    match fs.superblock().s_orphan_file_inum.get() {
        0 => missing("orphan file"),
        ino => Ok(ino),
    }
}

fn first_block(fs: &Filesystem<'_>) -> Result<u64, Error> {
    let ino = file(fs)?;
    match fs.blocks(ino)?.at(0) {
        Some(block) => Ok(block),
        None => missing("orphan file with blocks"),
    }
}
