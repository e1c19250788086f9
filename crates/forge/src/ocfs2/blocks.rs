//! Blocks of suballocators: where each is, and their checksums.

use ondisk::ocfs2::check;

use crate::Error;

/// A block of an allocator of inodes or of extent blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// Its block.
    pub(super) block: u64,
    /// Its bit in its group.
    pub(super) bit: u16,
}

/// Whether metadata blocks have checksums (feature `metaecc`).
#[derive(Debug, Clone, Copy)]
pub(super) struct Seal(pub(super) bool);

impl Seal {
    /// Stores the checksum of a block whose check is at `offset`.
    pub(super) fn store(self, block: &mut [u8], offset: usize) -> Result<(), Error> {
        if self.0 {
            check::store(block, offset)?;
        }
        Ok(())
    }
}
