//! Several names side by side: one word of each.
//!
//! A block function is one long chain in which each step waits for the one before, so one name at a time leaves
//! most of a processor idle. Eight names are eight chains, and what is written here as loops over arrays compiles to
//! vector instructions on every target that has some: on x86-64 those of SSE2, which need neither detection at run
//! time nor `unsafe`. With AVX2 the same loops would halve their instructions; what they cost then is no longer
//! what limits a checker, and so it was left out.

use std::array::from_fn;
use std::ops::{Add, BitAnd, BitOr, BitXor};

use super::character;

/// Names that are hashed together.
pub const LANES: usize = 8;

/// One word of each of `N` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lanes<const N: usize>(pub(super) [u32; N]);

impl<const N: usize> Lanes<N> {
    /// The same word for all.
    pub(super) fn all(word: u32) -> Self {
        Self([word; N])
    }

    #[inline]
    fn each(self, other: Self, f: impl Fn(u32, u32) -> u32) -> Self {
        Self(from_fn(|lane| f(self.0[lane], other.0[lane])))
    }

    #[inline]
    pub(super) fn shift_left(self, bits: u32) -> Self {
        Self(self.0.map(|word| word << bits))
    }

    #[inline]
    pub(super) fn shift_right(self, bits: u32) -> Self {
        Self(self.0.map(|word| word >> bits))
    }

    #[inline]
    pub(super) fn rotate_left(self, bits: u32) -> Self {
        Self(self.0.map(|word| word.rotate_left(bits)))
    }
}

impl<const N: usize> Add for Lanes<N> {
    type Output = Self;

    #[inline]
    fn add(self, other: Self) -> Self {
        self.each(other, u32::wrapping_add)
    }
}

impl<const N: usize> BitXor for Lanes<N> {
    type Output = Self;

    #[inline]
    fn bitxor(self, other: Self) -> Self {
        self.each(other, |left, right| left ^ right)
    }
}

impl<const N: usize> BitAnd for Lanes<N> {
    type Output = Self;

    #[inline]
    fn bitand(self, other: Self) -> Self {
        self.each(other, |left, right| left & right)
    }
}

impl<const N: usize> BitOr for Lanes<N> {
    type Output = Self;

    #[inline]
    fn bitor(self, other: Self) -> Self {
        self.each(other, |left, right| left | right)
    }
}

/// Runs a block function over names, `W` words of each at a time, until the longest is done. Where a name has ended its
/// state stays what it is: `block` gives what is to be added to the state.
#[inline]
pub(super) fn over_blocks<const N: usize, const S: usize, const W: usize>(
    start: [u32; S],
    names: &[&[u8]; N],
    unsigned: bool,
    block: impl Fn([Lanes<N>; S], [Lanes<N>; W]) -> [Lanes<N>; S],
) -> [Lanes<N>; S] {
    let mut state = start.map(Lanes::all);
    let longest = names.iter().map(|name| name.len()).max().unwrap_or(0);
    let mut at = 0;
    while at < longest {
        let mut input = [Lanes::all(0); W];
        let mut goes_on = Lanes::all(0);
        for (lane, name) in names.iter().enumerate() {
            if let Some(rest) = name.get(at..).filter(|rest| !rest.is_empty()) {
                goes_on.0[lane] = u32::MAX;
                let words: [u32; W] = words(rest, unsigned);
                for (input, word) in input.iter_mut().zip(words) {
                    input.0[lane] = word;
                }
            }
        }
        let more = block(state, input);
        state = from_fn(|nth| state[nth] + (more[nth] & goes_on));
        at += 4 * W;
    }
    state
}

/// The next `W` words of a name for a block function. Four characters fill a word, the first at its top; what is
/// missing is filled with the length of the rest of the name, in all four bytes.
#[inline]
fn words<const W: usize>(rest: &[u8], unsigned: bool) -> [u32; W] {
    let len = rest.len() as u32;
    let pad = len | len << 8;
    let pad = pad | pad << 16;
    let mut words = [pad; W];
    let (whole, tail) = rest.as_chunks::<4>();
    for (word, bytes) in words.iter_mut().zip(whole) {
        *word = signed(u32::from_be_bytes(*bytes), unsigned);
    }
    if let Some(word) = words.get_mut(whole.len()) {
        for byte in tail {
            *word = character(*byte, unsigned).wrapping_add(*word << 8);
        }
    }
    words
}

/// Four characters of a word, summed as the hash sees them: one above 127 with a sign is 256 less than its byte, which is
/// 1 less in the byte before it.
#[inline]
fn signed(word: u32, unsigned: bool) -> u32 {
    if unsigned {
        word
    } else {
        word.wrapping_sub((word & 0x8080_8080) << 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// One character after the other, as the format is described.
    fn plain<const W: usize>(rest: &[u8], unsigned: bool) -> [u32; W] {
        let pad = u32::from_le_bytes([rest.len() as u8; 4]);
        let mut words = [pad; W];
        for (word, chunk) in words.iter_mut().zip(rest.chunks(4)) {
            for byte in chunk {
                *word = character(*byte, unsigned).wrapping_add(*word << 8);
            }
        }
        words
    }

    proptest! {
        #[test]
        fn words_are_sums_of_characters(
            name in prop::collection::vec(any::<u8>(), 1..255), unsigned: bool,
        ) {
            prop_assert_eq!(words::<8>(&name, unsigned), plain(&name, unsigned));
            prop_assert_eq!(words::<4>(&name, unsigned), plain(&name, unsigned));
        }
    }
}
