//! Chain allocators: the list of chains in the allocator's inode, and the descriptors of its groups.
//!
//! In the global bitmap a bit is a cluster and the place of each descriptor follows from its number. In the allocators of inodes and of extent
//! blocks a bit is a block of the group, whose first block is the descriptor. A group of such an allocator may be discontiguous: its extents
//! are then in a list of its descriptor.

use zerocopy::little_endian::{U16, U32, U64};

use super::check::BlockCheck;
use super::dinode::BODY;
use super::extent::{ExtentHead, ExtentList, ExtentRecord};

/// `bg_signature`.
pub const SIGNATURE: [u8; 8] = *b"GROUP01\0";
/// Offset of the bitmap in a descriptor.
pub const BITMAP: usize = 0x40;
/// `bg_size` where the descriptor has room for a list of extents.
pub const DISCONTIG_BITMAP: usize = 256;
/// Offset of that list.
pub const EXTENTS: usize = BITMAP + DISCONTIG_BITMAP;

structure! {
    /// The head of a chain list (`struct ocfs2_chain_list`).
    "OCFS2 chain list" ChainHead 16 {
        /// Clusters of a group.
        cl_cpg: U16,
        /// Bits of a cluster.
        cl_bpc: U16,
        /// Chains that there is room for.
        cl_count: U16,
        /// Chains in use.
        cl_next_free_rec: U16,
        /// Zero.
        cl_reserved1: U64,
    }
}

structure! {
    /// A chain (`struct ocfs2_chain_rec`).
    "OCFS2 chain record" ChainRecord 16 {
        /// Free bits of the chain's groups.
        c_free: U32,
        /// Bits of the chain's groups.
        c_total: U32,
        /// Descriptor of the first group.
        c_blkno: U64,
    }
}

list! {
    /// A chain list: the rest of an allocator's inode.
    ChainList, ChainHead, ChainRecord
}

structure! {
    /// The head of a group descriptor (`struct ocfs2_group_desc`); the bitmap follows.
    "OCFS2 group descriptor" GroupDescriptor 0x40 {
        /// [`SIGNATURE`].
        bg_signature: [u8; 8],
        /// Bytes of the bitmap.
        bg_size: U16,
        /// Bits of the group.
        bg_bits: U16,
        /// Free bits.
        bg_free_bits_count: U16,
        /// Chain that the group is in.
        bg_chain: U16,
        /// Generation of the filesystem.
        bg_generation: U32,
        /// Longest free run, bits; 0: not recorded. Kernels before 6.16 leave it zero.
        bg_contig_free_bits: U16,
        /// Zero.
        bg_reserved1: U16,
        /// The next group of the chain; 0: the last.
        bg_next_group: U64,
        /// Inode of the allocator.
        bg_parent_dinode: U64,
        /// Block of this descriptor.
        bg_blkno: U64,
        /// Checksum of the block.
        bg_check: BlockCheck,
        /// Zero.
        bg_reserved2: U64,
    }
}

impl GroupDescriptor {
    /// The list of a discontiguous group: none where the group has one extent, or `block` no room for a list.
    pub fn extents<'a>(&self, block: &'a [u8]) -> Option<ExtentList<'a>> {
        if usize::from(self.bg_size.get()) != DISCONTIG_BITMAP {
            return None;
        }
        let list = ExtentList::read(block.get(EXTENTS..)?).ok()?;
        (list.head().l_next_free_rec.get() > 0).then_some(list)
    }
}

/// Chains in an inode's list.
pub fn room(block_size: usize) -> usize {
    block_size.saturating_sub(BODY + ChainHead::SIZE) / ChainRecord::SIZE
}

/// Bytes of a bitmap that fills the descriptor's block: `bg_size` of the global bitmap.
pub fn bitmap_size(block_size: usize) -> usize {
    block_size.saturating_sub(BITMAP)
}

/// Extents in a discontiguous group's list.
pub fn extent_room(block_size: usize) -> usize {
    block_size.saturating_sub(EXTENTS + ExtentHead::SIZE) / ExtentRecord::SIZE
}

/// Whether a bit of a bitmap is set; bits outside the slice are clear.
pub fn bit(bitmap: &[u8], index: usize) -> bool {
    bitmap
        .get(index / 8)
        .is_some_and(|byte| byte >> (index % 8) & 1 == 1)
}

/// Sets or clears a bit of a bitmap; bits outside the slice are left.
pub fn set_bit(bitmap: &mut [u8], index: usize, set: bool) {
    if let Some(byte) = bitmap.get_mut(index / 8) {
        let mask = 1 << (index % 8);
        *byte = if set { *byte | mask } else { *byte & !mask };
    }
}

/// The longest run of zero bits among the first `bits`.
pub fn longest_zeros(bitmap: &[u8], bits: usize) -> usize {
    let bits = bits.min(bitmap.len() * 8);
    let (mut longest, mut run) = (0, 0);
    for (nth, &byte) in bitmap[..bits.div_ceil(8)].iter().enumerate() {
        let here = (bits - nth * 8).min(8);
        if byte == 0 {
            run += here;
            longest = longest.max(run);
            continue;
        }
        for at in 0..here {
            run = if byte >> at & 1 == 0 { run + 1 } else { 0 };
            longest = longest.max(run);
        }
    }
    longest
}

/// Number of zero bits among the first `bits`.
pub fn zeros(bitmap: &[u8], bits: usize) -> usize {
    let bits = bits.min(bitmap.len() * 8);
    let (whole, rest) = (&bitmap[..bits / 8], bits % 8);
    let (words, bytes) = whole.as_chunks::<8>();
    // Most words of a bitmap are all zeros or all ones; without an instruction for it, counting takes a dozen steps.
    let in_words = words.iter().map(|&word| match u64::from_le_bytes(word) {
        0 => 64,
        u64::MAX => 0,
        mixed => mixed.count_zeros() as usize,
    });
    let in_bytes = bytes.iter().map(|byte| byte.count_zeros() as usize);
    let full = in_words.sum::<usize>() + in_bytes.sum::<usize>();
    let last = (0..rest)
        .filter(|at| !bit(bitmap, bits - rest + at))
        .count();
    full + last
}
