//! The Tiny Encryption Algorithm (Wheeler and Needham 1994) as a hash: 16 rounds over two words of state, the
//! name as the key, 16 bytes at a time.

use super::lanes::{Lanes, over_blocks};

const DELTA: u32 = 0x9e37_79b9;

/// Major and minor hashes of `N` names.
pub(crate) fn hash<const N: usize>(
    seed: [u32; 4],
    names: &[&[u8]; N],
    unsigned: bool,
) -> [[u32; N]; 2] {
    let [left, right, ..] = seed;
    let state = over_blocks([left, right], names, unsigned, rounds);
    [state[0].0, state[1].0]
}

/// What 16 bytes of each name add to its state.
#[inline]
fn rounds<const N: usize>(state: [Lanes<N>; 2], key: [Lanes<N>; 4]) -> [Lanes<N>; 2] {
    let [mut a, mut b] = state;
    let mut sum = 0_u32;
    for _ in 0..16 {
        sum = sum.wrapping_add(DELTA);
        a = a + mix(b, sum, key[0], key[1]);
        b = b + mix(a, sum, key[2], key[3]);
    }
    [a, b]
}

#[inline]
fn mix<const N: usize>(word: Lanes<N>, sum: u32, first: Lanes<N>, second: Lanes<N>) -> Lanes<N> {
    (word.shift_left(4) + first) ^ (word + Lanes::all(sum)) ^ (word.shift_right(5) + second)
}
