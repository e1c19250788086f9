//! An opened volume: where its bytes come from, what its superblock says, and its structures as libocfs2 reads them.

use blockio::{BlockSource, Sweep};
use ondisk::ocfs2::check::{self, Judged};
use ondisk::ocfs2::superblock::BLOCK;
use ondisk::ocfs2::{
    Dinode, Superblock, Volume as Layout, chain, dinode, extent, feature, index, refcount, system,
    xattr,
};
use zerocopy::FromZeros;

use super::blocks::{Block, Blocks};
use super::refused::Refused;
use crate::frame::failure::Failure;
use crate::frame::memory::Guard;
use crate::frame::options::Options;
use crate::frame::sweep::Sweeper;
use progress::Progress;

/// An opened volume.
pub(crate) struct Volume<'a> {
    /// The image or device.
    pub(crate) source: &'a dyn BlockSource,
    /// The superblock.
    pub(crate) sb: Superblock,
    /// Its arithmetic.
    pub(crate) layout: Layout,
    /// The caller's options.
    pub(crate) options: Options,
    /// Enforces the memory limit.
    pub(crate) guard: Guard,
    /// Takes progress and cancels.
    pub(crate) progress: &'a dyn Progress,
    /// Blocks read one at a time.
    pub(crate) blocks: Blocks,
}

impl Volume<'_> {
    /// Size of a block, bytes.
    pub(crate) fn block_size(&self) -> usize {
        self.layout.block_size()
    }

    /// Number of clusters.
    pub(crate) fn clusters(&self) -> u32 {
        self.layout.clusters
    }

    /// The cluster of a block, in the 32 bits that fsck.ocfs2 has for it: the largest number for all that do not fit.
    pub(crate) fn cluster_of(&self, block: u64) -> u32 {
        u32::try_from(self.layout.cluster_of(block)).unwrap_or(u32::MAX)
    }

    /// Whether fsck.ocfs2 takes the number for one outside the volume. The number after the last block passes.
    pub(crate) fn out_of_range(&self, block: u64) -> bool {
        block < BLOCK || block > self.layout.blocks()
    }

    /// The generation of the volume.
    pub(crate) fn generation(&self) -> u32 {
        self.sb.i_fs_generation.get()
    }

    /// The check goes on.
    ///
    /// # Errors
    /// It was cancelled, or outgrew its memory.
    pub(crate) fn go_on(&self) -> Result<(), Failure> {
        self.guard.hold()?;
        if self.progress.cancelled() {
            return Err(Failure::Stopped);
        }
        Ok(())
    }

    /// Whether metadata blocks have checksums.
    pub(crate) fn has_checksums(&self) -> bool {
        self.sb.has_incompat(feature::META_ECC)
    }

    /// Whether the check is to end. Then nothing is read any more, so that every walk ends soon, and what comes of it is given up.
    pub(crate) fn is_over(&self) -> bool {
        self.progress.cancelled() || self.guard.is_full()
    }

    /// A block, whatever is in it.
    pub(crate) fn read(&self, block: u64) -> Result<Block, Refused> {
        if self.is_over() {
            return Err(Refused::Read);
        }
        self.blocks.read(self.source, block)
    }

    /// How runs of blocks are read.
    pub(crate) fn sweep(&self) -> Sweep {
        Sweep {
            threads: self.options.threads,
            block: self.block_size() as u32,
            ..self.options.sweep.clone()
        }
    }

    /// Reads runs of blocks so.
    pub(crate) fn sweeper(&self) -> Sweeper<'_> {
        Sweeper {
            source: self.source,
            sweep: self.sweep(),
            progress: self.progress,
            guard: &self.guard,
        }
    }

    /// Reads blocks that are needed soon, many requests in flight.
    pub(crate) fn prefetch(&self, blocks: Vec<u64>) {
        if self.is_over() {
            return;
        }
        self.blocks.prefetch(self.source, &self.sweep(), blocks);
    }

    /// Blocks in a run, whatever is in them.
    pub(crate) fn read_run(&self, first: u64, count: usize) -> Result<Vec<u8>, Refused> {
        if self.is_over() {
            return Err(Refused::Read);
        }
        self.blocks.read_run(self.source, first, count)
    }

    /// A block whose checksum at `offset` is right, or was after one bit was corrected.
    pub(crate) fn checked(&self, block: Block, offset: usize) -> Result<Block, Refused> {
        if !self.has_checksums() {
            return Ok(block);
        }
        let mut bytes = block.to_vec();
        match check::validate(&mut bytes, offset) {
            Ok(Judged::Sound) => Ok(block),
            Ok(Judged::Corrected) => Ok(bytes.into()),
            _ => Err(Refused::Checksum),
        }
    }

    fn in_range(&self, block: u64) -> Result<(), Refused> {
        if self.out_of_range(block) {
            return Err(Refused::Range);
        }
        Ok(())
    }

    fn structure(&self, block: u64, offset: usize, signature: [u8; 8]) -> Result<Block, Refused> {
        self.judged(self.read(block)?, offset, signature)
    }

    fn judged(&self, block: Block, offset: usize, signature: [u8; 8]) -> Result<Block, Refused> {
        let bytes = self.checked(block, offset)?;
        if signed(&bytes, signature) {
            Ok(bytes)
        } else {
            Err(Refused::Magic)
        }
    }

    /// How many of these blocks the volume has and the source has not.
    pub(crate) fn cut(&self, start: u64, end: u64) -> u64 {
        if self.blocks.is_packed() {
            return 0;
        }
        let held = self.source.len() / self.block_size() as u64;
        end.min(self.layout.blocks())
            .saturating_sub(start.max(held))
    }

    /// Whether the source ends before the block does.
    pub(crate) fn is_past_end(&self, block: u64) -> bool {
        self.blocks.past_end(self.source, block).is_some()
    }

    /// A group descriptor past the end of the source as libocfs2 has it when it has read it ahead: it asks for all of them at once, does not look at how
    /// many bytes came, and keeps zeros for the others.
    pub(crate) fn group_of_zeros(&self, block: u64) -> Option<Result<Block, Refused>> {
        let bytes = self.blocks.past_end(self.source, block)?;
        Some(self.judged(bytes, 0x30, chain::SIGNATURE))
    }

    /// An inode. A correctable bit is not corrected: libocfs2 copies the block before it corrects it.
    pub(crate) fn inode(&self, block: u64) -> Result<Block, Refused> {
        self.in_range(block)?;
        let bytes = self.read(block)?;
        if !signed(&bytes, dinode::SIGNATURE) {
            return Err(Refused::Magic);
        }
        self.checked(Block::clone(&bytes), dinode::CHECK)?;
        Ok(bytes)
    }

    /// A group descriptor.
    pub(crate) fn group(&self, block: u64) -> Result<Block, Refused> {
        self.in_range(block)?;
        self.structure(block, 0x30, chain::SIGNATURE)
    }

    /// An extent block.
    pub(crate) fn extent_block(&self, block: u64) -> Result<Block, Refused> {
        self.in_range(block)?;
        self.structure(block, 0x08, extent::SIGNATURE)
    }

    /// The root of a directory index.
    pub(crate) fn index_root(&self, block: u64) -> Result<Block, Refused> {
        self.index_block(block, index::ROOT_SIGNATURE)
    }

    /// A leaf of a directory index.
    pub(crate) fn index_leaf(&self, block: u64) -> Result<Block, Refused> {
        self.index_block(block, index::LEAF_SIGNATURE)
    }

    fn index_block(&self, block: u64, signature: [u8; 8]) -> Result<Block, Refused> {
        self.structure(block, 0x08, signature)
            .map_err(|refused| match refused {
                Refused::Magic => Refused::Corrupt,
                other => other,
            })
    }

    /// A block of reference counts.
    pub(crate) fn refcount_block(&self, block: u64) -> Result<Block, Refused> {
        self.in_range(block)?;
        self.structure(block, 0x20, refcount::SIGNATURE)
    }

    /// A block of extended attributes.
    pub(crate) fn xattr_block(&self, block: u64) -> Result<Block, Refused> {
        self.in_range(block)?;
        self.structure(block, 0x18, xattr::SIGNATURE)
    }

    /// A bucket of extended attributes.
    pub(crate) fn xattr_bucket(&self, block: u64) -> Result<Block, Refused> {
        let count = xattr::BUCKET / self.block_size();
        self.checked(self.read_run(block, count)?.into(), 0x08)
    }

    /// Whether blocks of this directory have a trailer.
    pub(crate) fn has_trailer(&self, inode: &Dinode) -> bool {
        let inline = self.sb.has_incompat(feature::INLINE_DATA)
            && inode.has_dynamic(dinode::dynamic::INLINE_DATA);
        !inline && (self.has_index(inode) || self.has_checksums())
    }

    /// Whether this directory has an index, on a volume that knows indexes.
    pub(crate) fn has_index(&self, inode: &Dinode) -> bool {
        self.sb.has_incompat(feature::INDEXED_DIRS)
            && inode.has_dynamic(dinode::dynamic::INDEXED_DIR)
    }

    /// Number of slots, no more than a volume may have.
    pub(crate) fn slots(&self) -> u16 {
        self.sb.s_max_slots.get().min(system::MAX_SLOTS)
    }
}

/// Whether a block begins with a signature. Its last byte, a NUL, is not compared.
pub(crate) fn signed(bytes: &[u8], signature: [u8; 8]) -> bool {
    bytes.starts_with(&signature[..7])
}

/// The value of a fixed structure; all zeros where the bytes end before it does.
pub(crate) fn value<T: Copy + FromZeros, E>(read: Result<&T, E>) -> T {
    read.map_or_else(|_| T::new_zeroed(), |value| *value)
}

/// The head of an inode.
pub(crate) fn head(inode: &[u8]) -> Dinode {
    value(Dinode::read(inode))
}

/// The bytes from `at` on; none past the end.
pub(crate) fn from(bytes: &[u8], at: usize) -> &[u8] {
    bytes.get(at..).unwrap_or_default()
}
