//! Extent lists and trees, and symbolic links with blocks.

use ondisk::ocfs2::dinode::{self, BODY};
use ondisk::ocfs2::{ExtentList, ExtentRecord};

use super::super::case::Value::{Add, Blocks, Or, Set};
use super::super::case::{At, Base, Case, End, edit, fields, with};
use super::super::find::Find;
use super::super::volume::Volume;
use crate::damage::Error;

/// Fields of an inode's list and of its first record.
const DEPTH: usize = BODY;
const COUNT: usize = BODY + 2;
const USED: usize = BODY + 4;
const CPOS: usize = BODY + 16;
const CLUSTERS: usize = BODY + 20;
const FLAGS: usize = BODY + 23;
const BLOCK: usize = BODY + 24;
/// Fields of an extent block.
const EB_LIST: usize = 0x30;

pub(super) static CASES: &[Case] = &[
    fields(
        "eb-blkno",
        "EB_BLKNO",
        "an extent block has another block's number",
        &[edit(At::ExtentBlock, 0x18, 8, Add(1))],
    )
    .ends(End::Exit(8)),
    fields(
        "eb-gen",
        "EB_GEN",
        "an extent block is another volume's",
        &[edit(At::ExtentBlock, 0x14, 4, Add(1))],
    )
    .also(&["EB_GEN_FIX"]),
    fields(
        "extent-eb-invalid",
        "EXTENT_EB_INVALID",
        "a block of a tree is no extent block",
        &[edit(At::ExtentBlock, 0, 8, Set(0))],
    )
    .ends(End::Exit(8)),
    fields(
        "extent-list-depth",
        "EXTENT_LIST_DEPTH",
        "an extent block has another depth than its place",
        &[edit(At::ExtentBlock, EB_LIST, 2, Set(3))],
    )
    .also(&["EXTENT_EB_INVALID"])
    .ends(End::Exit(8)),
    fields(
        "extent-list-count",
        "EXTENT_LIST_COUNT",
        "an inode's list has room for more extents than the inode",
        &[edit(At::Inode(Find::File), COUNT, 2, Set(900))],
    ),
    fields(
        "extent-list-free",
        "EXTENT_LIST_FREE",
        "more extents are in use than there is room for",
        &[edit(At::Inode(Find::File), USED, 2, Set(300))],
    )
    .also(&[
        "EXTENT_BLKNO_RANGE",
        "INODE_SPARSE_CLUSTERS",
        "INODE_SPARSE_SIZE",
    ]),
    fields(
        "extent-blkno-range",
        "EXTENT_BLKNO_RANGE",
        "an extent begins outside the volume",
        &[edit(At::Inode(Find::File), BLOCK, 8, Blocks(64))],
    )
    .ends(End::Exit(1)),
    fields(
        "extent-blkno-range-index",
        "EXTENT_BLKNO_RANGE",
        "a tree leads outside the volume",
        &[edit(At::Inode(Find::Tree), BLOCK, 8, Blocks(64))],
    )
    .ends(End::Exit(8)),
    with(
        "extent-overlap",
        "EXTENT_OVERLAP",
        "two extents of a file overlap",
        |volume| second_record(volume, |record| record.e_cpos.set(0)),
    ),
    with(
        "no-holes",
        "NO_HOLES",
        "a directory has a hole before its first block",
        |volume| {
            let inode = volume.find(Find::Blocks)?;
            let mut block = volume.block(inode)?;
            let first = ExtentList::read(&block[BODY..])?.get(0).copied();
            let mut first = first.ok_or(Error::Missing { what: "extent" })?;
            first.e_cpos.set(1);
            ExtentList::put(&mut block[BODY..], 0, first)?;
            volume.put(inode, &mut block, Some(dinode::CHECK))
        },
    )
    .also(&[
        "DIRENT_DOTTY_DUP",
        "DIRENT_DOT_INODE",
        "DIRENT_NOT_DOTTY",
        "DIR_DOTDOT",
        "DIR_PARENT_DUP",
        "INODE_COUNT",
        "INODE_NOT_CONNECTED",
    ]),
    fields(
        "extent-blkno-unaligned",
        "EXTENT_BLKNO_UNALIGNED",
        "an extent does not begin at a cluster",
        &[edit(At::Inode(Find::File), BLOCK, 8, Add(1))],
    )
    .on(Base::LargeClusters),
    with(
        "extent-clusters-overrun",
        "EXTENT_CLUSTERS_OVERRUN",
        "an extent ends after the end of the volume",
        |volume| {
            let last = (u64::from(volume.clusters) - 1) * volume.cluster_blocks;
            let inode = volume.find(Find::File)?;
            let mut block = volume.block(inode)?;
            let first = ExtentList::read(&block[BODY..])?.get(0).copied();
            let mut first = first.ok_or(Error::Missing { what: "extent" })?;
            first.e_blkno.set(last);
            ExtentList::put(&mut block[BODY..], 0, first)?;
            volume.put(inode, &mut block, Some(dinode::CHECK))
        },
    )
    .ends(End::Exit(1)),
    fields(
        "extent-marked-unwritten",
        "EXTENT_MARKED_UNWRITTEN",
        "an extent is unwritten, and the volume has no such feature",
        &[edit(At::Inode(Find::File), FLAGS, 1, Or(1))],
    )
    .on(Base::Old),
    fields(
        "extent-marked-refcounted",
        "EXTENT_MARKED_REFCOUNTED",
        "an extent is shared, and its file has no tree of counts",
        &[edit(At::Inode(Find::File), FLAGS, 1, Or(2))],
    )
    .ends(End::Signal(6)),
    fields(
        "extent-list-depth-inode",
        "EXTENT_EB_INVALID",
        "an inode's list of extents is called a tree",
        &[edit(At::Inode(Find::File), DEPTH, 2, Set(1))],
    )
    .ends(End::Exit(8)),
    fields(
        "last-eb",
        "",
        "an inode names another last extent block",
        &[edit(At::Inode(Find::Tree), 0x58, 8, Set(3))],
    )
    .ends(End::Exit(8)),
    fields(
        "extent-sparse-clusters",
        "INODE_SPARSE_CLUSTERS",
        "an extent is a cluster shorter than its file",
        &[edit(At::Inode(Find::File), CLUSTERS, 2, Add(0xffff))],
    )
    .also(&["CLUSTER_ALLOC_BIT"]),
    fields(
        "extent-sparse-size",
        "INODE_SPARSE_SIZE",
        "a file's clusters begin after its end",
        &[edit(At::Inode(Find::File), CPOS, 4, Set(90_000))],
    ),
    with(
        "link-nullterm",
        "LINK_NULLTERM",
        "the target of a link has no end",
        |volume| {
            let inode = volume.block(volume.find(Find::Link)?)?;
            for at in volume.blocks(&inode)? {
                let mut block = vec![b'x'; volume.block_size];
                volume.put(at, &mut block, None)?;
            }
            Ok(())
        },
    )
    .also(&["LINK_BLOCKS", "LINK_SIZE"]),
    fields(
        "link-size",
        "LINK_SIZE",
        "a link's size is not its target's",
        &[edit(At::Inode(Find::Link), 0x20, 8, Add(u64::MAX))],
    ),
    with(
        "dup-clusters",
        "DUP_CLUSTERS_CLONE",
        "two files have the same clusters",
        |volume| {
            let file = volume.find(Find::File)?;
            let pieces = volume.find(Find::Pieces)?;
            let other = volume.block(file)?;
            let first = ExtentList::read(&other[BODY..])?.get(0).copied();
            let first = first.ok_or(Error::Missing { what: "extent" })?;
            let mut block = volume.block(pieces)?;
            let own = ExtentList::read(&block[BODY..])?.get(0).copied();
            let mut own = own.ok_or(Error::Missing { what: "extent" })?;
            own.e_blkno = first.e_blkno;
            ExtentList::put(&mut block[BODY..], 0, own)?;
            volume.put(pieces, &mut block, Some(dinode::CHECK))
        },
    )
    .also(&[
        "CLUSTER_ALLOC_BIT",
        "DUP_CLUSTERS_ADD_REFCOUNT",
        "DUP_CLUSTERS_DELETE",
    ]),
    with(
        "dup-clusters-sysfile",
        "DUP_CLUSTERS_SYSFILE_CLONE",
        "a file has clusters of the journal",
        |volume| {
            let journal = volume.block(volume.file("journal:0000")?)?;
            let start = *volume
                .blocks(&journal)?
                .last()
                .ok_or(Error::Missing { what: "journal" })?;
            let file = volume.find(Find::File)?;
            let mut block = volume.block(file)?;
            let own = ExtentList::read(&block[BODY..])?.get(0).copied();
            let mut own = own.ok_or(Error::Missing { what: "extent" })?;
            let clusters = u64::from(own.leaf_clusters());
            let first = start / volume.cluster_blocks - (clusters - 1);
            own.e_blkno.set(first * volume.cluster_blocks);
            ExtentList::put(&mut block[BODY..], 0, own)?;
            volume.put(file, &mut block, Some(dinode::CHECK))
        },
    )
    .also(&[
        "CLUSTER_ALLOC_BIT",
        "DUP_CLUSTERS_CLONE",
        "DUP_CLUSTERS_DELETE",
    ]),
];

/// Changes the second extent of a file in pieces.
fn second_record(volume: &mut Volume<'_>, change: fn(&mut ExtentRecord)) -> Result<(), Error> {
    let inode = volume.find(Find::Pieces)?;
    let mut block = volume.block(inode)?;
    let record = ExtentList::read(&block[BODY..])?.get(1).copied();
    let mut record = record.ok_or(Error::Missing { what: "extent" })?;
    change(&mut record);
    ExtentList::put(&mut block[BODY..], 1, record)?;
    volume.put(inode, &mut block, Some(dinode::CHECK))
}
