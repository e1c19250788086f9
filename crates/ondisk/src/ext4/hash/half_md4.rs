//! Half of MD4 (RFC 1320): its three rounds with 8 steps each instead of 16, over 32 bytes of a name at a time. The
//! default of every mke2fs since 2006.

use super::lanes::{Lanes, over_blocks};

/// Square roots of 2 and 3, as in MD4.
const ROUND_2: u32 = 0x5a82_7999;
const ROUND_3: u32 = 0x6ed9_eba1;

const ORDER_1: [usize; 8] = [0, 1, 2, 3, 4, 5, 6, 7];
const ORDER_2: [usize; 8] = [1, 3, 5, 7, 0, 2, 4, 6];
const ORDER_3: [usize; 8] = [3, 7, 2, 6, 1, 5, 0, 4];

/// Major and minor hashes of `N` names.
pub(super) fn hash<const N: usize>(
    seed: [u32; 4],
    names: &[&[u8]; N],
    unsigned: bool,
) -> [[u32; N]; 2] {
    let state = over_blocks(seed, names, unsigned, rounds);
    [state[1].0, state[2].0]
}

/// What 32 bytes of each name add to its state.
#[inline]
fn rounds<const N: usize>(state: [Lanes<N>; 4], input: [Lanes<N>; 8]) -> [Lanes<N>; 4] {
    let mut s = state;
    let choose = |x, y, z| z ^ (x & (y ^ z));
    let majority = |x, y, z| (x & y) | (z & (x | y));
    round(&mut s, &input, ORDER_1, [3, 7, 11, 19], 0, choose);
    round(&mut s, &input, ORDER_2, [3, 5, 9, 13], ROUND_2, majority);
    round(
        &mut s,
        &input,
        ORDER_3,
        [3, 9, 11, 15],
        ROUND_3,
        |x, y, z| x ^ y ^ z,
    );
    s
}

/// Eight steps; the word that is replaced goes a, d, c, b.
#[inline]
fn round<const N: usize>(
    s: &mut [Lanes<N>; 4],
    input: &[Lanes<N>; 8],
    order: [usize; 8],
    shifts: [u32; 4],
    constant: u32,
    mix: impl Fn(Lanes<N>, Lanes<N>, Lanes<N>) -> Lanes<N>,
) {
    for (step, word) in order.into_iter().enumerate() {
        let at = (4 - step % 4) % 4;
        let [x, y, z] = [s[(at + 1) % 4], s[(at + 2) % 4], s[(at + 3) % 4]];
        let sum = s[at] + mix(x, y, z) + input[word] + Lanes::all(constant);
        s[at] = sum.rotate_left(shifts[step % 4]);
    }
}
