//! Chains, groups and the global bitmap.

use ondisk::ocfs2::chain::{self, BITMAP, ChainRecord};
use ondisk::ocfs2::dinode::{self, BODY};
use ondisk::ocfs2::{ChainList, Dinode, GroupDescriptor};

use super::super::case::Value::{Add, Blocks, Set};
use super::super::case::{At, Base, Case, End, edit, fields, with};
use super::super::find::Find;
use super::super::volume::Volume;
use crate::damage::Error;

const EXTENTS: &str = "extent_alloc:0000";
const INODES: &str = "inode_alloc:0000";
const BITS: &str = "global_bitmap";
/// Fields of the first chain record.
const FREE: usize = BODY + 16;
const TOTAL: usize = BODY + 20;
const FIRST: usize = BODY + 24;

pub(super) static CASES: &[Case] = &[
    fields(
        "chain-cpg",
        "CHAIN_CPG",
        "the only group of clusters has another size than its allocator says",
        &[edit(At::System(BITS), BODY, 2, Add(8))],
    )
    .on(Base::OneGroup),
    with(
        "group-expected-desc",
        "GROUP_EXPECTED_DESC",
        "a chain of the global bitmap leaves its last group out",
        |volume| {
            let inode = volume.file(BITS)?;
            let mut block = volume.block(inode)?;
            let list = ChainList::read(&block[BODY..])?;
            let last = usize::from(list.head().cl_next_free_rec.get()) - 1;
            let record = ChainRecord {
                c_free: 0.into(),
                c_total: 0.into(),
                c_blkno: 0.into(),
            };
            ChainList::put(&mut block[BODY..], last, record)?;
            volume.put(inode, &mut block, Some(dinode::CHECK))
        },
    )
    .also(&["CHAIN_GROUP_BITS", "CHAIN_I_CLUSTERS", "CHAIN_I_SIZE"]),
    with(
        "group-unexpected-desc",
        "GROUP_UNEXPECTED_DESC",
        "a chain of the global bitmap leads to a copy of its group in another place",
        |volume| {
            let group = *volume
                .groups(BITS)?
                .last()
                .ok_or(Error::Missing { what: "group" })?;
            let mut block = volume.block(group)?;
            GroupDescriptor::read_mut(&mut block)?.bg_blkno = (group + 1).into();
            volume.put(group + 1, &mut block, Some(0x30))?;
            let inode = volume.file(BITS)?;
            let mut block = volume.block(inode)?;
            let list = ChainList::read(&block[BODY..])?;
            let last = usize::from(list.head().cl_next_free_rec.get()) - 1;
            let record = list.get(last).copied();
            let mut record = record.ok_or(Error::Missing { what: "chain" })?;
            record.c_blkno = (group + 1).into();
            ChainList::put(&mut block[BODY..], last, record)?;
            volume.put(inode, &mut block, Some(dinode::CHECK))
        },
    )
    .also(&["GROUP_EXPECTED_DESC"]),
    fields(
        "superblock-clusters",
        "SUPERBLOCK_CLUSTERS",
        "the superblock has a cluster less than the global bitmap",
        &[edit(At::Superblock, 0x14, 4, Add(u64::MAX))],
    ),
    fields(
        "chain-head-link-range",
        "CHAIN_HEAD_LINK_RANGE",
        "an unused chain of extent blocks begins outside the volume",
        &[edit(At::System(EXTENTS), FIRST + 16 * 20, 8, Blocks(7))],
    ),
    fields(
        "chain-count",
        "CHAIN_COUNT",
        "an allocator has more chains than its inode can hold",
        &[edit(At::System(EXTENTS), BODY + 4, 2, Set(900))],
    )
    .ends(End::Signal(6)),
    fields(
        "chain-next-free",
        "CHAIN_NEXT_FREE",
        "more chains are in use than there are",
        &[edit(At::System(EXTENTS), BODY + 6, 2, Set(600))],
    )
    .also(&["CHAIN_EMPTY"]),
    fields(
        "chain-link-range",
        "CHAIN_LINK_RANGE",
        "a group's link leaves the volume",
        &[edit(At::Group(EXTENTS, 0), 0x18, 8, Blocks(99))],
    )
    .ends(End::Exit(8)),
    fields(
        "chain-link-magic",
        "CHAIN_LINK_MAGIC",
        "a group's link leads to a block that is no group",
        &[edit(At::Group(EXTENTS, 0), 0x18, 8, Set(5))],
    ),
    fields(
        "chain-link-gen",
        "CHAIN_LINK_GEN",
        "a group of extent blocks is another volume's",
        &[edit(At::Group(EXTENTS, 0), 0x10, 4, Add(1))],
    )
    .also(&["GROUP_GEN"]),
    fields(
        "chain-bits",
        "CHAIN_BITS",
        "a chain's free bits are not those of its groups",
        &[edit(At::System(EXTENTS), FREE, 4, Add(1))],
    ),
    fields(
        "chain-bits-total",
        "CHAIN_BITS",
        "a chain of inodes has more bits than its groups",
        &[edit(At::System(INODES), TOTAL, 4, Add(8))],
    ),
    fields(
        "chain-empty",
        "CHAIN_EMPTY",
        "a chain in use has no group",
        &[edit(At::System(EXTENTS), BODY + 6, 2, Add(1))],
    ),
    fields(
        "chain-group-bits",
        "CHAIN_GROUP_BITS",
        "an allocator's used bits are not those of its chains",
        &[edit(At::System(EXTENTS), 0xb8, 4, Add(3))],
    ),
    fields(
        "chain-i-clusters",
        "CHAIN_I_CLUSTERS",
        "an allocator's clusters are not those of its bits",
        &[edit(At::System(EXTENTS), 0x14, 4, Add(1))],
    ),
    fields(
        "chain-i-size",
        "CHAIN_I_SIZE",
        "an allocator's size is not that of its clusters",
        &[edit(At::System(EXTENTS), 0x20, 8, Add(1))],
    ),
    fields(
        "group-gen",
        "GROUP_GEN",
        "a group of the global bitmap is another volume's",
        &[edit(At::Group(BITS, 1), 0x10, 4, Add(1))],
    )
    .also(&["CHAIN_LINK_GEN"]),
    with(
        "group-duplicate",
        "GROUP_DUPLICATE",
        "a group of extent blocks is linked from two allocators",
        |volume| {
            let group = *volume
                .groups(EXTENTS)?
                .first()
                .ok_or(Error::Missing { what: "group" })?;
            let inodes = volume.file(INODES)?;
            let mut block = volume.block(group)?;
            GroupDescriptor::read_mut(&mut block)?.bg_parent_dinode = inodes.into();
            volume.put(group, &mut block, Some(0x30))?;
            let last = *volume
                .groups(INODES)?
                .last()
                .ok_or(Error::Missing { what: "group" })?;
            let mut block = volume.block(last)?;
            GroupDescriptor::read_mut(&mut block)?.bg_next_group = group.into();
            volume.put(last, &mut block, Some(0x30))
        },
    )
    .also(&[
        "CHAIN_BITS",
        "CHAIN_GROUP_BITS",
        "CHAIN_I_CLUSTERS",
        "CHAIN_I_SIZE",
        "GROUP_CHAIN_LOOP",
        "GROUP_PARENT",
    ]),
    fields(
        "group-parent",
        "GROUP_PARENT",
        "a group names another allocator as its own",
        &[edit(At::Group(EXTENTS, 0), 0x20, 8, Add(1))],
    ),
    fields(
        "group-blkno",
        "GROUP_BLKNO",
        "a group of extent blocks has another block's number",
        &[edit(At::Group(EXTENTS, 0), 0x28, 8, Add(1))],
    )
    .also(&["CLUSTER_ALLOC_BIT"])
    .ends(End::Exit(8)),
    fields(
        "group-chain",
        "GROUP_CHAIN",
        "a group of extent blocks names another chain",
        &[edit(At::Group(EXTENTS, 0), 0x0e, 2, Add(3))],
    ),
    fields(
        "group-chain-inodes",
        "GROUP_CHAIN",
        "a group of inodes names another chain",
        &[edit(At::Group(INODES, 0), 0x0e, 2, Add(3))],
    )
    .ends(End::Exit(8)),
    fields(
        "group-free-bits",
        "GROUP_FREE_BITS",
        "a group has more free bits than zeros",
        &[edit(At::Group(EXTENTS, 0), 0x0c, 2, Set(1024))],
    )
    .also(&["CHAIN_BITS", "CHAIN_GROUP_BITS"]),
    with(
        "group-chain-loop",
        "GROUP_CHAIN_LOOP",
        "a group's link leads to itself",
        |volume| {
            let group = *volume
                .groups(EXTENTS)?
                .first()
                .ok_or(Error::Missing { what: "group" })?;
            let mut block = volume.block(group)?;
            GroupDescriptor::read_mut(&mut block)?.bg_next_group = group.into();
            volume.put(group, &mut block, Some(0x30))
        },
    )
    .also(&[
        "CHAIN_BITS",
        "CHAIN_GROUP_BITS",
        "CHAIN_I_CLUSTERS",
        "CHAIN_I_SIZE",
    ]),
    with(
        "inode-alloc-repair",
        "INODE_ALLOC_REPAIR",
        "the bit of an inode in use is clear",
        |volume| {
            let inode = volume.find(Find::File)?;
            bit_of(volume, inode, false)
        },
    )
    .also(&["DIRENT_INODE_FREE"]),
    with(
        "inode-alloc-repair-free",
        "INODE_ALLOC_REPAIR",
        "an inode that is not in use has its bit set",
        |volume| {
            let inode = volume.find(Find::Empty)?;
            let mut block = volume.block(inode)?;
            Dinode::read_mut(&mut block)?.i_flags = 0.into();
            volume.put(inode, &mut block, Some(dinode::CHECK))
        },
    )
    .also(&["INODE_COUNT"]),
    with(
        "cluster-alloc-bit",
        "CLUSTER_ALLOC_BIT",
        "the clusters of a file are free in the global bitmap",
        |volume| {
            let inode = volume.block(volume.find(Find::File)?)?;
            let first = *volume
                .blocks(&inode)?
                .first()
                .ok_or(Error::Missing { what: "cluster" })?;
            cluster_bit(volume, first / volume.cluster_blocks, false)
        },
    ),
    with(
        "cluster-alloc-bit-set",
        "CLUSTER_ALLOC_BIT",
        "the last cluster is in use by nothing",
        |volume| {
            let last = u64::from(volume.clusters) - 1;
            cluster_bit(volume, last, true)
        },
    )
    .also(&["GROUP_FREE_BITS"]),
];

/// Sets or clears the bit of an inode in its group.
fn bit_of(volume: &mut Volume<'_>, inode: u64, set: bool) -> Result<(), Error> {
    let bit = Dinode::read(&volume.block(inode)?)?.i_suballoc_bit.get();
    let group = inode - u64::from(bit);
    let mut block = volume.block(group)?;
    chain::set_bit(&mut block[BITMAP..], bit.into(), set);
    volume.put(group, &mut block, Some(0x30))
}

/// Sets or clears the bit of a cluster in the global bitmap.
fn cluster_bit(volume: &mut Volume<'_>, cluster: u64, set: bool) -> Result<(), Error> {
    let inode = volume.block(volume.file(BITS)?)?;
    let per_group = u64::from(ChainList::read(&inode[BODY..])?.head().cl_cpg.get()).max(1);
    let number = cluster / per_group;
    let mut groups = volume.groups(BITS)?;
    groups.sort_unstable();
    let group = groups.get(number as usize).copied();
    let group = group.ok_or(Error::Missing { what: "group" })?;
    let mut block = volume.block(group)?;
    chain::set_bit(&mut block[BITMAP..], (cluster % per_group) as usize, set);
    volume.put(group, &mut block, Some(0x30))
}
