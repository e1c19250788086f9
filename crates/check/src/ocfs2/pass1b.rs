//! Passes 1b to 1d: who owns the clusters that are in use more than once.

mod contest;

use ondisk::ocfs2::dinode::{BODY, dynamic, flag};
use ondisk::ocfs2::xattr::{
    BLOCK_HEADER, INDEXED, TREE_LIST, VALUE_LIST, ValueRoot, XattrBlock, XattrTree,
};
use ondisk::ocfs2::{ChainList, Dinode, GroupDescriptor, XattrHeader, dinode};

use super::fsck_ocfs2::log::Log;
use super::fsck_ocfs2::problems::OWNERS_UNREADABLE;
use super::pass1::scan;
use super::refused::Refused;
use super::state::State;
use super::tree::{self, Next};
use super::volume::{Volume, from, head, signed, value};
use crate::frame::failure::Failure;
use crate::frame::finding::Finding;
use contest::{Contest, Owner};

/// Runs the passes.
///
/// # Errors
/// The check was cancelled, or outgrew its memory.
pub(crate) fn run(volume: &Volume<'_>, state: &mut State, log: &mut Log) -> Result<(), Failure> {
    let mut contest = Contest::default();
    let bitmap = state.bitmap.inode;
    scan::run(volume, &state.inodes, log, &mut |log, number, bytes| {
        if !signed(bytes, dinode::SIGNATURE) {
            return;
        }
        let inode = head(bytes);
        if inode.i_fs_generation.get() != volume.generation() || !inode.has_flag(flag::VALID) {
            return;
        }
        let mut claims = Claims {
            volume,
            state,
            contest: &mut contest,
            inode,
            bitmap,
        };
        if let Err(refused) = claims.inode(bytes) {
            let finding = Finding::new(&OWNERS_UNREADABLE).inode(number);
            log.end(refused.exit(), finding.note(refused.words()));
        }
    })?;
    contest.judge(volume, &state.shared, log)
}

struct Claims<'a, 'v> {
    volume: &'a Volume<'v>,
    state: &'a State,
    contest: &'a mut Contest,
    inode: Dinode,
    bitmap: u64,
}

impl Claims<'_, '_> {
    fn inode(&mut self, bytes: &[u8]) -> Result<(), Refused> {
        let inode = self.inode;
        let unlisted = flag::SUPER_BLOCK | flag::LOCAL_ALLOC | flag::DEALLOC;
        let is_link = ondisk::ocfs2::directory::type_of_mode(inode.i_mode.get()) == 7;
        let unlisted = inode.i_flags.get() & unlisted != 0
            || inode.has_dynamic(dynamic::INLINE_DATA)
            || is_link && inode.i_clusters.get() == 0;
        if !unlisted && inode.has_flag(flag::CHAIN) {
            self.chains(bytes)?;
        } else if !unlisted {
            let volume = self.volume;
            tree::extents(volume, bytes, &mut |record| {
                self.claim(record.e_blkno.get(), record.leaf_clusters().into());
                Next::Continue
            })?;
        }
        if inode.has_dynamic(dynamic::HAS_XATTR) {
            self.attributes(bytes)?;
        }
        Ok(())
    }

    fn claim(&mut self, block: u64, clusters: u32) {
        let first = self.volume.cluster_of(block);
        let end = first.saturating_add(clusters);
        let owner = Owner {
            inode: self.inode.i_blkno.get(),
            flags: self.inode.i_flags.get(),
            refcounts: self.inode.i_refcount_loc.get(),
        };
        if self.state.shared.first_in(first..end).is_some() {
            self.contest.take(owner, first..end);
        }
    }

    /// The groups of a chain allocator; of the global bitmap, their descriptors.
    fn chains(&mut self, bytes: &[u8]) -> Result<(), Refused> {
        let Ok(list) = ChainList::read(from(bytes, BODY)) else {
            return Ok(());
        };
        let is_bitmap = self.inode.i_blkno.get() == self.bitmap;
        let per_group = if is_bitmap {
            1
        } else {
            list.head().cl_cpg.get().into()
        };
        let mut left = self.volume.layout.blocks();
        for (chain, record) in (0_u16..).zip(list.first(list.head().cl_next_free_rec.get().into()))
        {
            let mut next = record.c_blkno.get();
            while next != 0 && left > 0 {
                left -= 1;
                let group = self.volume.group(next)?;
                let descriptor: GroupDescriptor = value(GroupDescriptor::read(&group));
                match descriptor.extents(&group).filter(|_| !is_bitmap) {
                    Some(extents) => {
                        for record in extents.used() {
                            self.claim(record.e_blkno.get(), record.leaf_clusters().into());
                        }
                    }
                    None => self.claim(next, per_group),
                }
                if descriptor.bg_blkno.get() != next || descriptor.bg_chain.get() != chain {
                    return Err(Refused::Corrupt);
                }
                next = descriptor.bg_next_group.get();
            }
        }
        Ok(())
    }

    fn attributes(&mut self, bytes: &[u8]) -> Result<(), Refused> {
        if self.inode.has_dynamic(dynamic::INLINE_XATTR) {
            let size = usize::from(self.inode.i_xattr_inline_size.get());
            self.header(from(bytes, bytes.len().saturating_sub(size)))?;
        }
        let number = self.inode.i_xattr_loc.get();
        if number == 0 {
            return Ok(());
        }
        let block = self.volume.xattr_block(number)?;
        let attributes: XattrBlock = value(XattrBlock::read(&block));
        if attributes.xb_flags.get() & INDEXED == 0 {
            return self.header(from(&block, BLOCK_HEADER));
        }
        let root: XattrTree = value(XattrTree::read(from(&block, BLOCK_HEADER)));
        let mut extents = Vec::new();
        tree::list(
            self.volume,
            from(&block, TREE_LIST),
            root.xt_last_eb_blk.get(),
            &mut |record| {
                extents.push(*record);
                Next::Continue
            },
        )?;
        for record in extents {
            self.claim(record.e_blkno.get(), record.leaf_clusters().into());
        }
        Ok(())
    }

    fn header(&mut self, bytes: &[u8]) -> Result<(), Refused> {
        let Ok(list) = XattrHeader::read(bytes) else {
            return Ok(());
        };
        for entry in list.first(list.head().xh_count.get().into()) {
            if entry.is_local() {
                continue;
            }
            let name = usize::from(entry.xe_name_len).next_multiple_of(4);
            let place = from(bytes, usize::from(entry.xe_name_offset.get()) + name);
            let Ok(root) = ValueRoot::read(place) else {
                continue;
            };
            let volume = self.volume;
            let list = &place[VALUE_LIST..ValueRoot::SIZE];
            tree::list(volume, list, root.xr_last_eb_blk.get(), &mut |record| {
                self.claim(record.e_blkno.get(), record.leaf_clusters().into());
                Next::Continue
            })?;
        }
        Ok(())
    }
}
