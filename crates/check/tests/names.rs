//! Damage to directories, indexes and link counts, beside Debian's e2fsck: the same exit code, and the same codes.
//!
//! Each case changes one thing in a sound image. e2fsck asks some of its questions two or three times, so what is compared is
//! which codes are raised, not how often.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use blockio::Ram;
use check::ext4::Options;
use check::{Report, Unwatched};
use common::{Image, counts, names, raised};
use ondisk::ext4::directory::{self, entries};
use ondisk::ext4::htree;
use ondisk::ext4::inode::flag;
use ondisk::ext4::xattr;

/// In the order of their numbers, from 12 on.
const TREE: &str = "mkdir d\ncd d\nwrite @small file\nwrite @large gile\nmkdir sub\nsymlink link target\n\
                    mknod pipe p\nmkdir sub/deep\ncd sub/deep\nwrite @small last\ncd ../..\n\
                    mknod char c 1 3\nmknod block b 1 3\n";
const D: u32 = 12;
const FILE: u32 = 13;
const GILE: u32 = 14;
const SUB: u32 = 15;
const LINK: u32 = 16;
const PIPE: u32 = 17;
const DEEP: u32 = 18;
const LAST: u32 = 19;
const CHAR: u32 = 20;
const BLOCK: u32 = 21;
const ROOT: u32 = 2;

/// Cases that differ, printed together, and every code that was raised.
#[derive(Default)]
struct Cases {
    differ: String,
    raised: BTreeSet<&'static str>,
}

fn set(codes: &[u32]) -> BTreeSet<u32> {
    codes.iter().copied().collect()
}

fn list(codes: &BTreeSet<u32>) -> Vec<&'static str> {
    names(&codes.iter().copied().collect::<Vec<_>>())
}

/// What is raised up to where e2fsck gives up; what it gives up at is in its log, if it is an error.
fn with_stop(report: &Report) -> Vec<u32> {
    let mut codes = raised(report);
    let mut list = report.findings.list.iter();
    let stop = list.find(|finding| finding.reference_stops);
    codes.extend(
        stop.map(|stop| stop.problem.code)
            .filter(|code| counts(*code)),
    );
    codes
}

impl Cases {
    /// Damages a copy of an image and compares; the report.
    fn case(&mut self, name: &str, base: &Image, damage: impl FnOnce(&mut Image)) -> Report {
        let mut image = base.clone();
        damage(&mut image);
        let (code, theirs) = image.oracle();
        let report = image.judge();
        let (ours, theirs) = (set(&with_stop(&report)), set(&theirs));
        let exit = i32::from(report.verdicts.e2fsck.exit_code);
        let all = report.findings.list.iter();
        self.raised.extend(all.map(|finding| finding.problem.name));
        if exit != code || ours != theirs {
            let (ours, theirs) = (list(&ours), list(&theirs));
            writeln!(
                self.differ,
                "{name}: exit {exit} for {code}; ours {ours:?}, e2fsck {theirs:?}"
            )
            .unwrap();
        }
        report
    }

    /// Nothing differed, and all of these were met.
    fn finish(self, met: &[&str]) {
        assert!(self.differ.is_empty(), "\n{}", self.differ);
        let missing: Vec<_> = met
            .iter()
            .filter(|code| !self.raised.contains(*code))
            .collect();
        assert!(missing.is_empty(), "never raised: {missing:?}");
    }
}

/// Block maps, so that a directory's blocks stand in its inode.
fn base(features: &str, commands: &str) -> Image {
    let features = format!("^has_journal,^extent,^64bit,^metadata_csum,^resize_inode,{features}");
    let options = [
        "-t", "ext4", "-b", "1024", "-I", "256", "-N", "128", "-O", &features,
    ];
    sound(Image::make(&options, "4M", commands))
}

fn sound(image: Image) -> Image {
    let (code, codes) = image.oracle();
    assert_eq!((code, names(&codes)), (0, vec![]));
    let report = image.judge();
    assert_eq!(names(&raised(&report)), [""; 0]);
    image
}

fn dir_block(image: &mut Image, dir: u32, logical: usize) -> u64 {
    let block = image.field(dir, |inode| inode.block_words()[logical]);
    assert_ne!(block, 0);
    block.into()
}

/// Where the entry of that name lies: block of the device, offset.
fn entry(image: &mut Image, dir: u32, name: &str) -> (u64, usize) {
    for logical in 0..12 {
        let block = dir_block(image, dir, logical);
        let size = image.geometry.block_size;
        let found = entries(image.block(block), size)
            .map_while(Result::ok)
            .find(|entry| entry.inode != 0 && entry.name == name.as_bytes())
            .map(|entry| entry.offset);
        if let Some(offset) = found {
            return (block, offset);
        }
    }
    panic!("no {name} in {dir}");
}

/// Changes bytes of an entry, counted from its begin: 0 inode, 4 rec_len, 6 name_len, 7 type, 8 name.
fn poke(image: &mut Image, dir: u32, name: &str, at: usize, bytes: &[u8]) {
    let (block, offset) = entry(image, dir, name);
    image.block(block)[offset + at..][..bytes.len()].copy_from_slice(bytes);
}

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
    // `deep` is named by d as well, whose block lies before that of sub.
    let report = cases.case("an earlier name", &image, |image| {
        poke(image, D, "file", 0, &DEEP.to_le_bytes());
        poke(image, D, "file", 7, &[2]);
    });
    let list = &report.findings.list;
    let late = list
        .iter()
        .find(|f| f.problem.name == "2_LINK_DIR")
        .unwrap();
    assert_eq!(
        (late.place.directory, late.place.name.as_deref()),
        (Some(SUB), Some("deep"))
    );
    let report = cases.case("a later name", &image, |image| {
        poke(image, DEEP, "last", 0, &SUB.to_le_bytes());
        poke(image, DEEP, "last", 7, &[2]);
    });
    let list = &report.findings.list;
    let late = list
        .iter()
        .find(|f| f.problem.name == "2_LINK_DIR")
        .unwrap();
    assert_eq!(
        (late.place.directory, late.place.name.as_deref()),
        (Some(DEEP), Some("last"))
    );
    cases.finish(&["2_LINK_DIR"]);
}

#[test]
fn inodes_that_are_not_what_they_say() {
    let image = base("^dir_index,^ext_attr,^huge_file", TREE);
    let mut cases = Cases::default();
    let devices = [(CHAR, "char"), (BLOCK, "block"), (PIPE, "pipe")];
    for (ino, name) in devices {
        cases.case(name, &image, |image| {
            image.inode(ino, |inode| {
                inode.raw().unwrap().i_flags = flag::EXTENTS.into();
            });
        });
    }
    cases.case("socket", &image, |image| {
        image.inode(PIPE, |inode| {
            inode.raw().unwrap().i_flags = flag::INDEX.into();
            inode.raw().unwrap().i_mode = 0o140_644.into();
        });
        poke(image, D, "pipe", 7, &[6]);
    });
    cases.case("no mode", &image, |image| {
        image.inode(FILE, |inode| inode.raw().unwrap().i_mode = 0xf1ff.into());
    });
    cases.case("link", &image, |image| {
        image.inode(LINK, |inode| inode.raw().unwrap().i_size_lo = 3.into());
    });
    cases.case("fragment", &image, |image| {
        image.inode(FILE, |inode| inode.raw().unwrap().i_obso_faddr = 3.into());
    });
    cases.case("attributes", &image, |image| {
        image.inode(GILE, |inode| inode.raw().unwrap().i_file_acl_lo = 3.into());
    });
    cases.case("attributes nowhere", &image, |image| {
        image.inode(GILE, |inode| {
            inode.raw().unwrap().i_file_acl_lo = u32::MAX.into();
        });
    });
    cases.case("attributes beyond", &image, |image| {
        image.inode(GILE, |inode| {
            inode.raw().unwrap().l_i_file_acl_high = 3.into();
        });
    });
    cases.case("sectors beyond", &image, |image| {
        image.inode(GILE, |inode| {
            inode.raw().unwrap().l_i_blocks_high = 3.into();
        });
    });
    cases.case("a directory's size", &image, |image| {
        image.inode(SUB, |inode| inode.raw().unwrap().i_size_high = 3.into());
    });
    let mut hurd = image.clone();
    hurd.bytes[1024 + 72] = 1;
    cases.case("the Hurd's fragments", &hurd, |image| {
        image.inode(FILE, |inode| {
            inode.bytes()[116..118].copy_from_slice(&[3, 4]);
        });
    });
    cases.finish(&[
        "2_BAD_CHAR_DEV",
        "2_BAD_BLOCK_DEV",
        "2_BAD_FIFO",
        "2_BAD_SOCKET",
        "2_BAD_MODE",
        "2_INVALID_SYMLINK",
        "2_FADDR_ZERO",
        "2_FILE_ACL_ZERO",
        "2_FILE_ACL_BAD",
        "2_I_FILE_ACL_HI_ZERO",
        "2_BLOCKS_HI_ZERO",
        "2_DIR_SIZE_HIGH_ZERO",
        "2_FRAG_ZERO",
        "2_FSIZE_ZERO",
    ]);
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
    cases.case("a name behind those in use", &image, |image| {
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

/// The first block of a file of extents.
fn ext_block(image: &mut Image, ino: u32) -> u64 {
    image.field(ino, |inode| {
        let node = ondisk::ext4::extent::Node::read(&inode.raw().i_block).unwrap();
        node.extents().next().unwrap().start
    })
}

fn offset_in(image: &mut Image, block: u64, name: &str) -> usize {
    let size = image.geometry.block_size;
    let mut all = entries(image.block(block), size).map_while(Result::ok);
    all.find(|entry| entry.name == name.as_bytes())
        .unwrap()
        .offset
}

#[test]
fn connection() {
    let image = base("^dir_index", TREE);
    let mut cases = Cases::default();
    cases.case("no name", &image, |image| poke(image, D, "sub", 0, &[0; 4]));
    cases.case("no root", &image, |image| {
        image.inode(ROOT, |inode| inode.bytes().fill(0));
    });
    cases.case("the root is a file", &image, |image| {
        image.inode(ROOT, |inode| inode.raw().unwrap().i_mode = 0o100_644.into());
    });
    // sub and deep name each other, and nobody else does.
    let report = cases.case("a loop", &image, |image| {
        poke(image, D, "sub", 0, &[0; 4]);
        poke(image, DEEP, "last", 0, &SUB.to_le_bytes());
        poke(image, DEEP, "last", 7, &[2]);
        poke(image, SUB, "..", 0, &DEEP.to_le_bytes());
    });
    let list = &report.findings.list;
    let looped = list
        .iter()
        .find(|f| f.problem.name == "3_LOOPED_DIR")
        .unwrap();
    assert!(looped.beyond_reference && looped.place.inode == Some(SUB));
    cases.finish(&[
        "3_UNCONNECTED_DIR",
        "3_BAD_DOT_DOT",
        "3_NO_ROOT_INODE",
        "3_NO_ROOT_INODE_ABORT",
        "3_ROOT_NOT_DIR_ABORT",
        "3_LOOPED_DIR",
    ]);
}

#[test]
fn lost_and_found_counts_only_for_those_who_repair() {
    let mut cases = Cases::default();
    let image = base("^dir_index", TREE);
    let of = |report: &Report| {
        let list = report.findings.list.iter().filter(|f| f.beyond_reference);
        list.map(|f| f.problem.name).collect::<Vec<_>>()
    };
    let report = cases.case("gone", &image, |image| {
        poke(image, ROOT, "lost+found", 8, b"lost-found");
    });
    assert_eq!(of(&report), ["3_NO_LF_DIR"]);
    assert!(report.verdicts.e2fsck.is_clean());
    let report = cases.case("a file", &image, |image| {
        poke(image, ROOT, "lost+found", 0, &FILE.to_le_bytes());
        poke(image, ROOT, "lost+found", 7, &[1]);
    });
    assert_eq!(of(&report), ["3_LPF_NOTDIR"]);
    let report = cases.case("encrypted", &image, |image| {
        image.inode(11, |inode| {
            let flags = inode.raw().unwrap().i_flags.get();
            inode.raw().unwrap().i_flags = (flags | flag::ENCRYPT).into();
        });
    });
    assert_eq!(of(&report), ["3_LPF_ENCRYPTED"]);
    cases.finish(&["3_NO_LF_DIR", "3_LPF_NOTDIR", "3_LPF_ENCRYPTED"]);
}

#[test]
fn link_counts() {
    let image = base("^dir_index", TREE);
    let mut cases = Cases::default();
    for (name, ino, links) in [
        ("too many", FILE, 9),
        ("a directory's", D, 9),
        ("one too few", D, 2),
    ] {
        cases.case(name, &image, |image| {
            image.inode(ino, |inode| {
                inode.raw().unwrap().i_links_count = links.into();
            });
        });
    }
    for name in ["file", "link", "pipe"] {
        cases.case(name, &image, |image| poke(image, D, name, 0, &[0; 4]));
    }
    cases.case("nothing in it", &image, |image| {
        poke(image, D, "file", 0, &[0; 4]);
        image.inode(FILE, |inode| {
            let raw = inode.raw().unwrap();
            raw.i_block.fill(0);
            raw.i_blocks_lo = 0.into();
            raw.i_size_lo = 0.into();
        });
    });
    cases.finish(&["4_BAD_REF_COUNT", "4_UNATTACHED_INODE", "4_ZERO_LEN_INODE"]);
}

#[test]
fn a_count_that_overflowed_once_is_no_fault_to_the_reference() {
    let mut commands = String::from("mkdir d\ncd d\nmkdir sub\nmkdir bus\n");
    for nth in 0..100 {
        writeln!(commands, "write @small a-name-that-takes-room-{nth:04}").unwrap();
    }
    let image = base("dir_index", &commands);
    let mut cases = Cases::default();
    let report = cases.case("1 link", &image, |image| {
        image.inode(D, |inode| inode.raw().unwrap().i_links_count = 1.into());
    });
    assert!(report.verdicts.e2fsck.is_clean());
    cases.case("3 links", &image, |image| {
        image.inode(D, |inode| inode.raw().unwrap().i_links_count = 3.into());
    });
    cases.finish(&["4_DIR_OVERFLOW_REF_COUNT", "4_BAD_REF_COUNT"]);
}

#[test]
fn inodes_that_hold_values() {
    let commands = "write @small file\nwrite @small other\nea_set -f @large file user.large\n";
    let mut image = base("ea_inode,^dir_index", commands);
    let is_value =
        |image: &mut Image, ino| image.field(ino, |inode| inode.has_flags(flag::EA_INODE));
    let value = (12..40).find(|ino| is_value(&mut image, *ino)).unwrap();
    let mut cases = Cases::default();
    cases.case("another count", &image, |image| {
        image.inode(value, |inode| inode.raw().unwrap().i_osd1 = 5.into());
    });
    cases.case("nobody's", &image, |image| {
        image.inode(12, |inode| inode.bytes()[160..].fill(0));
    });
    let named = |image: &mut Image| {
        poke(image, ROOT, "other", 0, &value.to_le_bytes());
    };
    cases.case("a name", &image, named);
    named(&mut image);
    let options = Options {
        threads: 2,
        ..Options::default()
    };
    let report = check::ext4::check(&Ram::new(&image.bytes), &options, &Unwatched).unwrap();
    let list = report.findings.list.iter();
    let codes: BTreeSet<_> = list.map(|finding| finding.problem.name).collect();
    assert!(codes.contains("2_EA_INODE_DIR_LINK"), "{codes:?}");
    cases.finish(&["4_EA_INODE_REF_COUNT", "4_EA_INODE_SPURIOUS_FLAG"]);
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

/// A directory of some ten leaves.
fn indexed(features: &str) -> Image {
    let mut commands = String::from("mkdir d\ncd d\n");
    for nth in 0..250 {
        writeln!(commands, "write @small a-name-that-takes-room-{nth:04}").unwrap();
    }
    let features = format!("^has_journal,^extent,^64bit,^resize_inode,{features}");
    let options = [
        "-t", "ext4", "-b", "1024", "-I", "256", "-N", "512", "-O", &features,
    ];
    sound(Image::make(&options, "4M", &commands))
}

#[test]
fn indexes() {
    let image = indexed("^metadata_csum");
    let mut cases = Cases::default();
    for (name, at, bytes) in [
        ("reserved", 24, &[1_u8][..]),
        ("another hash", 28, &[2]),
        ("no hash", 28, &[9]),
        ("a short head", 29, &[4]),
        ("one level", 30, &[1]),
        ("three levels", 30, &[3]),
        ("flags", 31, &[1]),
        ("limit", 32, &[100]),
        ("count", 34, &[200]),
        ("fewer", 34, &[4]),
        ("a wild block", 36, &[0xee]),
        ("a block twice", 36, &[3]),
        ("the root", 36, &[0]),
        ("a hash", 43, &[0xff]),
        ("a low hash", 40, &[0; 4]),
        ("hashes out of order", 51, &[0]),
    ] {
        cases.case(name, &image, |image| {
            let block = dir_block(image, D, 0);
            image.block(block)[at..at + bytes.len()].copy_from_slice(bytes);
        });
    }
    cases.case("a leaf exchanged for another", &image, |image| {
        let (one, two) = (dir_block(image, D, 2), dir_block(image, D, 3));
        let copy = image.block(one).to_vec();
        let other = image.block(two).to_vec();
        image.block(one).copy_from_slice(&other);
        image.block(two).copy_from_slice(&copy);
    });
    cases.case("an empty leaf", &image, |image| {
        let block = dir_block(image, D, 2);
        let bytes = image.block(block);
        bytes.fill(0);
        bytes[4..6].copy_from_slice(&1024_u16.to_le_bytes());
    });
    cases.case("a leaf that looks like a node", &image, |image| {
        let block = dir_block(image, D, 2);
        let bytes = image.block(block);
        bytes.fill(0);
        bytes[4..6].copy_from_slice(&1024_u16.to_le_bytes());
        bytes[8..12].copy_from_slice(&[127, 0, 1, 0]);
        bytes[12] = 3;
    });
    cases.case("without an index", &image, |image| {
        image.inode(D, |inode| {
            let flags = inode.raw().unwrap().i_flags.get();
            inode.raw().unwrap().i_flags = (flags & !flag::INDEX).into();
        });
    });
    cases.case("a name twice", &image, |image| {
        let block = dir_block(image, D, 2);
        let all: Vec<_> = entries(image.block(block), 1024)
            .map_while(Result::ok)
            .map(|entry| (entry.offset, entry.name.to_vec()))
            .collect();
        let name = all[0].1.clone();
        image.block(block)[all[1].0 + 8..][..name.len()].copy_from_slice(&name);
    });
    cases.finish(&[
        "2_HTREE_BAD_ROOT",
        "2_HTREE_BAD_LIMIT",
        "2_HTREE_BAD_COUNT",
        "2_HTREE_BADBLK",
        "2_HTREE_DUPREF",
        "2_HTREE_NOTREF",
        "2_HTREE_MIN_HASH",
        "2_HTREE_MAX_HASH",
        "2_HTREE_HASH_ORDER",
        "2_HTREE_BAD_DEPTH",
        "2_HTREE_CLEAR",
        "2_NON_UNIQUE_FILE",
    ]);
}

#[test]
fn checksums() {
    let image = indexed("metadata_csum");
    let mut cases = Cases::default();
    cases.case("the root", &image, |image| {
        let block = dir_block(image, D, 0);
        image.block(block)[1020] ^= 1;
    });
    cases.case("a leaf", &image, |image| {
        let block = dir_block(image, D, 2);
        image.block(block)[1020] ^= 1;
    });
    cases.case("a leaf without", &image, |image| {
        let block = dir_block(image, D, 2);
        image.block(block)[1019] = 0;
    });
    cases.case("a leaf whose last entry takes it", &image, |image| {
        let block = dir_block(image, D, 2);
        let offset = entries(image.block(block), 1024)
            .map_while(Result::ok)
            .filter(|entry| entry.inode != 0)
            .last()
            .unwrap()
            .offset;
        let len = (1024 - offset) as u16;
        image.block(block)[offset + 4..offset + 6].copy_from_slice(&len.to_le_bytes());
    });
    for (name, len) in [
        ("out of the block", 1032_u16),
        ("odd", 21),
        ("none", 0),
        ("short", 8),
    ] {
        cases.case(name, &image, |image| {
            let block = dir_block(image, D, 2);
            image.block(block)[4..6].copy_from_slice(&len.to_le_bytes());
        });
    }
    cases.case("an empty leaf, sealed", &image, |image| {
        let seed = seed_of(image, D);
        let block = dir_block(image, D, 2);
        directory::BlockWriter::new(image.block(block), 1024, true)
            .unwrap()
            .finish(Some(seed))
            .unwrap();
    });
    cases.case("a node, sealed", &image, |image| {
        let seed = seed_of(image, D);
        let block = dir_block(image, D, 2);
        let entries = [htree::IndexEntry { hash: 0, block: 3 }];
        htree::write_node(image.block(block), &entries, Some(seed)).unwrap();
    });
    cases.case("a node", &image, |image| {
        let block = dir_block(image, D, 2);
        let entries = [htree::IndexEntry { hash: 0, block: 3 }];
        let seed = ondisk::ext4::Seed(3);
        htree::write_node(image.block(block), &entries, Some(seed)).unwrap();
    });
    cases.finish(&[
        "2_HTREE_ROOT_CSUM_INVALID",
        "2_HTREE_NODE_CSUM_INVALID",
        "2_LEAF_NODE_MISSING_CSUM",
        "2_LEAF_NODE_ONLY_CSUM_INVALID",
    ]);
}

fn seed_of(image: &mut Image, ino: u32) -> ondisk::ext4::Seed {
    let seed = image.seed().unwrap();
    image.field(ino, |inode| inode.seed(seed, ino))
}

#[test]
fn inline_directories() {
    let image = base("inline_data,^dir_index", TREE);
    let mut cases = Cases::default();
    let raw = |ino: u32, at: usize, bytes: &'static [u8]| {
        move |image: &mut Image| {
            image.inode(ino, |inode| {
                assert_ne!(inode.raw().unwrap().i_flags.get() & flag::INLINE_DATA, 0);
                inode.raw().unwrap().i_block[at..at + bytes.len()].copy_from_slice(bytes);
            });
        }
    };
    cases.case("another parent", &image, raw(SUB, 0, &[2, 0, 0, 0]));
    cases.case("no parent", &image, raw(SUB, 0, &[0; 4]));
    cases.case("a wild parent", &image, raw(SUB, 0, &[0xff; 4]));
    cases.case("a wild inode", &image, raw(SUB, 4, &[0xff; 4]));
    cases.case("a wrong type", &image, raw(SUB, 11, &[1]));
    cases.case("a broken chain", &image, raw(SUB, 8, &[9]));
    cases.case("a slash", &image, raw(SUB, 12, b"/"));
    cases.case("no attribute", &image, |image| {
        image.inode(SUB, |inode| inode.bytes()[160..].fill(0));
    });
    cases.case("no attribute, and a broken chain", &image, |image| {
        image.inode(SUB, |inode| {
            inode.bytes()[160..].fill(0);
            inode.raw().unwrap().i_block[8] = 9;
        });
    });
    cases.case("its parent again", &image, raw(SUB, 12, b"..\0\0"));
    cases.finish(&[
        "3_BAD_DOT_DOT",
        "2_MISSING_DOT_DOT",
        "2_BAD_INO",
        "2_BAD_FILETYPE",
        "2_DIR_CORRUPTED",
        "2_BAD_NAME",
    ]);
}

#[test]
fn folded_names() {
    let options = [
        "-t",
        "ext4",
        "-b",
        "1024",
        "-I",
        "256",
        "-N",
        "512",
        "-E",
        "encoding=utf8,encoding_flags=strict",
        "-O",
        "casefold,^has_journal,^extent,^64bit,^metadata_csum,^resize_inode",
    ];
    let mut commands = String::from("mkdir d\nset_inode_field d flags 0x40000000\ncd d\n");
    for nth in 0..250 {
        writeln!(commands, "write @small A-Name-That-Takes-ROOM-{nth:04}").unwrap();
    }
    let image = sound(Image::make(&options, "4M", &commands));
    let mut cases = Cases::default();
    cases.case("no UTF-8", &image, |image| {
        // Of the first in a block e2fsck takes a hash that it has never computed.
        let block = dir_block(image, D, 2);
        let second = entries(image.block(block), 1024).nth(1).unwrap().unwrap();
        let at = second.offset + 10;
        image.block(block)[at] = 0xff;
    });
    cases.case("only the case", &image, |image| {
        let block = dir_block(image, D, 2);
        image.block(block)[10] ^= 0x20;
    });
    cases.finish(&["2_BAD_ENCODED_NAME"]);
}

#[test]
#[allow(
    clippy::single_range_in_vec_init,
    reason = "one bad range is a list of one"
)]
fn what_cannot_be_read_is_said() {
    let mut image = base("^dir_index", TREE);
    let block = dir_block(&mut image, SUB, 0) * 1024;
    let source = Ram::new(&image.bytes).failing([block..block + 1], 5);
    let options = Options {
        threads: 2,
        ..Options::default()
    };
    let report = check::ext4::check(&source, &options, &Unwatched).unwrap();
    let list = &report.findings.list;
    let unread = list
        .iter()
        .find(|f| f.problem.name == "2_READ_DIRBLOCK")
        .unwrap();
    assert_eq!(unread.place.block, Some(block / 1024));
    assert!(unread.reference_stops);
    assert_eq!(report.verdicts.e2fsck.exit_code, 12);
}

#[test]
fn threads_change_nothing() {
    let mut image = indexed("^metadata_csum");
    for logical in 1..8 {
        let block = dir_block(&mut image, D, logical);
        image.block(block)[8] = b'/';
        image.block(block)[7] = 9;
    }
    let of = |threads| {
        let options = Options {
            threads,
            now: 0,
            ..Options::default()
        };
        let report = check::ext4::check(&Ram::new(&image.bytes), &options, &Unwatched).unwrap();
        report.findings.list
    };
    let one = of(1);
    assert!(one.len() > 14);
    assert_eq!(one, of(4));
}

#[test]
fn inodes_that_have_to_be_read_again() {
    let features = "^has_journal,^extent,^64bit,metadata_csum,^resize_inode,^dir_index";
    let options = [
        "-t", "ext4", "-b", "1024", "-I", "256", "-N", "128", "-O", features,
    ];
    let image = sound(Image::make(&options, "4M", TREE));
    let mut cases = Cases::default();
    // Bytes that belong to nothing but the checksum.
    let unseal = |image: &mut Image, ino: u32| {
        let base = image.bytes.as_ptr().addr();
        let slot = image.field(ino, |inode| inode.bytes().as_ptr().addr()) - base;
        image.bytes[slot + 200] ^= 1;
    };
    for (name, ino) in [
        ("link", LINK),
        ("pipe", PIPE),
        ("char", CHAR),
        ("file", FILE),
        ("sub", SUB),
    ] {
        cases.case(name, &image, |image| unseal(image, ino));
    }
    cases.case("one link too many", &image, |image| {
        image.inode(FILE, |inode| inode.raw().unwrap().i_links_count = 2.into());
        unseal(image, FILE);
    });
    cases.case("a fragment", &image, |image| {
        image.inode(FILE, |inode| inode.raw().unwrap().i_obso_faddr = 3.into());
        unseal(image, FILE);
    });
    cases.finish(&["2_DBLIST_ITERATE", "4_BAD_REF_COUNT"]);
}

/// Xorshift (Marsaglia 2003): enough for places and values.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }

    fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

/// The blocks of all directories with a block map, those of the first indirect block included.
fn dir_blocks(image: &mut Image) -> Vec<(u32, u64)> {
    let mut found = Vec::new();
    for ino in std::iter::once(ROOT).chain(11..60) {
        let words = image.field(ino, |inode| {
            let is_dir = inode.file_type() == Some(ondisk::ext4::FileType::Directory);
            let mapped = is_dir && !inode.has_flags(flag::INLINE_DATA | flag::EXTENTS);
            mapped.then(|| inode.block_words())
        });
        let Some(words) = words else { continue };
        let mut blocks = words[..12].to_vec();
        if words[12] != 0 {
            let (below, _) = image.block(words[12].into()).as_chunks::<4>();
            blocks.extend(below.iter().map(|word| u32::from_le_bytes(*word)));
        }
        let most = image.geometry.blocks_count;
        let blocks = blocks.into_iter().map(u64::from);
        found.extend(
            blocks
                .filter(|block| (1..most).contains(block))
                .map(|block| (ino, block)),
        );
    }
    found
}

/// Changes one to three things in directories. `sealed`: and makes the checksums right again.
fn damage(image: &mut Image, random: &mut Random, sealed: bool) {
    let blocks = dir_blocks(image);
    for _ in 0..=random.below(3) {
        let (ino, block) = random.one_of(&blocks);
        let (_, other) = random.one_of(&blocks);
        let count = image.sb.s_inodes_count.get();
        let copy = image.block(other).to_vec();
        let bytes = image.block(block);
        let size = bytes.len();
        let starts: Vec<usize> = entries(bytes, size as u32)
            .map_while(Result::ok)
            .map(|entry| entry.offset)
            .collect();
        let at = if starts.is_empty() {
            0
        } else {
            random.one_of(&starts)
        };
        let short = random.below(32) * 4;
        match random.below(16) {
            0 => bytes[at..at + 4]
                .copy_from_slice(&(random.below(count as usize + 9) as u32).to_le_bytes()),
            1 => bytes[at] ^= 1 << random.below(8),
            2 => bytes[at..at + 4].fill(0),
            3 => bytes[at + 4] = short as u8,
            4 => bytes[at + 4] ^= 1 << random.below(8),
            5 => bytes[at + 5] ^= 1 << random.below(8),
            6 => bytes[at + 6] = random.below(40) as u8,
            7 => bytes[at + 7] = random.below(9) as u8,
            8 => bytes[(at + 8 + random.below(12)).min(size - 1)] = random.one_of(b".\\0/abc\\xff"),
            9 => bytes[random.below(size)] ^= 1 << random.below(8),
            10 => bytes[24 + random.below(40)] = random.one_of(&[0, 1, 2, 3, 6, 9, 127, 255]),
            11 => bytes.copy_from_slice(&copy),
            12 => bytes[size - 12 + random.below(12)] ^= 1 << random.below(8),
            13 => {
                let value = random.below(70) as u16;
                image.inode(ino, |inode| {
                    inode.raw().unwrap().i_links_count = value.into();
                });
            }
            14 => {
                let bit =
                    random.one_of(&[flag::INDEX, flag::ENCRYPT, flag::CASEFOLD, flag::IMMUTABLE]);
                image.inode(ino, |inode| {
                    let flags = inode.raw().unwrap().i_flags.get();
                    inode.raw().unwrap().i_flags = (flags ^ bit).into();
                });
            }
            _ => {
                let victim = 11 + random.below(50) as u32;
                let value = random.below(65536) as u16;
                image.inode(victim, |inode| inode.raw().unwrap().i_mode = value.into());
            }
        }
        if sealed && image.seed().is_some() {
            let seed = seed_of(image, ino);
            let bytes = image.block(block);
            let _ = directory::seal(bytes, seed)
                || htree::seal(bytes, true, seed).is_ok()
                || htree::seal(bytes, false, seed).is_ok();
        }
    }
}

/// A directory whose index has nodes below its root.
fn deep() -> Image {
    let mut commands = String::from("mkdir d\ncd d\n");
    for nth in 0..1500 {
        writeln!(commands, "write @small {nth:04}-{}", "name".repeat(20)).unwrap();
    }
    let features = "^has_journal,^extent,^64bit,^metadata_csum,^resize_inode";
    let options = [
        "-t", "ext4", "-b", "1024", "-I", "256", "-N", "2048", "-O", features,
    ];
    let mut image = sound(Image::make(&options, "8M", &commands));
    let root = dir_block(&mut image, D, 0);
    assert_eq!(image.block(root)[30], 1, "levels");
    image
}

/// Names that are folded, with large leaves.
fn folded(block_size: &str, size: &str) -> Image {
    let options = [
        "-t",
        "ext4",
        "-b",
        block_size,
        "-I",
        "256",
        "-N",
        "1024",
        "-E",
        "encoding=utf8",
        "-O",
        "casefold,^has_journal,^extent,^64bit,^metadata_csum,^resize_inode",
    ];
    let mut commands = String::from("mkdir d\nset_inode_field d flags 0x40000000\ncd d\n");
    for nth in 0..900 {
        writeln!(commands, "write @small A-Name-That-Takes-ROOM-{nth:04}").unwrap();
    }
    sound(Image::make(&options, size, &commands))
}

/// Directories and files with an encryption context; `gile` has another policy, and nobody is at fault for it yet.
fn encrypted() -> Image {
    let names: Vec<String> = (0..6)
        .map(|nth| format!("name-of-16-bytes-or-more-{nth}"))
        .collect();
    let mut commands = String::from("mkdir d\ncd d\n");
    for name in &names[..4] {
        writeln!(commands, "write @small {name}").unwrap();
    }
    writeln!(commands, "mkdir {}\nmknod {} p", names[4], names[5]).unwrap();
    let mut image = base("encrypt,^dir_index", &commands);
    for ino in 12..=17 {
        encrypt(&mut image, ino, 1);
    }
    sound(image)
}

fn encrypt(image: &mut Image, ino: u32, key: u8) {
    let mut value = vec![1, 1, 4, 0];
    value.extend([key; 8]);
    value.extend([ino as u8; 16]);
    let context = xattr::NewEntry {
        index: 9,
        name: b"c".to_vec(),
        value: xattr::NewValue::Here(value),
    };
    image.inode(ino, |inode| {
        let flags = inode.raw().unwrap().i_flags.get();
        inode.raw().unwrap().i_flags = (flags | flag::ENCRYPT).into();
        let start = 128 + usize::from(inode.inode().unwrap().extra_isize());
        xattr::write_inode(&mut inode.bytes()[start..], &[context]).unwrap();
    });
}

#[test]
fn encrypted_names() {
    let image = encrypted();
    let mut cases = Cases::default();
    cases.case("a plain file", &image, |image| {
        image.inode(14, |inode| {
            let flags = inode.raw().unwrap().i_flags.get();
            inode.raw().unwrap().i_flags = (flags & !flag::ENCRYPT).into();
        });
    });
    cases.case("a plain directory", &image, |image| {
        image.inode(17, |inode| {
            let flags = inode.raw().unwrap().i_flags.get();
            inode.raw().unwrap().i_flags = (flags & !flag::ENCRYPT).into();
        });
    });
    cases.case("another policy", &image, |image| encrypt(image, 14, 2));
    cases.case("a version of later kernels", &image, |image| {
        image.inode(14, |inode| {
            let bytes = inode.bytes();
            let at = bytes
                .windows(4)
                .position(|four| four == [1, 1, 4, 0])
                .unwrap();
            bytes[at] = 7;
        });
    });
    cases.case("a short name", &image, |image| {
        poke(image, D, "name-of-16-bytes-or-more-1", 6, &[15]);
    });
    cases.case("zeros in a name", &image, |image| {
        poke(image, D, "name-of-16-bytes-or-more-1", 10, &[0, b'/', 0]);
    });
    cases.case("a name twice", &image, |image| {
        poke(
            image,
            D,
            "name-of-16-bytes-or-more-1",
            8,
            b"name-of-16-bytes-or-more-2",
        );
    });
    cases.finish(&[
        "2_UNENCRYPTED_FILE",
        "2_INCONSISTENT_ENCRYPTION_POLICY",
        "2_BAD_ENCRYPTED_NAME",
        "2_NON_UNIQUE_FILE_NO_RENAME",
    ]);
}

#[test]
fn random_damage_is_judged_alike() {
    let rounds: u64 = std::env::var("ROUNDS").map_or(8, |rounds| rounds.parse().unwrap());
    let begin: u64 = std::env::var("BEGIN").map_or(1, |begin| begin.parse().unwrap());
    let bases = [
        base("^dir_index", TREE),
        base("dir_index,^filetype", TREE),
        indexed("^metadata_csum"),
        indexed("metadata_csum"),
        base("inline_data", TREE),
        deep(),
        folded("1024", "8M"),
        folded("16384", "6M"),
        encrypted(),
    ];
    let mut cases = Cases::default();
    for seed in begin..begin + rounds {
        for (nth, image) in bases.iter().enumerate() {
            let mut random = Random(seed * 0x9e37_79b9 + nth as u64 + 1);
            let name = format!("seed {seed} of base {nth}");
            cases.case(&name, image, |image| {
                damage(image, &mut random, seed % 2 == 0);
            });
        }
    }
    cases.finish(&[]);
}
