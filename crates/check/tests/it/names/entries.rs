//! Single entries: what they are called, and what they lead to.

use check::Report;
use ondisk::ext4::directory;

use crate::common::Image;
use crate::names::cases::Cases;
use crate::names::images::{
    D, DEEP, FILE, LAST, ROOT, SUB, TREE, base, dir_block, ext_block, offset_in, poke, seed_of,
    sound,
};

#[test]
fn dots() {
    let image = base("^dir_index", TREE);
    let mut cases = Cases::default();
    for (name, dots, at, bytes) in [
        ("another inode", ".", 0, &2_u32.to_le_bytes()[..]),
        ("no inode", ".", 0, &[0; 4]),
        ("a wild inode", ".", 0, &[0xff; 4]),
        ("another name", ".", 8, b"x"),
        ("two letters", ".", 6, &[2]),
        ("no end", ".", 9, b"x"),
        ("a long record", ".", 4, &1024_u16.to_le_bytes()),
        ("a type", ".", 7, &[1]),
        ("no inode above", "..", 0, &[0; 4]),
        ("a wild inode above", "..", 0, &[0xff; 4]),
        ("another name above", "..", 8, b"xy"),
        ("no end above", "..", 10, b"x"),
        ("another directory above", "..", 0, &(DEEP).to_le_bytes()),
        ("itself above", "..", 0, &(SUB).to_le_bytes()),
    ] {
        cases.case(name, &image, |image| poke(image, SUB, dots, at, bytes));
    }
    cases.case("the root's", &image, |image| {
        poke(image, ROOT, "..", 0, &D.to_le_bytes());
    });
    cases.finish(&[
        "2_BAD_INODE_DOT",
        "2_MISSING_DOT",
        "2_1ST_NOT_DOT",
        "2_DOT_NULL_TERM",
        "2_SPLIT_DOT",
        "2_MISSING_DOT_DOT",
        "2_2ND_NOT_DOT_DOT",
        "2_DOT_DOT_NULL_TERM",
        "3_BAD_DOT_DOT",
        "2_BAD_INO",
    ]);
}

#[test]
fn entries_and_what_they_lead_to() {
    let image = base("^dir_index", TREE);
    let mut cases = Cases::default();
    let number = |ino: u32| ino.to_le_bytes().to_vec();
    for (name, at, bytes) in [
        ("a reserved inode", 0, number(8)),
        ("a wild inode", 0, number(5000)),
        ("an unused inode", 0, number(100)),
        ("its directory", 0, number(D)),
        ("the root", 0, number(ROOT)),
        ("a directory", 0, number(DEEP)),
        ("its parent", 0, number(LAST)),
        ("a short record", 4, vec![8, 0]),
        ("an odd record", 4, vec![17, 0]),
        ("a long record", 4, vec![0, 8]),
        ("a long name", 6, vec![200]),
        ("no name", 6, vec![0]),
        ("a slash", 8, b"fi/e".to_vec()),
        ("a zero", 8, b"fi\0e".to_vec()),
        ("a dot", 6, vec![1, 1, b'.']),
        ("two dots", 6, vec![2, 1, b'.', b'.']),
        ("a wrong type", 7, vec![2]),
        ("a wild type", 7, vec![77]),
        ("no type", 7, vec![0]),
        ("another's name", 8, b"gile".to_vec()),
    ] {
        cases.case(name, &image, |image| poke(image, D, "file", at, &bytes));
    }
    cases.case("twins of one inode", &image, |image| {
        poke(image, D, "gile", 0, &number(FILE));
        poke(image, D, "gile", 8, b"file");
    });
    cases.case("a hole", &image, |image| {
        image.inode(D, |inode| {
            inode.raw().unwrap().i_block[4..8].fill(0);
            inode.raw().unwrap().i_block[8..12].copy_from_slice(&3900_u32.to_le_bytes());
            inode.set_size(3072).unwrap();
        });
    });
    cases.finish(&[
        "2_BAD_INO",
        "2_UNUSED_INODE",
        "2_LINK_DOT",
        "2_LINK_ROOT",
        "2_LINK_DIR",
        "2_DIR_CORRUPTED",
        "2_NULL_NAME",
        "2_BAD_NAME",
        "2_DUP_DOT",
        "2_DUP_DOT_DOT",
        "2_BAD_FILETYPE",
        "2_SET_FILETYPE",
        "2_REPORT_DUP_DIRENT",
        "2_NON_UNIQUE_FILE",
        "2_DUPLICATE_DIRENT",
        "2_DIRECTORY_HOLE",
        "4_UNATTACHED_INODE",
        "4_BAD_REF_COUNT",
    ]);
}

#[test]
fn the_first_of_two_names_makes_the_parent() {
    let image = base("^dir_index", TREE);
    let mut cases = Cases::default();
    let late = |report: &Report| {
        let mut list = report.findings.list.iter();
        let late = list.find(|f| f.problem.name == "2_LINK_DIR").unwrap();
        (late.place.directory, late.place.name.clone())
    };
    // `deep` is named by d as well, whose block lies before that of sub.
    let report = cases.case("an earlier name", &image, |image| {
        poke(image, D, "file", 0, &DEEP.to_le_bytes());
        poke(image, D, "file", 7, &[2]);
    });
    assert_eq!(late(&report), (Some(SUB.into()), Some("deep".to_owned())));
    let report = cases.case("a later name", &image, |image| {
        poke(image, DEEP, "last", 0, &SUB.to_le_bytes());
        poke(image, DEEP, "last", 7, &[2]);
    });
    assert_eq!(late(&report), (Some(DEEP.into()), Some("last".to_owned())));
    cases.finish(&["2_LINK_DIR"]);
}

#[test]
fn without_types() {
    let image = base("^dir_index,^filetype", TREE);
    let mut cases = Cases::default();
    cases.case("a type", &image, |image| poke(image, D, "file", 7, &[1]));
    cases.case("a name", &image, |image| poke(image, D, "file", 8, b"gile"));
    cases.finish(&["2_CLEAR_FILETYPE", "2_NON_UNIQUE_FILE"]);
}

#[test]
fn groups_that_were_never_written() {
    let options = [
        "-t",
        "ext4",
        "-b",
        "1024",
        "-g",
        "1024",
        "-N",
        "256",
        "-O",
        "^has_journal,^metadata_csum,uninit_bg,^flex_bg",
    ];
    let image = sound(Image::make(&options, "4M", TREE));
    let mut cases = Cases::default();
    let last = image.sb.s_inodes_count.get();
    cases.case("a name of an inode there", &image, |image| {
        let block = ext_block(image, D);
        let offset = offset_in(image, block, "file");
        image.block(block)[offset..offset + 4].copy_from_slice(&last.to_le_bytes());
    });
    cases.case("a name past those in use", &image, |image| {
        let block = ext_block(image, D);
        let offset = offset_in(image, block, "file");
        let ino = image.geometry.inodes_per_group;
        image.block(block)[offset..offset + 4].copy_from_slice(&ino.to_le_bytes());
    });
    cases.finish(&[
        "2_INOREF_BG_INO_UNINIT",
        "2_INOREF_IN_UNUSED",
        "2_UNUSED_INODE",
    ]);
}

#[test]
fn records_of_64_kib() {
    let features = "^has_journal,^extent,^64bit,metadata_csum,^resize_inode,^dir_index";
    let options = [
        "-t", "ext4", "-b", "65536", "-I", "256", "-N", "256", "-O", features,
    ];
    let image = sound(Image::make(&options, "16M", TREE));
    let mut cases = Cases::default();
    for (name, at, bytes) in [
        ("the whole block", 4, [0xff, 0xff]),
        ("none", 4, [0, 0]),
        ("beyond 64 KiB", 4, [1, 0]),
        ("too far", 4, [0xfc, 0xff]),
        ("no name", 6, [0, 1]),
    ] {
        cases.case(name, &image, |image| poke(image, D, "file", at, &bytes));
    }
    cases.case("an empty block", &image, |image| {
        let seed = seed_of(image, DEEP);
        let block = dir_block(image, DEEP, 0);
        directory::BlockWriter::new(image.block(block), 65536, true)
            .unwrap()
            .finish(Some(seed))
            .unwrap();
    });
    cases.finish(&["2_DIR_CORRUPTED", "2_MISSING_DOT"]);
}
