//! Blocks in use, as a sorted list of ranges.
//!
//! A unit has a few dozen of them before files come: superblocks, descriptors, bitmaps, tables. A list of ranges is
//! smaller than a bitmap, and the search for a free run of some length, which mke2fs's placing of tables is made of,
//! looks at each range once.

use std::ops::Range;

/// Ranges that do not overlap or touch, ascending.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::ext4) struct Taken {
    ranges: Vec<Range<u64>>,
}

impl Taken {
    /// Takes a range. What of it is taken already stays taken.
    pub(in crate::ext4) fn insert(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        let from = self.ranges.partition_point(|other| other.end < range.start);
        let to = self
            .ranges
            .partition_point(|other| other.start <= range.end);
        let merged = if from < to {
            let start = self.ranges[from].start.min(range.start);
            let end = self.ranges[to - 1].end.max(range.end);
            start..end
        } else {
            range
        };
        self.ranges.splice(from..to, [merged]);
    }

    /// The first run of `len` free blocks that begins within `starts`.
    pub(in crate::ext4) fn first_fit(&self, starts: Range<u64>, len: u64) -> Option<u64> {
        let mut at = starts.start;
        let first = self.ranges.partition_point(|range| range.end <= at);
        for range in &self.ranges[first..] {
            if at + len <= range.start {
                break;
            }
            at = at.max(range.end);
        }
        (at < starts.end).then_some(at)
    }

    /// The ranges, ascending.
    pub(in crate::ext4) fn ranges(&self) -> &[Range<u64>] {
        &self.ranges
    }

    /// The free ranges of `within`, ascending.
    pub(in crate::ext4) fn free(&self, within: Range<u64>) -> Vec<Range<u64>> {
        let mut free = Vec::with_capacity(self.ranges.len() + 1);
        let mut at = within.start;
        for range in &self.ranges {
            if range.end <= at {
                continue;
            }
            if range.start >= within.end {
                break;
            }
            if at < range.start {
                free.push(at..range.start);
            }
            at = range.end;
        }
        if at < within.end {
            free.push(at..within.end);
        }
        free
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn neighbours_become_one() {
        let mut taken = Taken::default();
        for range in [10..20, 30..40, 20..30, 5..6, 0..5] {
            taken.insert(range);
        }
        assert_eq!(taken.ranges(), [0..6, 10..40]);
        assert_eq!(taken.first_fit(0..100, 4), Some(6));
        assert_eq!(taken.first_fit(0..100, 5), Some(40));
        assert_eq!(taken.first_fit(0..40, 5), None);
        assert_eq!(taken.free(3..50), [6..10, 40..50]);
    }

    proptest! {
        #[test]
        fn it_is_what_a_bitmap_would_be(ranges in proptest::collection::vec((0_u64..200, 0_u64..20), 0..30)) {
            let mut taken = Taken::default();
            let mut bits = [false; 256];
            for (start, len) in ranges {
                taken.insert(start..start + len);
                bits[start as usize..(start + len) as usize].fill(true);
            }
            for (block, bit) in bits.iter().enumerate() {
                let block = block as u64;
                prop_assert_eq!(taken.ranges().iter().any(|range| range.contains(&block)), *bit);
                prop_assert_eq!(taken.free(0..256).iter().any(|range| range.contains(&block)), !*bit);
            }
            prop_assert!(taken.ranges().windows(2).all(|pair| pair[0].end < pair[1].start));
        }
    }
}
