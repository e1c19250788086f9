//! Adding up files: one pass over the rows of each.

use std::collections::{BTreeMap, BTreeSet};

use crate::cause::Cause;
use crate::count;
use crate::extent::{Extent, Flags};
use crate::gaps::{self, Gap, Known};
use crate::geometry::{Geometry, Stripe};
use crate::summary::{LayoutSummary, Order, Quantiles, StripeCounts};

/// What stat(2) says of a file, as far as a tally needs it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileFacts {
    /// Inode number.
    pub inode: u64,
    /// `st_size`.
    pub size: u64,
    /// `st_blocks`, in bytes.
    pub allocated: u64,
    /// Whether the map is of indirect blocks (ext2, ext3).
    pub indirect: bool,
}

/// A sum that grows file by file. Its memory does not grow with files, only with distinct lengths
/// of runs and with groups.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    sum: LayoutSummary,
    lengths: BTreeMap<u64, u64>,
    squares: f64,
    groups: BTreeSet<u64>,
}

impl Tally {
    /// Adds a file, with causes by geometry alone.
    pub fn add(&mut self, facts: FileFacts, rows: &[Extent], geometry: Option<&dyn Geometry>) {
        self.add_rows(facts, rows, geometry);
        let known = Known {
            geometry,
            indirect: facts.indirect,
        };
        gaps::breaks(rows, |last, row| {
            let cause = gaps::cause_by_geometry(last, row, known);
            self.gap(cause, last.physical_end(), row.physical);
        });
    }

    /// Adds a file whose gaps have been explained.
    pub fn add_explained(
        &mut self,
        facts: FileFacts,
        rows: &[Extent],
        geometry: Option<&dyn Geometry>,
        gaps: &[Gap],
    ) {
        self.add_rows(facts, rows, geometry);
        for gap in gaps {
            self.gap(gap.cause(), gap.expected, gap.found);
        }
    }

    fn add_rows(&mut self, facts: FileFacts, rows: &[Extent], geometry: Option<&dyn Geometry>) {
        let sum = &mut self.sum;
        let extents = count::extents(rows);
        sum.files += 1;
        sum.unmapped_files += u64::from(rows.is_empty());
        sum.fragmented_files += u64::from(extents > 1);
        sum.size += facts.size;
        sum.allocated += facts.allocated;
        sum.rows += rows.len() as u64;
        sum.extents += extents;
        sum.frag.add(rows);
        if let Some(geometry) = geometry {
            sum.defrag.add(rows, facts.allocated, geometry);
            if let Some(first) = rows.iter().find(|row| row.flags.has_location()) {
                let inode = geometry.group_of_inode(facts.inode);
                sum.inode_to_data
                    .add(inode, geometry.group_of(first.physical));
            }
        }
        self.bytes(facts.size, rows);
        let stripe = geometry.and_then(<dyn Geometry>::stripe);
        count::each_run(rows, |run| self.run(run, geometry, stripe));
    }

    /// Bytes by what they are, and holes.
    fn bytes(&mut self, size: u64, rows: &[Extent]) {
        let sum = &mut self.sum;
        let mut end = 0;
        let mut hole = |from: u64, to: u64| {
            if from < to {
                sum.holes += 1;
                sum.hole_bytes += to - from;
            }
        };
        for row in rows {
            hole(end, row.logical.min(size));
            end = end.max(row.logical_end());
        }
        hole(end, size);
        for row in rows {
            let of = |flag: Flags| if row.flags.has(flag) { row.length } else { 0 };
            sum.delalloc += of(Flags::DELALLOC);
            sum.inline += of(Flags::INLINE);
            if row.flags.has_location() {
                sum.mapped += row.length;
                sum.unwritten += of(Flags::UNWRITTEN);
                sum.shared += of(Flags::SHARED);
                sum.encoded += of(Flags::ENCODED);
            }
        }
    }

    fn run(&mut self, run: &Extent, geometry: Option<&dyn Geometry>, stripe: Option<Stripe>) {
        let sum = &mut self.sum;
        let (begin, end) = (run.physical, run.physical_end());
        sum.runs += 1;
        sum.first_physical = Some(sum.first_physical.map_or(begin, |first| first.min(begin)));
        let last = end.saturating_sub(1);
        sum.last_physical = Some(sum.last_physical.map_or(last, |most| most.max(last)));
        *self.lengths.entry(run.length).or_default() += 1;
        self.squares += (run.length as f64) * (run.length as f64);
        if let Some(geometry) = geometry {
            let (from, to) = (geometry.group_of(begin), geometry.group_of(last));
            self.groups.extend(from..=to);
        }
        if let Some(stripe) = stripe {
            let counts = sum.stripe.get_or_insert_with(StripeCounts::default);
            let on = |at: u64, unit: u64| u64::from(at.is_multiple_of(unit));
            counts.begins_on_unit += on(begin, stripe.unit);
            counts.ends_on_unit += on(end, stripe.unit);
            counts.begins_on_width += on(begin, stripe.width);
            counts.ends_on_width += on(end, stripe.width);
        }
    }

    fn gap(&mut self, cause: Cause, expected: u64, found: u64) {
        let sum = &mut self.sum;
        sum.discontiguities += 1;
        sum.metadata_discontiguities += u64::from(cause.is_metadata());
        *sum.causes.entry(cause).or_default() += 1;
        if found < expected {
            sum.backward += 1;
            sum.backward_distance += expected - found;
        } else {
            sum.forward_distance += found - expected;
        }
    }

    /// Adds a directory with its `st_blocks` in bytes.
    pub fn directory(&mut self, allocated: u64) {
        self.sum.directories += 1;
        self.sum.directory_bytes += allocated;
    }

    /// Adds an entry that has no layout.
    pub fn other(&mut self) {
        self.sum.others += 1;
    }

    /// Adds something that could not be read.
    pub fn unreadable(&mut self) {
        self.sum.unreadable += 1;
    }

    /// Adds a directory's inode and one in it, by their groups.
    pub(crate) fn child(&mut self, directory: u64, child: u64) {
        self.sum.directory_to_inode.add(directory, child);
    }

    /// Adds orders: of the inodes as listed, of the blocks as listed, of the blocks by inode.
    pub(crate) fn orders(&mut self, orders: [Order; 3]) {
        self.sum.listed_inodes.merge(&orders[0]);
        self.sum.listed_blocks.merge(&orders[1]);
        self.sum.inode_blocks.merge(&orders[2]);
    }

    /// Adds another tally.
    pub fn merge(&mut self, other: Tally) {
        let (sum, more) = (&mut self.sum, other.sum);
        sum.files += more.files;
        sum.directories += more.directories;
        sum.others += more.others;
        sum.unreadable += more.unreadable;
        sum.unmapped_files += more.unmapped_files;
        sum.fragmented_files += more.fragmented_files;
        sum.size += more.size;
        sum.allocated += more.allocated;
        sum.directory_bytes += more.directory_bytes;
        sum.rows += more.rows;
        sum.extents += more.extents;
        sum.runs += more.runs;
        sum.discontiguities += more.discontiguities;
        sum.metadata_discontiguities += more.metadata_discontiguities;
        for (cause, count) in more.causes {
            *sum.causes.entry(cause).or_default() += count;
        }
        sum.backward += more.backward;
        sum.forward_distance += more.forward_distance;
        sum.backward_distance += more.backward_distance;
        sum.holes += more.holes;
        sum.hole_bytes += more.hole_bytes;
        sum.mapped += more.mapped;
        sum.unwritten += more.unwritten;
        sum.shared += more.shared;
        sum.encoded += more.encoded;
        sum.delalloc += more.delalloc;
        sum.inline += more.inline;
        sum.first_physical = match (sum.first_physical, more.first_physical) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        sum.last_physical = sum.last_physical.max(more.last_physical);
        if let Some(more) = more.stripe {
            let counts = sum.stripe.get_or_insert_with(StripeCounts::default);
            counts.begins_on_unit += more.begins_on_unit;
            counts.ends_on_unit += more.ends_on_unit;
            counts.begins_on_width += more.begins_on_width;
            counts.ends_on_width += more.ends_on_width;
        }
        sum.inode_to_data.merge(&more.inode_to_data);
        sum.directory_to_inode.merge(&more.directory_to_inode);
        sum.listed_inodes.merge(&more.listed_inodes);
        sum.listed_blocks.merge(&more.listed_blocks);
        sum.inode_blocks.merge(&more.inode_blocks);
        sum.defrag.merge(&more.defrag);
        sum.frag.merge(&more.frag);
        for (length, count) in other.lengths {
            *self.lengths.entry(length).or_default() += count;
        }
        self.squares += other.squares;
        self.groups.extend(other.groups);
    }

    /// The summary of all that was added.
    pub fn summary(&self) -> LayoutSummary {
        LayoutSummary {
            groups_touched: self.groups.len() as u64,
            run_lengths: Quantiles::of(&self.lengths),
            weighted_run_length: if self.sum.mapped == 0 {
                0.0
            } else {
                self.squares / self.sum.mapped as f64
            },
            ..self.sum.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::count::tests::row;
    use proptest::prelude::*;

    #[test]
    fn bytes_by_kind_and_holes_up_to_the_end_of_the_file() {
        let mut tally = Tally::default();
        let rows = [
            row(4096, 40960, 4096, 0x2000),
            row(8192, 45056, 4096, 0x800),
            row(20480, 0, 4096, 0x7),
        ];
        let facts = FileFacts {
            inode: 12,
            size: 30000,
            allocated: 8192,
            indirect: false,
        };
        tally.add(facts, &rows, None);
        let sum = tally.summary();
        assert_eq!((sum.mapped, sum.unwritten, sum.shared), (8192, 4096, 4096));
        assert_eq!((sum.delalloc, sum.holes), (4096, 3));
        assert_eq!(sum.hole_bytes, 4096 + 8192 + (30000 - 24576));
        assert_eq!(
            (sum.first_physical, sum.last_physical),
            (Some(40960), Some(49151))
        );
        assert_eq!(sum.weighted_run_length, 4096.0);
    }

    #[test]
    fn blocks_reserved_behind_the_end_are_no_hole() {
        let mut tally = Tally::default();
        let facts = FileFacts {
            size: 100,
            ..FileFacts::default()
        };
        tally.add(facts, &[row(8192, 40960, 4096, 0x801)], None);
        assert_eq!(
            (tally.summary().holes, tally.summary().hole_bytes),
            (1, 100)
        );
    }

    proptest! {
        #[test]
        fn the_sum_of_two_halves_is_the_sum_of_all(
            files in proptest::collection::vec(
                proptest::collection::vec((1_u64..9, 0_u64..50, 0_u32..3), 0..6), 0..12),
            cut in 0_usize..12,
        ) {
            let mut all = Tally::default();
            let mut halves = [Tally::default(), Tally::default()];
            for (index, file) in files.iter().enumerate() {
                let mut logical = 0;
                let rows: Vec<Extent> = file
                    .iter()
                    .map(|&(length, physical, flags)| {
                        let row = row(logical << 12, physical << 12, length << 12, flags);
                        logical += length + physical % 2;
                        row
                    })
                    .collect();
                let facts = FileFacts { size: logical << 12, ..FileFacts::default() };
                all.add(facts, &rows, None);
                halves[usize::from(index >= cut)].add(facts, &rows, None);
            }
            let [mut left, right] = halves;
            left.merge(right);
            let (left, all) = (left.summary(), all.summary());
            // Squares are added in another order.
            prop_assert!((left.weighted_run_length - all.weighted_run_length).abs() < 1e-3);
            prop_assert_eq!(
                LayoutSummary { weighted_run_length: 0.0, ..left },
                LayoutSummary { weighted_run_length: 0.0, ..all.clone() }
            );
            prop_assert_eq!(all.causes.values().sum::<u64>(), all.discontiguities);
            prop_assert!(all.runs <= all.rows);
        }
    }
}
