//! Clusters in use.
//!
//! A large volume is empty for the most part, but for one cluster in each group: that of the descriptor. So a piece of the map has memory only
//! once two of its clusters are in use.

use std::ops::Range;

/// Words of a piece.
const WORDS: usize = 512;
/// Clusters of a piece.
const BITS: u32 = WORDS as u32 * 64;

/// The clusters of a piece.
#[derive(Clone, Debug, Default)]
enum Piece {
    /// None is in use.
    #[default]
    Empty,
    /// This one.
    One(u32),
    /// A bit each.
    Many(Box<[u64; WORDS]>),
}

/// The clusters of a volume that are in use.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClusterSet {
    pieces: Vec<Piece>,
    clusters: u32,
}

impl ClusterSet {
    /// An empty set of the clusters of a volume.
    pub(crate) fn new(clusters: u32) -> ClusterSet {
        ClusterSet {
            pieces: vec![Piece::Empty; clusters.div_ceil(BITS) as usize],
            clusters,
        }
    }

    /// Takes a run of clusters; `again` is called with those that were taken before, by words: the first cluster of a word, and a bit for
    /// each. Those outside the volume are left.
    pub(crate) fn take(&mut self, first: u32, count: u32, mut again: impl FnMut(u32, u64)) {
        let end = first.saturating_add(count).min(self.clusters);
        let mut at = first;
        while at < end {
            let piece = &mut self.pieces[(at / BITS) as usize];
            let stop = end.min((at / BITS + 1).saturating_mul(BITS));
            if matches!(piece, Piece::Empty) && stop - at == 1 {
                *piece = Piece::One(at % BITS);
            } else {
                let base = at / BITS * BITS;
                piece.take(at % BITS, stop - base, |bit, mask| again(base + bit, mask));
            }
            at = stop;
        }
    }

    /// Adds clusters of a word: its first cluster, and a bit for each.
    pub(crate) fn add_word(&mut self, first: u32, mask: u64) {
        let Some(piece) = self.pieces.get_mut((first / BITS) as usize) else {
            return;
        };
        match piece {
            Piece::Empty if mask.is_power_of_two() => {
                *piece = Piece::One(first % BITS + mask.trailing_zeros());
            }
            _ => piece.bits()[(first % BITS) as usize / 64] |= mask,
        }
    }

    /// Whether it has none.
    pub(crate) fn is_empty(&self) -> bool {
        self.pieces
            .iter()
            .all(|piece| matches!(piece, Piece::Empty))
    }

    /// The first of these clusters that is in the set.
    pub(crate) fn first_in(&self, clusters: Range<u32>) -> Option<u32> {
        self.first_with(clusters, false)
    }

    /// The runs of these clusters that are in the set: first cluster and end.
    pub(crate) fn runs(&self, clusters: Range<u32>) -> impl Iterator<Item = (u32, u32)> + '_ {
        let mut at = clusters.start;
        std::iter::from_fn(move || {
            let first = self.first_with(at..clusters.end, false)?;
            at = self
                .first_with(first..clusters.end, true)
                .unwrap_or(clusters.end);
            Some((first, at))
        })
    }

    /// The first of these clusters that is in the set; or that is not, where `inverted`.
    fn first_with(&self, clusters: Range<u32>, inverted: bool) -> Option<u32> {
        let flip = if inverted { u64::MAX } else { 0 };
        let (mut at, end) = (clusters.start, clusters.end);
        while at < end {
            let base = at / 64 * 64;
            let word = match self.pieces.get((at / BITS) as usize) {
                Some(Piece::Many(words)) => words[(at % BITS) as usize / 64],
                Some(Piece::One(bit)) if bit / 64 == at % BITS / 64 => 1 << (bit % 64),
                // Nothing in the rest of an empty piece.
                Some(Piece::Empty) | None if !inverted => {
                    at = (at / BITS + 1).checked_mul(BITS)?;
                    continue;
                }
                _ => 0,
            };
            let found = (word ^ flip) & (u64::MAX << (at % 64));
            if found != 0 {
                let first = base + found.trailing_zeros();
                return (first < end).then_some(first);
            }
            at = base.checked_add(64)?;
        }
        None
    }

    /// Bytes of memory.
    pub(crate) fn memory(&self) -> u64 {
        let many = |piece: &&Piece| matches!(piece, Piece::Many(_));
        let many = self.pieces.iter().filter(many).count();
        (self.pieces.len() * size_of::<Piece>() + many * 8 * WORDS) as u64
    }

    /// Whether a cluster is in use.
    pub(crate) fn has(&self, cluster: u32) -> bool {
        match self.pieces.get((cluster / BITS) as usize) {
            Some(Piece::One(bit)) => *bit == cluster % BITS,
            Some(Piece::Many(words)) => {
                let bit = cluster % BITS;
                words[bit as usize / 64] >> (bit % 64) & 1 == 1
            }
            _ => false,
        }
    }

    /// Number of clusters in use.
    pub(crate) fn len(&self) -> u64 {
        let pieces = self.pieces.iter().map(|piece| match piece {
            Piece::Empty => 0,
            Piece::One(_) => 1,
            Piece::Many(words) => words.iter().map(|word| u64::from(word.count_ones())).sum(),
        });
        pieces.sum()
    }

    /// The words of clusters from a multiple of 64 on.
    pub(crate) fn fill(&self, first: u32, words: &mut [u64]) {
        words.fill(0);
        let start = first as usize / 64;
        let mut done = 0;
        while done < words.len() {
            let at = start + done;
            let within = at % WORDS;
            let here = (WORDS - within).min(words.len() - done);
            match self.pieces.get(at / WORDS) {
                Some(Piece::Many(bits)) => {
                    words[done..done + here].copy_from_slice(&bits[within..within + here]);
                }
                Some(&Piece::One(bit)) => {
                    let word = (bit as usize / 64).checked_sub(within);
                    if let Some(word) = word.filter(|&word| word < here) {
                        words[done + word] = 1 << (bit % 64);
                    }
                }
                _ => {}
            }
            done += here;
        }
    }
}

impl Piece {
    /// The bits, with memory for all of them.
    fn bits(&mut self) -> &mut [u64; WORDS] {
        if let Piece::Many(words) = self {
            return words;
        }
        let mut words = Box::new([0; WORDS]);
        if let Piece::One(bit) = *self {
            words[bit as usize / 64] = 1 << (bit % 64);
        }
        *self = Piece::Many(words);
        self.bits()
    }

    fn take(&mut self, first: u32, end: u32, mut again: impl FnMut(u32, u64)) {
        let words = self.bits();
        let mut bit = first;
        while bit < end {
            let low = bit % 64;
            let here = (64 - low).min(end - bit);
            let mask = (u64::MAX >> (64 - here)) << low;
            let word = &mut words[bit as usize / 64];
            let twice = *word & mask;
            *word |= mask;
            if twice != 0 {
                again(bit - low, twice);
            }
            bit += here;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Against a set of numbers: runs within pieces, over their borders, and past the end.
    #[test]
    fn runs_are_taken_as_by_a_set_of_numbers() {
        let clusters = 3 * BITS + 70;
        let (mut set, mut again) = (ClusterSet::new(clusters), ClusterSet::new(clusters));
        assert!(again.is_empty() && again.first_in(0..clusters).is_none());
        let (mut model, mut twice, mut expected) = (BTreeSet::new(), Vec::new(), Vec::new());
        for (first, count) in [
            (5, 1),
            (BITS, 1),
            (BITS, 1),
            (BITS - 3, 70),
            (2 * BITS - 1, BITS + 2),
            (clusters - 2, 9),
            (clusters + 4, 4),
            (63, 2),
            (0, 130),
            (9, 0),
        ] {
            set.take(first, count, |word, mask| {
                again.add_word(word, mask);
                twice.extend(
                    (0..64)
                        .filter(|bit| mask >> bit & 1 == 1)
                        .map(|bit| word + bit),
                );
            });
            for cluster in (first..first + count).filter(|&cluster| cluster < clusters) {
                if !model.insert(cluster) {
                    expected.push(cluster);
                }
            }
        }
        assert_eq!(twice, expected);
        assert_eq!(set.len(), model.len() as u64);
        let twice: BTreeSet<u32> = twice.into_iter().collect();
        for clusters in [0..clusters, 7..BITS + 8, BITS - 1..2 * BITS, 9..9] {
            for (set, model) in [(&set, &model), (&again, &twice)] {
                let first = model.range(clusters.clone()).next().copied();
                assert_eq!(set.first_in(clusters.clone()), first);
                let runs: Vec<u32> = set
                    .runs(clusters.clone())
                    .flat_map(|(first, end)| first..end)
                    .collect();
                let plain: Vec<u32> = model.range(clusters.clone()).copied().collect();
                assert_eq!(runs, plain);
            }
        }
        for cluster in 0..clusters + 100 {
            assert_eq!(set.has(cluster), model.contains(&cluster), "{cluster}");
        }
        for first in [0, 64, BITS - 64, 2 * BITS - 640, 3 * BITS] {
            let mut words = vec![7; 40];
            set.fill(first, &mut words);
            for (bit, cluster) in (first..first + 40 * 64).enumerate() {
                let has = words[bit / 64] >> (bit % 64) & 1 == 1;
                assert_eq!(has, set.has(cluster), "{first} {cluster}");
            }
        }
    }
}
