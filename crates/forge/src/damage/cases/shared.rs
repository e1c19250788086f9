//! Blocks that more than one claims: passes 1B to 1D.

use super::super::case::{Case, case, put16, put32};
use super::super::error::missing;
use super::{Error, Filesystem, fields};

pub(super) static CASES: &[Case] = &[
    case(
        "1b-dup-block",
        0x01_1002,
        "ext2-1k",
        "two files share a block",
        |fs| share(fs, 1),
    ),
    case(
        "1b-dup-range",
        0x01_1008,
        "ext2-1k",
        "two files share three blocks in a row",
        |fs| share(fs, 3),
    ),
    case(
        "1d-dup-file",
        0x01_3001,
        "ext4-1k",
        "a file claims a block of the inode table",
        |fs| {
            let ino = fs.file_with_extents(0)?;
            let table = fs.descriptor(0)?.inode_table() as u32 + 1;
            fields(fs, ino, |raw| {
                put32(&mut raw.i_block, 20, table);
                put16(&mut raw.i_block, 16, 1);
            })
        },
    ),
    case(
        "1d-share-metadata",
        0x01_3003,
        "ext3-1k",
        "a file claims the block bitmap",
        |fs| {
            let ino = fs.file_with_block_map(0)?;
            let bitmap = fs.descriptor(0)?.block_bitmap() as u32;
            fields(fs, ino, |raw| put32(&mut raw.i_block, 0, bitmap))
        },
    ),
    case(
        "1d-delete-question",
        0x01_3007,
        "ext2-1k",
        "a file claims its own first block twice",
        |fs| {
            let ino = fs.file_with_block_map(1)?;
            fields(fs, ino, |raw| {
                let first: [u8; 4] = [
                    raw.i_block[0],
                    raw.i_block[1],
                    raw.i_block[2],
                    raw.i_block[3],
                ];
                raw.i_block[4..8].copy_from_slice(&first);
            })
        },
    ),
    case(
        "1d-dup-file-list",
        0x01_3002,
        "bigalloc-1k",
        "two files share a cluster",
        |fs| {
            let first = fs.file_with_extents(0)?;
            let second = fs.find("second file mapped by extents", |ino, inode| {
                ino > first
                    && super::super::files::is(inode, ondisk::ext4::FileType::Regular)
                    && inode.content() == ondisk::ext4::inode::Content::Extents
                    && inode.size() > 0
            })?;
            let Some(run) = fs.blocks(first)?.data.first().copied() else {
                return missing("file with blocks");
            };
            fields(fs, second, |raw| {
                put32(&mut raw.i_block, 20, run.physical as u32);
            })
        },
    ),
];

/// Lets the second file with a block map take the first blocks of the first.
fn share(fs: &mut Filesystem<'_>, count: usize) -> Result<(), Error> {
    let first = fs.file_with_block_map(count - 1)?;
    let bytes = fs.inode(first)?;
    let words = fs.view(&bytes)?.raw().i_block;
    let second = fs.find("second file with a block map that large", |ino, inode| {
        ino > first
            && super::super::files::is(inode, ondisk::ext4::FileType::Regular)
            && inode.content() == ondisk::ext4::inode::Content::BlockMap
            && inode.block_words()[count - 1] != 0
    })?;
    fields(fs, second, |raw| {
        raw.i_block[..count * 4].copy_from_slice(&words[..count * 4]);
    })
}
