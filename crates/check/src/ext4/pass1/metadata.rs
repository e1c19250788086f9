//! The filesystem's own blocks: superblocks, descriptors, bitmaps, inode tables.
//!
//! They are marked before any inode maps a block, group by group as e2fsck does it, because what is marked first
//! counts and the other one conflicts. Later the checker asks of single blocks whether they are among them. A second bit
//! for each block would answer that; sorted ranges do it in a few hundred KiB for the largest filesystems, since groups have
//! their pieces side by side.

use std::ops::Range;

use ondisk::ext4::GroupDescriptor;
use ondisk::ext4::feature::Incompat;
use ondisk::ext4::geometry::GroupLayout;

use super::super::volume::Volume;
use crate::ext4::e2fsck::log::Log;
use crate::ext4::e2fsck::problems::{P1_BB_CONFLICT, P1_IB_CONFLICT, P1_ITABLE_CONFLICT};
use crate::frame::failure::Failure;
use crate::frame::finding::Finding;
use crate::frame::maps::Bits;
use crate::frame::problem::Problem;

/// Which blocks belong to the filesystem itself.
#[derive(Debug, Default)]
pub(crate) struct Metadata {
    /// Ascending, apart from each other, whole clusters.
    ranges: Vec<Range<u64>>,
    first: u64,
    ratio: u64,
}

/// What lies where, while it is being marked.
struct Marker<'a> {
    first: u64,
    end: u64,
    ratio: u64,
    /// One bit for each block with bigalloc, where conflicts are those of blocks and the map is one of clusters.
    fine: Option<Bits>,
    blocks: &'a Bits,
    ranges: Vec<Range<u64>>,
}

/// Groups between two questions whether to go on.
const GROUPS: u32 = 256;

impl Metadata {
    /// Marks them all in the map of clusters, and reports what two of them claim.
    ///
    /// # Errors
    /// No memory for a second map, which bigalloc needs for a moment; the check was cancelled, or outgrew its memory.
    pub(super) fn mark(
        volume: &Volume<'_>,
        blocks: &Bits,
        log: &mut Log,
    ) -> Result<Metadata, Failure> {
        let geometry = &volume.geometry;
        let first = u64::from(geometry.first_data_block);
        let ratio = u64::from(geometry.cluster_blocks.max(1));
        let fine = match ratio {
            1 => None,
            _ => Some(Bits::new(geometry.blocks_count.saturating_sub(first))?),
        };
        let mut marker = Marker {
            first,
            end: geometry.blocks_count,
            ratio,
            fine,
            blocks,
            ranges: Vec::new(),
        };
        for (layout, descriptor) in geometry.group_layouts().zip(&volume.descriptors) {
            let group = layout.group;
            // A group may touch pages of the map that nothing else does.
            if group.is_multiple_of(GROUPS) {
                volume.guard.hold()?;
                if volume.progress.cancelled() {
                    return Err(Failure::Stopped);
                }
            }
            let conflicts: [Option<&'static Problem>; 5] = [
                None,
                None,
                Some(&P1_ITABLE_CONFLICT),
                Some(&P1_BB_CONFLICT),
                Some(&P1_IB_CONFLICT),
            ];
            for (part, problem) in parts(volume, &layout, descriptor)
                .into_iter()
                .zip(conflicts)
            {
                marker.mark(part, |block| {
                    let finding = problem.map(Finding::new);
                    let finding = finding.map(|one| one.order(0).group(group).block(block));
                    if let Some(one) = finding {
                        log.add(one);
                    }
                });
            }
        }
        marker.mark_mmp(volume);
        Ok(Metadata {
            ranges: joined(marker.ranges),
            first,
            ratio,
        })
    }

    /// Whether the cluster of that block holds any of them.
    pub(crate) fn contains(&self, block: u64) -> bool {
        let after = self.ranges.partition_point(|range| range.start <= block);
        after > 0 && block < self.ranges[after - 1].end
    }

    /// Whether any of these clusters, by their numbers in the map, does.
    pub(crate) fn has_clusters(&self, clusters: &Range<u64>) -> bool {
        let block = |cluster: u64| self.first + cluster * self.ratio;
        let after = self
            .ranges
            .partition_point(|range| range.start < block(clusters.end));
        after > 0 && block(clusters.start) < self.ranges[after - 1].end
    }
}

/// The parts of a group's own blocks as first block and number, wherever they lie: what marking them touches. Empty ones are among them.
pub(crate) fn parts(
    volume: &Volume<'_>,
    layout: &GroupLayout,
    descriptor: &GroupDescriptor,
) -> [Range<u64>; 5] {
    let part = |start: u64, len: u64| match start {
        0 => 0..0,
        start => start..start.saturating_add(len),
    };
    let table = u64::from(volume.geometry.inode_table_blocks());
    [
        layout.superblock.map_or(0..0, |block| block..block + 1),
        descriptors(volume, layout),
        part(descriptor.inode_table(), table),
        part(descriptor.block_bitmap(), 1),
        part(descriptor.inode_bitmap(), 1),
    ]
}

/// The blocks of descriptors in a group, and those kept for their growth. Where `meta_bg` begins after the end of the table the
/// reference marks as many as it would have to be.
fn descriptors(volume: &Volume<'_>, layout: &GroupLayout) -> Range<u64> {
    let geometry = &volume.geometry;
    let start = layout.descriptors.start;
    let old = !geometry.in_meta_bg(layout.group) && layout.superblock.is_some();
    if old && volume.sb.has_incompat(Incompat::META_BG) {
        return start..start + u64::from(geometry.first_meta_bg);
    }
    start..layout.reserved_gdt.end
}

impl Marker<'_> {
    /// Marks a range, cut to the filesystem; calls `again` for each block that was marked before.
    fn mark(&mut self, range: Range<u64>, mut again: impl FnMut(u64)) {
        let range = range.start.max(self.first)..range.end.min(self.end);
        if range.is_empty() {
            return;
        }
        let first = self.first;
        let bits = range.start - first..range.end - first;
        let clusters = bits.start / self.ratio..bits.end.div_ceil(self.ratio);
        match &self.fine {
            Some(fine) => {
                fine.set_range(bits, |bit| again(first + bit));
                self.blocks.set_range(clusters.clone(), |_| ());
            }
            None => self.blocks.set_range(bits, |bit| again(first + bit)),
        }
        let whole = first + clusters.start * self.ratio..first + clusters.end * self.ratio;
        match self.ranges.last_mut() {
            Some(last) if last.end == whole.start => last.end = whole.end,
            _ => self.ranges.push(whole),
        }
    }

    /// The block of multiple mount protection is used, but no caller asks for it by name.
    fn mark_mmp(&mut self, volume: &Volume<'_>) {
        let block = volume.sb.s_mmp_block.get();
        if volume.sb.has_incompat(Incompat::MMP) && block > self.first && block < self.end {
            self.blocks.set((block - self.first) / self.ratio);
        }
    }
}

fn joined(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_unstable_by_key(|range| range.start);
    let mut joined: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined.shrink_to_fit();
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_joined_and_found() {
        let metadata = Metadata {
            ranges: joined(vec![40..41, 0..10, 10..12, 5..7, 20..30]),
            first: 0,
            ratio: 1,
        };
        assert_eq!(metadata.ranges, [0..12, 20..30, 40..41]);
        let found: Vec<u64> = (0..50).filter(|block| metadata.contains(*block)).collect();
        let expected: Vec<u64> = (0..12).chain(20..30).chain(40..41).collect();
        assert_eq!(found, expected);
    }
}
