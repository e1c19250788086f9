//! Drawing with replacement, reproducibly.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// A stream of random indices that depends on the seed alone.
///
/// ChaCha8 is specified bit by bit, and both the key and the draw are made here: neither
/// `seed_from_u64` nor a distribution of the rand crates may change under a report that was
/// printed last year.
pub(crate) struct Resampler {
    rng: ChaCha8Rng,
}

impl Resampler {
    /// The seed, little-endian, is the first eight bytes of the ChaCha key; the others are zero.
    pub(crate) fn new(seed: u64) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        Self {
            rng: ChaCha8Rng::from_seed(key),
        }
    }

    /// A uniform index below `n`, which is not 0.
    ///
    /// Multiply and shift: Lemire, "Fast random integer generation in an interval", ACM Trans.
    /// Modeling and Computer Simulation 29 (2019), 3:1-3:12. Without its rejection step: of 2^64
    /// draws at most `n` are uneven, which no number of resamples can show.
    fn index(&mut self, n: usize) -> usize {
        ((u128::from(self.rng.next_u64()) * n as u128) >> 64) as usize
    }

    /// A uniform number inside (0, 1).
    #[cfg(test)]
    pub(crate) fn uniform(&mut self) -> f64 {
        ((self.rng.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// The indices below `n` in blocks of `block` neighbours, the blocks in random order. Where the first block ends is random, too.
    pub(crate) fn permuted_blocks(&mut self, n: usize, block: usize) -> Vec<usize> {
        let block = block.max(1);
        let first = 1 + self.index(block);
        let ends = (first..n).step_by(block).chain([n]);
        let mut begin = 0;
        let mut blocks: Vec<_> = ends
            .map(|end| std::mem::replace(&mut begin, end)..end)
            .collect();
        // Fisher and Yates, as in Knuth, The Art of Computer Programming, volume 2, algorithm P.
        for last in (1..blocks.len()).rev() {
            blocks.swap(last, self.index(last + 1));
        }
        blocks.into_iter().flatten().collect()
    }

    /// Fills `indices` with draws below their number.
    pub(crate) fn fill(&mut self, indices: &mut [usize]) {
        let n = indices.len();
        for index in indices {
            *index = self.index(n);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first key stream bytes of ChaCha8 for the zero key and nonce, 3e 00 ef 2f 89 5f 40 d6:
    /// draft-strombergson-chacha-test-vectors-01 (2013), TC1, 256-bit key, 8 rounds.
    #[test]
    fn the_stream_is_chacha8_as_published() {
        assert_eq!(Resampler::new(0).rng.next_u64(), 0xd640_5f89_2fef_003e);
    }

    #[test]
    fn draws_are_even() {
        let mut counts = [0_u32; 5];
        let mut resampler = Resampler::new(7);
        let mut indices = [0; 5];
        for _ in 0..20_000 {
            resampler.fill(&mut indices);
            for i in indices {
                counts[i] += 1;
            }
        }
        // Each count is binomial(100000, 1/5) with standard deviation 126; five of them allowed.
        assert!(
            counts.iter().all(|c| c.abs_diff(20_000) < 632),
            "{counts:?}"
        );
    }

    #[test]
    fn seeds_differ_and_repeat() {
        let draw = |seed| {
            let mut indices = [0; 40];
            Resampler::new(seed).fill(&mut indices);
            indices
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }
}
