//! Directories of other make: within their inodes, folded, encrypted.

use std::fmt::Write as _;

use ondisk::ext4::directory::entries;
use ondisk::ext4::inode::flag;

use crate::common::Image;
use crate::names::cases::Cases;
use crate::names::images::{D, SUB, TREE, base, dir_block, encrypt, encrypted, poke, sound};

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
