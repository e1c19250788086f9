//! Inodes that names lead to.

use std::collections::BTreeSet;

use blockio::Ram;
use check::{Options, Silent, ext4};
use ondisk::ext4::inode::flag;

use crate::common::Image;
use crate::names::cases::Cases;
use crate::names::images::{
    BLOCK, CHAR, D, FILE, GILE, LINK, PIPE, ROOT, SUB, TREE, base, poke, sound,
};

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
    cases.case("without an owner", &image, |image| {
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
    let report = check::ext4::check(
        &Ram::new(&image.bytes),
        &options,
        &ext4::Options::default(),
        &Silent,
    )
    .unwrap();
    let list = report.findings.list.iter();
    let codes: BTreeSet<_> = list.map(|finding| finding.problem.name).collect();
    assert!(codes.contains("2_EA_INODE_DIR_LINK"), "{codes:?}");
    cases.finish(&["4_EA_INODE_REF_COUNT", "4_EA_INODE_SPURIOUS_FLAG"]);
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
