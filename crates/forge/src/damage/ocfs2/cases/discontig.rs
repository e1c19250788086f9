//! Groups of several extents. No volume here has any, so each case first describes a group of extent blocks, which is in one piece, as two halves;
//! that is sound. Then it breaks the list.

use ondisk::ocfs2::chain::{EXTENTS, extent_room};
use ondisk::ocfs2::dinode::BODY;
use ondisk::ocfs2::extent::ExtentHead;
use ondisk::ocfs2::{ChainList, ExtentList, ExtentRecord};

use super::super::case::{Case, End, with};
use super::super::volume::Volume;
use crate::damage::Error;

const ALLOCATOR: &str = "extent_alloc:0000";
/// `bg_check`.
const CHECK: usize = 0x30;

pub(super) static CASES: &[Case] = &[
    with(
        "discontig-bg-depth",
        "DISCONTIG_BG_DEPTH",
        "the extents of a group are a tree",
        |volume| halves(volume, |list| list.head(|head| head.l_tree_depth.set(1))),
    ),
    with(
        "discontig-bg-count",
        "DISCONTIG_BG_COUNT",
        "the extents of a group have room for more than the block",
        |volume| halves(volume, |list| list.head(|head| head.l_count.set(900))),
    ),
    with(
        "discontig-bg-rec-range",
        "DISCONTIG_BG_REC_RANGE",
        "an extent of a group is outside the volume",
        |volume| {
            let end = u64::from(volume.clusters) * volume.cluster_blocks;
            halves(volume, |list| list.record(1, list.half, end + 1000))
        },
    )
    .ends(End::Exit(1)),
    with(
        "discontig-bg-next-free-rec",
        "DISCONTIG_BG_NEXT_FREE_REC",
        "a group has fewer extents than its list says",
        |volume| halves(volume, |list| list.head(|head| head.l_next_free_rec.set(3))),
    ),
    with(
        "discontig-bg-less-clusters",
        "DISCONTIG_BG_LESS_CLUSTERS",
        "the extents of a group are shorter than the group",
        |volume| halves(volume, |list| list.record(1, list.half - 1, list.second())),
    )
    .also(&["CLUSTER_ALLOC_BIT"]),
    with(
        "discontig-bg-clusters",
        "DISCONTIG_BG_CLUSTERS",
        "the extents of a group are longer than the group",
        |volume| halves(volume, |list| list.record(1, list.half + 1, list.second())),
    )
    .also(&["DUP_CLUSTERS_SYSFILE_CLONE"]),
    with(
        "discontig-bg-leaf-clusters",
        "DISCONTIG_BG_LEAF_CLUSTERS",
        "one extent of a group is longer than the group",
        |volume| halves(volume, |list| list.record(1, 3 * list.half, list.second())),
    )
    .also(&["DUP_CLUSTERS_SYSFILE_CLONE"]),
    with(
        "discontig-bg-rec-corrupt",
        "DISCONTIG_BG_REC_CORRUPT",
        "an extent too long comes after those that fill the group",
        |volume| {
            halves(volume, |list| {
                list.head(|head| head.l_next_free_rec.set(3))?;
                list.record(2, 3 * list.half, list.second())
            })
        },
    )
    .also(&["DUP_CLUSTERS_SYSFILE_CLONE"]),
    with(
        "discontig-bg-corrupt-leaves",
        "DISCONTIG_BG_CORRUPT_LEAVES",
        "two extents of a group are longer than the group",
        |volume| {
            halves(volume, |list| {
                list.record(0, 3 * list.half, list.group)?;
                list.record(1, 3 * list.half, list.second())
            })
        },
    )
    .also(&["DUP_CLUSTERS_SYSFILE_CLONE"]),
    with(
        "discontig-bg-list-corrupt",
        "DISCONTIG_BG_LIST_CORRUPT",
        "extents go on after a full group, one of them too long",
        |volume| {
            halves(volume, |list| {
                list.head(|head| head.l_next_free_rec.set(4))?;
                list.record(0, 3 * list.half, list.group)?;
                list.record(1, list.half, list.group)?;
                list.record(2, list.half, list.second())?;
                list.record(3, 1, list.group)
            })
        },
    )
    .also(&["DUP_CLUSTERS_SYSFILE_CLONE"]),
];

/// The extents of a group, and what they are made from.
struct List<'a> {
    /// From the list's first byte on.
    bytes: &'a mut [u8],
    /// Block of the group.
    group: u64,
    /// Half of the group, clusters.
    half: u16,
    cluster_blocks: u64,
}

impl List<'_> {
    /// Block of the second half.
    fn second(&self) -> u64 {
        self.group + u64::from(self.half) * self.cluster_blocks
    }

    fn head(&mut self, change: impl FnOnce(&mut ExtentHead)) -> Result<(), Error> {
        change(ExtentHead::read_mut(self.bytes)?);
        Ok(())
    }

    /// An extent at a position of the list.
    fn record(&mut self, nth: usize, clusters: u16, block: u64) -> Result<(), Error> {
        let cpos = nth as u32 * u32::from(self.half);
        let record = ExtentRecord::leaf(cpos, clusters, 0, block);
        Ok(ExtentList::put(self.bytes, nth, record)?)
    }
}

/// Describes a group as two halves, which `change` then breaks.
fn halves(
    volume: &mut Volume<'_>,
    change: impl FnOnce(&mut List<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    let inode = volume.block(volume.file(ALLOCATOR)?)?;
    let clusters = ChainList::read(&inode[BODY..])?.head().cl_cpg.get();
    let group = volume.groups(ALLOCATOR)?.first().copied();
    let group = group.ok_or(Error::Missing { what: "group" })?;
    let mut block = volume.block(group)?;
    let room = extent_room(volume.block_size) as u16;
    let mut list = List {
        bytes: &mut block[EXTENTS..],
        group,
        half: clusters / 2,
        cluster_blocks: volume.cluster_blocks,
    };
    list.head(|head| {
        head.l_tree_depth.set(0);
        head.l_count.set(room);
        head.l_next_free_rec.set(2);
    })?;
    list.record(0, list.half, list.group)?;
    list.record(1, list.half, list.second())?;
    change(&mut list)?;
    volume.put(group, &mut block, Some(CHECK))
}
