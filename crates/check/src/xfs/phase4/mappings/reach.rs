//! Runs of blocks by a key, for questions about overlaps that take the same time whatever a damaged btree has in it.

use std::collections::BTreeMap;

/// Runs of one key: first block, and the end that this run or one before it reaches, both ascending.
type Runs = Vec<(u32, u64)>;

/// Runs of blocks by key.
pub(super) struct Reach<K>(BTreeMap<K, Runs>);

impl<K: Ord> Reach<K> {
    /// Of runs that ascend by first block: key, first block, blocks.
    pub(super) fn new(runs: impl Iterator<Item = (K, u32, u32)>) -> Reach<K> {
        let mut by_key: BTreeMap<K, Runs> = BTreeMap::new();
        for (key, start, length) in runs {
            let list = by_key.entry(key).or_default();
            let end = u64::from(start) + u64::from(length);
            let end = list.last().map_or(end, |last| end.max(last.1));
            list.push((start, end));
        }
        Reach(by_key)
    }

    /// The largest end of runs of a key that begin before a block; 0 without one.
    pub(super) fn before(&self, key: &K, block: u64) -> u64 {
        let list = self.0.get(key).map_or(&[][..], Vec::as_slice);
        let at = list.partition_point(|run| u64::from(run.0) < block);
        at.checked_sub(1).map_or(0, |at| list[at].1)
    }

    /// The place, among the runs of a key, of the first that overlaps a range.
    pub(super) fn first(&self, key: &K, start: u32, end: u64) -> Option<usize> {
        let list = self.0.get(key)?;
        // It reaches past the start, and none before it does, so that end is its own.
        let at = list.partition_point(|run| run.1 <= u64::from(start));
        list.get(at)
            .filter(|run| u64::from(run.0) < end)
            .map(|_| at)
    }

    /// The parts of a range that no run of a key has: first block and blocks.
    pub(super) fn gaps(&self, key: &K, start: u32, end: u64) -> Vec<(u32, u32)> {
        let list = self.0.get(key).map_or(&[][..], Vec::as_slice);
        let mut at = u64::from(start);
        let mut parts = Vec::new();
        let mut part = |from: u64, to: u64| {
            if from < to {
                parts.push((from as u32, (to - from) as u32));
            }
        };
        let first = list.partition_point(|run| run.1 <= at);
        for run in list[first..]
            .iter()
            .take_while(|run| u64::from(run.0) < end)
        {
            if at >= end {
                break;
            }
            part(at, run.0.into());
            at = at.max(run.1);
        }
        part(at, end);
        parts
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn they_say_what_each_block_says(
            mut runs in proptest::collection::vec((0..3_u8, 0..100_u32, 1..20_u32), 0..30),
            (key, start, length) in (0..3_u8, 0..100_u32, 1..30_u32),
        ) {
            runs.sort_unstable_by_key(|run| run.1);
            let reach = Reach::new(runs.iter().copied());
            let has = |block: u32| runs.iter().any(|run| run.0 == key && run.1 <= block && block < run.1 + run.2);
            let end = start + length;
            let gaps = reach.gaps(&key, start, end.into());
            for block in start..end {
                let in_gap = gaps.iter().any(|gap| gap.0 <= block && block < gap.0 + gap.1);
                prop_assert_eq!(in_gap, !has(block));
            }
            let one = runs.iter().filter(|run| run.0 == key && run.1 < end).map(|run| run.1 + run.2);
            prop_assert_eq!(reach.before(&key, end.into()), u64::from(one.max().unwrap_or(0)));
        }
    }
}
