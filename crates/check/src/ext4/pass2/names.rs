//! Whether a name stands twice in a block.
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

    /// Takes the name at `offset`; whether it was there. `same` says whether the name at another offset is the same.
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
    let (words, rest) = name.as_chunks::<8>();
    for word in words {
        hash = (hash ^ u64::from_le_bytes(*word)).wrapping_mul(FACTOR);
        hash ^= hash >> 32;
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    hash = (hash ^ u64::from_le_bytes(last)).wrapping_mul(FACTOR);
    hash ^ hash >> 29
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
