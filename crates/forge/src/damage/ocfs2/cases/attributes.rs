//! Extended attributes.

use ondisk::ocfs2::extent::ExtentHead;
use ondisk::ocfs2::xattr::{
    BLOCK_HEADER, BLOCK_TREE, BUCKET, INDEXED, TREE_LIST, XattrHead, XattrTree, tree_room,
};
use ondisk::ocfs2::{Dinode, ExtentList, ExtentRecord, XattrBlock, XattrEntry, XattrHeader};

use super::super::case::Value::{Add, Set};
use super::super::case::{At, Case, edit, fields, with};
use super::super::find::Find;
use super::super::volume::Volume;
use crate::damage::Error;

/// The header in a block of attributes, and its first entry.
const HEADER: usize = 0x30;
const ENTRY: usize = HEADER + 16;
/// The same at the end of an inode of 4 KiB with 256 bytes of attributes.
const INODE_ENTRY: usize = 4096 - 256 + 16;

pub(super) static CASES: &[Case] = &[
    fields(
        "xattr-count-invalid",
        "XATTR_COUNT_INVALID",
        "a block has fewer attributes than its header says",
        &[edit(At::AttributeBlock, HEADER, 2, Add(5))],
    ),
    fields(
        "xattr-name-offset-invalid",
        "XATTR_NAME_OFFSET_INVALID",
        "an attribute's name is outside the block",
        &[edit(At::AttributeBlock, ENTRY + 4, 2, Set(9000))],
    ),
    fields(
        "xattr-entry-invalid",
        "XATTR_ENTRY_INVALID",
        "the name of an attribute is over the next attribute's entry",
        &[edit(At::AttributeBlock, ENTRY + 4, 2, Set(32))],
    )
    .also(&["XATTR_HASH_INVALID"]),
    fields(
        "xattr-location-invalid",
        "XATTR_LOCATION_INVALID",
        "the entry of a short value leads to clusters",
        &[edit(At::AttributeBlock, ENTRY + 7, 1, Set(4))],
    ),
    fields(
        "xattr-location-invalid-long",
        "XATTR_LOCATION_INVALID",
        "a value beside its name is longer than it may be",
        &[edit(At::AttributeBlock, ENTRY + 8, 8, Set(81))],
    ),
    fields(
        "xattr-value-invalid",
        "XATTR_VALUE_INVALID",
        "a value leaves the block",
        &[edit(At::AttributeBlock, ENTRY + 8, 8, Set(80))],
    ),
    fields(
        "xattr-hash-invalid",
        "XATTR_HASH_INVALID",
        "an attribute has another name's hash",
        &[edit(At::AttributeBlock, ENTRY, 4, Add(1))],
    ),
    fields(
        "xattr-hash-invalid-inode",
        "XATTR_HASH_INVALID",
        "an attribute in an inode has another name's hash",
        &[edit(At::Inode(Find::Note), INODE_ENTRY, 4, Add(1))],
    ),
    with(
        "xattr-free-start-invalid",
        "XATTR_FREE_START_INVALID",
        "a bucket has another lowest name",
        |volume| bucket(volume, |head| head.xh_free_start.set(99)),
    ),
    with(
        "xattr-value-len-invalid",
        "XATTR_VALUE_LEN_INVALID",
        "a bucket has another length of its names and values",
        |volume| bucket(volume, |head| head.xh_name_value_len.set(9)),
    ),
    with(
        "xattr-bucket-count-invalid",
        "XATTR_BUCKET_COUNT_INVALID",
        "an extent of attributes has more buckets than it holds",
        |volume| bucket(volume, |head| head.xh_num_buckets.set(70)),
    ),
];

/// Gives a file an index of one bucket in place of its block of attributes; `change` then breaks the bucket's header.
fn bucket(volume: &mut Volume<'_>, change: impl FnOnce(&mut XattrHead)) -> Result<(), Error> {
    let inode = volume.block(volume.find(Find::Attributes)?)?;
    let at = Dinode::read(&inode)?.i_xattr_loc.get();
    let mut block = volume.block(at)?;
    let list = XattrHeader::read(&block[BLOCK_HEADER..])?;
    // Long values would leave their clusters to nothing.
    let mut entries: Vec<(XattrEntry, Vec<u8>)> = Vec::new();
    for entry in list.first(list.head().xh_count.get().into()) {
        let from = BLOCK_HEADER + usize::from(entry.xe_name_offset.get());
        let stored = block.get(from..from + entry.storage() as usize);
        let stored = stored.ok_or(Error::Missing { what: "attribute" })?;
        entries.push((*entry, stored.to_vec()));
    }
    entries.sort_by_key(|(entry, _)| entry.xe_name_hash.get());
    let first = volume.take_cluster()?;
    let mut bytes = vec![0; BUCKET];
    let mut end = BUCKET;
    let mut used = 0;
    for (nth, (entry, stored)) in entries.iter().enumerate() {
        end -= stored.len();
        used += stored.len();
        bytes[end..end + stored.len()].copy_from_slice(stored);
        let mut entry = *entry;
        entry.xe_name_offset = (end as u16).into();
        XattrHeader::put(&mut bytes, nth, entry)?;
    }
    let head = XattrHead::read_mut(&mut bytes)?;
    head.xh_count = (entries.len() as u16).into();
    head.xh_free_start = (end as u16).into();
    head.xh_name_value_len = (used as u16).into();
    head.xh_num_buckets = 1.into();
    change(head);
    volume.put_bucket(first, &mut bytes)?;
    block[BLOCK_TREE..].fill(0);
    XattrBlock::read_mut(&mut block)?.xb_flags = INDEXED.into();
    XattrTree::read_mut(&mut block[BLOCK_TREE..])?.xt_clusters = 1.into();
    let list = ExtentHead::read_mut(&mut block[TREE_LIST..])?;
    list.l_count = (tree_room(volume.block_size) as u16).into();
    list.l_next_free_rec = 1.into();
    let record = ExtentRecord::leaf(0, 1, 0, first);
    ExtentList::put(&mut block[TREE_LIST..], 0, record)?;
    volume.put(at, &mut block, Some(0x18))
}
