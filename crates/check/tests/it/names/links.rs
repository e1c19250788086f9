//! Whether each directory hangs together with the root, and each inode has as many names as it says.

use std::fmt::Write as _;

use check::Report;
use ondisk::ext4::inode::flag;

use crate::names::cases::Cases;
use crate::names::images::{D, DEEP, FILE, ROOT, SUB, TREE, base, poke};

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
    // sub and deep name each other; no other entry names them.
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
    assert!(looped.beyond_reference && looped.place.inode == Some(SUB.into()));
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
    assert!(report.verdict(check::report::Judge::Reference).is_clean());
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
    assert!(report.verdict(check::report::Judge::Reference).is_clean());
    cases.case("3 links", &image, |image| {
        image.inode(D, |inode| inode.raw().unwrap().i_links_count = 3.into());
    });
    cases.finish(&["4_DIR_OVERFLOW_REF_COUNT", "4_BAD_REF_COUNT"]);
}
