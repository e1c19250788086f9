//! What groups that were never written stand for: their own metadata is in use, wherever it lies.
//!
//! The reference sets these bits in the maps it has read before it compares anything, in other groups' bitmaps as well, because with
//! flex_bg a group's tables lie in a neighbour.

use std::ops::Range;

use ondisk::ext4::bitmap::set_range;
use ondisk::ext4::group_descriptor::BLOCK_UNINIT;

use crate::ext4::volume::Volume;

/// Blocks that count as set, ascending, apart from each other.
#[derive(Debug, Default)]
pub(super) struct Marks(Vec<Range<u64>>);

impl Marks {
    /// Of all groups whose descriptor marks the block bitmap as never written, whether a feature allows that or not; but for the one
    /// that the reference has forgotten it of.
    pub(super) fn of(volume: &Volume<'_>, forgotten: Option<u32>) -> Marks {
        let geometry = &volume.geometry;
        let table = u64::from(geometry.inode_table_blocks());
        let mut ranges = Vec::new();
        let mut push = |range: Range<u64>| {
            if !range.is_empty() {
                ranges.push(range);
            }
        };
        for (group, (descriptor, flags)) in
            (0..).zip(volume.descriptors.iter().zip(&volume.claims.flags))
        {
            if flags & BLOCK_UNINIT == 0 || forgotten == Some(group) {
                continue;
            }
            let layout = geometry.group_layout(group);
            if let Some(block) = layout.superblock {
                push(block..block + 1);
            }
            push(layout.descriptors.start..layout.reserved_gdt.end);
            let pieces = [
                (descriptor.inode_table(), table),
                (descriptor.block_bitmap(), 1),
                (descriptor.inode_bitmap(), 1),
            ];
            for (start, len) in pieces.into_iter().filter(|(start, _)| *start != 0) {
                push(start..start.saturating_add(len));
            }
        }
        Marks(join(ranges))
    }

    /// Sets those of a group in its bitmap.
    pub(super) fn set(&self, volume: &Volume<'_>, group: u32, bytes: &mut [u8]) {
        let geometry = &volume.geometry;
        let blocks = geometry.group_blocks(group);
        let ratio = u64::from(geometry.cluster_blocks);
        let first = self.0.partition_point(|range| range.end <= blocks.start);
        for range in &self.0[first..] {
            if range.start >= blocks.end {
                break;
            }
            let start = range.start.max(blocks.start) - blocks.start;
            let end = range.end.min(blocks.end) - blocks.start;
            // A group has fewer than 2^32 clusters.
            set_range(bytes, (start / ratio) as u32..end.div_ceil(ratio) as u32);
        }
    }
}

fn join(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_unstable_by_key(|range| range.start);
    ranges.dedup_by(|next, last| {
        let touches = next.start <= last.end;
        if touches {
            last.end = last.end.max(next.end);
        }
        touches
    });
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_touch_become_one() {
        let joined = join(vec![7..9, 1..3, 3..4, 8..8 + 4, 20..21]);
        assert_eq!(joined, [1..4, 7..12, 20..21]);
    }
}
