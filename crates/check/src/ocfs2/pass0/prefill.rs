//! All group descriptors of some allocators, level by level: first the heads of all chains, then their successors.

use std::collections::BTreeMap;

use ondisk::ocfs2::dinode::BODY;
use ondisk::ocfs2::{ChainList, GroupDescriptor};

use crate::ocfs2::blocks::Block;
use crate::ocfs2::refused::Refused;
use crate::ocfs2::volume::{Volume, from, head, value};

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
    let unread = |block: u64| volume.out_of_range(block) || volume.is_past_end(block);
    while !level.is_empty() {
        level.retain(|&block| !unread(block) && !read.contains_key(&block));
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
    if volume.is_past_end(volume.layout.blocks().saturating_sub(1)) {
        for inode in inodes {
            past_end(volume, inode, &mut read);
        }
    }
    Descriptors { volume, read }
}

/// The descriptors of an allocator that lie past the end of the source, as far as libocfs2 has read them ahead: all of a level of its chains, up to
/// the first level with a descriptor that is none. A later one it reads by itself, which is an error.
fn past_end(volume: &Volume<'_>, inode: &[u8], read: &mut BTreeMap<u64, Result<Block, Refused>>) {
    let Ok(list) = ChainList::read(from(inode, BODY)) else {
        return;
    };
    let list_head = list.head();
    let per_group = u32::from(list_head.cl_cpg.get().max(1));
    let chains = u32::from(list_head.cl_count.get().max(1));
    let groups = head(inode).i_clusters.get().saturating_add(per_group) / per_group;
    let used = list_head.cl_next_free_rec.get();
    let mut level: Vec<u64> = list
        .first(used.into())
        .map(|record| record.c_blkno.get())
        .collect();
    for _ in 0..groups.saturating_add(chains) / chains {
        for &block in &level {
            if let Some(descriptor) = volume.group_of_zeros(block) {
                read.insert(block, descriptor);
            }
        }
        let next = |block: &u64| {
            let bytes = read.get(block)?.as_ref().ok()?;
            let group: GroupDescriptor = value(GroupDescriptor::read(bytes));
            Some(group.bg_next_group.get())
        };
        let Some(next) = level.iter().map(next).collect::<Option<Vec<u64>>>() else {
            return;
        };
        level = next.into_iter().filter(|block| *block != 0).collect();
        if level.is_empty() {
            return;
        }
    }
}
