//! The superblock and its backups.

use ondisk::ext4::Superblock;
use ondisk::ext4::feature::{Compat, Incompat, RoCompat};

use super::{as_logged, old, one, ours, ours_with, same, two};
use crate::ext4::e2fsck::problems::{
    P0_FUTURE_SB_LAST_MOUNT, P0_FUTURE_SB_LAST_MOUNT_FUDGED, P0_FUTURE_SB_LAST_WRITE,
    P0_OPEN_FAILED, P0_SB_CORRUPT,
};
use crate::ext4::options::Options as Own;
use crate::ext4::options::Reference;
use crate::ext4::oracle::{made, options, own, superblock};
use crate::frame::options::Options;

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

/// Fields of journal, mount protection and time.
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

/// A journal that no feature allows is found before the filesystem is marked valid, so it does not count where the superblock ends
/// the check.
#[test]
fn faults_of_the_journal_do_not_count_before_the_superblock_is_judged() {
    let without_feature = |sb: &mut Superblock| {
        sb.s_feature_compat = (sb.s_feature_compat.get() & !Compat::HAS_JOURNAL.0).into();
        sb.s_first_ino = 99_999.into();
    };
    let cases: [(&str, Change); 2] = [
        ("without the feature", |_| {}),
        ("and to be recovered", |sb| {
            sb.s_feature_incompat = (sb.s_feature_incompat.get() | Incompat::RECOVER.0).into();
        }),
    ];
    for (name, change) in cases {
        let mut image = one();
        superblock(&mut image, 1024, |sb| {
            without_feature(sb);
            change(sb);
        });
        same(name, &image);
    }
    let mut image = one();
    superblock(&mut image, 1024, without_feature);
    assert_eq!(
        crate::ext4::oracle::e2fsck(&image).exit,
        8,
        "the case is the one that is meant"
    );
}

/// A superblock with an exit code that the test expects of e2fsck, so that the case is the one that is meant.
fn same_with(exit: i32, name: &str, mut image: Vec<u8>, change: Change) {
    superblock(&mut image, 1024, change);
    assert_eq!(crate::ext4::oracle::e2fsck(&image).exit, exit, "{name}");
    same(name, &image);
}

/// The journal is read by `s_inodes_per_group` before that is judged, and where it is then no journal, e2fsck stops.
#[test]
fn the_journal_is_read_by_any_number_of_inodes_in_a_group() {
    let cases: [(&str, Change); 5] = [
        ("less than a block", |sb| {
            sb.s_inodes_per_group = 2.into();
            sb.s_inodes_count = 2.into();
        }),
        ("more than a bitmap has bits", |sb| {
            sb.s_inodes_per_group = 20_000.into();
            sb.s_inodes_count = 20_000.into();
            sb.s_journal_inum = 11.into();
        }),
        ("65,536", |sb| {
            sb.s_inodes_per_group = 65_536.into();
            sb.s_inodes_count = 65_536.into();
            sb.s_journal_uuid[0] = 1;
        }),
        ("a table of 4 GiB times something", |sb| {
            sb.s_inodes_per_group = (1 << 31).into();
            sb.s_inodes_count = (1 << 31).into();
            sb.s_journal_inum = 11.into();
        }),
        ("beyond the end, and the copy is an extent tree", |sb| {
            sb.s_inodes_per_group = 60_000.into();
            sb.s_inodes_count = 60_000.into();
        }),
    ];
    for (name, change) in cases {
        same_with(12, name, one(), change);
    }
}

/// A number of inodes does not count where a field that e2fsck judges before is out of range.
#[test]
fn the_number_of_inodes_comes_after_other_fields() {
    let image = made(&["-t", "ext3", "-b", "1024", "-I", "256"], 8000);
    let cases: [(i32, &str, Change); 4] = [
        (8, "more inodes than 4 in each block", |sb| {
            sb.s_inodes_per_group = 62_228.into();
        }),
        (8, "reserved descriptors", |sb| {
            sb.s_inodes_per_group = 10_000.into();
            sb.s_reserved_gdt_blocks = 300.into();
        }),
        (8, "no inodes", |sb| {
            sb.s_inodes_per_group = 10_000.into();
            sb.s_inodes_count = 0.into();
            sb.s_feature_compat = sb.compat().without(Compat::HAS_JOURNAL).0.into();
            sb.s_journal_inum = 0.into();
        }),
        (12, "only the number", |sb| {
            sb.s_inodes_per_group = 10_000.into();
        }),
    ];
    for (exit, name, change) in cases {
        same_with(exit, name, image.clone(), change);
    }
}

/// e2fsck comes to the first block after the number of inodes, whatever the first block is.
#[test]
fn a_wrong_first_block_and_another_field() {
    let others: [(&str, Change); 7] = [
        ("nothing", |_| {}),
        ("inodes", |sb| sb.s_inodes_count = 1040.into()),
        ("inodes per group", |sb| sb.s_inodes_per_group = 64.into()),
        ("reserved blocks", |sb| {
            sb.s_r_blocks_count_lo = u32::MAX.into();
        }),
        ("blocks", |sb| sb.s_blocks_count_lo = 70_000.into()),
        ("first inode", |sb| sb.s_first_ino = 99_999.into()),
        ("reserved descriptors", |sb| {
            sb.s_reserved_gdt_blocks = 300.into();
        }),
    ];
    for (size, firsts) in [("1024", [0, 2]), ("4096", [1, 7])] {
        let image = made(&["-t", "ext2", "-b", size], 9000);
        for first in firsts {
            for (name, change) in others {
                let mut image = image.clone();
                superblock(&mut image, 1024, |sb| {
                    sb.s_first_data_block = first.into();
                    change(sb);
                });
                same(&format!("blocks of {size}, first {first}, {name}"), &image);
            }
        }
    }
    // One group, and so no backup that e2fsck could go by.
    let image = made(&["-t", "ext2", "-b", "1024"], 8000);
    same_with(12, "the case that is meant", image, |sb| {
        sb.s_first_data_block = 0.into();
        sb.s_inodes_count = 1040.into();
    });
}

/// Where the checksum alone is wrong, the finding says so and names the copy that agrees.
#[test]
fn a_checksum_that_is_wrong_alone_is_told_from_damage() {
    let alone = |image: &[u8]| {
        let findings = ours(image, &own());
        let refused = findings
            .list
            .iter()
            .find(|finding| finding.problem == &P0_OPEN_FAILED);
        let note = refused.and_then(|finding| finding.note.clone()).unwrap();
        note.contains("only that is wrong with it") && note.contains("block 8193")
    };
    let mut image = two();
    // In use, counts and times change in the primary alone.
    superblock(&mut image, 1024, |sb| {
        sb.s_free_inodes_count = 3.into();
        sb.s_mtime = 1_700_000_000.into();
        sb.s_last_mounted[0] = b'/';
    });
    let used = image.clone();
    image[1024 + 1020] ^= 1;
    assert!(alone(&image));
    let mut damaged = used;
    damaged[1024 + 0x68] ^= 1;
    assert!(!alone(&damaged), "the UUID is another");
}

/// A journal inode above `s_inodes_count` is not read, but where the groups have it, the superblock's copy of it is used.
#[test]
fn a_journal_above_the_number_of_inodes_is_read_by_its_copy() {
    let image = made(&["-t", "ext3", "-b", "1024"], 8000);
    let cases: [(i32, &str, Change); 3] = [
        (8, "by the copy", |sb| {
            sb.s_inodes_per_group = (1 << 31).into();
            sb.s_inodes_count = 2.into();
        }),
        (12, "without the copy", |sb| {
            sb.s_inodes_per_group = (1 << 31).into();
            sb.s_inodes_count = 2.into();
            sb.s_jnl_backup_type = 0;
        }),
        (8, "no inodes", |sb| sb.s_inodes_count = 0.into()),
    ];
    for (exit, name, change) in cases {
        same_with(exit, name, image.clone(), change);
    }
}

#[test]
fn later_versions_look_at_more_backups() {
    let mut image = made(&["-t", "ext4", "-b", "1024"], 64 << 10);
    for at in [1024, 8193 * 1024] {
        image[at + 56..at + 58].fill(0);
    }
    let newest = Own {
        reference: Reference::E2fsck1474,
        ..own()
    };
    assert_eq!(as_logged(&ours(&image, &newest)), [0x44]);
    let before = ours(&image, &own());
    assert!(
        before
            .tallies
            .iter()
            .any(|tally| tally.problem == &P0_SB_CORRUPT)
    );
    same("after the second group", &image);
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
        let findings = ours_with(&image, &Options { now, ..options() }, &own());
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
fn a_backup_that_is_asked_for_is_used() {
    let mut image = two();
    image[..3072].fill(0);
    for block_size in [Some(1024), None] {
        let own = Own {
            superblock: Some(8193),
            block_size,
            ..own()
        };
        let findings = ours(&image, &own);
        assert!(findings.list.is_empty(), "{findings:#?}");
    }
    let own = Own {
        superblock: Some(8192),
        ..own()
    };
    assert_eq!(ours(&image, &own).list.len(), 1);
}
