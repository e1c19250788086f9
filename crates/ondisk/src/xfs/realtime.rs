//! The bitmap and the summary of the realtime section, which are files in the data section. Words are in the byte order of the machine
//! that wrote them: little-endian.

use super::Superblock;
use crate::bytes::le32;

/// Whether a realtime extent is free.
pub fn is_free(bitmap: &[u8], extent: u64) -> bool {
    let word = usize::try_from(extent / 32).unwrap_or(usize::MAX);
    word.checked_mul(4)
        .is_some_and(|at| le32(bitmap, at) >> (extent % 32) & 1 == 1)
}

/// Sets whether a realtime extent is free; nothing outside the bitmap.
pub fn set_free(bitmap: &mut [u8], extent: u64, free: bool) {
    let at = usize::try_from(extent / 8).unwrap_or(usize::MAX);
    if let Some(byte) = bitmap.get_mut(at) {
        let mask = 1 << (extent % 8);
        *byte = if free { *byte | mask } else { *byte & !mask };
    }
}

/// Levels of the summary: one for each power of two up to the number of extents.
pub fn levels(sb: &Superblock) -> u32 {
    if sb.sb_rblocks.get() == 0 {
        0
    } else {
        u32::from(sb.sb_rextslog) + 1
    }
}

/// Bytes of the summary file.
pub fn summary_bytes(sb: &Superblock) -> u64 {
    let words = u64::from(levels(sb)) * u64::from(sb.sb_rbmblocks.get());
    (words * 4).next_multiple_of(sb.block_size().max(1))
}

/// Position of a counter in the summary: extents of two to the `level` that begin in this block of the bitmap.
pub fn summary_at(sb: &Superblock, level: u32, block: u64) -> u64 {
    u64::from(level) * u64::from(sb.sb_rbmblocks.get()) + block
}
