//! Indexes and checksums of directory blocks.

use ondisk::ext4::directory::{self, entries};
use ondisk::ext4::htree;
use ondisk::ext4::inode::flag;

use crate::names::cases::Cases;
use crate::names::images::{D, dir_block, indexed, seed_of};

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
    cases.case(
        "a root of other bytes, whose entries end the reference",
        &image,
        |image| {
            let block = dir_block(image, D, 0);
            image.block(block).fill(b't');
        },
    );
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
