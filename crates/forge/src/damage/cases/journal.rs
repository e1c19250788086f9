//! The journal: its inode, its superblock, and whether there is one.

use ondisk::ext4::feature::{Compat, Incompat};
use ondisk::ext4::inode::number::JOURNAL;

use super::super::case::{Case, Reference, case};
use super::super::filesystem::Filesystem;
use super::{Error, fields};

pub(super) static CASES: &[Case] = &[
    case(
        "0-journal-has-journal",
        0x00_0016,
        "ext3-1k",
        "a journal inode without has_journal",
        |fs| without_journal(fs, false),
    ),
    case(
        "0-journal-recover-set",
        0x00_0017,
        "ext2-1k",
        "the journal is to be replayed, without a journal",
        |fs| {
            fs.edit_superblock(|sb| {
                sb.s_feature_incompat = sb.incompat().with(Incompat::RECOVER).0.into();
            })
        },
    ),
    case(
        "0-journal-run",
        0x00_002b,
        "ext3-1k",
        "the log has transactions, the superblock does not announce them",
        |fs| {
            let block = fs.journal_block()?;
            fs.edit_journal(block, |sb| sb.s_start = 1.into())
        },
    ),
    case(
        "0-journal-reset-journal",
        0x00_0019,
        "ext4-1k",
        "the log has transactions, the superblock does not announce them; with a checksum",
        |fs| {
            let block = fs.journal_block()?;
            fs.edit_journal(block, |sb| sb.s_start = 2.into())
        },
    ),
    case(
        "0-clear-v2-journal",
        0x00_002a,
        "ext3-1k",
        "a journal of version 1 with fields of version 2",
        |fs| {
            let block = fs.journal_block()?;
            fs.edit_journal(block, |sb| {
                sb.h_blocktype = 3.into();
                sb.s_feature_compat = 1.into();
            })
        },
    ),
    case(
        "0-journal-bad-inode",
        0x00_000f,
        "ext3-1k",
        "the journal is inode 9, which is free",
        |fs| {
            fs.edit_superblock(|sb| {
                sb.s_journal_inum = 9.into();
                sb.s_jnl_backup_type = 0;
            })
        },
    )
    .reference(Reference::Stops),
    case(
        "0-journal-bad-super",
        0x00_0015,
        "ext3-1k",
        "the journal is shorter than its superblock says",
        |fs| {
            let block = fs.journal_block()?;
            fs.edit_journal(block, |sb| sb.s_maxlen = (sb.s_maxlen.get() + 1).into())
        },
    )
    .reference(Reference::Stops),
    case(
        "0-journal-unsupp-rocompat",
        0x00_0025,
        "ext3-1k",
        "the journal has an unknown read-only feature",
        |fs| {
            let block = fs.journal_block()?;
            fs.edit_journal(block, |sb| sb.s_feature_ro_compat = 0x8000.into())
        },
    )
    .reference(Reference::Stops),
    case(
        "0-journal-unsupp-incompat",
        0x00_0026,
        "ext3-1k",
        "the journal has an unknown incompatible feature",
        |fs| {
            let block = fs.journal_block()?;
            fs.edit_journal(block, |sb| sb.s_feature_incompat = 0x8000.into())
        },
    )
    .reference(Reference::Stops),
    case(
        "0-cant-find-journal",
        0x00_0011,
        "ext3-1k",
        "the journal is on another device, which does not exist",
        |fs| {
            fs.edit_superblock(|sb| {
                sb.s_journal_inum = 0.into();
                sb.s_journal_uuid = *b"no such journal!";
            })
        },
    )
    .reference(Reference::Stops),
    case(
        "1-journal-inode-not-clear",
        0x01_0034,
        "ext3-1k",
        "inode 8 has blocks though there is no journal",
        |fs| without_journal(fs, true),
    ),
    case(
        "1-journal-bad-mode",
        0x01_0035,
        "ext3-1k",
        "the journal is a directory",
        |fs| fields(fs, JOURNAL, |raw| raw.i_mode = 0o040_600.into()),
    ),
];

/// Clears the feature, and optionally the inode number in the superblock.
fn without_journal(fs: &mut Filesystem<'_>, forgotten: bool) -> Result<(), Error> {
    fs.edit_superblock(|sb| {
        sb.s_feature_compat = sb.compat().without(Compat::HAS_JOURNAL).0.into();
        if forgotten {
            sb.s_journal_inum = 0.into();
            sb.s_jnl_blocks = [0.into(); 17];
        }
    })
}
