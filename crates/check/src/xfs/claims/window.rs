//! The blocks of a window of 2^16 that are taken.

use super::WINDOW;

/// Runs at most; more are a bitmap, of the size of a list with room for one more.
const MOST_RUNS: usize = 2047;
/// Words of a bitmap.
const WORDS: usize = WINDOW as usize / 64;

/// The blocks of a window that are taken.
#[derive(Debug)]
pub(super) enum Blocks {
    /// First and last block of the only run: without memory of its own.
    One((u16, u16)),
    /// First and last block of each run, ascending, never adjacent.
    Runs(Vec<(u16, u16)>),
    /// A bit for each.
    Bitmap(Box<[u64; WORDS]>),
}

impl Default for Blocks {
    fn default() -> Blocks {
        Blocks::Runs(Vec::new())
    }
}

impl Blocks {
    /// Takes blocks; whether none was taken before.
    pub(super) fn take(&mut self, start: u32, length: u32) -> bool {
        if length == 0 || start >= WINDOW {
            return true;
        }
        let last = start.saturating_add(length - 1).min(WINDOW - 1);
        match self {
            Blocks::Runs(runs) if runs.is_empty() => {
                *self = Blocks::One((start as u16, last as u16));
                true
            }
            Blocks::One(run) => {
                let (from, to) = (u32::from(run.0), u32::from(run.1));
                if start <= to + 1 && last + 1 >= from {
                    *self = Blocks::One((from.min(start) as u16, to.max(last) as u16));
                    return start > to || last < from;
                }
                let mut runs = vec![*run, (start as u16, last as u16)];
                runs.sort_unstable();
                *self = Blocks::Runs(runs);
                true
            }
            Blocks::Runs(runs) => {
                let sole = insert(runs, start as u16, last as u16);
                match runs[..] {
                    [one] => *self = Blocks::One(one),
                    _ if runs.len() > MOST_RUNS => *self = bitmap(runs),
                    _ => {}
                }
                sole
            }
            Blocks::Bitmap(words) => set(words, start, last),
        }
    }

    /// Takes blocks if none was taken before; whether it did.
    pub(super) fn take_free(&mut self, start: u32, length: u32) -> bool {
        self.are_free(start, length) && self.take(start, length)
    }

    /// Whether no block was taken.
    fn are_free(&self, start: u32, length: u32) -> bool {
        if length == 0 || start >= WINDOW {
            return true;
        }
        let last = start.saturating_add(length - 1).min(WINDOW - 1);
        match self {
            Blocks::One(run) => u32::from(run.1) < start || u32::from(run.0) > last,
            Blocks::Runs(runs) => {
                let after = runs.last().is_none_or(|run| u32::from(run.1) < start);
                after || {
                    let at = runs.partition_point(|run| u32::from(run.1) < start);
                    runs[at..].first().is_none_or(|run| u32::from(run.0) > last)
                }
            }
            Blocks::Bitmap(words) => masks(start, last).all(|(at, mask)| words[at] & mask == 0),
        }
    }

    /// Bytes of memory of its own.
    pub(super) fn memory(&self) -> u64 {
        const ALLOCATION: usize = 16;
        let bytes = match self {
            Blocks::Runs(runs) if runs.capacity() > 0 => size_of::<(u16, u16)>() * runs.capacity(),
            Blocks::Bitmap(_) => 8 * WORDS,
            _ => return 0,
        };
        (bytes + ALLOCATION) as u64
    }

    /// Runs that were not taken among the first `blocks`, as first block and length.
    pub(super) fn gaps(&self, blocks: u32, mut gap: impl FnMut(u32, u32)) {
        let runs = match self {
            Blocks::One(run) => Some(std::slice::from_ref(run)),
            Blocks::Runs(runs) => Some(runs.as_slice()),
            Blocks::Bitmap(_) => None,
        };
        match (runs, self) {
            (Some(runs), _) => {
                let mut at = 0;
                for (first, last) in runs {
                    let first = u32::from(*first).min(blocks);
                    if first > at {
                        gap(at, first - at);
                    }
                    at = at.max(u32::from(*last) + 1);
                }
                if at < blocks {
                    gap(at, blocks - at);
                }
            }
            (None, Blocks::Bitmap(words)) => {
                let free = |block: u32| words[block as usize / 64] >> (block % 64) & 1 == 0;
                let mut at = 0;
                while at < blocks {
                    if words[at as usize / 64] == u64::MAX {
                        at = (at / 64 + 1) * 64;
                        continue;
                    }
                    let start = at;
                    while at < blocks && free(at) {
                        at += 1;
                    }
                    if at > start {
                        gap(start, at - start);
                    }
                    at += 1;
                }
            }
            (None, _) => {}
        }
    }
}

/// Adds a run; whether it touched none before.
fn insert(runs: &mut Vec<(u16, u16)>, first: u16, last: u16) -> bool {
    // Mostly blocks come ascending.
    if let Some(end) = runs.last_mut()
        && end.1 < first
    {
        if end.1 + 1 == first {
            end.1 = last;
        } else {
            runs.push((first, last));
        }
        return true;
    }
    // The first run that ends at or after the block before.
    let from = runs.partition_point(|run| run.1 < first.saturating_sub(1));
    let to = from + runs[from..].partition_point(|run| run.0 <= last.saturating_add(1));
    let sole = !runs[from..to]
        .iter()
        .any(|run| run.0 <= last && run.1 >= first);
    if from == to {
        runs.insert(from, (first, last));
        return sole;
    }
    let joined = (runs[from].0.min(first), runs[to - 1].1.max(last));
    runs[from] = joined;
    runs.drain(from + 1..to);
    sole
}

fn bitmap(runs: &[(u16, u16)]) -> Blocks {
    let mut words = Box::new([0; WORDS]);
    for (first, last) in runs {
        set(&mut words, (*first).into(), (*last).into());
    }
    Blocks::Bitmap(words)
}

/// Sets bits; whether none was set before.
fn set(words: &mut [u64; WORDS], first: u32, last: u32) -> bool {
    masks(first, last).fold(true, |sole, (at, mask)| {
        let word = &mut words[at];
        let free = *word & mask == 0;
        *word |= mask;
        free && sole
    })
}

/// The words of a bitmap that have these bits, with a mask of them.
fn masks(first: u32, last: u32) -> impl Iterator<Item = (usize, u64)> {
    let mut at = first;
    std::iter::from_fn(move || {
        let left = last.checked_sub(at)? + 1;
        let bit = at % 64;
        let count = (64 - bit).min(left);
        let word = at as usize / 64;
        at += count;
        Some((word, (u64::MAX >> (64 - count)) << bit))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn gaps(blocks: &Blocks) -> Vec<(u32, u32)> {
        let mut found = Vec::new();
        blocks.gaps(WINDOW, |start, length| found.push((start, length)));
        found
    }

    proptest! {
        #[test]
        fn runs_and_bitmaps_say_the_same(
            takes in proptest::collection::vec((0..WINDOW, 1..300_u32), 1..200),
        ) {
            let mut runs = Blocks::default();
            let mut bits = bitmap(&[]);
            let mut plain = vec![false; WINDOW as usize];
            for (start, length) in takes {
                let end = (start + length).min(WINDOW) as usize;
                let sole = plain[start as usize..end].iter().all(|taken| !taken);
                plain[start as usize..end].fill(true);
                prop_assert_eq!(runs.are_free(start, length), sole);
                prop_assert_eq!(bits.are_free(start, length), sole);
                prop_assert_eq!(runs.take(start, length), sole);
                prop_assert_eq!(bits.take(start, length), sole);
                prop_assert!(!runs.take_free(start, length) && !bits.take_free(start, length));
            }
            prop_assert_eq!(gaps(&runs), gaps(&bits));
            let free: u32 = gaps(&runs).iter().map(|gap| gap.1).sum();
            prop_assert_eq!(free as usize, plain.iter().filter(|taken| !**taken).count());
        }
    }

    #[test]
    fn many_runs_become_a_bitmap_and_a_full_window_one_run() {
        let mut blocks = Blocks::default();
        for start in (0..WINDOW).step_by(2) {
            assert!(blocks.take(start, 1));
        }
        assert!(matches!(blocks, Blocks::Bitmap(_)) && blocks.memory() < 9 << 10);
        assert_eq!(gaps(&blocks).len(), WINDOW as usize / 2);
        let mut blocks = Blocks::default();
        assert!(blocks.take(0, WINDOW / 2) && blocks.take(WINDOW / 2, WINDOW / 2));
        assert!(matches!(&blocks, Blocks::One((0, u16::MAX))) && blocks.memory() == 0);
        assert!(!blocks.take(77, 1) && gaps(&blocks).is_empty());
    }
}
