//! A random order of blocks that takes no memory.
//!
//! A Feistel network over the next power of four is a permutation of its range; numbers beyond the
//! last block are encrypted again until one is inside (cycle walking: Black and Rogaway, "Ciphers with
//! Arbitrary Finite Domains", CT-RSA 2002, section 3). The range is less than four times the blocks, so
//! that takes less than four rounds of it on average. Rejected: a shuffled list, 8 bytes a block, and
//! fio's bitmap, in which the last blocks of a pass are searched for.

/// A permutation of `0..blocks`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Permutation {
    blocks: u64,
    /// Bits of each half.
    half: u32,
    keys: [u64; ROUNDS],
}

/// Four rounds of a good function are a strong pseudo-random permutation (Luby and Rackoff 1988).
const ROUNDS: usize = 4;

impl Permutation {
    /// The permutation of this many blocks, at least one, that a key selects.
    pub(super) fn new(blocks: u64, key: u64) -> Permutation {
        let bits = 64 - blocks.saturating_sub(1).leading_zeros();
        let mut state = key;
        Permutation {
            blocks: blocks.max(1),
            half: bits.div_ceil(2).max(1),
            keys: [(); ROUNDS].map(|()| {
                state = state.wrapping_add(GOLDEN);
                mixed(state)
            }),
        }
    }

    /// The block at a position below the number of blocks.
    #[inline]
    pub(super) fn at(&self, position: u64) -> u64 {
        let mut block = position;
        loop {
            block = self.encrypted(block);
            if block < self.blocks {
                return block;
            }
        }
    }

    #[inline]
    fn encrypted(&self, number: u64) -> u64 {
        let mask = (1_u64 << self.half) - 1;
        let (mut left, mut right) = (number >> self.half, number & mask);
        for key in self.keys {
            (left, right) = (right, left ^ (mixed(right ^ key) & mask));
        }
        left << self.half | right
    }
}

/// 2^64 over the golden ratio: the step of SplitMix64.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The output function of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
#[inline]
pub(super) const fn mixed(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// SplitMix64.
#[derive(Clone, Copy, Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) const fn new(seed: u64) -> Random {
        Random(seed)
    }

    #[inline]
    pub(super) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        mixed(self.0)
    }

    /// A number from 0 to 99.
    #[inline]
    pub(super) const fn percent(&mut self) -> u32 {
        // The high bits of a product: the bias of 2^-57 is nothing.
        (((self.next() >> 32) * 100) >> 32) as u32
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_block_once(blocks in 1_u64..3000, key in 0_u64..) {
            let order = Permutation::new(blocks, key);
            let mut seen: Vec<u64> = (0..blocks).map(|at| order.at(at)).collect();
            seen.sort_unstable();
            prop_assert!(seen.into_iter().eq(0..blocks));
        }

        #[test]
        fn large_files_have_blocks_inside(
            blocks in (1_u64 << 40)..(1 << 41), key in 0_u64.., at in 0_u64..(1 << 40),
        ) {
            prop_assert!(Permutation::new(blocks, key).at(at) < blocks);
        }
    }

    #[test]
    fn keys_give_different_orders_without_runs() {
        let order = |key| -> Vec<u64> {
            let order = Permutation::new(10_000, key);
            (0..10_000).map(|at| order.at(at)).collect()
        };
        let (one, other) = (order(1), order(2));
        let same = one.iter().zip(&other).filter(|(a, b)| a == b).count();
        assert!(same < 20, "{same}");
        let neighbours = one.windows(2).filter(|w| w[1] == w[0] + 1).count();
        assert!(neighbours < 20, "{neighbours}");
        // The mean distance of two independent blocks is a third of the range.
        let distance: u64 = one.windows(2).map(|w| w[0].abs_diff(w[1])).sum();
        assert!((3000..3700).contains(&(distance / 9_999)), "{distance}");
    }

    #[test]
    fn percents_are_even() {
        let mut random = Random::new(7);
        let mut counts = [0_u32; 100];
        (0..100_000).for_each(|_| counts[random.percent() as usize] += 1);
        assert!(
            counts.iter().all(|count| (800..1200).contains(count)),
            "{counts:?}"
        );
    }
}
