//! Fields of inodes: modes, times, sizes, counts, flags, checksums.

use ondisk::ext4::FileType;
use ondisk::ext4::feature::{Compat, RoCompat};
use ondisk::ext4::inode::flag;
use ondisk::ext4::inode::number::{BAD, ROOT, USR_QUOTA};

use super::super::case::{Case, Reference, case, put16};
use super::super::error::missing;
use super::super::files::is;
use super::{Error, Filesystem, fields};

pub(super) static CASES: &[Case] = &[
    case(
        "1-root-no-dir",
        0x01_0001,
        "ext4-1k",
        "the root is a regular file",
        |fs| fields(fs, ROOT, |raw| raw.i_mode = 0o100_755.into()),
    ),
    case(
        "1-root-dtime",
        0x01_0002,
        "ext4-1k",
        "the root was deleted",
        |fs| fields(fs, ROOT, |raw| raw.i_dtime = 1_500_000_000.into()),
    ),
    case(
        "1-reserved-bad-mode",
        0x01_0003,
        "ext2-1k",
        "reserved inode 6 is a regular file",
        |fs| fields(fs, 6, |raw| raw.i_mode = 0o100_644.into()),
    ),
    case(
        "1-reserved-bad-mode-boot-loader",
        0x01_0003,
        "ext4-1k",
        "the boot loader's inode is a directory",
        |fs| fields(fs, 5, |raw| raw.i_mode = 0o040_644.into()),
    ),
    case(
        "1-zero-dtime",
        0x01_0004,
        "ext4-1k",
        "a file without links that was never deleted",
        |fs| {
            let ino = fs.file_with_blocks()?;
            fields(fs, ino, |raw| raw.i_links_count = 0.into())
        },
    ),
    case(
        "1-set-dtime",
        0x01_0005,
        "ext4-1k",
        "a file with links that was deleted",
        |fs| {
            let ino = fs.file_with_blocks()?;
            fields(fs, ino, |raw| raw.i_dtime = 1_500_000_000.into())
        },
    ),
    case(
        "1-low-dtime",
        0x01_0036,
        "ext2-1k",
        "a time of deletion that is an inode's number",
        |fs| {
            let ino = fs.file_with_blocks()?;
            fields(fs, ino, |raw| raw.i_dtime = 13.into())
        },
    ),
    case(
        "1-orphan-list-refugees",
        0x01_0037,
        "ext2-1k",
        "a time of deletion that is an inode's number, of a file without links",
        |fs| {
            let ino = fs.file_with_blocks()?;
            fields(fs, ino, |raw| {
                raw.i_dtime = 13.into();
                raw.i_links_count = 0.into();
            })
        },
    ),
    case(
        "1-bad-i-size",
        0x01_000c,
        "ext4-1k",
        "a file ends before its last block begins",
        |fs| {
            let ino = fs.file_with_extents(1)?;
            fields(fs, ino, |raw| raw.i_size_lo = 1.into())
        },
    ),
    case(
        "1-bad-i-size-directory",
        0x01_000c,
        "ext2-1k",
        "a directory is longer than its blocks",
        |fs| {
            let size = fs.geometry().block_size;
            let ino = fs.directory()?;
            fields(fs, ino, |raw| {
                raw.i_size_lo = (raw.i_size_lo.get() + size).into();
            })
        },
    ),
    case(
        "1-bad-i-size-block-map",
        0x01_000c,
        "ext2-1k",
        "a file is longer than a block map can be",
        |fs| {
            let ino = fs.file_with_block_map(0)?;
            fields(fs, ino, |raw| raw.i_size_high = 0x8000.into())
        },
    ),
    case(
        "1-bad-i-blocks",
        0x01_000d,
        "ext4-1k",
        "a file claims two sectors too many",
        |fs| {
            let ino = fs.file_with_blocks()?;
            fields(fs, ino, |raw| {
                raw.i_blocks_lo = (raw.i_blocks_lo.get() + 2).into();
            })
        },
    ),
    case(
        "1-illegal-block-num",
        0x01_000e,
        "ext2-1k",
        "a direct pointer leaves the filesystem",
        |fs| word(fs, 0, u32::MAX - 1),
    ),
    case(
        "1-inode-block-latch",
        0x01_0010,
        "ext3-1k",
        "an indirect pointer leaves the filesystem",
        |fs| word(fs, 12, 0x7fff_ffff),
    ),
    case(
        "1-critical-metadata-collision",
        0x01_0071,
        "ext2-1k",
        "an indirect block is the first inode table",
        |fs| {
            let table = fs.descriptor(0)?.inode_table() as u32;
            word(fs, 12, table + 1)
        },
    ),
    case(
        "1-too-many-bad-blocks",
        0x01_0011,
        "ext2-1k",
        "all pointers of an indirect block leave the filesystem",
        |fs| {
            let ino = fs.file_with_block_map(12)?;
            let bytes = fs.inode(ino)?;
            let block = fs.view(&bytes)?.block_words()[12];
            fs.edit_block(block.into(), |words| words.fill(0xfe))
        },
    ),
    case(
        "1-set-imagic",
        0x01_002f,
        "ext4-1k",
        "an AFS file in a filesystem without them",
        |fs| flags(fs, flag::IMAGIC),
    ),
    case(
        "1-zero-length-dir",
        0x01_0006,
        "ext2-1k",
        "a directory without blocks",
        |fs| {
            let ino = fs.directory()?;
            fields(fs, ino, |raw| {
                raw.i_block.fill(0);
                raw.i_size_lo = 0.into();
                raw.i_blocks_lo = 0.into();
            })
        },
    ),
    case(
        "1-toobig-dir",
        0x01_0044,
        "ext2-1k",
        "a directory with a block past 2 GiB",
        |fs| {
            let ino = fs.directory()?;
            let free = fs.free_block(0)? as u32;
            fs.edit_block(free.into(), |words| {
                words
                    .iter_mut()
                    .zip(free.to_le_bytes().iter().cycle())
                    .for_each(|(byte, new)| *byte = *new);
            })?;
            fields(fs, ino, |raw| {
                raw.i_block[56..60].copy_from_slice(&free.to_le_bytes());
            })
        },
    ),
    case(
        "1-htree-set",
        0x01_0047,
        "ext4-1k",
        "an indexed directory without dir_index",
        |fs| {
            fs.indexed_directory(0)?;
            fs.edit_superblock(|sb| {
                sb.s_feature_compat = sb.compat().without(Compat::DIR_INDEX).0.into();
            })
        },
    ),
    case(
        "1-htree-nodir",
        0x01_0048,
        "ext4-1k",
        "an indexed regular file",
        |fs| flags(fs, flag::INDEX),
    ),
    case(
        "1-casefold-nondir",
        0x01_0088,
        "rich-1k",
        "a regular file that folds case",
        |fs| flags(fs, flag::CASEFOLD),
    ),
    case(
        "1-casefold-feature",
        0x01_0089,
        "ext4-1k",
        "a directory that folds case without the feature",
        |fs| {
            let ino = fs.directory()?;
            fields(fs, ino, |raw| {
                raw.i_flags = (raw.i_flags.get() | flag::CASEFOLD).into();
            })
        },
    ),
    case(
        "1-missing-encryption-xattr",
        0x01_008a,
        "rich-1k",
        "an encrypted file without a context",
        |fs| flags(fs, flag::ENCRYPT),
    ),
    case(
        "1-extra-isize",
        0x01_004f,
        "ext4-1k",
        "more fields than the inode has room for",
        |fs| {
            let ino = fs.file_with_blocks()?;
            let size = fs.geometry().inode_size;
            fs.edit_inode(ino, |slot| {
                slot.extra()?.i_extra_isize = (size - 128 + 4).into();
                Ok(())
            })
        },
    ),
    case(
        "1-extra-isize-odd",
        0x01_004f,
        "uninit-1k",
        "a field that ends in its middle",
        |fs| {
            let ino = fs.file_with_blocks()?;
            fs.edit_inode(ino, |slot| {
                slot.extra()?.i_extra_isize = 31.into();
                Ok(())
            })
        },
    ),
    case(
        "1-ea-time-out-of-range",
        0x01_0082,
        "ext4-1k",
        "a time in the year 2398, as an old kernel wrote those before 1970",
        |fs| {
            let ino = fs.file_with_blocks()?;
            fs.edit_inode(ino, |slot| {
                slot.extra()?.i_atime_extra = 3.into();
                slot.raw()?.i_atime = 0x8000_0001.into();
                Ok(())
            })
        },
    ),
    case(
        "1-inode-only-csum-invalid",
        0x01_0068,
        "ext4-1k",
        "an inode's checksum is wrong",
        |fs| {
            let ino = fs.file_with_blocks()?;
            fs.edit_inode_loosely(ino, |slot| {
                slot.raw()?.i_uid = 77.into();
                Ok(())
            })
        },
    ),
    case(
        "1-inode-is-garbage",
        0x01_0067,
        "ext4-1k",
        "an inode filled with text",
        |fs| {
            let ino = fs.file_with_blocks()?;
            fs.edit_inode_loosely(ino, |slot| {
                slot.bytes().fill(b'x');
                Ok(())
            })
        },
    )
    .reference(Reference::Silent(
        "it raises this only where a whole block of the table looks like garbage",
    )),
    case(
        "1-invalid-bad-inode",
        0x01_0065,
        "ext2-1k",
        "the inode of bad blocks has an owner",
        |fs| fields(fs, BAD, |raw| raw.i_uid = 1.into()),
    ),
    case(
        "1-quota-bad-mode",
        0x01_0062,
        "rich-1k",
        "the user quota is a directory",
        |fs| fields(fs, USR_QUOTA, |raw| raw.i_mode = 0o040_600.into()),
    ),
    case(
        "1-quota-inode-not-clear",
        0x01_0063,
        "rich-1k",
        "quota files in a filesystem without quotas",
        |fs| {
            fs.edit_superblock(|sb| {
                sb.s_feature_ro_compat = sb
                    .ro_compat()
                    .without(RoCompat::QUOTA)
                    .without(RoCompat::PROJECT)
                    .0
                    .into();
                sb.s_usr_quota_inum = 0.into();
                sb.s_grp_quota_inum = 0.into();
                sb.s_prj_quota_inum = 0.into();
            })
        },
    ),
    case(
        "1-no-bigalloc-blockmap-files",
        0x01_0080,
        "bigalloc-1k",
        "a block map on a filesystem of clusters",
        |fs| {
            let ino = fs.file_with_extents(0)?;
            let Some(block) = fs.blocks(ino)?.at(0) else {
                return missing("file with a first block");
            };
            fields(fs, ino, |raw| {
                raw.i_flags = (raw.i_flags.get() & !flag::EXTENTS).into();
                raw.i_block.fill(0);
                raw.i_block[..4].copy_from_slice(&(block as u32).to_le_bytes());
            })
        },
    ),
    case(
        "2-faddr-zero",
        0x02_000d,
        "ext2-1k",
        "the address of a fragment",
        |fs| {
            let ino = fs.file_with_blocks()?;
            fields(fs, ino, |raw| raw.i_obso_faddr = 12.into())
        },
    ),
    case(
        "2-frag-zero",
        0x02_0010,
        "ext2-1k",
        "a fragment's number, which only the Hurd has",
        |fs| hurd(fs, 0),
    ),
    case(
        "2-fsize-zero",
        0x02_0011,
        "ext2-1k",
        "a fragment's size, which only the Hurd has",
        |fs| hurd(fs, 8),
    ),
    case(
        "2-file-acl-zero",
        0x02_000e,
        "ext2-1k",
        "blocks of attributes in a filesystem without any",
        |fs| {
            fs.attribute_block()?;
            fs.edit_superblock(|sb| {
                sb.s_feature_compat = sb.compat().without(Compat::EXT_ATTR).0.into();
            })
        },
    ),
    case(
        "2-file-acl-bad",
        0x02_0032,
        "ext2-1k",
        "a block of attributes outside of the filesystem",
        |fs| {
            let ino = fs.file_with_blocks()?;
            fields(fs, ino, |raw| raw.i_file_acl_lo = u32::MAX.into())
        },
    ),
    case(
        "2-dir-size-high-zero",
        0x02_000f,
        "ext2-1k",
        "a directory of more than 4 GiB",
        |fs| {
            let ino = fs.directory()?;
            fields(fs, ino, |raw| raw.i_size_high = 1.into())
        },
    ),
    case(
        "2-bad-mode",
        0x02_0012,
        "ext4-1k",
        "a file of an unknown type",
        |fs| {
            let ino = fs.file_with_blocks()?;
            fields(fs, ino, |raw| raw.i_mode = 0o050_644.into())
        },
    ),
    case(
        "2-blocks-hi-zero",
        0x02_0044,
        "ext2-1k",
        "more than 2 TiB in a filesystem without huge files",
        |fs| {
            let ino = fs.file_with_blocks()?;
            fields(fs, ino, |raw| raw.l_i_blocks_high = 1.into())
        },
    ),
    case(
        "2-file-acl-hi-zero",
        0x02_0048,
        "ext2-1k",
        "the high half of a block's number without 64bit",
        |fs| {
            let ino = fs.file_with_blocks()?;
            fields(fs, ino, |raw| raw.l_i_file_acl_high = 1.into())
        },
    ),
];

/// Sets flags of the first regular file with blocks.
fn flags(fs: &mut Filesystem<'_>, more: u32) -> Result<(), Error> {
    let ino = fs.file_with_blocks()?;
    fields(fs, ino, |raw| {
        raw.i_flags = (raw.i_flags.get() | more).into();
    })
}

/// Sets a word of the block map of a file that uses it.
fn word(fs: &mut Filesystem<'_>, slot: usize, value: u32) -> Result<(), Error> {
    let ino = fs.file_with_block_map(slot)?;
    fields(fs, ino, |raw| {
        raw.i_block[slot * 4..slot * 4 + 4].copy_from_slice(&value.to_le_bytes());
    })
}

/// On the Hurd two bytes after byte 116 are a fragment's number and size.
fn hurd(fs: &mut Filesystem<'_>, shift: u32) -> Result<(), Error> {
    let ino = fs.find("regular file", |_, inode| is(inode, FileType::Regular))?;
    fs.edit_superblock(|sb| sb.s_creator_os = 1.into())?;
    fs.edit_inode(ino, |slot| {
        put16(slot.bytes(), 116, 1 << shift);
        Ok(())
    })
}
