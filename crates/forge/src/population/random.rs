//! Randomness without a state: a value for each pair of numbers.
//!
//! A population is asked in any order and by several threads, so a generator that goes from value to value is of no use.
//! The finaliser of SplitMix64 (Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators") over a
//! keyed sum is enough for sizes and names; nothing here needs to be secret, and a ChaCha block for each name was
//! several times the cost of the name.

/// What a value is for, so that two uses of the same pair do not agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub(crate) enum Purpose {
    NameSet = 1,
    NameLength,
    Name,
    FileCount,
    Kind,
    SpecialKind,
    Size,
    Target,
    TargetLength,
    Reused,
    FreedPlace,
    Owner,
    InodeAttribute,
    BlockAttribute,
    AttributeValue,
    Fragmented,
    Extent,
    Free,
    Gap,
    Hole,
    Unwritten,
    Content,
    HashKey,
    Project,
}

/// One round of SplitMix64.
pub(crate) fn scramble(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A seed with a purpose mixed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key(u64);

impl Key {
    pub(crate) fn new(seed: u64, purpose: Purpose) -> Self {
        Self(scramble(scramble(seed).wrapping_add(
            (purpose as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15),
        )))
    }

    /// The value of a pair: 64 bits, each as good as the other.
    pub(crate) fn of(self, a: u64, b: u64) -> u64 {
        let first = scramble(self.0 ^ a.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        scramble(first.wrapping_add(b.wrapping_mul(0xd1b5_4a32_d192_ed03)))
    }
}

/// Whether a random value is within a share of all values; see [`threshold`].
pub(crate) fn chance(random: u64, threshold: u64) -> bool {
    random < threshold
}

/// A share from 0 to 1 as a bound for [`chance`]. 1 misses one value in 2^64.
pub(crate) fn threshold(share: f64) -> u64 {
    // 2^64 as a float; the cast ends at the largest integer.
    (share * 18_446_744_073_709_551_616.0) as u64
}

/// A random value brought to `0..n` by the high half of a product (Lemire 2019).
pub(crate) fn below(random: u64, n: u64) -> u64 {
    ((u128::from(random) * u128::from(n)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_kept_and_pairs_differ() {
        let key = Key::new(7, Purpose::Kind);
        let hits = (0..100_000_u64)
            .filter(|n| chance(key.of(n / 300, n % 300), threshold(0.3)))
            .count();
        assert!((29_000..31_000).contains(&hits), "{hits}");
        assert_ne!(key.of(1, 2), key.of(2, 1));
        assert_ne!(key.of(1, 2), Key::new(7, Purpose::Size).of(1, 2));
        assert_ne!(key.of(1, 2), Key::new(8, Purpose::Kind).of(1, 2));
        let mut seen = [0; 5];
        for n in 0..50_000 {
            seen[below(key.of(n, 0), 5) as usize] += 1;
        }
        assert!(seen.iter().all(|n| (9_500..10_500).contains(n)), "{seen:?}");
        assert_eq!(threshold(0.0), 0);
        assert_eq!(threshold(1.0), u64::MAX);
    }
}
