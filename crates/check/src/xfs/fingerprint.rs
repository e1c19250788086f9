//! Fingerprints of reverse mappings: what was found against what the btree has, without sorting either.
//!
//! For each window of 2^16 blocks the sum over all blocks of `h(owner, fork, unwritten, offset - block) * r^block` modulo 2^61 - 1 is kept:
//! mappings that were found are added, records of the btree subtracted. The offset less the block is the same for all blocks of an
//! extent, so its part of the sum is a geometric series, and does not depend on where extents are cut or in which order they come. What is
//! not zero at the end is looked at exactly. Two different sets of mappings agree by chance once in 2^61 windows.

use std::sync::LazyLock;

/// Blocks of a window.
pub(crate) const WINDOW: u32 = 1 << 16;
/// The modulus, a prime.
const PRIME: u64 = (1 << 61) - 1;
/// The base of the series: any number that generates a large group.
const BASE: u64 = 0x1234_5678_9abc_def1 % PRIME;

/// Powers of the base: r^i and r^(256 i), and the inverse of r - 1.
struct Powers {
    low: [u64; 257],
    high: [u64; 257],
    inverse: u64,
}

static POWERS: LazyLock<Powers> = LazyLock::new(|| {
    let mut powers = Powers {
        low: [1; 257],
        high: [1; 257],
        inverse: power(BASE - 1, PRIME - 2),
    };
    for at in 1..257 {
        powers.low[at] = times(powers.low[at - 1], BASE);
    }
    for at in 1..257 {
        powers.high[at] = times(powers.high[at - 1], powers.low[256]);
    }
    powers
});

/// A product modulo the prime.
fn times(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    plus(product as u64 & PRIME, (product >> 61) as u64)
}

/// A sum modulo the prime.
pub(crate) fn plus(a: u64, b: u64) -> u64 {
    let sum = a + b;
    if sum >= PRIME { sum - PRIME } else { sum }
}

/// The additive inverse.
pub(crate) fn negated(a: u64) -> u64 {
    if a == 0 { 0 } else { PRIME - a }
}

fn power(base: u64, mut exponent: u64) -> u64 {
    let (mut result, mut square) = (1, base);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = times(result, square);
        }
        square = times(square, square);
        exponent >>= 1;
    }
    result
}

/// r to the power of a number up to 2^16.
fn raised(powers: &Powers, exponent: u32) -> u64 {
    let (high, low) = (exponent as usize >> 8, exponent as usize & 255);
    times(powers.high[high], powers.low[low])
}

/// What a mapping says of a block, independent of where the block is in its extent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Mapped {
    /// An inode, or one of [`ondisk::xfs::record::owner`].
    pub(crate) owner: u64,
    /// `RMAP_ATTR`, `RMAP_BMBT` and `RMAP_UNWRITTEN` of [`ondisk::xfs::record`].
    pub(crate) flags: u64,
    /// Offset of the first block within the file; 0 for owners and blocks without offsets.
    pub(crate) offset: u64,
    /// Whether the offset advances with the block.
    pub(crate) advances: bool,
}

impl Mapped {
    /// The series of blocks `start..start + length` of a window; `first` is the block number of `start` within the allocation group.
    pub(crate) fn series(&self, first: u32, start: u32, length: u32) -> u64 {
        let difference = if self.advances {
            self.offset.wrapping_sub(first.into())
        } else {
            u64::MAX
        };
        let hash = mix(mix(self.owner ^ self.flags.rotate_left(7)) ^ difference) % PRIME;
        let powers = &*POWERS;
        let sum = times(plus(raised(powers, length), PRIME - 1), powers.inverse);
        times(times(hash, raised(powers, start)), sum)
    }
}

/// Murmur3's finaliser with more rounds of a Weyl constant.
pub(crate) fn mix(mut word: u64) -> u64 {
    word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: Mapped = Mapped {
        owner: 131,
        flags: 0,
        offset: 10,
        advances: true,
    };

    #[test]
    fn sums_do_not_depend_on_cuts() {
        let whole = FILE.series(1000, 1000, 500);
        let second = Mapped {
            offset: 310,
            ..FILE
        };
        let parts = plus(FILE.series(1000, 1000, 300), second.series(1300, 1300, 200));
        assert_eq!(whole, parts);
        assert_eq!(plus(whole, negated(parts)), 0);
        let full = FILE.series(0, 0, WINDOW);
        let tail = Mapped { offset: 11, ..FILE };
        let parts = plus(FILE.series(0, 0, 1), tail.series(1, 1, WINDOW - 1));
        assert_eq!(full, parts);
    }

    #[test]
    fn anything_else_makes_another_sum() {
        let sum = FILE.series(1000, 1000, 500);
        for other in [
            Mapped { owner: 132, ..FILE },
            Mapped { offset: 11, ..FILE },
            Mapped {
                flags: 1 << 63,
                ..FILE
            },
            Mapped {
                advances: false,
                ..FILE
            },
        ] {
            assert_ne!(sum, other.series(1000, 1000, 500));
        }
        assert_ne!(sum, FILE.series(1000, 1001, 500));
        assert_ne!(sum, FILE.series(1000, 1000, 501));
    }
}
