//! The journal's inode and superblock, within the filesystem and on a device of its own.

use std::sync::Arc;

use blockio::Ram;
use ondisk::ext4::feature::{Compat, RoCompat};
use ondisk::ext4::journal::JournalSuperblock;
use zerocopy::FromBytes;

use super::{old, ours, same, two};
use crate::ext4::e2fsck::log::Log;
use crate::ext4::e2fsck::problems::{
    P0_EXT_JOURNAL_SUPER_CSUM_INVALID, P0_EXTERNAL_JOURNAL_HINT, P0_JOURNAL_BAD_UUID,
};
use crate::ext4::options::ExternalJournal;
use crate::ext4::options::Options as Own;
use crate::ext4::oracle::{debugfs, made, options, own, primary, superblock};
use crate::ext4::pass0::open;

/// Where the journal's superblock lies.
fn journal_at(image: &[u8]) -> usize {
    let ram = Ram::new(image);
    let mut log = Log::new(1);
    let volume = open(&ram, &options(), &own(), &mut log).unwrap();
    let slot = volume.read_inode(8).unwrap();
    let inode = ondisk::ext4::Inode::read(&slot, volume.geometry.inode_size).unwrap();
    let block = volume.map(&inode).block(0).unwrap();
    block as usize * volume.block_size()
}

#[test]
fn journals() {
    type Edit = fn(&mut JournalSuperblock);
    let cases: &[(&str, Edit)] = &[
        ("magic", |j| j.h_magic = 1.into()),
        ("descriptor", |j| j.h_blocktype = 1.into()),
        ("version 1", |j| j.h_blocktype = 3.into()),
        ("version 9", |j| j.h_blocktype = 9.into()),
        ("block size", |j| j.s_blocksize = 2048.into()),
        ("longer", |j| j.s_maxlen = 90_000.into()),
        ("shorter", |j| j.s_maxlen = 500.into()),
        ("first", |j| j.s_first = 99_999.into()),
        ("transactions", |j| j.s_start = 5.into()),
        ("compat", |j| j.s_feature_compat = 8.into()),
        ("incompat", |j| j.s_feature_incompat = 0x80.into()),
        ("ro_compat", |j| j.s_feature_ro_compat = 1.into()),
        ("checksum of no type", |j| j.s_feature_incompat = 8.into()),
        ("two checksums", |j| j.s_feature_incompat = 0x18.into()),
        ("old and new checksum", |j| {
            j.s_feature_incompat = 0x10.into();
            j.s_feature_compat = 1.into();
            j.s_checksum_type = 4;
        }),
        ("good checksum", |j| {
            j.s_feature_incompat = 0x10.into();
            j.s_checksum_type = 4;
            j.seal();
        }),
        ("wrong checksum", |j| {
            j.s_feature_incompat = 0x10.into();
            j.s_checksum_type = 4;
            j.s_checksum = 5.into();
        }),
        ("fast commits", |j| j.s_feature_incompat = 0x20.into()),
        ("many fast commits", |j| {
            j.s_feature_incompat = 0x20.into();
            j.s_num_fc_blks = 5000.into();
        }),
        ("two users", |j| j.s_nr_users = 2.into()),
    ];
    for (base, image) in [("two", two()), ("old", old())] {
        let at = journal_at(&image);
        for (name, edit) in cases {
            for feature in [true, false] {
                let mut image = image.clone();
                let (journal, _) = JournalSuperblock::mut_from_prefix(&mut image[at..]).unwrap();
                edit(journal);
                if !feature {
                    superblock(&mut image, 1024, |sb| {
                        sb.s_feature_compat = sb.compat().without(Compat::HAS_JOURNAL).0.into();
                    });
                }
                same(&format!("{base}: {name}, feature {feature}"), &image);
            }
        }
    }
}

#[test]
fn journal_inodes() {
    for (base, image) in [("two", two()), ("old", old())] {
        for command in [
            "sif <8> mode 0",
            "sif <8> links_count 0",
            "sif <8> size 524288",
            "sif <8> size 99999999",
            "sif <8> block[0] 0",
            "sif <8> block[5] 999999",
            "sif <8> flags 0x800",
            "clri <8>",
        ] {
            let damaged = debugfs(&image, command);
            same(&format!("{base}: {command}"), &damaged);
            let mut alone = damaged;
            superblock(&mut alone, 1024, |sb| sb.s_jnl_backup_type = 0);
            same(&format!("{base}: {command}, no copy"), &alone);
        }
    }
}

#[test]
fn external_journals() {
    let journal = made(&["-O", "journal_dev", "-b", "1024"], 4000);
    let uuid = primary(&journal).s_uuid;
    let mut image = old();
    superblock(&mut image, 1024, |sb| {
        sb.s_journal_uuid = uuid;
        sb.s_journal_inum = 0.into();
        sb.s_journal_dev = 0x700.into();
    });
    let with = |journal: &[u8], device| {
        let own = Own {
            journal: Some(ExternalJournal {
                source: Arc::new(Ram::new(journal)),
                device,
            }),
            ..own()
        };
        let findings = ours(&image, &own);
        findings
            .list
            .iter()
            .map(|finding| finding.problem)
            .collect::<Vec<_>>()
    };
    assert!(with(&journal, Some(0x700)).is_empty());
    assert_eq!(with(&journal, Some(0x701)), [&P0_EXTERNAL_JOURNAL_HINT]);
    let mut other = journal.clone();
    superblock(&mut other, 1024, |sb| sb.s_uuid[0] ^= 1);
    assert_eq!(with(&other, None), [&P0_JOURNAL_BAD_UUID]);
    let mut bad_checksum = journal;
    superblock(&mut bad_checksum, 1024, |sb| {
        sb.s_feature_ro_compat = RoCompat::METADATA_CSUM.0.into();
    });
    assert!(with(&bad_checksum, None).is_empty());
    bad_checksum[1024 + 1020] ^= 1;
    assert_eq!(
        with(&bad_checksum, None),
        [&P0_EXT_JOURNAL_SUPER_CSUM_INVALID]
    );
    same("not at hand", &image);
}
