//! A filesystem that has been opened, as every pass sees it.

use std::ops::Range;

use blockio::{BlockSource, Piece, ReadError, Span, Sweep};
use ondisk::ext4::feature::Incompat;
use ondisk::ext4::{Checksum, Geometry, GroupDescriptor, Inode, Seed, Superblock};

use super::options::Options as Own;
use crate::Progress;
use crate::frame::failure::Failure;
use crate::frame::memory::Guard;
use crate::frame::options::Options;
use crate::frame::sweep::{Crew, Sweeper};

/// Fields of the descriptors as read, where they cannot be trusted.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    /// `bg_flags` of each group as on disk; cleared only where the reference clears them too, when a backup is in use.
    pub(crate) flags: Vec<u16>,
    /// Groups whose descriptor does not match its checksum, ascending.
    pub(crate) checksums: Vec<(u32, Checksum)>,
    /// Groups that are marked as never written, or have unused inodes, without any feature that allows it, ascending.
    pub(crate) uninit: Vec<u32>,
    /// The unused inodes of each of those.
    pub(crate) unused: Vec<u32>,
}

impl Claims {
    /// The unused inodes that a group's descriptor has without any feature that allows it; none where it has none.
    pub(crate) fn unused(&self, group: u32) -> Option<u32> {
        let at = self.uninit.binary_search(&group).ok()?;
        self.unused.get(at).copied()
    }
}

/// An opened filesystem: where its bytes come from and what its superblock says.
pub(crate) struct Volume<'a> {
    /// The image or device.
    pub(crate) source: &'a dyn BlockSource,
    /// The superblock in use: the primary, or the backup it was opened by.
    pub(crate) sb: Superblock,
    /// Its arithmetic.
    pub(crate) geometry: Geometry,
    /// One for each group, from the table in use; flags that e2fsck would not trust are cleared.
    pub(crate) descriptors: Vec<GroupDescriptor>,
    /// Untrusted fields of the descriptors.
    pub(crate) claims: Claims,
    /// Block number of the backup it was opened by; none: the primary.
    pub(crate) backup: Option<u64>,
    /// Seed of metadata checksums; none without the feature.
    pub(crate) seed: Option<Seed>,
    /// The caller's options.
    pub(crate) options: Options,
    /// The caller's options for ext4.
    pub(crate) ext4: Own,
    /// Enforces the memory limit.
    pub(crate) guard: Guard,
    /// Takes progress and cancels.
    pub(crate) progress: &'a dyn Progress,
}

impl Volume<'_> {
    /// Size of a block, bytes.
    pub(crate) fn block_size(&self) -> usize {
        self.geometry.block_size as usize
    }

    /// Numbers of the filesystem's blocks.
    pub(crate) fn blocks(&self) -> Range<u64> {
        self.geometry.first_data_block.into()..self.geometry.blocks_count
    }

    /// Whether the filesystem has this block.
    pub(crate) fn is_block(&self, block: u64) -> bool {
        self.blocks().contains(&block)
    }

    /// Reads one block at once, out of order.
    pub(crate) fn read_into(&self, block: u64, into: &mut Vec<u8>) -> Result<(), ReadError> {
        let size = self.block_size();
        into.resize(size, 0);
        self.source.read_at(into, block.saturating_mul(size as u64))
    }

    /// `i_file_acl`, whose high half counts with 64-bit block numbers only.
    pub(crate) fn attribute_block(&self, inode: &Inode<'_>) -> u64 {
        if self.sb.has_incompat(Incompat::BIT64) {
            inode.file_acl()
        } else {
            inode.raw().i_file_acl_lo.get().into()
        }
    }

    /// A sweep with the caller's options over this filesystem's blocks.
    pub(crate) fn sweep(&self) -> Sweep {
        Sweep {
            threads: self.options.threads.max(1),
            block: self.geometry.block_size,
            ..self.options.sweep.clone()
        }
    }

    /// What reads spans of this filesystem.
    pub(crate) fn sweeper(&self) -> Sweeper<'_> {
        Sweeper {
            source: self.source,
            sweep: self.sweep(),
            progress: self.progress,
            guard: &self.guard,
        }
    }

    /// [`Sweeper::run`] in all threads.
    ///
    /// # Errors
    /// As there.
    pub(crate) fn sweep_watched<T: Send>(
        &self,
        spans: Vec<Span>,
        make: impl Fn() -> T,
        each: impl Fn(&mut T, &Piece<'_>) + Sync,
    ) -> Result<Vec<T>, Failure> {
        self.sweeper().run(Crew::All, spans, make, each)
    }
}
