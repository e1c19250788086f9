//! The Tiny Encryption Algorithm (Wheeler and Needham 1994) as a hash: 16 rounds over two words of state, the
//! name as the key, 16 bytes at a time.

use super::words;

const DELTA: u32 = 0x9e37_79b9;

/// Major and minor hash.
pub(super) fn hash(seed: [u32; 4], name: &[u8], unsigned: bool) -> (u32, u32) {
    let [mut left, mut right, ..] = seed;
    let mut rest = name;
    while !rest.is_empty() {
        let key = words::<4>(rest, unsigned);
        (left, right) = transform(left, right, key);
        rest = rest.get(16..).unwrap_or(&[]);
    }
    (left, right)
}

fn transform(left: u32, right: u32, key: [u32; 4]) -> (u32, u32) {
    let (mut a, mut b) = (left, right);
    let mut sum = 0_u32;
    for _ in 0..16 {
        sum = sum.wrapping_add(DELTA);
        a = a.wrapping_add(mix(b, sum, key[0], key[1]));
        b = b.wrapping_add(mix(a, sum, key[2], key[3]));
    }
    (left.wrapping_add(a), right.wrapping_add(b))
}

fn mix(word: u32, sum: u32, first: u32, second: u32) -> u32 {
    (word << 4).wrapping_add(first) ^ word.wrapping_add(sum) ^ (word >> 5).wrapping_add(second)
}
