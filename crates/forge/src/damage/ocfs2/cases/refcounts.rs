//! Reference counts. No volume here has any, so each case first shares a file's clusters with nothing: a tree of one block that counts
//! every cluster once.

use ondisk::ocfs2::dinode::{self, BODY, Dinode, dynamic};
use ondisk::ocfs2::extent::{ExtentHead, REFCOUNTED};
use ondisk::ocfs2::refcount::{LEAF, LIST, RefcountHead, SIGNATURE, TREE, room};
use ondisk::ocfs2::{
    BlockCheck, ExtentList, ExtentRecord, RefcountBlock, RefcountList, RefcountRecord,
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
    with(
        "rb-parent",
        "RB_PARENT",
        "a leaf of counts names another root",
        |volume| {
            tree(
                volume,
                |_| Ok(()),
                |leaf| edit(leaf, |head| head.rf_parent.set(5)),
            )
        },
    ),
    with(
        "refcount-clusters",
        "REFCOUNT_CLUSTERS",
        "a root of counts has another number of leaves",
        |volume| {
            tree(
                volume,
                |root| edit(root, |head| head.rf_clusters.set(7)),
                |_| Ok(()),
            )
        },
    ),
    with(
        "refcount-list-empty",
        "REFCOUNT_LIST_EMPTY",
        "a leaf of counts has none",
        |volume| {
            tree(
                volume,
                |_| Ok(()),
                |leaf| list(leaf, |head| head.rl_used.set(0)),
            )
        },
    )
    .also(&["REFCOUNT_COUNT_INVALID"])
    .ends(End::Exit(8)),
    with(
        "refcount-block-invalid",
        "REFCOUNT_BLOCK_INVALID",
        "a leaf of counts is no such block",
        |volume| {
            tree(
                volume,
                |_| Ok(()),
                |leaf| edit(leaf, |head| head.rf_signature = [0; 8]),
            )
        },
    )
    .ends(End::Exit(8)),
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
    let (at, bit, generation) = volume.take_tree_block(0)?;
    let counted = share(volume, at)?;
    let mut block = leaf(volume, at, bit, generation, counted)?;
    change(&mut block, counted.0 + u64::from(counted.1) - 1)?;
    volume.put(at, &mut block, Some(CHECK))
}

/// The same with a root that leads to one leaf; `root` and `leaf` then break them.
fn tree(
    volume: &mut Volume<'_>,
    break_root: impl FnOnce(&mut [u8]) -> Result<(), Error>,
    break_leaf: impl FnOnce(&mut [u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    let (at, bit, generation) = volume.take_tree_block(0)?;
    let (below, below_bit, _) = volume.take_tree_block(1)?;
    let counted = share(volume, at)?;
    let mut block = leaf(volume, below, below_bit, generation, counted)?;
    edit(&mut block, |head| {
        head.rf_parent.set(at);
        head.rf_count.set(0);
        head.rf_flags.set(LEAF);
    })?;
    break_leaf(&mut block)?;
    volume.put(below, &mut block, Some(CHECK))?;
    let mut block = vec![0; volume.block_size];
    *RefcountBlock::read_mut(&mut block)? = head(at, bit, generation);
    edit(&mut block, |head| {
        head.rf_flags.set(TREE);
        head.rf_clusters.set(1);
    })?;
    let room = (volume.block_size - LIST - ExtentHead::SIZE) / ExtentRecord::SIZE;
    let list = ExtentHead::read_mut(&mut block[LIST..])?;
    list.l_count.set(room as u16);
    list.l_next_free_rec.set(1);
    ExtentList::put(&mut block[LIST..], 0, ExtentRecord::leaf(0, 1, 0, below))?;
    break_root(&mut block)?;
    volume.put(at, &mut block, Some(CHECK))
}

/// Makes a file's first extent one of shared clusters, counted in the tree at a block; its first cluster and their number.
fn share(volume: &mut Volume<'_>, root: u64) -> Result<(u64, u16), Error> {
    let file = volume.find(Find::File)?;
    let mut inode = volume.block(file)?;
    let first = ExtentList::read(&inode[BODY..])?.get(0).copied();
    let first = first.ok_or(Error::Missing { what: "extent" })?;
    let clusters = first.leaf_clusters();
    let record = ExtentRecord::leaf(
        first.e_cpos.get(),
        clusters,
        REFCOUNTED,
        first.e_blkno.get(),
    );
    ExtentList::put(&mut inode[BODY..], 0, record)?;
    let head = Dinode::read_mut(&mut inode)?;
    head.i_dyn_features = (head.i_dyn_features.get() | dynamic::HAS_REFCOUNT).into();
    head.i_refcount_loc = root.into();
    volume.put(file, &mut inode, Some(dinode::CHECK))?;
    Ok((first.e_blkno.get() / volume.cluster_blocks, clusters))
}

/// A block that counts clusters once.
fn leaf(
    volume: &Volume<'_>,
    at: u64,
    bit: u16,
    generation: u32,
    (first, clusters): (u64, u16),
) -> Result<Vec<u8>, Error> {
    let mut block = vec![0; volume.block_size];
    *RefcountBlock::read_mut(&mut block)? = head(at, bit, generation);
    list(&mut block, |head| {
        head.rl_count.set(room(volume.block_size) as u16);
        head.rl_used.set(1);
    })?;
    let record = RefcountRecord {
        r_cpos: first.into(),
        r_clusters: u32::from(clusters).into(),
        r_refcount: 1.into(),
    };
    RefcountList::put(&mut block[LIST..], 0, record)?;
    Ok(block)
}

/// The head of a tree of one block that one file names.
fn head(at: u64, bit: u16, generation: u32) -> RefcountBlock {
    RefcountBlock {
        rf_signature: SIGNATURE,
        rf_suballoc_slot: 0.into(),
        rf_suballoc_bit: bit.into(),
        rf_fs_generation: generation.into(),
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
    }
}
