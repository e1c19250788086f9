//! Group descriptors: locations of bitmaps and tables, uninitialised flags, checksums.

use ondisk::ext4::group_descriptor::{BLOCK_UNINIT, INODE_UNINIT};

use super::super::case::{Case, Reference, case};
use super::super::filesystem::Seal;

pub(super) static CASES: &[Case] = &[
    case(
        "0-bb-not-group",
        0x00_0001,
        "ext2-1k",
        "a block bitmap is in another group",
        |fs| {
            let free = fs.free_block(0)?;
            fs.edit_descriptors(1, |desc| desc.set_block_bitmap(free))
        },
    ),
    case(
        "0-ib-not-group",
        0x00_0002,
        "ext2-1k",
        "an inode bitmap is in another group",
        |fs| {
            let free = fs.free_block(0)?;
            fs.edit_descriptors(1, |desc| desc.set_inode_bitmap(free))
        },
    ),
    case(
        "0-itable-not-group",
        0x00_0003,
        "ext2-1k",
        "an inode table begins past the end of the filesystem",
        |fs| {
            let blocks = fs.geometry().blocks_count;
            fs.edit_descriptors(1, |desc| desc.set_inode_table(blocks + 1))
        },
    ),
    case(
        "0-gdt-csum",
        0x00_0035,
        "ext4-1k",
        "a descriptor's checksum is wrong",
        |fs| {
            fs.seal = Seal::Keep;
            fs.edit_descriptor(1, |desc| {
                desc.raw.bg_checksum = (!desc.raw.bg_checksum.get()).into();
            })
        },
    ),
    case(
        "0-gdt-csum-latch",
        0x00_003e,
        "uninit-1k",
        "a descriptor's CRC-16 is wrong",
        |fs| {
            fs.seal = Seal::Keep;
            fs.edit_descriptor(0, |desc| {
                desc.raw.bg_checksum = (!desc.raw.bg_checksum.get()).into();
            })
        },
    ),
    case(
        "0-gdt-uninit",
        0x00_0036,
        "ext2-1k",
        "a group is not initialised though nothing allows that",
        |fs| {
            fs.edit_descriptor(1, |desc| {
                desc.raw.bg_flags = (desc.flags() | BLOCK_UNINIT).into();
            })
        },
    ),
    case(
        "0-gdt-itable-unused",
        0x00_0038,
        "ext4-1k",
        "more inodes were never used than there are",
        |fs| {
            let inodes = fs.geometry().inodes_per_group;
            fs.edit_descriptor(0, |desc| desc.set_itable_unused(inodes + 1))
        },
    ),
    case(
        "0-bb-uninit-last",
        0x00_0039,
        "ext4-1k",
        "the last group's block bitmap is not initialised",
        |fs| {
            let last = fs.geometry().groups - 1;
            fs.edit_descriptor(last, |desc| {
                desc.raw.bg_flags = (desc.flags() | BLOCK_UNINIT).into();
            })
        },
    ),
    case(
        "1-bb-conflict",
        0x01_0007,
        "ext2-1k",
        "a group's block bitmap is in its inode table",
        |fs| {
            let table = fs.descriptor(0)?.inode_table();
            fs.edit_descriptors(0, |desc| desc.set_block_bitmap(table + 1))
        },
    ),
    case(
        "1-ib-conflict",
        0x01_0008,
        "ext2-1k",
        "both bitmaps of a group are one block",
        |fs| {
            let block = fs.descriptor(0)?.block_bitmap();
            fs.edit_descriptors(0, |desc| desc.set_inode_bitmap(block))
        },
    ),
    case(
        "1-itable-conflict",
        0x01_0009,
        "ext2-1k",
        "an inode table begins in the descriptors",
        |fs| {
            let first = fs.geometry().group_layout(1).descriptors.start;
            fs.edit_descriptors(1, |desc| desc.set_inode_table(first))
        },
    ),
    case(
        "5-inode-uninit",
        0x05_0019,
        "uninit-1k",
        "a group with inodes in use says that none ever was",
        |fs| {
            let per_group = fs.geometry().inodes_per_group;
            let used = fs.used_inodes()?;
            let ino = used.into_iter().rfind(|ino| (ino - 1) / per_group > 0);
            let Some(ino) = ino else {
                return super::super::error::missing("inode in use after the first group");
            };
            let group = (ino - 1) / per_group;
            fs.edit_descriptor(group, |desc| {
                desc.raw.bg_flags = (desc.flags() | INODE_UNINIT).into();
                desc.set_itable_unused(per_group);
            })
        },
    )
    .reference(Reference::Silent(
        "inodes of such a group are not looked at, so none is known to be in use",
    )),
    case(
        "2-inoref-in-unused",
        0x02_0047,
        "ext4-1k",
        "a name refers to an inode among those never used",
        |fs| {
            let unused = fs.descriptor(0)?.itable_unused();
            let last = fs.geometry().inodes_per_group;
            let name = fs.name_in_root(b"f100")?;
            if unused == 0 {
                return super::super::error::missing("unused inodes in its first group");
            }
            fs.edit_directory_block(2, name.block, |bytes| {
                super::super::case::put32(bytes, name.offset, last);
            })
        },
    ),
];
