//! All group descriptors of some allocators, level by level: first the heads of all chains, then their successors.

use std::collections::BTreeMap;

use ondisk::ocfs2::dinode::BODY;
use ondisk::ocfs2::{ChainList, GroupDescriptor};

use crate::ocfs2::blocks::Block;
use crate::ocfs2::refused::Refused;
use crate::ocfs2::volume::{Volume, from, value};

/// Descriptors that are read together.
const BATCH: usize = 4096;

/// Descriptors by block.
pub(crate) struct Descriptors<'a, 'v> {
    volume: &'a Volume<'v>,
    read: BTreeMap<u64, Result<Block, Refused>>,
}

impl Descriptors<'_, '_> {
    /// A descriptor, read now if no chain has led to it before.
    pub(crate) fn get(&mut self, block: u64) -> Result<Block, Refused> {
        let volume = self.volume;
        let entry = self.read.entry(block);
        entry.or_insert_with(|| volume.group(block)).clone()
    }

    /// Number of descriptors.
    pub(crate) fn len(&self) -> usize {
        self.read.len()
    }
}

/// Reads the chains of these allocators, and the places where descriptors must be. A block that was read before ends a chain.
pub(crate) fn run<'a, 'v>(
    volume: &'a Volume<'v>,
    inodes: &[&Block],
    places: Vec<u64>,
) -> Descriptors<'a, 'v> {
    let mut read = BTreeMap::new();
    let mut level = places;
    for inode in inodes {
        if let Ok(list) = ChainList::read(from(inode, BODY)) {
            let used = list.head().cl_next_free_rec.get();
            level.extend(list.first(used.into()).map(|record| record.c_blkno.get()));
        }
    }
    while !level.is_empty() {
        level.retain(|&block| !volume.out_of_range(block) && !read.contains_key(&block));
        level.sort_unstable();
        level.dedup();
        let mut next = Vec::with_capacity(level.len());
        for batch in level.chunks(BATCH) {
            volume.prefetch(batch.to_vec());
            for &block in batch {
                let descriptor = volume.group(block);
                if let Ok(bytes) = &descriptor {
                    let group: GroupDescriptor = value(GroupDescriptor::read(bytes));
                    next.push(group.bg_next_group.get());
                }
                read.insert(block, descriptor);
            }
        }
        level = next;
    }
    Descriptors { volume, read }
}
