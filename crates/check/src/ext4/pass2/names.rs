//! Whether a name is used twice in a block.
//!
//! e2fsck keeps a tree of the names of each block, and so looks at each name some eight times. A table of offsets
//! into the block does with one look at most names. It is never emptied: each block has a number, and places with another number are free.

use ondisk::ext4::casefold::{self, Folded};

/// Names of one block at a time, by their offsets in it.
#[derive(Debug)]
pub(super) struct Names {
    /// Block's number and offset, by hash; a power of two of them, at least twice as many as a block has names.
    places: Vec<(u32, u32)>,
    block: u32,
}

impl Names {
    /// For blocks of this size, whose shortest entries are 12 bytes.
    pub(super) fn new(block_size: usize) -> Names {
        let places = (block_size / 4).next_power_of_two().max(64);
        Names {
            places: vec![(0, 0); places],
            block: 0,
        }
    }

    /// Begins another block.
    pub(super) fn begin(&mut self) {
        self.block = self.block.wrapping_add(1);
        if self.block == 0 {
            self.places.fill((0, 0));
            self.block = 1;
        }
    }

    /// Takes the name at `offset`; whether it was there. `same` is whether the name at another offset is the same.
    pub(super) fn insert(&mut self, hash: u32, offset: u32, same: impl Fn(u32) -> bool) -> bool {
        let mask = self.places.len() - 1;
        let mut at = hash as usize & mask;
        // A block has fewer names than half the places; the bound only makes that plain.
        for _ in 0..self.places.len() {
            match self.places[at] {
                (block, other) if block == self.block => {
                    if same(other) {
                        return true;
                    }
                }
                _ => {
                    self.places[at] = (self.block, offset);
                    return false;
                }
            }
            at = (at + 1) & mask;
        }
        false
    }
}

/// A name as a directory that folds compares and hashes it: a zero ends it, as it ends every string there.
pub(super) fn fold(name: &[u8]) -> Folded<'_> {
    let end = name.iter().position(|byte| *byte == 0);
    casefold::fold(&name[..end.unwrap_or(name.len())])
}

/// A hash for tables of names; no part of any format.
pub(super) fn hash(name: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut hash = name.len() as u64;
    let (words, _) = name.as_chunks::<8>();
    for word in words {
        hash = (hash ^ u64::from_le_bytes(*word)).wrapping_mul(FACTOR);
        hash ^= hash >> 32;
    }
    hash = (hash ^ last_word(name)).wrapping_mul(FACTOR);
    hash ^ hash >> 29
}

/// The last 8 bytes of a name, or all of a shorter one: with its length and the words before, all there is to it.
fn last_word(name: &[u8]) -> u64 {
    if let Some(last) = name.last_chunk::<8>() {
        u64::from_le_bytes(*last)
    } else if let (Some(first), Some(last)) = (name.first_chunk::<4>(), name.last_chunk::<4>()) {
        u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << 32
    } else {
        name.iter()
            .fold(0, |word, byte| word << 8 | u64::from(*byte))
    }
}

/// Whether a name is one that any file may have: not empty, not `.` or `..`, and without `/` and zeros.
pub(super) fn is_plain(name: &[u8]) -> bool {
    let (words, _) = name.as_chunks::<8>();
    let mut found = words.iter().fold(0, |found, word| {
        found | separators(u64::from_le_bytes(*word))
    });
    if let Some(last) = name.last_chunk::<8>() {
        found |= separators(u64::from_le_bytes(*last));
    } else if name.iter().any(|byte| matches!(byte, b'/' | 0)) {
        return false;
    }
    found == 0 && !matches!(name, b"" | b"." | b"..")
}

/// Not 0 if one of the eight bytes is `/` or 0: subtracting 1 borrows the highest bit of a byte that has none only from zeros, and
/// from bytes above them.
fn separators(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let slashes = word ^ (ONES * 0x2f);
    let zero = |word: u64| word.wrapping_sub(ONES) & !word & HIGH;
    zero(word) | zero(slashes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_zero_ends_what_is_folded() {
        assert_eq!(fold(b"Ab\0Cd"), casefold::fold(b"Ab"));
        assert_eq!(fold(b"\0"), casefold::fold(b""));
        assert_eq!(fold(b"ok\0\xff"), casefold::fold(b"ok"));
    }

    proptest! {
        #[test]
        fn plain_names_are_those_without_separators(
            name in prop::collection::vec(prop_oneof![
                8 => any::<u8>(), 1 => Just(b'/'), 1 => Just(0), 1 => Just(b'.'), 1 => Just(b'0'),
            ], 0..40)
        ) {
            let special = matches!(&name[..], b"" | b"." | b"..");
            let separated = name.iter().any(|byte| matches!(byte, b'/' | 0));
            prop_assert_eq!(is_plain(&name), !special && !separated);
        }

        #[test]
        fn other_names_have_other_hashes(left in "[ab]{0,20}", right in "[ab]{0,20}") {
            let hashes = (hash(left.as_bytes()), hash(right.as_bytes()));
            prop_assert_eq!(hashes.0 == hashes.1, left == right);
        }

        #[test]
        fn a_name_is_known_if_it_was_there(
            blocks in prop::collection::vec(prop::collection::vec("[ab]{0,10}", 0..80), 1..5)
        ) {
            let mut names = Names::new(1024);
            for block in blocks {
                names.begin();
                for (at, name) in block.iter().enumerate() {
                    let known = names.insert(hash(name.as_bytes()) as u32, at as u32, |other| {
                        block[other as usize] == *name
                    });
                    prop_assert_eq!(known, block[..at].contains(name));
                }
            }
        }
    }
}
