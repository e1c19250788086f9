//! Journals of each checksum version, as debugfs writes them.

use crate::common;

use std::fs;

use common::journal::{Log, blocks, read_log};
use common::{Image, make};
use ondisk::ext4::Geometry;
use ondisk::ext4::journal::{JournalSuperblock, TagFormat};

/// Writes two transactions, the first with data and the second with revocations, and reads them back.
fn written(open: &str, features: &str) -> (Log, JournalSuperblock) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("image");
    let args = [
        "-q",
        "-F",
        "-t",
        "ext4",
        "-b",
        "1024",
        "-O",
        features,
        path.to_str().unwrap(),
        "16M",
    ];
    make::run("mke2fs", &args, &[0]);
    let data = dir.path().join("data");
    // Among the blocks is one that begins like a journal's block and must be escaped.
    let mut bytes = vec![0x55; 3 * 1024];
    bytes[1024..1028].copy_from_slice(&[0xc0, 0x3b, 0x39, 0x98]);
    fs::write(&data, bytes).unwrap();
    let data = data.to_str().unwrap();
    let commands = format!("{open}\njw -b 9000-9002 {data}\njw -r 9100,9101,9102\njc\n");
    make::debugfs(&path, true, &commands);
    let image = Image {
        bytes: fs::read(&path).unwrap(),
    };
    let geometry = Geometry::new(image.superblock().unwrap()).unwrap();
    let blocks = blocks(&image, &geometry);
    let journal = *JournalSuperblock::read(&blocks[0]).unwrap();
    if let Some(sum) = journal.checksum() {
        assert!(sum.matches());
    }
    (read_log(&blocks, &journal), journal)
}

fn check(open: &str, features: &str, expected: TagFormat) {
    let (log, journal) = written(open, features);
    assert_eq!(journal.tag_format(), expected);
    assert_eq!(
        (log.transactions, log.tags, log.revoked),
        (2, 3, 3),
        "{log:?}"
    );
}

#[test]
fn without_checksums() {
    for (features, bit64) in [
        ("^metadata_csum,64bit", true),
        ("^metadata_csum,^64bit", false),
    ] {
        check(
            "jo",
            features,
            TagFormat {
                bit64,
                csum_v2: false,
                csum_v3: false,
            },
        );
    }
}

#[test]
fn version_1_has_a_checksum_in_the_commit_block() {
    let (log, journal) = written("jo -c -v 1", "^metadata_csum,64bit");
    assert!(journal.has_commit_checksum());
    assert!(!journal.tag_format().has_tail());
    assert_eq!(
        (log.transactions, log.tags, log.revoked),
        (2, 3, 3),
        "{log:?}"
    );
    assert_eq!(log.commit_checksums, 2);
}

#[test]
fn version_2_has_16_bits_in_tags() {
    for (features, bit64) in [
        ("metadata_csum,64bit", true),
        ("metadata_csum,^64bit", false),
    ] {
        check(
            "jo -c -v 2",
            features,
            TagFormat {
                bit64,
                csum_v2: true,
                csum_v3: false,
            },
        );
    }
}

#[test]
fn version_3_has_32_bits_in_tags() {
    for (features, bit64) in [
        ("metadata_csum,64bit", true),
        ("metadata_csum,^64bit", false),
    ] {
        check(
            "jo -c -v 3",
            features,
            TagFormat {
                bit64,
                csum_v2: false,
                csum_v3: true,
            },
        );
    }
}
