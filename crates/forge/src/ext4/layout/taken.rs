//! Blocks in use, as a sorted list of ranges.
//!
//! An empty filesystem has a few in each unit: superblocks, descriptors, bitmaps, tables. A list of ranges is smaller than the
//! bitmaps, and the free blocks between them are found without a look at each bit.

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

    /// Gives a range back.
    pub(in crate::ext4) fn remove(&mut self, range: Range<u64>) {
        let from = self
            .ranges
            .partition_point(|other| other.end <= range.start);
        let to = self.ranges.partition_point(|other| other.start < range.end);
        if from >= to || range.is_empty() {
            return;
        }
        let before = self.ranges[from].start..range.start;
        let after = range.end..self.ranges[to - 1].end;
        let rest = [before, after].into_iter().filter(|rest| !rest.is_empty());
        self.ranges.splice(from..to, rest);
    }

    /// The ranges, ascending.
    pub(in crate::ext4) fn ranges(&self) -> &[Range<u64>] {
        &self.ranges
    }

    /// The free ranges of `within`, ascending.
    pub(in crate::ext4) fn free(&self, within: Range<u64>) -> Vec<Range<u64>> {
        let mut free = Vec::new();
        let mut at = within.start;
        let first = self.ranges.partition_point(|range| range.end <= at);
        for range in &self.ranges[first..] {
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
        assert_eq!(taken.free(3..50), [6..10, 40..50]);
        taken.remove(12..14);
        taken.remove(30..50);
        assert_eq!(taken.ranges(), [0..6, 10..12, 14..30]);
    }

    proptest! {
        #[test]
        fn it_is_what_a_bitmap_would_be(ranges in proptest::collection::vec((0_u64..200, 0_u64..20, any::<bool>()), 0..30)) {
            let mut taken = Taken::default();
            let mut bits = [false; 256];
            for (start, len, take) in ranges {
                let range = start..start + len;
                if take { taken.insert(range) } else { taken.remove(range) }
                bits[start as usize..(start + len) as usize].fill(take);
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
