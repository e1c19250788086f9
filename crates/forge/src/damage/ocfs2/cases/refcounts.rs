//! Reference counts. No volume here has any, so each case first shares a file's clusters with nothing: a tree of one block that counts
//! every cluster once.

use ondisk::ocfs2::dinode::{self, BODY, Dinode, dynamic};
use ondisk::ocfs2::extent::REFCOUNTED;
use ondisk::ocfs2::refcount::{LIST, RefcountHead, SIGNATURE, room};
use ondisk::ocfs2::{
    BlockCheck, ExtentList, ExtentRecord, GroupDescriptor, RefcountBlock, RefcountList,
    RefcountRecord,
};

use super::super::case::{Case, End, with};
use super::super::find::Find;
use super::super::volume::Volume;
use crate::damage::Error;

/// `rf_check`.
const CHECK: usize = 0x20;

pub(super) static CASES: &[Case] = &[
    with(
        "rb-blkno",
        "RB_BLKNO",
        "a block of counts has another block's number",
        |volume| shared(volume, |block, _| edit(block, |head| head.rf_blkno.set(3))),
    )
    .also(&["RB_PARENT"]),
    with(
        "rb-gen",
        "RB_GEN",
        "a block of counts is another volume's",
        |volume| {
            shared(volume, |block, _| {
                edit(block, |head| head.rf_fs_generation.set(3))
            })
        },
    )
    .also(&["RB_GEN_FIX"]),
    with(
        "refcount-list-count",
        "REFCOUNT_LIST_COUNT",
        "a list of counts has room for more than its block",
        |volume| {
            shared(volume, |block, _| {
                list(block, |head| head.rl_count.set(900))
            })
        },
    ),
    with(
        "refcount-count",
        "REFCOUNT_COUNT",
        "a tree counts more files than name it",
        |volume| shared(volume, |block, _| edit(block, |head| head.rf_count.set(4))),
    ),
    with(
        "refcount-rec-redundant",
        "REFCOUNT_REC_REDUNDANT",
        "a tree counts clusters that no file shares",
        |volume| {
            shared(volume, |block, last| {
                let record = RefcountRecord {
                    r_cpos: (last + 5).into(),
                    r_clusters: 3.into(),
                    r_refcount: 1.into(),
                };
                list(block, |head| head.rl_used.set(2))?;
                Ok(RefcountList::put(&mut block[LIST..], 1, record)?)
            })
        },
    ),
    with(
        "refcount-count-invalid",
        "REFCOUNT_COUNT_INVALID",
        "clusters of one file are counted twice",
        |volume| {
            shared(volume, |block, _| {
                let record = RefcountList::read(&block[LIST..])?.get(0).copied();
                let mut record = record.ok_or(Error::Missing { what: "count" })?;
                record.r_refcount = 2.into();
                Ok(RefcountList::put(&mut block[LIST..], 0, record)?)
            })
        },
    )
    .ends(End::Exit(8)),
    with(
        "refcount-cluster-collision",
        "REFCOUNT_CLUSTER_COLLISION",
        "two counts are of the same clusters",
        |volume| {
            shared(volume, |block, _| {
                let record = RefcountList::read(&block[LIST..])?.get(0).copied();
                let record = record.ok_or(Error::Missing { what: "count" })?;
                list(block, |head| head.rl_used.set(2))?;
                Ok(RefcountList::put(&mut block[LIST..], 1, record)?)
            })
        },
    ),
    with(
        "refcount-list-used",
        "REFCOUNT_LIST_USED",
        "a list of counts has more than its room",
        |volume| {
            shared(volume, |block, _| {
                list(block, |head| head.rl_used.set(head.rl_count.get() + 1))
            })
        },
    )
    .also(&[
        "CLUSTER_ALLOC_BIT",
        "REFCOUNT_CLUSTER_COLLISION",
        "REFCOUNT_CLUSTER_RANGE",
    ])
    .ends(End::Exit(8)),
    with(
        "refcount-cluster-range",
        "REFCOUNT_CLUSTER_RANGE",
        "a count is of clusters outside the volume",
        |volume| {
            let end = u64::from(volume.clusters);
            shared(volume, |block, _| {
                let record = RefcountRecord {
                    r_cpos: (end + 5).into(),
                    r_clusters: 3.into(),
                    r_refcount: 1.into(),
                };
                list(block, |head| head.rl_used.set(2))?;
                Ok(RefcountList::put(&mut block[LIST..], 1, record)?)
            })
        },
    )
    .also(&["REFCOUNT_REC_REDUNDANT"]),
    with(
        "refcount-root-block-invalid",
        "REFCOUNT_ROOT_BLOCK_INVALID",
        "the root of a tree of counts is no such block",
        |volume| {
            shared(volume, |block, _| {
                edit(block, |head| head.rf_signature = [0; 8])
            })
        },
    )
    .ends(End::Signal(6)),
];

fn edit(block: &mut [u8], change: impl FnOnce(&mut RefcountBlock)) -> Result<(), Error> {
    change(RefcountBlock::read_mut(block)?);
    Ok(())
}

fn list(block: &mut [u8], change: impl FnOnce(&mut RefcountHead)) -> Result<(), Error> {
    change(RefcountHead::read_mut(&mut block[LIST..])?);
    Ok(())
}

/// Gives a file a tree of counts, in the last block of a group of extent blocks, which nothing uses; `change` then breaks its block. It gets
/// the last cluster that is counted, too.
fn shared(
    volume: &mut Volume<'_>,
    change: impl FnOnce(&mut [u8], u64) -> Result<(), Error>,
) -> Result<(), Error> {
    let group = volume.groups("extent_alloc:0000")?.first().copied();
    let group = group.ok_or(Error::Missing { what: "group" })?;
    let descriptor = volume.block(group)?;
    let head = GroupDescriptor::read(&descriptor)?;
    let bit = head.bg_bits.get() - 1;
    let at = group + u64::from(bit);
    let generation = head.bg_generation;
    let file = volume.find(Find::File)?;
    let mut inode = volume.block(file)?;
    let first = ExtentList::read(&inode[BODY..])?.get(0).copied();
    let first = first.ok_or(Error::Missing { what: "extent" })?;
    let clusters = first.leaf_clusters();
    let cluster = first.e_blkno.get() / volume.cluster_blocks;
    let record = ExtentRecord::leaf(
        first.e_cpos.get(),
        clusters,
        REFCOUNTED,
        first.e_blkno.get(),
    );
    ExtentList::put(&mut inode[BODY..], 0, record)?;
    let head = Dinode::read_mut(&mut inode)?;
    head.i_dyn_features = (head.i_dyn_features.get() | dynamic::HAS_REFCOUNT).into();
    head.i_refcount_loc = at.into();
    volume.put(file, &mut inode, Some(dinode::CHECK))?;
    let mut block = vec![0; volume.block_size];
    *RefcountBlock::read_mut(&mut block)? = RefcountBlock {
        rf_signature: SIGNATURE,
        rf_suballoc_slot: 0.into(),
        rf_suballoc_bit: bit.into(),
        rf_fs_generation: generation,
        rf_blkno: at.into(),
        rf_parent: 0.into(),
        rf_check: BlockCheck::default(),
        rf_last_eb_blk: 0.into(),
        rf_count: 1.into(),
        rf_flags: 0.into(),
        rf_clusters: 0.into(),
        rf_cpos: 0.into(),
        rf_generation: 1.into(),
        rf_reserved0: 0.into(),
        rf_suballoc_loc: 0.into(),
        rf_reserved1: [0; 48],
    };
    list(&mut block, |head| {
        head.rl_count.set(room(volume.block_size) as u16);
        head.rl_used.set(1);
    })?;
    let record = RefcountRecord {
        r_cpos: cluster.into(),
        r_clusters: u32::from(clusters).into(),
        r_refcount: 1.into(),
    };
    RefcountList::put(&mut block[LIST..], 0, record)?;
    change(&mut block, cluster + u64::from(clusters) - 1)?;
    volume.put(at, &mut block, Some(CHECK))
}
