//! Faults of files and directories: leaves of trees, sizes, lists of blocks with room, names that are far apart.

use ondisk::ocfs2::dinode::{self, BODY};
use ondisk::ocfs2::directory::Entry;
use ondisk::ocfs2::extent::ExtentHead;
use ondisk::ocfs2::index::ROOT_LIST;
use ondisk::ocfs2::{ExtentList, ExtentRecord, Trailer};

use super::{Base, Fault, fault};
use crate::ocfs2::volume::Image;

/// `dr_num_entries` and `dr_free_blk` of an index root.
const ENTRIES: usize = 0x38;
const FREE: usize = 0x40;
/// `h_next_leaf_blk` of an extent block.
const NEXT_LEAF: usize = 0x28;

pub(super) static FAULTS: &[Fault] = &[
    fault(
        "EB_NEXT_LEAF",
        "the last leaf of a tree leads to a block",
        Base::Usual,
        |image| {
            let leaf = image.files["tree block"];
            image.put(leaf, 8, NEXT_LEAF, &leaf.to_le_bytes());
        },
    ),
    fault(
        "EXTENT_BEYOND_SIZE",
        "a file without contents and with clusters, where no file is sparse",
        Base::Old,
        |image| image.change(image.files["data"], |inode| inode.i_size = 0.into()),
    ),
    fault(
        "DIR_FREE_LIST",
        "the list of blocks with room begins in another directory",
        Base::Usual,
        |image| {
            let (root, other) = (image.files["indexed root"], image.files["leaved block"]);
            image.put(root, 8, FREE, &other.to_le_bytes());
        },
    ),
    fault(
        "DIR_FREE_LIST",
        "a block with room leads to itself",
        Base::Checksums,
        |image| {
            let (root, block) = (image.files["leaved root"], image.files["leaved block"]);
            image.put(root, 8, FREE, &block.to_le_bytes());
            let check = Trailer::check_offset(image.layout.block_size());
            let next = Trailer::offset(image.layout.block_size()) + 0x20;
            image.put(block, check, next, &block.to_le_bytes());
        },
    ),
    fault(
        "DIRENT_DUPLICATE_FAR",
        "a name twice, with a block of another directory between the two",
        Base::Usual,
        |image| {
            let file = image.files["indexed-3"];
            twice(image, "indexed-3", file);
            image.change(file, |inode| inode.set_links(2));
        },
    ),
];

/// Gives the directory `indexed` another block, with a second entry of that name.
fn twice(image: &mut Image, name: &str, inode: u64) {
    let (directory, root) = (image.files["indexed"], image.files["indexed root"]);
    let (first, between) = (image.files["indexed block"], image.files["leaved block"]);
    let block = image.clusters(1);
    assert!(first < between && between < block);
    let size = image.layout.block_size();
    let (end, check) = (Trailer::offset(size), Trailer::check_offset(size));
    image.block_mut(block).fill(0);
    Entry::put(image.block_mut(block), 0, inode, end, 1, name.as_bytes()).unwrap();
    image.put_structure(block, check, end, &Trailer::new(block, directory));
    let body = &mut image.block_mut(directory)[BODY..];
    ExtentHead::read_mut(body).unwrap().l_next_free_rec = 2.into();
    ExtentList::put(body, 1, ExtentRecord::leaf(1, 1, 0, block)).unwrap();
    image.checks.insert(directory, dinode::CHECK);
    image.change(directory, |inode| {
        inode.i_size = (2 * size as u64).into();
        inode.i_clusters = 2.into();
    });
    // `.`, `..`, and the names from 0 on.
    let entries = usize::from(image.block(root)[ROOT_LIST + 6]);
    let mut entry = image.block(root)[ROOT_LIST + 8 + 16 * 5..][..16].to_vec();
    entry[8..].copy_from_slice(&block.to_le_bytes());
    image.put(root, 8, ROOT_LIST + 8 + 16 * entries, &entry);
    let counted = [entries as u8 + 1];
    image.put(root, 8, ROOT_LIST + 6, &counted);
    image.put(root, 8, ENTRIES, &counted);
}
