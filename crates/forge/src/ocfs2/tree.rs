//! Extent trees: how many blocks they take, and their blocks.
//!
//! Leaves are filled one after the other, as a kernel fills the tree of a file that grows. The blocks of a tree come from the allocator of
//! extent blocks in this order: leaves, then each level above them.

use ondisk::ocfs2::extent::{BLOCK_LIST, ExtentHead, SIGNATURE, block_room};
use ondisk::ocfs2::{BlockCheck, ExtentBlock, ExtentList, ExtentRecord};

use super::blocks::{Place, Seal};
use crate::Error;

/// Extent blocks of a tree with this number of records, whose root holds `root` of them.
pub(super) fn blocks(records: u64, root: u64, per_block: u64) -> u32 {
    let (mut level, mut all) = (records, 0);
    while level > root {
        level = level.div_ceil(per_block);
        all += level;
    }
    all as u32
}

/// The root of a tree.
#[derive(Debug, Default)]
pub(super) struct Root {
    /// `l_tree_depth`.
    pub(super) depth: u16,
    /// Records of the root's list.
    pub(super) records: Vec<ExtentRecord>,
    /// The block of the last leaf; 0 without blocks.
    pub(super) last_leaf: u64,
}

/// What the blocks of a tree have in common.
#[derive(Debug, Clone, Copy)]
pub(super) struct Common {
    pub(super) block_size: usize,
    /// Generation of the volume.
    pub(super) generation: u32,
    pub(super) slot: u16,
    pub(super) seal: Seal,
}

/// Builds a tree over leaf records in ascending order. `places` are the extent blocks, as many as [`blocks()`] says; each block is given
/// to `write`.
///
/// # Errors
///
/// Those of `write`, and [`Error::Population`] for too few places.
pub(super) fn build(
    records: Vec<ExtentRecord>,
    root: usize,
    common: Common,
    mut places: impl Iterator<Item = Place>,
    mut write: impl FnMut(u64, &[u8]) -> Result<(), Error>,
) -> Result<Root, Error> {
    let room = block_room(common.block_size);
    let mut this = Root {
        records,
        ..Root::default()
    };
    while this.records.len() > root {
        let taken: Vec<Place> = places
            .by_ref()
            .take(this.records.len().div_ceil(room))
            .collect();
        if taken.len() < this.records.len().div_ceil(room) {
            return Err(Error::Population(
                "a tree of extents grew after its blocks were counted".to_owned(),
            ));
        }
        let mut above = Vec::with_capacity(taken.len());
        for (nth, (chunk, place)) in this.records.chunks(room).zip(&taken).enumerate() {
            let next = taken.get(nth + 1).map_or(0, |place| place.block);
            let leaf_next = if this.depth == 0 { next } else { 0 };
            let block = extent_block(chunk, this.depth, *place, leaf_next, common)?;
            write(place.block, &block)?;
            let first = chunk[0].e_cpos.get();
            // What a subtree spans reaches to the next one.
            let end = match this.records.get((nth + 1) * room) {
                Some(next) => u64::from(next.e_cpos.get()),
                None => end_of(chunk, this.depth),
            };
            let span = u32::try_from(end - u64::from(first)).unwrap_or(u32::MAX);
            above.push(ExtentRecord::index(first, span, place.block));
        }
        if this.depth == 0 {
            this.last_leaf = taken.last().map_or(0, |place| place.block);
        }
        this.records = above;
        this.depth += 1;
    }
    Ok(this)
}

fn end_of(records: &[ExtentRecord], depth: u16) -> u64 {
    records.last().map_or(0, |last| {
        u64::from(last.e_cpos.get()) + u64::from(last.clusters_at(depth))
    })
}

fn extent_block(
    records: &[ExtentRecord],
    depth: u16,
    place: Place,
    next_leaf: u64,
    common: Common,
) -> Result<Vec<u8>, Error> {
    let mut block = vec![0; common.block_size];
    *ExtentBlock::read_mut(&mut block)? = ExtentBlock {
        h_signature: SIGNATURE,
        h_check: BlockCheck::default(),
        h_suballoc_slot: common.slot.into(),
        h_suballoc_bit: place.bit.into(),
        h_fs_generation: common.generation.into(),
        h_blkno: place.block.into(),
        h_suballoc_loc: 0.into(),
        h_next_leaf_blk: next_leaf.into(),
    };
    let room = block_room(common.block_size);
    write_list(&mut block[BLOCK_LIST..], records, depth, room)?;
    common.seal.store(&mut block, 0x08)?;
    Ok(block)
}

/// Writes an extent list with room for `count` records.
pub(super) fn write_list(
    bytes: &mut [u8],
    records: &[ExtentRecord],
    depth: u16,
    count: usize,
) -> Result<(), Error> {
    *ExtentHead::read_mut(bytes)? = ExtentHead {
        l_tree_depth: depth.into(),
        l_count: (count as u16).into(),
        l_next_free_rec: (records.len() as u16).into(),
        l_reserved1: 0.into(),
        l_reserved2: 0.into(),
    };
    for (nth, record) in records.iter().enumerate() {
        ExtentList::put(bytes, nth, *record)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built(records: u32) -> (Root, Vec<(u64, Vec<u8>)>) {
        let all = (0..records)
            .map(|nth| ExtentRecord::leaf(nth * 3, 2, 0, u64::from(nth) * 100))
            .collect();
        let common = Common {
            block_size: 512,
            generation: 7,
            slot: 1,
            seal: Seal(false),
        };
        let places = (1..).map(|bit| Place {
            block: 1000 + u64::from(bit),
            bit,
        });
        let mut written = Vec::new();
        let root = build(all, 20, common, places, |at, block| {
            written.push((at, block.to_vec()));
            Ok(())
        })
        .unwrap();
        (root, written)
    }

    #[test]
    fn as_many_blocks_as_counted_and_leaves_in_a_row() {
        let per_block = block_room(512) as u64;
        for records in [0, 1, 20, 21, 28, 29, 500, 800, 20_000] {
            let (root, written) = built(records);
            assert_eq!(
                written.len() as u32,
                blocks(records.into(), 20, per_block),
                "{records}"
            );
            assert_eq!(root.depth == 0, records <= 20);
            let leaves = (u64::from(records)).div_ceil(per_block);
            let mut at = 1001;
            for _ in 0..if root.depth == 0 { 0 } else { leaves } {
                let (block, bytes) = written.iter().find(|one| one.0 == at).unwrap();
                let head = ExtentBlock::read(bytes).unwrap();
                assert_eq!(head.h_blkno.get(), *block);
                if head.h_next_leaf_blk.get() == 0 {
                    assert_eq!(at, root.last_leaf);
                }
                at = head.h_next_leaf_blk.get();
            }
            assert_eq!(at, if root.depth == 0 { 1001 } else { 0 });
            if let Some(last) = root.records.last().filter(|_| root.depth > 0) {
                let end = last.e_cpos.get() + last.int_clusters();
                assert_eq!(end, (records - 1) * 3 + 2);
            }
        }
    }
}
