//! The cases, by the part of the filesystem they break.

mod attributes;
mod bad_blocks;
mod bitmaps;
mod directories;
mod extents;
mod groups;
mod index;
mod inline;
mod inodes;
mod journal;
mod links;
mod orphans;
mod shared;
mod special;
mod superblock;

use ondisk::ext4::inode::RawInode;

use super::case::Case;
use super::error::Error;
use super::filesystem::Filesystem;

/// All cases in the order of the parts.
pub fn all() -> impl Iterator<Item = &'static Case> {
    [
        superblock::CASES,
        groups::CASES,
        journal::CASES,
        inodes::CASES,
        special::CASES,
        extents::CASES,
        bad_blocks::CASES,
        attributes::CASES,
        inline::CASES,
        shared::CASES,
        directories::CASES,
        index::CASES,
        links::CASES,
        bitmaps::CASES,
        orphans::CASES,
    ]
    .into_iter()
    .flatten()
}

/// Problems of the table that no image can raise under `e2fsck -fn`, whatever is done to it, or none of a size that a case may
/// have, and why. They have no case.
pub static UNREACHABLE: &[(u32, &str)] = &[
    (
        0x00_0033,
        "0_EXTERNAL_JOURNAL_HINT: the journal is a device of its own, which no image of a filesystem brings along",
    ),
    (
        0x01_0045,
        "1_TOOBIG_REG: a file of 2 TiB, each of its blocks with a pointer; fewer blocks in a circle of pointers come to no end",
    ),
    (
        0x01_004e,
        "1_RESIZE_INODE_CREATE: raised while the resize inode is made anew, which is repair",
    ),
    (
        0x01_0056,
        "1_READ_EXTENT: a root that passed the check of its header is opened without reading anything",
    ),
    (
        0x01_0087,
        "1_CLEAR_UNINIT_EXTENT: asked only with a developer's option",
    ),
    (
        0x02_0045,
        "2_UNEXPECTED_HTREE_BLOCK: a block after the last one that pass 1 saw, in a list that pass 1 made",
    ),
    (
        0x04_0006,
        "4_DIR_NLINK_FEATURE: 65,001 subdirectories, or as many names of one, over each of which e2fsck spends too long",
    ),
];

/// Changes the old fields of an inode.
fn fields(
    fs: &mut Filesystem<'_>,
    ino: u32,
    edit: impl FnOnce(&mut RawInode),
) -> Result<(), Error> {
    fs.edit_inode(ino, |slot| {
        edit(slot.raw()?);
        Ok(())
    })
}
