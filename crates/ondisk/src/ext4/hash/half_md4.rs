//! Half of MD4 (RFC 1320): its three rounds with 8 steps each instead of 16, over 32 bytes of a name at a time. The
//! default of every mke2fs since 2006.

use super::words;

/// Square roots of 2 and 3, as in MD4.
const ROUND_2: u32 = 0x5a82_7999;
const ROUND_3: u32 = 0x6ed9_eba1;

const ORDER_1: [usize; 8] = [0, 1, 2, 3, 4, 5, 6, 7];
const ORDER_2: [usize; 8] = [1, 3, 5, 7, 0, 2, 4, 6];
const ORDER_3: [usize; 8] = [3, 7, 2, 6, 1, 5, 0, 4];

/// Major and minor hash.
pub(super) fn hash(seed: [u32; 4], name: &[u8], unsigned: bool) -> (u32, u32) {
    let mut state = seed;
    let mut rest = name;
    while !rest.is_empty() {
        state = transform(state, words::<8>(rest, unsigned));
        rest = rest.get(32..).unwrap_or(&[]);
    }
    (state[1], state[2])
}

fn transform(state: [u32; 4], input: [u32; 8]) -> [u32; 4] {
    let mut s = state;
    round(&mut s, input, ORDER_1, [3, 7, 11, 19], 0, |x, y, z| {
        z ^ (x & (y ^ z))
    });
    round(&mut s, input, ORDER_2, [3, 5, 9, 13], ROUND_2, |x, y, z| {
        (x & y) | (z & (x | y))
    });
    round(
        &mut s,
        input,
        ORDER_3,
        [3, 9, 11, 15],
        ROUND_3,
        |x, y, z| x ^ y ^ z,
    );
    std::array::from_fn(|nth| state[nth].wrapping_add(s[nth]))
}

/// Eight steps; the word that is replaced goes a, d, c, b.
fn round(
    s: &mut [u32; 4],
    input: [u32; 8],
    order: [usize; 8],
    shifts: [u32; 4],
    constant: u32,
    mix: impl Fn(u32, u32, u32) -> u32,
) {
    for (step, word) in order.into_iter().enumerate() {
        let at = (4 - step % 4) % 4;
        let [x, y, z] = [s[(at + 1) % 4], s[(at + 2) % 4], s[(at + 3) % 4]];
        let sum = s[at]
            .wrapping_add(mix(x, y, z))
            .wrapping_add(input[word])
            .wrapping_add(constant);
        s[at] = sum.rotate_left(shifts[step % 4]);
    }
}
