//! A file with attributes in buckets: two extents of one bucket each.

use ondisk::ocfs2::dinode::dynamic;
use ondisk::ocfs2::extent::ExtentHead;
use ondisk::ocfs2::hash::{self, Sign};
use ondisk::ocfs2::xattr::{
    self, BLOCK_TREE, BUCKET, INDEXED, TREE_LIST, XattrHead, XattrTree, tree_room,
};
use ondisk::ocfs2::{
    ExtentList, ExtentRecord, XattrBlock, XattrEntry, XattrHeader, check, feature,
};
use zerocopy::FromZeros as _;

use super::population;
use super::volume::Image;

/// Adds the file, with ten attributes in each bucket. Gives the block that leads to them.
pub(crate) fn add(image: &mut Image) -> u64 {
    let mut names: Vec<(u32, String)> = (0..20)
        .map(|number| {
            let name = format!("attribute-{number}");
            let start = image.sb.s_uuid_hash.get();
            (hash::xattr_hash(start, name.as_bytes(), Sign::Signed), name)
        })
        .collect();
    names.sort();
    let inode = population::attributed_file(image, "bucketed");
    let (block, bit) = image.meta_block();
    image.change(inode, |inode| {
        inode.i_dyn_features = dynamic::HAS_XATTR.into();
        inode.i_xattr_loc = block.into();
    });
    let mut head = XattrBlock::new_zeroed();
    head.xb_signature = xattr::SIGNATURE;
    head.xb_suballoc_bit = bit.into();
    head.xb_fs_generation = image.sb.i_fs_generation;
    head.xb_blkno = block.into();
    head.xb_flags = INDEXED.into();
    image.put_structure(block, 0x18, 0, &head);
    let tree = XattrTree {
        xt_clusters: 2.into(),
        ..XattrTree::new_zeroed()
    };
    image.put_structure(block, 0x18, BLOCK_TREE, &tree);
    let list = ExtentHead {
        l_count: (tree_room(image.layout.block_size()) as u16).into(),
        l_next_free_rec: 2.into(),
        ..ExtentHead::new_zeroed()
    };
    image.put_structure(block, 0x18, TREE_LIST, &list);
    for (nth, part) in names.chunks(10).enumerate() {
        let first = image.clusters(1);
        let cpos = if nth == 0 { 0 } else { part[0].0 };
        let record = ExtentRecord::leaf(cpos, 1, 0, first);
        ExtentList::put(&mut image.block_mut(block)[TREE_LIST..], nth, record).unwrap();
        fill(image, first, part);
        let called = if nth == 0 { "bucket" } else { "bucket 2" };
        image.files.insert(called.to_owned(), first);
    }
    image.store_checks();
    image.files.remove("bucketed");
    block
}

/// A bucket with these names, ascending by their hashes.
fn fill(image: &mut Image, first: u64, names: &[(u32, String)]) {
    let mut bytes = vec![0; BUCKET];
    let (mut end, mut used) = (BUCKET, 0);
    for (nth, (hash, name)) in names.iter().enumerate() {
        let mut entry = XattrEntry::new_zeroed();
        entry.xe_name_hash = (*hash).into();
        entry.xe_name_len = name.len() as u8;
        entry.xe_type = 1 | xattr::LOCAL;
        entry.xe_value_size = 16.into();
        let storage = entry.storage() as usize;
        end -= storage;
        used += storage;
        entry.xe_name_offset = (end as u16).into();
        bytes[end..end + name.len()].copy_from_slice(name.as_bytes());
        XattrHeader::put(&mut bytes, nth, entry).unwrap();
    }
    let head = XattrHead::read_mut(&mut bytes).unwrap();
    head.xh_count = (names.len() as u16).into();
    head.xh_free_start = (end as u16).into();
    head.xh_name_value_len = (used as u16).into();
    head.xh_num_buckets = 1.into();
    put(image, first, bytes);
}

fn put(image: &mut Image, first: u64, mut bytes: Vec<u8>) {
    if image.has(feature::META_ECC) {
        check::store(&mut bytes, 8).unwrap();
    }
    let at = first as usize * image.layout.block_size();
    image.bytes[at..at + BUCKET].copy_from_slice(&bytes);
}

/// Swaps the contents of two buckets: all hashes ascend, and are in the wrong extents.
#[allow(dead_code, reason = "the fuzz target does not use it")]
pub(crate) fn swap_hashes(image: &mut Image, first: u64, second: u64) {
    let at = |block| block as usize * image.layout.block_size();
    let one = image.bytes[at(first)..][..BUCKET].to_vec();
    let other = image.bytes[at(second)..][..BUCKET].to_vec();
    put(image, first, other);
    put(image, second, one);
}
