//! Clusters for structures that a case adds: taken from the end of the volume, with all counts that belong to it.

use ondisk::ocfs2::chain::{self, BITMAP};
use ondisk::ocfs2::dinode::{self, BODY};
use ondisk::ocfs2::{ChainList, Dinode, GroupDescriptor};

use super::volume::Volume;
use crate::damage::Error;

const BITS: &str = "global_bitmap";

/// A free cluster.
pub(super) struct Free {
    /// Its number.
    pub(super) cluster: u64,
    group: u64,
    bit: usize,
}

impl Volume<'_> {
    /// The last free cluster.
    pub(super) fn last_free(&self) -> Result<Free, Error> {
        let inode = self.block(self.file(BITS)?)?;
        let per_group = u64::from(ChainList::read(&inode[BODY..])?.head().cl_cpg.get()).max(1);
        let mut groups = self.groups(BITS)?;
        groups.sort_unstable();
        for (nth, &group) in groups.iter().enumerate().rev() {
            let block = self.block(group)?;
            let bits = usize::from(GroupDescriptor::read(&block)?.bg_bits.get());
            let bitmap = &block[BITMAP..];
            if let Some(bit) = (0..bits).rev().find(|&bit| !chain::bit(bitmap, bit)) {
                return Ok(Free {
                    cluster: nth as u64 * per_group + bit as u64,
                    group,
                    bit,
                });
            }
        }
        Err(Error::Missing {
            what: "free cluster",
        })
    }

    /// Takes the last free cluster; its first block.
    pub(super) fn take_cluster(&mut self) -> Result<u64, Error> {
        let free = self.last_free()?;
        let mut block = self.block(free.group)?;
        let head = *GroupDescriptor::read(&block)?;
        chain::set_bit(&mut block[BITMAP..], free.bit, true);
        GroupDescriptor::read_mut(&mut block)?.bg_free_bits_count =
            head.bg_free_bits_count.get().saturating_sub(1).into();
        self.put(free.group, &mut block, Some(0x30))?;
        let number = self.file(BITS)?;
        let mut inode = self.block(number)?;
        let at = usize::from(head.bg_chain.get());
        let record = ChainList::read(&inode[BODY..])?.get(at).copied();
        let mut record = record.ok_or(Error::Missing { what: "chain" })?;
        record.c_free = record.c_free.get().saturating_sub(1).into();
        ChainList::put(&mut inode[BODY..], at, record)?;
        let head = Dinode::read_mut(&mut inode)?;
        head.set_bitmap(head.used().saturating_add(1), head.total());
        self.put(number, &mut inode, Some(dinode::CHECK))?;
        Ok(free.cluster * self.cluster_blocks)
    }

    /// A block of the first group of extent blocks that is given to a tree, `nth` from the end: its number, its bit, and the generation.
    pub(super) fn take_tree_block(&mut self, nth: u16) -> Result<(u64, u16, u32), Error> {
        let group = self.groups("extent_alloc:0000")?.first().copied();
        let group = group.ok_or(Error::Missing { what: "group" })?;
        let descriptor = self.block(group)?;
        let head = GroupDescriptor::read(&descriptor)?;
        let bit = head.bg_bits.get().saturating_sub(1 + nth);
        let generation = head.bg_generation.get();
        Ok((group + u64::from(bit), bit, generation))
    }
}
