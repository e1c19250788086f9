//! One group descriptor.

use ondisk::ocfs2::chain::{self, BITMAP, ChainHead};
use ondisk::ocfs2::dinode::{BODY, flag};
use ondisk::ocfs2::{ChainList, GroupDescriptor};

use super::chain::{Chain, Judge};
use super::discontig;
use crate::frame::finding::Finding;
use crate::ocfs2::fsck_ocfs2::problems::{
    GROUP_BLKNO, GROUP_CHAIN, GROUP_CONTIG, GROUP_DUPLICATE, GROUP_FREE_BITS, GROUP_FREE_BITS_LOW,
    GROUP_GEN, GROUP_GEOMETRY, GROUP_PARENT,
};
use crate::ocfs2::lookup::zeros;
use crate::ocfs2::refused::Refused;
use crate::ocfs2::volume::{from, head, value};

impl Judge<'_, '_, '_> {
    /// Judges a descriptor and adds its bits to those of its chain.
    ///
    /// # Errors
    /// The parent that it names cannot be read; the chain is left.
    pub(super) fn group(
        &mut self,
        chain: &mut Chain,
        group: &GroupDescriptor,
        bytes: &[u8],
        block: u64,
    ) -> Result<(), Refused> {
        let at = |problem| Finding::new(problem).block(block).group(chain.number);
        if group.bg_generation.get() != self.volume.generation() {
            let finding = at(&GROUP_GEN).found(group.bg_generation.get());
            self.log.add(finding.expected(self.volume.generation()));
        }
        let mut status = Ok(());
        let parent = group.bg_parent_dinode.get();
        if parent != self.owner {
            let linked = self.is_linked(group);
            if linked == Ok(true) {
                self.log
                    .add(at(&GROUP_DUPLICATE).found(parent).expected(self.owner));
            }
            self.log
                .add(at(&GROUP_PARENT).found(parent).expected(self.owner));
            status = linked.map(|_| ());
        }
        if group.bg_blkno.get() != block {
            self.log
                .add(at(&GROUP_BLKNO).found(group.bg_blkno.get()).expected(block));
        }
        if u32::from(group.bg_chain.get()) != chain.number {
            self.log.add(
                at(&GROUP_CHAIN)
                    .found(group.bg_chain.get())
                    .expected(chain.number),
            );
        }
        let free = zeros(from(bytes, BITMAP), group.bg_bits.get());
        let stored = u32::from(group.bg_free_bits_count.get());
        if stored > free {
            self.log
                .add(at(&GROUP_FREE_BITS).found(stored).expected(free));
        } else if stored < free {
            self.log
                .own(at(&GROUP_FREE_BITS_LOW).found(stored).expected(free));
        }
        if self.places.is_some() {
            let longest = chain::longest_zeros(from(bytes, BITMAP), group.bg_bits.get().into());
            let stored = usize::from(group.bg_contig_free_bits.get());
            if stored > longest {
                let finding = at(&GROUP_CONTIG).found(stored as u64);
                self.log.own(finding.expected(longest as u64));
            }
        }
        self.geometry(group, block);
        if usize::from(group.bg_size.get()) == chain::DISCONTIG_BITMAP
            && let Some(list) = group.extents(bytes)
        {
            discontig::check(self.volume, self.log, self.list.cl_cpg.get(), group, &list);
        }
        chain.total = chain.total.wrapping_add(group.bg_bits.get().into());
        chain.free = chain.free.wrapping_add(stored);
        status
    }

    /// Whether the group is linked in the chain that it names of the parent that it names.
    fn is_linked(&mut self, group: &GroupDescriptor) -> Result<bool, Refused> {
        let inode = self.volume.inode(group.bg_parent_dinode.get())?;
        let parent = head(&inode);
        let list = ChainList::read(from(&inode, BODY)).map_err(|_| Refused::Corrupt)?;
        let listed: ChainHead = *list.head();
        let wanted = flag::VALID | flag::BITMAP | flag::CHAIN;
        if !parent.has_flag(wanted)
            || parent.total() == 0
            || listed.cl_next_free_rec.get() <= group.bg_chain.get()
        {
            return Ok(false);
        }
        let Some(record) = list.get(group.bg_chain.get().into()) else {
            return Ok(false);
        };
        let mut next = record.c_blkno.get();
        let mut seen = std::collections::BTreeSet::new();
        while next != 0 && seen.insert(next) {
            if next == group.bg_blkno.get() {
                return Ok(true);
            }
            let bytes = self.blocks.get(next)?;
            let descriptor: GroupDescriptor = value(GroupDescriptor::read(&bytes));
            next = descriptor.bg_next_group.get();
        }
        Ok(false)
    }

    /// What no version of fsck.ocfs2 compares: the sizes of a group with those of the volume.
    fn geometry(&mut self, group: &GroupDescriptor, block: u64) {
        let layout = &self.volume.layout;
        let per_group = u64::from(self.list.cl_cpg.get());
        let whole = per_group * u64::from(self.list.cl_bpc.get());
        let expected = if self.places.is_some() && per_group > 0 {
            let first = if block == layout.first_group {
                0
            } else {
                layout.cluster_of(block)
            };
            per_group.min(u64::from(layout.clusters).saturating_sub(first))
        } else {
            whole
        };
        if u64::from(group.bg_bits.get()) != expected {
            let finding = Finding::new(&GROUP_GEOMETRY)
                .block(block)
                .found(group.bg_bits.get());
            self.log.own(finding.expected(expected).note("bg_bits"));
        }
    }
}
