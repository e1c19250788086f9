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

/// Problems of the table that no image can raise under `e2fsck -fn`, whatever is done to it, and why. They have no case.
pub static UNREACHABLE: &[(u32, &str)] = &[
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
        "2_UNEXPECTED_HTREE_BLOCK: a block behind the last one that pass 1 saw, in a list that pass 1 made",
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
