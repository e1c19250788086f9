//! Which moments of a log are worth a judgement.

use serde::{Deserialize, Serialize};

use super::format::{Entry, Flags};

/// After which entries a power cut is tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Boundary {
    /// After each flush: what the device promised to keep, and no more.
    #[default]
    Flush,
    /// After each flush and each write that was forced to the medium.
    Fua,
    /// After each write: also moments at which a device had kept more than it promised.
    Write,
}

impl Boundary {
    fn is_at(self, entry: &Entry) -> bool {
        let flags = entry.flags;
        match self {
            _ if flags.has(Flags::MARK) => false,
            Boundary::Flush => flags.has(Flags::FLUSH),
            Boundary::Fua => flags.has(Flags::FLUSH) || flags.has(Flags::FUA),
            Boundary::Write => true,
        }
    }

    /// The moments, as numbers of entries that have been written by then: `n` is the image as of
    /// entry `n - 1`. Only those after entry `from`. Ascending.
    ///
    /// A flush that carries data and is not forced (PREFLUSH without FUA) is taken with its data, as the
    /// kernel's own replay-log does: a device may have kept them.
    pub fn moments(self, entries: &[Entry], from: usize) -> Vec<usize> {
        let after = entries.iter().enumerate().skip(from);
        after
            .filter(|(_, entry)| self.is_at(entry))
            .map(|(number, _)| number + 1)
            .collect()
    }
}

/// At most `most` of `all`, evenly spread, the first and the last among them. 0 means all.
pub fn spread(all: &[usize], most: usize) -> Vec<usize> {
    let n = all.len();
    if most == 0 || n <= most {
        return all.to_vec();
    }
    if most == 1 {
        return all.last().copied().into_iter().collect();
    }
    (0..most).map(|i| all[i * (n - 1) / (most - 1)]).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn entries(flags: &[u64]) -> Vec<Entry> {
        let entry = |&flags| Entry {
            offset: 0,
            len: 512,
            flags: Flags(flags),
            data: 0,
            text: 0,
        };
        flags.iter().map(entry).collect()
    }

    #[test]
    fn moments_lie_behind_the_entries_that_end_them() {
        let all = entries(&[0, 1, 8, 2, 0, 3, 4, 9]);
        assert_eq!(Boundary::Flush.moments(&all, 0), [2, 6]);
        assert_eq!(Boundary::Flush.moments(&all, 2), [6]);
        assert_eq!(Boundary::Fua.moments(&all, 0), [2, 4, 6]);
        assert_eq!(Boundary::Write.moments(&all, 0), [1, 2, 4, 5, 6, 7]);
        assert!(Boundary::Write.moments(&all, 100).is_empty());
    }

    #[test]
    fn a_spread_has_both_ends() {
        let all: Vec<usize> = (10..20).collect();
        assert_eq!(spread(&all, 0), all);
        assert_eq!(spread(&all, 10), all);
        assert_eq!(spread(&all, 4), [10, 13, 16, 19]);
        assert_eq!(spread(&all, 2), [10, 19]);
        assert_eq!(spread(&all, 1), [19]);
        assert!(spread(&[], 3).is_empty());
    }

    proptest! {
        #[test]
        fn a_spread_is_ascending_and_as_long_as_asked(n in 0_usize..200, most in 2_usize..50) {
            let all: Vec<usize> = (0..n).collect();
            let chosen = spread(&all, most);
            prop_assert_eq!(chosen.len(), n.min(most));
            prop_assert!(chosen.windows(2).all(|pair| pair[0] < pair[1]));
            prop_assert_eq!((chosen.first(), chosen.last()), (all.first(), all.last()));
        }
    }
}
