//! The list of bad blocks: inode 1, whose "content" is the blocks that cannot be used.

use ondisk::ext4::inode::number::BAD;

use super::super::case::{Case, Reference, case};
use super::{Error, Filesystem, fields};

pub(super) static CASES: &[Case] = &[
    case(
        "1-bb-bad-block",
        0x01_000a,
        "ext2-1k",
        "a block bitmap is on a bad block",
        |fs| {
            let block = fs.descriptor(0)?.block_bitmap();
            list(fs, 0, block)
        },
    ),
    case(
        "1-ib-bad-block",
        0x01_000b,
        "ext2-1k",
        "an inode bitmap is on a bad block",
        |fs| {
            let block = fs.descriptor(0)?.inode_bitmap();
            list(fs, 0, block)
        },
    ),
    case(
        "1-bb-illegal-block-num",
        0x01_0012,
        "ext2-1k",
        "a bad block outside of the filesystem",
        |fs| list(fs, 0, u64::from(u32::MAX) - 7),
    ),
    case(
        "1-inode-bblock-latch",
        0x01_0013,
        "ext4-1k",
        "a bad block outside of the filesystem, with checksums",
        |fs| list(fs, 1, u64::from(u32::MAX) - 7),
    ),
    case(
        "1-bbinode-bad-metablock",
        0x01_0015,
        "ext2-1k",
        "the list's own indirect block is bad",
        metablock,
    ),
    case(
        "1-bbinode-bad-metablock-prompt",
        0x01_0016,
        "ext3-1k",
        "the list's own indirect block is bad; what follows is in doubt",
        metablock,
    ),
    case(
        "1-bb-fs-block",
        0x01_004d,
        "ext2-1k",
        "the list's indirect block is a block bitmap",
        |fs| {
            let block = fs.descriptor(0)?.block_bitmap();
            list(fs, 12, block)
        },
    ),
    case(
        "1-bad-primary-block",
        0x01_0017,
        "ext2-1k",
        "the first superblock is bad",
        |fs| {
            let first = fs.geometry().first_data_block;
            list(fs, 0, first.into())
        },
    ),
    case(
        "1-bad-primary-block-prompt",
        0x01_0018,
        "ext3-1k",
        "the first superblock is bad; what follows is in doubt",
        |fs| {
            let first = fs.geometry().first_data_block;
            list(fs, 0, first.into())
        },
    ),
    case(
        "1-bad-primary-superblock",
        0x01_0019,
        "ext4-1k",
        "the first superblock is bad, with checksums",
        |fs| {
            let first = fs.geometry().first_data_block;
            list(fs, 0, first.into())
        },
    ),
    case(
        "1-bad-primary-group-descriptor",
        0x01_001a,
        "ext2-1k",
        "a block of descriptors is bad",
        |fs| {
            let block = fs.geometry().group_layout(0).descriptors.start;
            list(fs, 0, block)
        },
    ),
    case(
        "1-bad-superblock",
        0x01_001b,
        "ext2-1k",
        "a backup of the superblock is bad",
        |fs| {
            let block = fs.geometry().group_first_block(1);
            list(fs, 0, block)
        },
    ),
    case(
        "1-bad-group-descriptors",
        0x01_001c,
        "ext2-1k",
        "a backup of the descriptors is bad",
        |fs| {
            let block = fs.geometry().group_layout(1).descriptors.start;
            list(fs, 0, block)
        },
    ),
    case(
        "1-badblocks-in-badblocks",
        0x01_007b,
        "ext2-1k",
        "the block of the inode table with the list's own inode is bad",
        |fs| {
            let block = fs.descriptor(0)?.inode_table();
            list(fs, 0, block)
        },
    )
    .reference(Reference::Raises),
    case(
        "2-bb-inode",
        0x02_0005,
        "ext2-1k",
        "a name refers to an inode on a bad block",
        |fs| {
            let name = fs.name_in_root(b"f300k")?;
            let at = fs.inode_position(name.inode)?;
            let block = at / u64::from(fs.geometry().block_size);
            list(fs, 0, block)
        },
    ),
];

/// Lists a block as bad, in that word of the map.
fn list(fs: &mut Filesystem<'_>, slot: usize, block: u64) -> Result<(), Error> {
    fields(fs, BAD, |raw| {
        raw.i_block[slot * 4..slot * 4 + 4].copy_from_slice(&(block as u32).to_le_bytes());
    })
}

/// An indirect block that lists itself.
fn metablock(fs: &mut Filesystem<'_>) -> Result<(), Error> {
    let free = fs.free_block(0)?;
    let mut words = vec![0; fs.block_size()];
    super::super::case::put32(&mut words, 0, free as u32);
    fs.put_block(free, &words)?;
    list(fs, 12, free)
}
