//! Which directory is whose: levels, and how many directories each has.
//!
//! Directories are numbered level by level, and the directories of a level are shared out evenly over those of the level
//! above. So parent and children are a division, and no table is kept.

use std::ops::Range;

/// The tree of directories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tree {
    /// First directory and number of directories of each level; the root first.
    levels: Vec<(u32, u32)>,
}

impl Tree {
    /// A tree in which no directory has more than `fan_out` subdirectories, as flat as that allows.
    pub(super) fn flat(directories: u32, fan_out: u32) -> Self {
        let mut levels = vec![(0, 1)];
        let (mut first, mut above) = (1, 1_u32);
        while first < directories {
            let count = above
                .saturating_mul(fan_out.max(1))
                .min(directories - first);
            levels.push((first, count));
            (first, above) = (first + count, count);
        }
        Self { levels }
    }

    /// A tree whose levels below the root have shares of the directories by weights. Each gets at least one as long as there
    /// are enough.
    pub(super) fn weighted(directories: u32, weights: &[f64]) -> Self {
        let total: f64 = weights.iter().sum();
        let rest = f64::from(directories - 1);
        let mut levels = vec![(0, 1)];
        let (mut first, mut sum) = (1, 0.0);
        for (nth, weight) in weights.iter().enumerate() {
            if first >= directories {
                break;
            }
            sum += weight;
            let end = if nth + 1 == weights.len() {
                directories
            } else {
                1 + (rest * sum / total) as u32
            };
            let end = end.clamp(first + 1, directories);
            levels.push((first, end - first));
            first = end;
        }
        Self { levels }
    }

    fn level(&self, directory: u32) -> usize {
        self.levels
            .partition_point(|(first, _)| *first <= directory)
            .saturating_sub(1)
    }

    /// The parent; the root's is the root.
    pub(super) fn parent(&self, directory: u32) -> u32 {
        let level = self.level(directory);
        let Some(above) = level.checked_sub(1) else {
            return 0;
        };
        let (first, count) = self.levels[level];
        let (first_above, count_above) = self.levels[above];
        let nth = u64::from(directory - first) * u64::from(count_above) / u64::from(count);
        first_above + nth as u32
    }

    /// The subdirectories.
    pub(super) fn children(&self, directory: u32) -> Range<u32> {
        let level = self.level(directory);
        let (first, count) = self.levels[level];
        let Some((first_below, count_below)) = self.levels.get(level + 1).copied() else {
            return 0..0;
        };
        let nth = u64::from(directory - first);
        let at = |nth: u64| (nth * u64::from(count_below)).div_ceil(count.into()) as u32;
        first_below + at(nth)..first_below + at(nth + 1)
    }

    /// The most subdirectories that a directory can have.
    pub(super) fn widest(&self) -> u32 {
        let pairs = self.levels.iter().zip(self.levels.iter().skip(1));
        pairs
            .map(|((_, above), (_, below))| below.div_ceil(*above))
            .max()
            .unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sound(tree: &Tree, directories: u32) -> Result<(), TestCaseError> {
        let mut next = 1;
        for directory in 0..directories {
            let children = tree.children(directory);
            prop_assert!(children.is_empty() || children.start == next);
            next = next.max(children.end);
            prop_assert!(children.len() as u32 <= tree.widest());
            for child in children {
                prop_assert_eq!(tree.parent(child), directory);
            }
        }
        prop_assert_eq!(next, directories);
        Ok(())
    }

    proptest! {
        #[test]
        fn parents_and_children_agree(
            directories in 1_u32..3000,
            fan_out in 1_u32..50,
            weights in proptest::collection::vec(0.01_f64..10.0, 1..8),
        ) {
            sound(&Tree::flat(directories, fan_out), directories)?;
            prop_assert!(Tree::flat(directories, fan_out).widest() <= fan_out);
            sound(&Tree::weighted(directories, &weights), directories)?;
        }
    }

    #[test]
    fn as_flat_as_allowed() {
        assert_eq!(Tree::flat(1, 10).levels, [(0, 1)]);
        assert_eq!(
            Tree::flat(35_001, 1000).levels,
            [(0, 1), (1, 1000), (1001, 34_000)]
        );
    }
}
