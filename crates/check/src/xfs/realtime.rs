//! Extents of the realtime part that are taken.

use super::volume::Volume;
use crate::frame::maps::{Bits, OutOfMemory};

/// Extents of the realtime part that are taken: a bit for each.
pub(crate) struct Realtime {
    bits: Bits,
}

impl Realtime {
    /// Nothing is taken. There are as many extents as the superblock says, as the blocks of the realtime part make, and as the bitmap has
    /// bits within the source: the fewest of these where they disagree.
    ///
    /// # Errors
    /// There is no memory.
    pub(crate) fn new(volume: &Volume<'_>) -> Result<Realtime, OutOfMemory> {
        let sb = &volume.sb;
        let in_blocks = sb.sb_rblocks.get() / u64::from(sb.sb_rextsize.get()).max(1);
        let bitmap = sb.in_bytes(sb.sb_rbmblocks).min(volume.source.len());
        let in_bitmap = bitmap.saturating_mul(8);
        let count = sb.sb_rextents.get().min(in_blocks).min(in_bitmap);
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

    /// How many extents there are.
    pub(crate) fn len(&self) -> u64 {
        self.bits.len()
    }

    /// Bytes of memory, if all of it is in use.
    pub(crate) fn memory(&self) -> u64 {
        self.bits.len().div_ceil(8)
    }

    /// Whether an extent is taken.
    pub(crate) fn is_taken(&self, extent: u64) -> bool {
        self.bits.get(extent)
    }
}
