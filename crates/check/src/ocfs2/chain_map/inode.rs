//! What a scan of inodes and directories reads beside them: extent blocks, index roots, attribute blocks, directory blocks.

use ondisk::ocfs2::dinode::{self, BODY, INLINE_DATA, InlineHead, dynamic, flag};
use ondisk::ocfs2::extent::{BLOCK_LIST, MAX_DEPTH};
use ondisk::ocfs2::index::{self, ROOT_LIST};
use ondisk::ocfs2::{Dinode, DxRoot, ExtentList, directory, extent, refcount, xattr};

use super::ChainMap;
use crate::ocfs2::volume::{from, head, signed};
use crate::strategy::Blocks;

/// `i_mode` of a directory and of a symbolic link, by type.
const DIRECTORY: u16 = 0x4000;
const SYMLINK: u16 = 0xa000;
/// Inodes whose body is no extent list.
const UNLISTED: u32 = flag::SUPER_BLOCK | flag::LOCAL_ALLOC | flag::CHAIN | flag::DEALLOC;

/// Runs of blocks: first block and number.
type Runs = Vec<(u64, u64)>;

impl ChainMap {
    /// An inode and all that pass 1 reads for it; the number of faults, none where the block is no inode in use.
    pub(super) fn inode(&self, number: u64, bytes: &[u8], blocks: &mut Blocks<'_>) -> Option<u64> {
        let inode = head(bytes);
        let in_use = signed(bytes, dinode::SIGNATURE)
            && inode.has_flag(flag::VALID)
            && inode.i_fs_generation.get() == self.generation;
        if !in_use {
            return None;
        }
        let sound = inode.i_blkno.get() == number && self.checksum(bytes, dinode::CHECK);
        let mut faults = u64::from(!sound);
        faults += self.contents(number, &inode, bytes, blocks);
        for (block, signature) in [
            (inode.i_xattr_loc.get(), xattr::SIGNATURE),
            (inode.i_refcount_loc.get(), refcount::SIGNATURE),
        ] {
            faults += u64::from(block != 0 && read(blocks, block, signature).is_none());
        }
        Some(faults)
    }

    fn contents(&self, number: u64, inode: &Dinode, bytes: &[u8], blocks: &mut Blocks<'_>) -> u64 {
        let kind = inode.i_mode.get() & 0xf000;
        if kind == DIRECTORY {
            blocks.directory([number]);
        }
        let no_list = inode.has_dynamic(dynamic::INLINE_DATA)
            || inode.i_flags.get() & UNLISTED != 0
            || kind == SYMLINK && inode.i_clusters.get() == 0;
        if no_list {
            return 0;
        }
        let mut runs = Runs::new();
        let mut faults = self.extents(from(bytes, BODY), MAX_DEPTH, blocks, &mut runs);
        if kind == DIRECTORY {
            let mut left = inode
                .i_size
                .get()
                .div_ceil(u64::from(1_u32 << self.layout.block_bits));
            for (first, count) in runs {
                let count = count.min(left);
                left -= count;
                blocks.directory(first..first + count);
            }
            if inode.has_dynamic(dynamic::INDEXED_DIR) {
                faults += self.index(inode.i_dx_root.get(), blocks);
            }
        }
        faults
    }

    /// The index of a directory: its root now, which pass 2 reads again with the leaves; the number of faults.
    fn index(&self, root: u64, blocks: &mut Blocks<'_>) -> u64 {
        let Some(bytes) = read(blocks, root, index::ROOT_SIGNATURE) else {
            return 1;
        };
        blocks.directory([root]);
        let inline = DxRoot::read(&bytes).is_ok_and(|root| root.dr_flags & index::INLINE != 0);
        if inline {
            return 0;
        }
        let mut runs = Runs::new();
        let faults = self.extents(from(&bytes, ROOT_LIST), MAX_DEPTH, blocks, &mut runs);
        let leaves = runs.into_iter();
        blocks.directory(leaves.flat_map(|(first, count)| first..first + count));
        faults
    }

    /// An extent list and the blocks below it, at most `most` levels; the number of faults.
    fn extents(&self, bytes: &[u8], most: u16, blocks: &mut Blocks<'_>, runs: &mut Runs) -> u64 {
        let Ok(list) = ExtentList::read(bytes) else {
            return 1;
        };
        let depth = list.head().l_tree_depth.get();
        if depth == 0 {
            let mut faults = 0;
            for record in list.used() {
                let first = record.e_blkno.get();
                let count = self.layout.block_of(record.leaf_clusters().into());
                if first.saturating_add(count) > self.layout.blocks() {
                    faults += 1;
                } else if count > 0 {
                    runs.push((first, count));
                }
            }
            return faults;
        }
        if most == 0 || depth > most {
            return 1;
        }
        let below = |record: &ondisk::ocfs2::ExtentRecord| match read(
            blocks,
            record.e_blkno.get(),
            extent::SIGNATURE,
        ) {
            Some(block) => self.extents(from(&block, BLOCK_LIST), depth - 1, blocks, runs),
            None => 1,
        };
        list.used().map(below).sum()
    }
}

/// A block that has this signature.
fn read(blocks: &Blocks<'_>, block: u64, signature: [u8; 8]) -> Option<Vec<u8>> {
    blocks.read(block).filter(|bytes| signed(bytes, signature))
}

/// Whether what pass 2 reads is sound: an inode, inline or not, a block of entries, or a block of an index.
pub(super) fn directory_block(bytes: &[u8]) -> bool {
    let is_index = [index::ROOT_SIGNATURE, index::LEAF_SIGNATURE];
    if is_index.iter().any(|signature| signed(bytes, *signature)) {
        return true;
    }
    if !signed(bytes, dinode::SIGNATURE) {
        return filled(bytes);
    }
    if !head(bytes).has_dynamic(dynamic::INLINE_DATA) {
        return true;
    }
    let room = InlineHead::read(from(bytes, BODY)).map_or(0, |head| head.id_count.get().into());
    let entries = from(bytes, INLINE_DATA).get(..room);
    entries.is_some_and(filled)
}

/// Whether entries fill these bytes.
fn filled(bytes: &[u8]) -> bool {
    let lengths = directory::entries(bytes).map(|(_, entry, _)| usize::from(entry.rec_len.get()));
    !bytes.is_empty() && lengths.sum::<usize>() == bytes.len()
}
