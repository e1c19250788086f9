//! The allocators: groups of extent blocks, the allocators' inodes, and the global bitmap.

use ondisk::ocfs2::chain::{self, BITMAP, ChainHead};
use ondisk::ocfs2::dinode::{self, BODY};
use ondisk::ocfs2::{ChainList, ChainRecord, Dinode, GroupDescriptor};

use super::Shared;
use super::group::{bitmap_size, descriptor};
use crate::Error;
use crate::ocfs2::plan::Suballocator;
use crate::ocfs2::volume::{Empty, GROUP_CHECK};

impl Suballocator {
    /// The chain of a group, and the group after it there.
    pub(super) fn link(&self, group: usize) -> (u16, u64) {
        for (nth, chain) in (0..).zip(&self.chains) {
            if let Some(at) = chain.iter().position(|&one| one == group) {
                let next = chain.get(at + 1).and_then(|&next| self.groups.get(next));
                return (nth, next.copied().unwrap_or(0));
            }
        }
        (0, 0)
    }
}

/// Writes all of them; returns the clusters in use.
pub(super) fn write(shared: Shared<'_>) -> Result<u64, Error> {
    let Shared { empty, plan, .. } = shared;
    for allocator in &plan.extents {
        for group in 0..allocator.groups.len() {
            let mut bitmap = vec![0; bitmap_size(empty)];
            for bit in 0..allocator.used(group) {
                chain::set_bit(&mut bitmap, bit as usize, true);
            }
            let block = descriptor(empty, allocator, group, &bitmap)?;
            empty.put(allocator.groups[group], &block)?;
        }
    }
    for allocator in plan.inodes.iter().chain(&plan.extents) {
        suballocator(empty, allocator)?;
    }
    global_bitmap(shared)
}

/// The inode of an allocator of inodes or extent blocks.
fn suballocator(empty: &Empty, allocator: &Suballocator) -> Result<(), Error> {
    let mut block = empty.block(allocator.inode)?;
    let (mut used, mut total) = (0, 0);
    for (nth, chain) in allocator.chains.iter().enumerate() {
        let bits = chain.len() as u32 * allocator.bits;
        let in_use: u32 = chain.iter().map(|&group| allocator.used(group)).sum();
        let first = chain.first().map_or(0, |&group| allocator.groups[group]);
        let record = ChainRecord {
            c_free: (bits - in_use).into(),
            c_total: bits.into(),
            c_blkno: first.into(),
        };
        ChainList::put(&mut block[BODY..], nth, record)?;
        used += in_use;
        total += bits;
    }
    ChainHead::read_mut(&mut block[BODY..])?.cl_next_free_rec =
        (allocator.chains.len() as u16).into();
    let clusters = allocator.groups.len() as u32 * allocator.group_clusters;
    let head = Dinode::read_mut(&mut block)?;
    head.set_bitmap(used, total);
    head.i_clusters = clusters.into();
    head.i_size = (u64::from(clusters) << empty.volume.cluster_bits).into();
    empty.seal().store(&mut block, dinode::CHECK)?;
    empty.put(allocator.inode, &block)
}

/// The descriptors of the global bitmap and its inode.
fn global_bitmap(shared: Shared<'_>) -> Result<u64, Error> {
    let Shared { empty, plan, .. } = shared;
    let inode = empty.file("global_bitmap")?;
    let mut block = empty.block(inode)?;
    let chains = ChainList::read(&block[BODY..])?
        .head()
        .cl_next_free_rec
        .get();
    let mut free = vec![0_u32; usize::from(chains)];
    let (mut used, mut total) = (0, 0);
    for group in 0..u64::from(empty.volume.groups(empty.group_clusters).unwrap_or(0)) {
        let at = empty.volume.group_block(group, empty.group_clusters);
        let mut bytes = empty.block(at)?;
        let head = GroupDescriptor::read_mut(&mut bytes)?;
        let bits = u64::from(head.bg_bits.get());
        let first = group * u64::from(empty.group_clusters);
        let (bitmap, in_use) = plan.bitmap.bytes(first, bits);
        head.bg_generation = empty.generation.into();
        head.bg_free_bits_count = ((bits - u64::from(in_use)) as u16).into();
        // The kernel recomputes it when it changes the group; zero is what kernels before 6.16 leave.
        head.bg_contig_free_bits = 0.into();
        if let Some(free) = free.get_mut(usize::from(head.bg_chain.get())) {
            *free += bits as u32 - in_use;
        }
        bytes[BITMAP..BITMAP + bitmap.len()].copy_from_slice(&bitmap);
        empty.seal().store(&mut bytes, GROUP_CHECK)?;
        empty.put(at, &bytes)?;
        used += u64::from(in_use);
        total += bits;
    }
    for (nth, free) in free.into_iter().enumerate() {
        let record = ChainList::read(&block[BODY..])?.get(nth).copied();
        if let Some(mut record) = record {
            record.c_free = free.into();
            ChainList::put(&mut block[BODY..], nth, record)?;
        }
    }
    Dinode::read_mut(&mut block)?.set_bitmap(used as u32, total as u32);
    empty.seal().store(&mut block, dinode::CHECK)?;
    empty.put(inode, &block)?;
    Ok(used)
}
