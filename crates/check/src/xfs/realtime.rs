//! Extents of the realtime part that are taken.

use ondisk::xfs::Superblock;

use crate::frame::maps::{Bits, OutOfMemory};

/// Extents of the realtime part that are taken: a bit for each.
pub(crate) struct Realtime {
    bits: Bits,
}

impl Realtime {
    /// Nothing is taken. The superblock may claim more extents than there is memory for; they have a bit each.
    ///
    /// # Errors
    /// There is no memory.
    pub(crate) fn new(sb: &Superblock) -> Result<Realtime, OutOfMemory> {
        let count = if sb.sb_rblocks.get() == 0 {
            0
        } else {
            sb.sb_rextents.get()
        };
        Ok(Realtime {
            bits: Bits::new(count)?,
        })
    }

    /// Takes realtime extents; whether none was taken before. Those past the end are left out.
    pub(crate) fn take(&self, first: u64, count: u64) -> bool {
        let mut sole = true;
        let end = first.saturating_add(count).min(self.bits.len());
        self.bits.set_range(first.min(end)..end, |_| sole = false);
        sole
    }

    /// Whether an extent is taken.
    pub(crate) fn is_taken(&self, extent: u64) -> bool {
        self.bits.get(extent)
    }
}
