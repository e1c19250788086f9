//! Bitmaps, counters and quotas: pass 5 and what follows.

use ondisk::ext4::feature::RoCompat;
use ondisk::ext4::inode::number::USR_QUOTA;

use super::super::case::{Case, Reference, case};
use super::super::error::missing;
use super::super::filesystem::Map;
use super::{Error, Filesystem, fields};

pub(super) static CASES: &[Case] = &[
    case(
        "5-inode-bmap-padding",
        0x05_0001,
        "ext4-1k",
        "a padding bit after the last inode is clear",
        |fs| {
            fs.edit_bitmap(0, Map::Inodes, |bytes| {
                clear(bytes, bytes.len() as u32 * 8 - 3);
            })
        },
    ),
    case(
        "5-block-bmap-padding",
        0x05_0002,
        "ext2-1k",
        "a padding bit after the last block is clear",
        |fs| {
            let last = fs.geometry().groups - 1;
            if fs.geometry().group_clusters(last) == fs.geometry().block_size * 8 {
                return missing("last group that is cut off");
            }
            fs.edit_bitmap(last, Map::Blocks, |bytes| {
                clear(bytes, bytes.len() as u32 * 8 - 3);
            })
        },
    ),
    case(
        "5-block-unused",
        0x05_0004,
        "ext4-1k",
        "a block without an owner is marked in use",
        |fs| blocks(fs, 1, set),
    ),
    case(
        "5-block-range-unused",
        0x05_0014,
        "ext4-1k",
        "five blocks without an owner are marked in use",
        |fs| blocks(fs, 5, set),
    ),
    case(
        "5-block-bitmap-end",
        0x05_0006,
        "ext2-1k",
        "five blocks without an owner are marked in use, without checksums",
        |fs| blocks(fs, 5, set),
    ),
    case(
        "5-block-used",
        0x05_0005,
        "ext4-1k",
        "a file's block is free",
        |fs| {
            let ino = fs.file_with_blocks()?;
            let Some(block) = fs.blocks(ino)?.data.first().map(|run| run.physical) else {
                return missing("file with blocks");
            };
            let Some((group, bit)) = fs.geometry().bit_of_block(block) else {
                return missing("file with blocks");
            };
            fs.edit_bitmap(group, Map::Blocks, |bytes| clear(bytes, bit))
        },
    ),
    case(
        "5-block-range-used",
        0x05_0015,
        "ext4-1k",
        "the inode table is free",
        |fs| {
            let table = fs.descriptor(0)?.inode_table();
            let Some((group, bit)) = fs.geometry().bit_of_block(table) else {
                return missing("first group");
            };
            fs.edit_bitmap(group, Map::Blocks, |bytes| {
                (bit..bit + 4).for_each(|bit| clear(bytes, bit));
            })
        },
    ),
    case(
        "5-inode-unused",
        0x05_0008,
        "ext4-1k",
        "a free inode is marked as used",
        |fs| {
            let (group, bit) = index(fs, fs.free_inode()?)?;
            fs.edit_bitmap(group, Map::Inodes, |bytes| set(bytes, bit))
        },
    ),
    case(
        "5-inode-range-unused",
        0x05_0016,
        "ext2-1k",
        "three free inodes are marked as used",
        |fs| {
            let (group, bit) = index(fs, fs.free_inode()?)?;
            let end = (bit + 3).min(fs.geometry().inodes_per_group);
            fs.edit_bitmap(group, Map::Inodes, |bytes| {
                (bit..end).for_each(|bit| set(bytes, bit));
            })
        },
    ),
    case(
        "5-inode-used",
        0x05_0009,
        "ext4-1k",
        "an inode in use is marked as free",
        |fs| {
            let ino = fs.name_in_root(b"f100")?.inode;
            let (group, bit) = index(fs, ino)?;
            fs.edit_bitmap(group, Map::Inodes, |bytes| clear(bytes, bit))
        },
    ),
    case(
        "5-inode-range-used",
        0x05_0017,
        "ext4-1k",
        "reserved inodes are marked as free",
        |fs| {
            fs.edit_bitmap(0, Map::Inodes, |bytes| {
                (2..6).for_each(|bit| clear(bytes, bit));
            })
        },
    ),
    case(
        "5-inode-bitmap-end",
        0x05_000a,
        "ext3-1k",
        "reserved inodes are marked as free, without checksums",
        |fs| {
            fs.edit_bitmap(0, Map::Inodes, |bytes| {
                (2..6).for_each(|bit| clear(bytes, bit));
            })
        },
    ),
    case(
        "5-free-inode-count-group",
        0x05_000b,
        "ext4-1k",
        "a group counts one free inode too few",
        |fs| {
            fs.edit_descriptor(0, |desc| {
                desc.set_free_inodes(desc.free_inodes().wrapping_sub(1));
            })
        },
    ),
    case(
        "5-free-dir-count-group",
        0x05_000c,
        "ext4-1k",
        "a group counts one directory too many",
        |fs| fs.edit_descriptor(0, |desc| desc.set_used_dirs(desc.used_dirs() + 1)),
    ),
    case(
        "5-free-block-count-group",
        0x05_000e,
        "ext4-1k",
        "a group counts one free block too few",
        |fs| {
            fs.edit_descriptor(0, |desc| {
                desc.set_free_blocks(desc.free_blocks().wrapping_sub(1));
            })
        },
    ),
    case(
        "5-free-inode-count",
        0x05_000d,
        "ext4-1k",
        "the superblock counts one free inode too few",
        |fs| {
            fs.edit_superblock(|sb| {
                sb.s_free_inodes_count = (sb.s_free_inodes_count.get().wrapping_sub(1)).into();
            })
        },
    ),
    case(
        "5-free-block-count",
        0x05_000f,
        "ext4-1k",
        "the superblock counts one free block too few",
        |fs| {
            fs.edit_superblock(|sb| {
                sb.set_free_blocks_count(sb.free_blocks_count().wrapping_sub(1));
            })
        },
    ),
    case(
        "5-block-uninit",
        0x05_0018,
        "uninit-1k",
        "a group with a file's blocks says that none was ever used",
        |fs| {
            let last = fs.geometry().groups - 1;
            let first = fs.superblock().first_ino();
            // The resize inode's blocks are in groups that need not be initialised.
            for ino in fs.used_inodes()?.into_iter().filter(|ino| *ino >= first) {
                for run in fs.blocks(ino)?.data {
                    let group = fs.geometry().group_of_block(run.physical).unwrap_or(0);
                    if group < last {
                        return fs.edit_descriptor(group, |desc| {
                            desc.raw.bg_flags = (desc.flags()
                                | ondisk::ext4::group_descriptor::BLOCK_UNINIT)
                                .into();
                        });
                    }
                }
            }
            missing("file with blocks before its last group")
        },
    ),
    case(
        "5-inode-bitmap-csum-invalid",
        0x05_001a,
        "ext4-1k",
        "an inode bitmap's checksum is wrong",
        |fs| {
            fs.edit_descriptor(0, |desc| {
                desc.set_inode_bitmap_csum(!desc.inode_bitmap_csum());
            })
        },
    ),
    case(
        "5-block-bitmap-csum-invalid",
        0x05_001b,
        "ext4-1k",
        "a block bitmap's checksum is wrong",
        |fs| {
            fs.edit_descriptor(0, |desc| {
                desc.set_block_bitmap_csum(!desc.block_bitmap_csum());
            })
        },
    ),
    case(
        "6-update-quotas",
        0x06_0002,
        "rich-1k",
        "a file belongs to another user than the quota says",
        |fs| {
            let ino = fs.name_in_root(b"f5k")?.inode;
            fields(fs, ino, |raw| raw.i_uid = 1234.into())
        },
    ),
    case(
        "6-update-quotas-file",
        0x06_0002,
        "rich-1k",
        "the user quota counts one inode too many",
        |fs| {
            fs.file_with_blocks()?;
            if !fs.superblock().has_ro_compat(RoCompat::QUOTA) {
                return missing("quota files");
            }
            let Some(block) = fs.blocks(USR_QUOTA)?.data.first().map(|run| run.physical) else {
                return missing("user quota");
            };
            // The first leaf is the sixth block of 1 KiB: after the head, the root and three levels.
            let size = fs.block_size();
            let at = (5 * 1024 / size) as u64;
            fs.edit_block(block + at, |bytes| {
                let inodes = (5 * 1024) % size + 16 + 24;
                bytes[inodes] = bytes[inodes].wrapping_add(1);
            })
        },
    )
    .reference(Reference::Raises),
];

/// Changes the bits of free blocks of the first group that lie in a row.
fn blocks(fs: &mut Filesystem<'_>, count: u32, change: fn(&mut [u8], u32)) -> Result<(), Error> {
    let bits = fs.geometry().group_clusters(0);
    let mut found = None;
    fs.edit_bitmap(0, Map::Blocks, |bytes| {
        let is_free = |bit: u32| bytes[(bit / 8) as usize] >> (bit % 8) & 1 == 0;
        found = (0..bits.saturating_sub(count))
            .rev()
            .find(|bit| (0..count).all(|more| is_free(bit + more)));
        if let Some(first) = found {
            (first..first + count).for_each(|bit| change(bytes, bit));
        }
    })?;
    match found {
        Some(_) => Ok(()),
        None => missing("free blocks in a row in its first group"),
    }
}

fn index(fs: &Filesystem<'_>, ino: u32) -> Result<(u32, u32), Error> {
    match fs.geometry().index_of_inode(ino) {
        Some(found) => Ok(found),
        None => missing("such inode"),
    }
}

fn set(bytes: &mut [u8], bit: u32) {
    bytes[(bit / 8) as usize] |= 1 << (bit % 8);
}

fn clear(bytes: &mut [u8], bit: u32) {
    bytes[(bit / 8) as usize] &= !(1 << (bit % 8));
}
