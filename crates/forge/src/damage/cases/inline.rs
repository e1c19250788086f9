//! Content kept in inodes.

use ondisk::ext4::FileType;
use ondisk::ext4::feature::Incompat;
use ondisk::ext4::inode::flag;

use super::super::case::{Case, Reference, case, put16, put32};
use super::{Error, Filesystem, fields};

pub(super) static CASES: &[Case] = &[
    case(
        "1-inline-data-feature",
        0x01_006f,
        "rich-1k",
        "inline data without the feature",
        |fs| {
            fs.inline(FileType::Regular)?;
            fs.edit_superblock(|sb| {
                sb.s_feature_incompat = sb.incompat().without(Incompat::INLINE_DATA).0.into();
            })
        },
    ),
    case(
        "1-inline-data-set",
        0x01_0070,
        "ext3-1k",
        "a block map is called inline data, without the feature",
        |fs| {
            let ino = fs.file_with_blocks()?;
            fields(fs, ino, |raw| {
                raw.i_flags = (raw.i_flags.get() | flag::INLINE_DATA).into();
            })
        },
    ),
    case(
        "1-inline-data-no-attr",
        0x01_0075,
        "rich-1k",
        "inline data without the attribute for its rest",
        |fs| {
            let ino = fs.inline(FileType::Regular)?;
            fs.edit_inode(ino, |slot| {
                let at = 128 + usize::from(slot.inode()?.extra_isize());
                slot.bytes()[at..].fill(0);
                Ok(())
            })
        },
    ),
    case(
        "1-clear-inline-data-for-extent",
        0x01_0077,
        "rich-1k",
        "an extent tree is called inline data as well",
        |fs| {
            let ino = fs.file_with_extents(0)?;
            fields(fs, ino, |raw| {
                raw.i_flags = (raw.i_flags.get() | flag::INLINE_DATA).into();
            })
        },
    ),
    case(
        "1-clear-extent-for-inline-data",
        0x01_0078,
        "rich-1k",
        "inline data is called an extent tree as well",
        |fs| {
            let ino = fs.inline(FileType::Regular)?;
            fields(fs, ino, |raw| {
                raw.i_flags = (raw.i_flags.get() | flag::EXTENTS).into();
            })
        },
    ),
    case(
        "1-clear-extent-inline-data-flags",
        0x01_0079,
        "rich-1k",
        "a block map is called both",
        |fs| {
            let ino = fs.file_with_extents(0)?;
            let block = fs.free_block(0)? as u32;
            fields(fs, ino, |raw| {
                raw.i_flags = (raw.i_flags.get() | flag::INLINE_DATA | flag::EXTENTS).into();
                raw.i_block.fill(0);
                put32(&mut raw.i_block, 0, block);
            })
        },
    ),
    case(
        "1-clear-extent-inline-data-inode",
        0x01_007a,
        "rich-1k",
        "garbage is called both",
        |fs| {
            let ino = fs.file_with_extents(0)?;
            fields(fs, ino, |raw| {
                raw.i_flags = (raw.i_flags.get() | flag::INLINE_DATA | flag::EXTENTS).into();
                raw.i_block.fill(0xa5);
            })
        },
    ),
    case(
        "1-bad-i-size-inline",
        0x01_000c,
        "rich-1k",
        "an inline directory is shorter than its room",
        |fs| {
            let ino = fs.inline(FileType::Directory)?;
            fields(fs, ino, |raw| {
                raw.i_size_lo = (raw.i_size_lo.get() - 4).into();
            })
        },
    ),
    case(
        "2-bad-inline-dir-size",
        0x02_004e,
        "rich-1k",
        "an inline directory's room is not a multiple of 4",
        |fs| {
            let ino = fs.inline(FileType::Directory)?;
            inline_attribute(fs, ino, |bytes, at| {
                put32(bytes, at + 8, 5);
                // Its value must still lie within the inode.
                let end = bytes.len() - (at + 4);
                put16(bytes, at + 2, (end.saturating_sub(8)) as u16);
            })?;
            fields(fs, ino, |raw| raw.i_size_lo = 65.into())
        },
    )
    .reference(Reference::Raises),
    case(
        "2-invalid-symlink-inline",
        0x02_0031,
        "rich-1k",
        "an inline symbolic link that ends before its size",
        |fs| {
            let ino = fs.inline(FileType::Symlink)?;
            fields(fs, ino, |raw| {
                raw.i_size_lo = (raw.i_size_lo.get() + 9).into();
            })
        },
    ),
    case(
        "2-dir-corrupted-inline",
        0x02_0013,
        "rich-1k",
        "an entry of an inline directory is too long",
        |fs| {
            let ino = fs.inline(FileType::Directory)?;
            fields(fs, ino, |raw| put16(&mut raw.i_block, 8, 200))
        },
    ),
];

/// Changes the entry of `system.data`, which is the first in its inode as mke2fs and the kernel write it.
fn inline_attribute(
    fs: &mut Filesystem<'_>,
    ino: u32,
    edit: impl FnOnce(&mut [u8], usize),
) -> Result<(), Error> {
    fs.edit_inode(ino, |slot| {
        let at = 128 + usize::from(slot.inode()?.extra_isize()) + 4;
        edit(slot.bytes(), at);
        Ok(())
    })
}
