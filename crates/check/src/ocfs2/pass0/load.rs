//! The bitmap of an allocator, as libocfs2 loads it.

use std::collections::BTreeSet;

use ondisk::ocfs2::dinode::BODY;
use ondisk::ocfs2::{ChainList, GroupDescriptor};

use super::prefill::Descriptors;
use crate::ocfs2::blocks::Block;
use crate::ocfs2::refused::Refused;
use crate::ocfs2::state::{Allocator, Group, Region};
use crate::ocfs2::volume::{Volume, from, value};

/// Why a bitmap cannot be loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failed {
    /// An error of the library.
    Refused(Refused),
    /// abort(3): the extents of a discontiguous group do not add up.
    Abort,
}

/// Loads the bitmap of an allocator, chain by chain, as far as libocfs2 does. The groups past that are in the list all the same.
pub(super) fn load<'v>(
    volume: &Volume<'v>,
    number: u64,
    inode: &Block,
    blocks: &mut Descriptors<'_, 'v>,
) -> (Allocator, Result<(), Failed>) {
    let mut allocator = Allocator {
        inode: number,
        bytes: Some(Block::clone(inode)),
        ..Allocator::default()
    };
    let Ok(list) = ChainList::read(from(inode, BODY)) else {
        return (allocator, Ok(()));
    };
    let mut outcome = None;
    let mut seen = BTreeSet::new();
    let used = list.head().cl_next_free_rec.get();
    for (chain, record) in (0_u16..).zip(list.first(used.into())) {
        let mut next = record.c_blkno.get();
        while next != 0 && seen.insert(next) {
            let Ok(bytes) = blocks.get(next) else {
                // A chain that cannot be followed ends the load, and is no error.
                outcome.get_or_insert(Ok(()));
                break;
            };
            let group: GroupDescriptor = value(GroupDescriptor::read(&bytes));
            allocator.groups.push(Group {
                block: next,
                bytes: Block::clone(&bytes),
            });
            if outcome.is_none() {
                outcome = match insert(volume, &mut allocator, &list, &group, &bytes) {
                    Ok(true) => None,
                    Ok(false) => Some(Ok(())),
                    Err(failed) => Some(Err(failed)),
                };
            }
            if group.bg_blkno.get() != next || group.bg_chain.get() != chain {
                outcome.get_or_insert(Err(Failed::Refused(Refused::Corrupt)));
            }
            next = group.bg_next_group.get();
        }
        if next != 0 {
            outcome.get_or_insert(Ok(()));
        }
    }
    (allocator, outcome.unwrap_or(Ok(())))
}

/// Adds the bits of a group; `false` where they overlap others or are outside the volume.
fn insert(
    volume: &Volume<'_>,
    allocator: &mut Allocator,
    list: &ChainList<'_>,
    group: &GroupDescriptor,
    bytes: &Block,
) -> Result<bool, Failed> {
    let per_cluster = u64::from(list.head().cl_bpc.get().max(1));
    let bit_size = (volume.layout.cluster_size() / per_cluster).max(1);
    let block_size = volume.block_size() as u64;
    let scale = |block: u64| {
        if bit_size < block_size {
            block.wrapping_mul(block_size / bit_size)
        } else {
            block / (bit_size / block_size)
        }
    };
    let all = u64::from(volume.clusters()) * per_cluster;
    let mut add = |start: u64, bits: u64, offset: usize| {
        let overlaps = allocator
            .regions
            .range(..start.saturating_add(bits))
            .next_back()
            .is_some_and(|(_, last)| last.start + last.bits > start);
        if start > all || overlaps || bits == 0 {
            return bits == 0;
        }
        let region = Region {
            start,
            bits,
            offset,
            group: Block::clone(bytes),
        };
        allocator.regions.insert(start, region);
        true
    };
    let bits = u64::from(group.bg_bits.get());
    let Some(extents) = group.extents(bytes) else {
        let own = group.bg_blkno.get();
        let first = if own == volume.layout.first_group {
            0
        } else {
            own
        };
        return Ok(add(scale(first), bits, 0));
    };
    let mut offset = 0;
    while offset < bits {
        let cpos = (offset / per_cluster) as u32;
        let record = extents.used().find(|record| record.e_cpos.get() == cpos);
        let length = record.map_or(0, |record| u64::from(record.leaf_clusters()) * per_cluster);
        let Some(record) = record.filter(|_| length > 0 && offset + length <= bits) else {
            return Err(Failed::Abort);
        };
        if !add(scale(record.e_blkno.get()), length, offset as usize) {
            return Ok(false);
        }
        offset += length;
    }
    Ok(true)
}
