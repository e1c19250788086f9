//! Each case is a filesystem that mke2fs made and a change to it. e2fsck and this pass must find the same before pass 1, in the same
//! order.

use std::sync::{Arc, OnceLock};

use blockio::Ram;
use ondisk::ext4::feature::{Compat, Incompat, RoCompat};
use ondisk::ext4::group_descriptor::{BLOCK_UNINIT, INODE_UNINIT};
use ondisk::ext4::journal::JournalSuperblock;
use ondisk::ext4::mmp::Mmp;
use ondisk::ext4::{GroupDescriptor, Superblock};
use zerocopy::FromBytes;

use super::super::oracle::{debugfs, descriptor, e2fsck, made, options, primary, superblock};
use super::super::{ExternalJournal, Options, Reference};
use super::{check, open};
use crate::log::{Findings, Log};
use crate::problem::{
    P0_CLEAR_TESTFS_FLAG, P0_EXT_JOURNAL_SUPER_CSUM_INVALID, P0_EXTERNAL_JOURNAL_HINT,
    P0_FUTURE_SB_LAST_MOUNT, P0_FUTURE_SB_LAST_MOUNT_FUDGED, P0_FUTURE_SB_LAST_WRITE,
    P0_HURD_CLEAR_FILETYPE, P0_JOURNAL_BAD_UUID, P0_SB_CORRUPT,
};
use crate::verdict::Verdicts;

/// Two groups, all features of today.
fn two() -> Vec<u8> {
    static IMAGE: OnceLock<Vec<u8>> = OnceLock::new();
    IMAGE
        .get_or_init(|| made(&["-t", "ext4", "-b", "1024"], 16 << 10))
        .clone()
}

/// One group, so no backup.
fn one() -> Vec<u8> {
    static IMAGE: OnceLock<Vec<u8>> = OnceLock::new();
    IMAGE
        .get_or_init(|| made(&["-t", "ext4", "-b", "1024"], 8000))
        .clone()
}

/// No checksum, no flex_bg.
fn old() -> Vec<u8> {
    static IMAGE: OnceLock<Vec<u8>> = OnceLock::new();
    let features = "^64bit,^metadata_csum,^flex_bg";
    IMAGE
        .get_or_init(|| made(&["-t", "ext4", "-b", "1024", "-O", features], 16 << 10))
        .clone()
}

fn ours(image: &[u8], options: &Options) -> Findings {
    let ram = Ram::new(image);
    let mut log = Log::new(100);
    if let Ok(volume) = open(&ram, options, &mut log) {
        check(&volume, &mut log);
    }
    log.finish()
}

/// Codes as e2fsck logs them: not those it does not look for, nothing behind where it ends, and not the code it ends
/// by when it ends in the middle of the superblock.
fn as_logged(findings: &Findings) -> Vec<u32> {
    let mut codes = Vec::new();
    for finding in findings
        .list
        .iter()
        .filter(|finding| !finding.beyond_reference)
    {
        codes.push(finding.problem.code);
        if finding.reference_stops {
            break;
        }
    }
    without_ends(codes)
}

/// The last code is logged or not by how the program ends.
fn without_ends(mut codes: Vec<u32>) -> Vec<u32> {
    codes.retain(|code| !matches!(code, 0x04 | 0x08 | 0x0b | 0x10 | 0x11));
    codes
}

fn same(name: &str, image: &[u8]) {
    let reference = e2fsck(image);
    let findings = ours(image, &options());
    let codes = as_logged(&findings);
    let expected = without_ends(reference.of(&[0]));
    // A finding behind the one that ends it is told as well, where it explains more.
    let cut = codes.len().min(expected.len());
    assert_eq!(
        codes[..cut],
        expected[..cut],
        "{name}: {reference:x?}\n{findings:#?}"
    );
    let exit = i32::from(
        Verdicts::of(&findings, Reference::E2fsck1470)
            .e2fsck
            .exit_code,
    );
    assert_eq!(
        exit >= 8,
        reference.exit >= 8 && reference.of(&[1, 2, 3, 4, 5, 6]).is_empty(),
        "{name}: {reference:x?}\n{findings:#?}"
    );
    if exit >= 8 {
        assert_eq!(
            exit, reference.exit,
            "{name}: {reference:x?}\n{findings:#?}"
        );
    } else {
        assert_eq!(codes, expected, "{name}: {reference:x?}\n{findings:#?}");
    }
}

#[test]
fn sound_filesystems_have_no_findings() {
    let kinds: [(&[&str], u32); 9] = [
        (&["-t", "ext2", "-b", "1024"], 9000),
        (&["-t", "ext3", "-b", "1024"], 20_000),
        (&["-t", "ext4", "-b", "2048"], 70_000),
        (
            &["-t", "ext4", "-b", "4096", "-O", "meta_bg,^resize_inode"],
            200_000,
        ),
        (&["-t", "ext4", "-b", "1024", "-O", "bigalloc"], 60_000),
        (
            &[
                "-t",
                "ext4",
                "-b",
                "1024",
                "-O",
                "bigalloc,^64bit",
                "-C",
                "8192",
            ],
            60_000,
        ),
        (
            &["-t", "ext4", "-b", "4096", "-O", "mmp,quota,project"],
            64_000,
        ),
        (
            &[
                "-t",
                "ext4",
                "-b",
                "1024",
                "-O",
                "sparse_super2,^metadata_csum,uninit_bg",
            ],
            60_000,
        ),
        (&["-t", "ext4", "-b", "65536", "-O", "orphan_file"], 200_000),
    ];
    for (options, kib) in kinds {
        let image = made(options, kib);
        let findings = ours(&image, &self::options());
        assert!(findings.list.is_empty(), "{options:?}: {findings:#?}");
        same(&format!("{options:?}"), &image);
    }
}

/// A change to the primary superblock.
type Change = fn(&mut Superblock);

/// Whether it is opened at all, and by which copy.
const OPENING: &[(&str, Change)] = &[
    ("magic", |sb| sb.s_magic = 1.into()),
    ("inodes_count", |sb| sb.s_inodes_count = 1000.into()),
    ("blocks_count", |sb| sb.s_blocks_count_lo = 9000.into()),
    ("more blocks than there are", |sb| {
        sb.s_blocks_count_lo = (sb.s_blocks_count_lo.get() + 100).into();
    }),
    ("fewer blocks", |sb| {
        sb.s_blocks_count_lo = (sb.s_blocks_count_lo.get() - 300).into();
    }),
    ("block size", |sb| sb.s_log_block_size = 7.into()),
    ("other block size", |sb| sb.s_log_block_size = 1.into()),
    ("cluster size", |sb| sb.s_log_cluster_size = 1.into()),
    ("blocks per group", |sb| sb.s_blocks_per_group = 8000.into()),
    ("clusters per group", |sb| {
        sb.s_clusters_per_group = 8000.into();
    }),
    ("no inodes per group", |sb| sb.s_inodes_per_group = 0.into()),
    ("inode size", |sb| sb.s_inode_size = 300.into()),
    ("small inodes", |sb| sb.s_inode_size = 64.into()),
    ("checksum type", |sb| sb.s_checksum_type = 2),
    ("revision", |sb| sb.s_rev_level = 2.into()),
    ("first inode", |sb| sb.s_first_ino = 3.into()),
    ("reserved blocks", |sb| {
        sb.s_r_blocks_count_lo = 15_000.into();
    }),
    ("reserved descriptors", |sb| {
        sb.s_reserved_gdt_blocks = 300.into();
    }),
    ("groups per flex", |sb| sb.s_log_groups_per_flex = 40),
    ("descriptor size", |sb| sb.s_desc_size = 48.into()),
    ("long descriptors", |sb| sb.s_desc_size = 128.into()),
    ("longer descriptors", |sb| sb.s_desc_size = 2048.into()),
    ("first data block 0", |sb| sb.s_first_data_block = 0.into()),
    ("first data block 2", |sb| sb.s_first_data_block = 2.into()),
];

/// Fields and features that do not fit each other.
const FIELDS: &[(&str, Change)] = &[
    ("min extra", |sb| sb.s_min_extra_isize = 33.into()),
    ("want extra", |sb| sb.s_want_extra_isize = 3.into()),
    ("extra at the end", |sb| sb.s_want_extra_isize = 128.into()),
    ("quota inode", |sb| sb.s_usr_quota_inum = 7.into()),
    ("quota inodes", |sb| {
        sb.s_grp_quota_inum = 5.into();
        sb.s_prj_quota_inum = 99_999.into();
    }),
    ("unknown compat", |sb| {
        sb.s_feature_compat = (sb.s_feature_compat.get() | 1 << 31).into();
    }),
    ("unknown incompat", |sb| {
        sb.s_feature_incompat = (sb.s_feature_incompat.get() | 1 << 31).into();
    }),
    ("unknown ro_compat", |sb| {
        sb.s_feature_ro_compat = (sb.s_feature_ro_compat.get() | 1 << 31).into();
    }),
    ("journal device", |sb| {
        sb.s_feature_incompat = sb.incompat().with(Incompat::JOURNAL_DEV).0.into();
    }),
    ("compression", |sb| {
        sb.s_feature_incompat = sb.incompat().with(Incompat::COMPRESSION).0.into();
    }),
    ("no resize inode", |sb| {
        sb.s_feature_compat = sb.compat().without(Compat::RESIZE_INODE).0.into();
    }),
    ("meta_bg as well", |sb| {
        sb.s_feature_incompat = sb.incompat().with(Incompat::META_BG).0.into();
        sb.s_first_meta_bg = 1.into();
    }),
    ("meta_bg too far", |sb| {
        sb.s_feature_incompat = sb.incompat().with(Incompat::META_BG).0.into();
        sb.s_first_meta_bg = 9.into();
    }),
    ("no extents", |sb| {
        sb.s_feature_incompat = sb.incompat().without(Incompat::EXTENTS).0.into();
    }),
    ("seed without checksums", |sb| {
        sb.s_feature_ro_compat = sb.ro_compat().without(RoCompat::METADATA_CSUM).0.into();
        sb.s_feature_incompat = sb.incompat().with(Incompat::CSUM_SEED).0.into();
    }),
    ("two checksums", |sb| {
        sb.s_feature_ro_compat = sb.ro_compat().with(RoCompat::GDT_CSUM).0.into();
    }),
];

/// What it says of journal, mount protection and time.
const OTHERS: &[(&str, Change)] = &[
    ("no journal inode", |sb| sb.s_journal_inum = 0.into()),
    ("journal inode too high", |sb| {
        sb.s_journal_inum = 99_999.into();
    }),
    ("a directory as journal", |sb| sb.s_journal_inum = 11.into()),
    ("journal device number", |sb| sb.s_journal_dev = 77.into()),
    ("no journal", |sb| {
        sb.s_feature_compat = sb.compat().without(Compat::HAS_JOURNAL).0.into();
    }),
    ("no journal, but recovery", |sb| {
        sb.s_feature_compat = sb.compat().without(Compat::HAS_JOURNAL).0.into();
        sb.s_feature_incompat = sb.incompat().with(Incompat::RECOVER).0.into();
    }),
    ("nothing to recover", |sb| {
        sb.s_feature_compat = sb.compat().without(Compat::HAS_JOURNAL).0.into();
        sb.s_feature_incompat = sb.incompat().with(Incompat::RECOVER).0.into();
        sb.s_journal_inum = 0.into();
    }),
    ("journal elsewhere", |sb| sb.s_journal_uuid[3] = 9),
    ("mmp without a block", |sb| {
        sb.s_feature_incompat = sb.incompat().with(Incompat::MMP).0.into();
    }),
    ("mmp in a wrong block", |sb| {
        sb.s_feature_incompat = sb.incompat().with(Incompat::MMP).0.into();
        sb.s_mmp_block = 7000.into();
    }),
    ("times", |sb| {
        sb.s_mtime = 0xf000_0000.into();
        sb.s_wtime = 0xf000_0000.into();
    }),
];

#[test]
fn superblocks() {
    for (base, image) in [("two", two()), ("one", one()), ("old", old())] {
        for (name, change) in OPENING.iter().chain(FIELDS).chain(OTHERS) {
            if *name == "longer descriptors" && base == "one" {
                // 1.47.0 divides by zero.
                continue;
            }
            let mut image = image.clone();
            superblock(&mut image, 1024, change);
            same(&format!("{base}: {name}"), &image);
        }
    }
}

#[test]
fn backups_that_are_no_better() {
    let mut image = two();
    for at in [1024, 8193 * 1024] {
        superblock(&mut image, at, |sb| sb.s_inodes_count = 1000.into());
    }
    same("both wrong", &image);
    for at in [1024, 8193 * 1024] {
        superblock(&mut image, at, |sb| sb.s_magic = 1.into());
        image[at + 56] = 0x53;
    }
    let mut image = two();
    image[1024 + 1020] ^= 1;
    same("checksum", &image);
    image[8193 * 1024 + 1020] ^= 1;
    same("both checksums", &image);
    let mut image = two();
    image[..4096].fill(0);
    same("nothing at the start", &image);
    same("nothing at all", &vec![0; 4 << 20]);
    same("too short", &vec![0; 1500]);
    let mut image = two();
    image.truncate(1 << 20);
    same("cut off", &image);
}

#[test]
fn later_versions_look_at_more_backups() {
    let mut image = made(&["-t", "ext4", "-b", "1024"], 64 << 10);
    for at in [1024, 8193 * 1024] {
        image[at + 56..at + 58].fill(0);
    }
    let newest = Options {
        reference: Reference::E2fsck1474,
        ..options()
    };
    assert_eq!(as_logged(&ours(&image, &newest)), [0x44]);
    let before = ours(&image, &options());
    assert!(
        before
            .tallies
            .iter()
            .any(|tally| tally.problem == &P0_SB_CORRUPT)
    );
    same("behind the second group", &image);
}

#[test]
fn descriptors() {
    type Edit = fn(&mut GroupDescriptor);
    let cases: &[(&str, u32, Edit)] = &[
        ("block bitmap outside", 1, |d| d.set_block_bitmap(9_999_999)),
        ("block bitmap nowhere", 1, |d| d.set_block_bitmap(0)),
        ("inode bitmap outside", 0, |d| d.set_inode_bitmap(9_999_999)),
        ("inode bitmap twice", 0, |d| {
            d.set_inode_bitmap(d.block_bitmap());
        }),
        ("table at the end", 1, |d| d.set_inode_table(16_300)),
        ("table in the superblock", 1, |d| d.set_inode_table(1)),
        ("unused", 1, |d| d.set_itable_unused(3000)),
        ("unused and few free", 0, |d| d.set_free_inodes(3)),
        ("last never written", 1, |d| {
            d.raw.bg_flags = (BLOCK_UNINIT | INODE_UNINIT).into();
        }),
        ("never written", 0, |d| d.raw.bg_flags = INODE_UNINIT.into()),
        ("block 0", 0, |d| d.set_block_bitmap(0)),
    ];
    for (base, image) in [("two", two()), ("one", one()), ("old", old())] {
        for (name, group, edit) in cases {
            if *group == 1 && base == "one" {
                continue;
            }
            let mut image = image.clone();
            descriptor(&mut image, *group, edit);
            same(&format!("{base}: {name}"), &image);
        }
    }
    let mut image = two();
    image[2 * 1024 + 30] ^= 1;
    same("checksum", &image);
    image[2 * 1024 + 64 + 12] ^= 1;
    same("two checksums", &image);
}

/// Where the journal's superblock lies.
fn journal_at(image: &[u8]) -> usize {
    let ram = Ram::new(image);
    let mut log = Log::new(1);
    let volume = open(&ram, &options(), &mut log).unwrap();
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
fn resize_inodes() {
    for (base, image) in [("two", two()), ("old", old())] {
        for command in [
            "sif <7> block[0] 33",
            "sif <7> block[DIND] 0",
            "sif <7> block[DIND] 999999",
            "sif <7> links_count 0",
            "sif <7> mode 0",
            "clri <7>",
        ] {
            same(&format!("{base}: {command}"), &debugfs(&image, command));
        }
        // The first reserved block and the last, which e2fsck does not come to.
        let ram = Ram::new(&image);
        let mut log = Log::new(1);
        let volume = open(&ram, &options(), &mut log).unwrap();
        let reserved: Vec<u64> = volume
            .geometry
            .reserved_gdt_map()
            .map(|r| r.block)
            .collect();
        for block in [reserved[0], reserved[5], *reserved.last().unwrap()] {
            let mut image = image.clone();
            image[block as usize * 1024] ^= 1;
            same(&format!("{base}: reserved block {block}"), &image);
            assert_eq!(ours(&image, &options()).list.len(), 1, "all are followed");
        }
    }
}

#[test]
fn multiple_mount_protection() {
    type Edit = fn(&mut Mmp);
    let image = made(&["-t", "ext4", "-b", "1024", "-O", "mmp"], 8000);
    let block = primary(&image).s_mmp_block.get() as usize;
    let cases: &[(&str, Edit)] = &[
        ("magic", |mmp| mmp.mmp_magic = 5.into()),
        ("checksum", |mmp| mmp.mmp_checksum = 5.into()),
        ("fsck", |mmp| mmp.mmp_seq = 0xe24d_4d50.into()),
        ("unknown", |mmp| mmp.mmp_seq = 0xf000_0000.into()),
        ("mounted", |mmp| mmp.mmp_seq = 77.into()),
    ];
    for (name, edit) in cases {
        let mut image = image.clone();
        let seed = primary(&image).metadata_seed().unwrap();
        let (mmp, _) = Mmp::mut_from_prefix(&mut image[block * 1024..]).unwrap();
        edit(mmp);
        if *name != "checksum" {
            mmp.mmp_checksum = mmp.checksum(seed).computed.into();
        }
        same(name, &image);
    }
}

#[test]
fn what_the_reference_only_looks_at_when_it_writes() {
    let mut image = two();
    superblock(&mut image, 1024, |sb| {
        sb.s_flags = (sb.s_flags.get() | 4).into();
        sb.s_creator_os = 1.into();
    });
    let findings = ours(&image, &options());
    let problems: Vec<_> = findings
        .list
        .iter()
        .map(|finding| finding.problem)
        .collect();
    assert_eq!(problems, [&P0_CLEAR_TESTFS_FLAG, &P0_HURD_CLEAR_FILETYPE]);
    assert!(findings.list.iter().all(|finding| finding.beyond_reference));
}

#[test]
fn a_clock_may_be_a_day_off() {
    let mut image = two();
    superblock(&mut image, 1024, |sb| {
        sb.s_mtime = 1_000_500.into();
        sb.s_wtime = 1_000_000.into();
        sb.s_wtime_hi = 1;
    });
    let at = |now| {
        let findings = ours(&image, &Options { now, ..options() });
        findings
            .list
            .iter()
            .map(|finding| finding.problem)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        at(1_000_499),
        [&P0_FUTURE_SB_LAST_MOUNT_FUDGED, &P0_FUTURE_SB_LAST_WRITE]
    );
    assert_eq!(
        at(900_000),
        [&P0_FUTURE_SB_LAST_MOUNT, &P0_FUTURE_SB_LAST_WRITE]
    );
    assert!(at(1_000_000 + (1 << 32)).is_empty());
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
        let options = Options {
            journal: Some(ExternalJournal {
                source: Arc::new(Ram::new(journal)),
                device,
            }),
            ..options()
        };
        let findings = ours(&image, &options);
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
    let mut unsealed = journal;
    superblock(&mut unsealed, 1024, |sb| {
        sb.s_feature_ro_compat = RoCompat::METADATA_CSUM.0.into();
    });
    assert!(with(&unsealed, None).is_empty());
    unsealed[1024 + 1020] ^= 1;
    assert_eq!(with(&unsealed, None), [&P0_EXT_JOURNAL_SUPER_CSUM_INVALID]);
    same("not at hand", &image);
}

#[test]
fn a_backup_that_is_asked_for_is_used() {
    let mut image = two();
    image[..3072].fill(0);
    for block_size in [Some(1024), None] {
        let options = Options {
            superblock: Some(8193),
            block_size,
            ..options()
        };
        let findings = ours(&image, &options);
        assert!(findings.list.is_empty(), "{findings:#?}");
    }
    let options = Options {
        superblock: Some(8192),
        ..options()
    };
    assert_eq!(ours(&image, &options).list.len(), 1);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 400, ..Default::default() })]

    /// Whatever stands in the superblock, the descriptors and the journal: it ends, and says something or nothing.
    #[test]
    fn no_bytes_make_it_panic(
        flips in proptest::collection::vec((0_usize..3000, proptest::prelude::any::<u8>()), 1..12),
        sealed: bool,
    ) {
        let mut image = one();
        for (at, value) in flips {
            image[1024 + at] = value;
        }
        if sealed && let Ok(sb) = Superblock::read_mut(&mut image[1024..]) {
            sb.seal();
        }
        let _ = ours(&image, &options());
    }
}
