//! More inodes in a group than its bitmap has bits: e2fsck bounds the inode table only, and ends where it reads the bitmaps.
use crate::common;

use check::report::Judge;
use common::Image;

/// Bytes of fields.
const INODES: usize = 1024;
const INODES_PER_GROUP: usize = 1024 + 40;
const INODE_TABLE: usize = 2048 + 8;
/// The root's first block, in an inode of 128 bytes.
const ROOT_BLOCK: usize = 128 + 40;
/// A block that no file has.
const FREE: usize = 8000;
const BLOCK: usize = 1024;

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn put(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

/// One group without checksums, whose inode bitmap has no bit to spare.
fn full() -> Image {
    let options = [
        "-t",
        "ext2",
        "-b",
        "1024",
        "-I",
        "128",
        "-N",
        "8192",
        "-O",
        "^resize_inode,^dir_index",
    ];
    Image::make(&options, "8M", "")
}

/// The same with its root's block away from the end of the inode table, where there is room for a block of inodes.
fn with_room() -> Image {
    let mut image = full();
    let bytes = &mut image.bytes;
    let root = word(bytes, INODE_TABLE) as usize * BLOCK + ROOT_BLOCK;
    let block = word(bytes, root) as usize;
    bytes.copy_within(block * BLOCK..(block + 1) * BLOCK, FREE * BLOCK);
    bytes[block * BLOCK..(block + 1) * BLOCK].fill(0);
    put(bytes, root, FREE as u32);
    image
}

fn judge(mut image: Image, inodes: u32) -> (i32, Vec<u32>, check::Report) {
    put(&mut image.bytes, INODES, inodes);
    put(&mut image.bytes, INODES_PER_GROUP, inodes);
    let (exit, raised) = image.oracle();
    (exit, raised, image.judge())
}

#[test]
fn e2fsck_ends_at_the_bitmaps_and_not_at_the_superblock() {
    let cases = [
        (8, 8200, with_room(), "at pass 5, and nothing else is wrong"),
        (
            8,
            8200,
            full(),
            "at pass 1D: the table ends in the root's block",
        ),
        (
            12,
            16_384,
            with_room(),
            "at pass 1D, after faults of pass 1",
        ),
        (12, 50_000, with_room(), "the same with most of the blocks"),
        (
            8,
            65_504,
            with_room(),
            "in pass 1: the table is longer than the filesystem",
        ),
    ];
    for (expected, inodes, image, what) in cases {
        let (exit, raised, report) = judge(image, inodes);
        let raised = common::names(&raised);
        assert_eq!(exit, expected, "{what}: {raised:?}");
        let ours = report.verdict(Judge::Reference);
        let found: Vec<_> = report
            .findings
            .list
            .iter()
            .map(|f| f.problem.name)
            .collect();
        assert_eq!(
            i32::from(ours.exit_code),
            exit,
            "{what}: {found:?}, e2fsck {raised:?}"
        );
        assert!(!report.verdicts.strict.is_clean(), "{what}");
    }
}

/// e2fsck compares whole bytes: seven inodes need no bit, and count as free.
#[test]
fn up_to_seven_inodes_have_no_bit() {
    let (exit, raised, report) = judge(with_room(), 8199);
    assert_eq!(exit, 4);
    assert_eq!(i32::from(report.verdict(Judge::Reference).exit_code), exit);
    assert_eq!(common::raised(&report), raised);
}
