//! Gaps: places where a file is interrupted on disk, and their causes.
//!
//! A gap is a place where filefrag would count another extent. Its cause is what occupies the block at
//! which the file would have continued. Geometry is tried first, because it needs no privileges and
//! applies to listings of 2010, too: a file that skips the copy of the superblock at the start of a
//! group and continues right after it could not have been laid out better. The kernel's own map
//! (GETFSMAP) is used for what geometry does not explain. A cause is named only if it ends where the
//! file continues: when a file meets a superblock's copy and continues forty groups away, the cause is
//! another one, and unknown.
//!
//! Allocators skip more than the metadata itself: ext4 asks for aligned pieces, and keeps the first
//! group of a flex group for directories. The rest of a group after its metadata is therefore part of
//! the same gap.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::cause::Cause;
use crate::extent::Extent;
use crate::fsmap::Owner;
use crate::geometry::Geometry;

/// A place where a file is interrupted on disk. Addresses are bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Gap {
    /// Offset in the file at which the next piece begins.
    pub logical: u64,
    /// Position at which it would have to begin without a gap.
    pub expected: u64,
    /// Position at which it begins.
    pub found: u64,
    /// Causes: the first is at `expected`, others between there and `found`. Never empty.
    pub causes: Vec<Cause>,
}

impl Gap {
    /// Bytes from `expected` to `found`; negative when it goes back.
    pub fn distance(&self) -> i128 {
        i128::from(self.found) - i128::from(self.expected)
    }

    /// The first cause.
    pub fn cause(&self) -> Cause {
        self.causes.first().copied().unwrap_or(Cause::Unknown)
    }
}

/// Context for the causes of gaps.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known<'a> {
    /// The filesystem's geometry.
    pub geometry: Option<&'a dyn Geometry>,
    /// Whether the file's map is of indirect blocks (ext2, ext3).
    pub indirect: bool,
}

/// Calls `see` with each break between rows that have a location: the row before and the row after.
pub(crate) fn breaks(rows: &[Extent], mut see: impl FnMut(&Extent, &Extent)) {
    let mut last: Option<&Extent> = None;
    for row in rows.iter().filter(|row| row.flags.has_location()) {
        if let Some(last) = last
            && crate::count::expected(last, row).is_some()
        {
            see(last, row);
        }
        last = Some(row);
    }
}

/// The gaps of a file with their causes. `owner_at` returns the owner of a byte of the
/// filesystem, where it is known (GETFSMAP); it is called only for gaps that geometry does not explain.
pub fn explain(
    rows: &[Extent],
    known: Known<'_>,
    mut owner_at: impl FnMut(u64) -> Option<Owner>,
) -> Vec<Gap> {
    let mut gaps = Vec::new();
    breaks(rows, |last, row| {
        gaps.push(Gap {
            logical: row.logical,
            expected: last.physical_end(),
            found: row.physical,
            causes: Vec::new(),
        });
    });
    if gaps.is_empty() {
        return gaps;
    }
    let own: BTreeMap<u64, u64> = rows
        .iter()
        .filter(|row| row.flags.has_location())
        .map(|row| (row.physical, row.physical_end()))
        .collect();
    let is_own = |at: u64| {
        own.range(..=at)
            .next_back()
            .is_some_and(|(_, end)| at < *end)
    };
    for gap in &mut gaps {
        gap.causes = causes(gap, known, is_own(gap.expected), &mut owner_at);
    }
    gaps
}

/// The causes of one gap; for trees, without GETFSMAP.
pub(crate) fn cause_by_geometry(last: &Extent, row: &Extent, known: Known<'_>) -> Cause {
    let gap = Gap {
        logical: row.logical,
        expected: last.physical_end(),
        found: row.physical,
        causes: Vec::new(),
    };
    causes(&gap, known, false, &mut |_| None)[0]
}

fn causes(
    gap: &Gap,
    known: Known<'_>,
    is_own: bool,
    owner_at: &mut impl FnMut(u64) -> Option<Owner>,
) -> Vec<Cause> {
    if is_own {
        return vec![Cause::SameFile];
    }
    if let Some(geometry) = known.geometry {
        if known.indirect && is_indirect_block(gap, geometry.block_size()) {
            return vec![Cause::IndirectBlock];
        }
        let metadata = skipped(gap, geometry);
        if !metadata.is_empty() {
            return metadata;
        }
    }
    let mut causes: Vec<Cause> = owner_at(gap.expected).map(of_owner).into_iter().collect();
    if known
        .geometry
        .is_some_and(|geometry| meets_boundary(gap, geometry))
    {
        causes.push(Cause::GroupBoundary);
    }
    if causes.is_empty() {
        causes.push(Cause::Unknown);
    }
    causes
}

fn of_owner(owner: Owner) -> Cause {
    match owner {
        Owner::Free => Cause::FreeSpace,
        Owner::Unknown | Owner::Inode(_) => Cause::OtherFile,
        Owner::Log => Cause::Journal,
        Owner::Fixed | Owner::Inodes | Owner::Group | Owner::Metadata => Cause::Metadata,
    }
}

/// The metadata between the two ends of a gap, if there is nothing else between them: each group
/// that the gap reaches into begins with metadata, and the file continues in the last of them or at
/// its end.
fn skipped(gap: &Gap, geometry: &dyn Geometry) -> Vec<Cause> {
    let mut causes = Vec::new();
    let mut at = gap.expected;
    while at < gap.found {
        let Some((cause, range)) = geometry.metadata_at(at) else {
            if causes.is_empty() {
                return causes;
            }
            // After the metadata of this group: the rest of it is the allocator's choice.
            let next = geometry.group_start(geometry.group_of(at) + 1);
            if gap.found <= next {
                return causes;
            }
            if geometry.metadata_at(next).is_none() {
                return Vec::new();
            }
            at = next;
            continue;
        };
        if causes.last() != Some(&cause) {
            causes.push(cause);
        }
        at = range.end.max(at + 1);
    }
    causes
}

/// Whether a gap is one that an indirect block makes: one to three blocks before the twelfth block
/// of the file, or before each further one that begins a new indirect block.
fn is_indirect_block(gap: &Gap, block_size: u64) -> bool {
    let per_block = block_size / 4;
    let blocks = gap.distance() / i128::from(block_size);
    let logical = gap.logical / block_size;
    (1..=3).contains(&blocks) && logical >= 12 && (logical - 12).is_multiple_of(per_block.max(1))
}

/// Whether a gap ends where the next group begins, or begins where a group does.
fn meets_boundary(gap: &Gap, geometry: &dyn Geometry) -> bool {
    let starts = |at: u64| geometry.group_start(geometry.group_of(at)) == at;
    let next = geometry.group_of(gap.expected) + 1 == geometry.group_of(gap.found);
    (starts(gap.found) && next) || starts(gap.expected)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::count::tests::row;
    use crate::geometry::{Ext, Xfs};

    fn ext(change: impl FnOnce(&mut Ext)) -> Ext {
        let mut bytes = vec![0_u8; 1024];
        bytes[0x38..0x3a].copy_from_slice(&[0x53, 0xef]);
        bytes[0x18] = 2;
        bytes[0x20..0x24].copy_from_slice(&32768_u32.to_le_bytes());
        bytes[0x28..0x2c].copy_from_slice(&8192_u32.to_le_bytes());
        bytes[0x4..0x8].copy_from_slice(&(64_u32 * 32768).to_le_bytes());
        bytes[0x60..0x64].copy_from_slice(&0x200_u32.to_le_bytes());
        bytes[0x64] = 1;
        bytes[0x174] = 4;
        bytes[0x4c] = 1;
        bytes[0x58..0x5a].copy_from_slice(&256_u16.to_le_bytes());
        let mut ext = Ext::parse(&bytes).unwrap();
        change(&mut ext);
        ext
    }

    /// The causes of a gap between two blocks, the second one after `logical` blocks of the file.
    fn at(geometry: &dyn Geometry, logical: u64, from: u64, to: u64, indirect: bool) -> Vec<Cause> {
        let rows = [
            row(0, (from - logical) << 12, logical << 12, 0),
            row(logical << 12, to << 12, 1 << 12, 1),
        ];
        let known = Known {
            geometry: Some(geometry),
            indirect,
        };
        let gaps = explain(&rows, known, |_| None);
        assert_eq!(gaps.len(), 1);
        gaps[0].causes.clone()
    }

    #[test]
    fn a_copy_that_is_met_and_left_behind_for_another_group_explains_nothing() {
        let ext = ext(|_| ());
        let start = 3 * 32768;
        assert_eq!(
            at(&ext, 9, start, start + 2048, false),
            [Cause::BackupSuperblock]
        );
        assert_eq!(
            at(&ext, 9, start, 4 * 32768, false),
            [Cause::BackupSuperblock]
        );
        // Forty groups on, or back: the copy is no reason; that the file ended at a group's end is
        // all there is to say.
        assert_eq!(
            at(&ext, 9, start, 40 * 32768 + 99, false),
            [Cause::GroupBoundary]
        );
        assert_eq!(at(&ext, 9, start, 1000, false), [Cause::GroupBoundary]);
        assert_eq!(
            at(&ext, 9, start + 30000, start + 30100, false),
            [Cause::Unknown]
        );
    }

    #[test]
    fn the_journal_and_groups_without_flex_bg() {
        let plain = ext(|ext| {
            ext.flex_groups = 1;
            ext.journal.push(5000..7000);
        });
        assert_eq!(at(&plain, 9, 5000, 7000, false), [Cause::Journal]);
        assert_eq!(
            at(&plain, 9, 2 * 32768, 2 * 32768 + 514, false),
            [Cause::GroupMetadata]
        );
        assert_eq!(
            at(&plain, 9, 3 * 32768, 3 * 32768 + 600, false),
            [Cause::BackupSuperblock, Cause::GroupMetadata]
        );
    }

    #[test]
    fn indirect_blocks_stand_before_the_blocks_that_they_map() {
        let ext = ext(|_| ());
        assert_eq!(at(&ext, 12, 50000, 50001, true), [Cause::IndirectBlock]);
        assert_eq!(
            at(&ext, 12 + 1024, 50000, 50002, true),
            [Cause::IndirectBlock]
        );
        assert_eq!(at(&ext, 12 + 1024, 50000, 50002, false), [Cause::Unknown]);
        assert_eq!(at(&ext, 13, 50000, 50001, true), [Cause::Unknown]);
        assert_eq!(at(&ext, 12, 50000, 50009, true), [Cause::Unknown]);
    }

    #[test]
    fn the_header_of_an_ag() {
        let xfs = Xfs {
            block_size: 4096,
            ag_blocks: 1000,
            ag_count: 4,
            sector_size: 512,
            inode_size: 512,
            log_start: (2 << 10) + 8,
            log_blocks: 100,
            stripe_unit: 0,
            stripe_width: 0,
        };
        assert_eq!(at(&xfs, 9, 1000, 1008, false), [Cause::AgHeader]);
        assert_eq!(at(&xfs, 9, 2008, 2108, false), [Cause::Journal]);
        assert_eq!(at(&xfs, 9, 1500, 1600, false), [Cause::Unknown]);
    }

    #[test]
    fn the_kernel_is_asked_about_the_rest() {
        let rows = [row(0, 4096, 4096, 0), row(4096, 409_600, 4096, 1)];
        for (owner, cause) in [
            (Some(Owner::Free), Cause::FreeSpace),
            (Some(Owner::Inode(12)), Cause::OtherFile),
            (Some(Owner::Unknown), Cause::OtherFile),
            (Some(Owner::Log), Cause::Journal),
            (Some(Owner::Inodes), Cause::Metadata),
            (None, Cause::Unknown),
        ] {
            let mut asked = Vec::new();
            let gaps = explain(&rows, Known::default(), |at| {
                asked.push(at);
                owner
            });
            assert_eq!(asked, [8192]);
            assert_eq!(gaps[0].causes, [cause]);
        }
    }

    #[test]
    fn a_file_in_its_own_way() {
        let rows = [
            row(0, 8192, 4096, 0),
            row(4096, 0, 4096, 0),
            row(8192, 12288, 4096, 1),
        ];
        let gaps = explain(&rows, Known::default(), |_| None);
        let causes: Vec<_> = gaps
            .iter()
            .map(|gap| (gap.cause(), gap.distance()))
            .collect();
        assert_eq!(causes, [(Cause::SameFile, -12288), (Cause::Unknown, 8192)]);
    }
}
