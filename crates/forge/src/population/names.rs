//! Names, each a pure function of its set, class and number.
//!
//! A name is a letter for its class, its number, and random characters up to the length that was drawn. The number makes it unique
//! within its directory; the random part makes hashes spread as they do for real names. The number comes first, because
//! names that differ only after their 32nd character would be split over the rounds of the hash in one way only.

use super::distribution::Distribution;
use super::profile::Alphabet;
use super::random::{Key, Purpose, scramble};

/// What a name is for; names of different classes differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    Subdirectory,
    File,
    /// A further name of a file.
    Link,
    /// A name that was removed, by the slot of its inode.
    GoneInode,
    /// A name that was removed, and whose inode is none of this directory's.
    Gone,
}

impl Class {
    fn letter(self) -> u8 {
        match self {
            Self::Subdirectory => b'd',
            Self::File => b'f',
            Self::Link => b'l',
            Self::GoneInode => b'o',
            Self::Gone => b'g',
        }
    }
}

/// Makes names.
#[derive(Debug, Clone)]
pub(crate) struct Names {
    length: Distribution,
    alphabet: Alphabet,
    /// Digits of a number.
    digits: u8,
    name: Key,
    name_length: Key,
}

const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
/// 64 characters that need no quoting.
const PLAIN: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";

impl Names {
    /// `most` is the largest number that a name will have.
    pub(crate) fn new(seed: u64, length: Distribution, alphabet: Alphabet, most: u32) -> Self {
        let mut digits = 1;
        while 36_u64.pow(digits) <= u64::from(most) {
            digits += 1;
        }
        Self {
            length,
            alphabet,
            digits: digits as u8,
            name: Key::new(seed, Purpose::Name),
            name_length: Key::new(seed, Purpose::NameLength),
        }
    }

    /// The shortest length that keeps names unique.
    pub(crate) fn shortest(&self) -> u8 {
        1 + self.digits
    }

    /// Writes a name of a set to the start of `place` and returns its length; the caller numbers the sets.
    pub(crate) fn make(&self, set: u64, class: Class, number: u32, place: &mut [u8; 255]) -> u8 {
        let letter = class.letter();
        let id = u64::from(number) << 8 | u64::from(letter);
        let len = match self.length.only() {
            Some(len) => len,
            None => self.length.draw(self.name_length.of(set, id)),
        };
        let len = len.clamp(self.shortest().into(), 255) as u8;
        place[0] = letter;
        let head = usize::from(self.digits) + 1;
        let mut rest = number;
        for digit in place[1..head].iter_mut().rev() {
            *digit = DIGITS[(rest % 36) as usize];
            rest /= 36;
        }
        self.fill(&mut place[head..usize::from(len)], self.name.of(set, id));
        len
    }

    fn fill(&self, place: &mut [u8], mut random: u64) {
        for chunk in place.chunks_mut(8) {
            match self.alphabet {
                Alphabet::Plain => {
                    for (nth, byte) in chunk.iter_mut().enumerate() {
                        *byte = PLAIN[(random >> (nth * 6) & 63) as usize];
                    }
                }
                Alphabet::Utf8 => utf8(chunk, random),
                Alphabet::Bytes => {
                    for (byte, value) in chunk.iter_mut().zip(random.to_le_bytes()) {
                        *byte = if value == 0 || value == b'/' {
                            b'+'
                        } else {
                            value
                        };
                    }
                }
            }
            random = scramble(random.wrapping_add(0x9e37_79b9_7f4a_7c15));
        }
    }
}

/// Letters of two bytes (U+00C0 to U+00FF without the two signs among them), and one of one byte where the place is odd.
fn utf8(place: &mut [u8], random: u64) {
    for (nth, pair) in place.chunks_mut(2).enumerate() {
        let value = (random >> (nth * 6) & 63) as u8;
        match pair {
            [first, second] => {
                *first = 0xc3;
                // The multiplication and division signs are no letters.
                *second = 0x80
                    + if value == 0x17 || value == 0x37 {
                        0
                    } else {
                        value
                    };
            }
            [only] => *only = PLAIN[usize::from(value)],
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn name(names: &Names, set: u64, class: Class, number: u32) -> Vec<u8> {
        let mut place = [0; 255];
        let len = names.make(set, class, number, &mut place);
        place[..len.into()].to_vec()
    }

    #[test]
    fn names_are_unique_and_of_their_length() {
        let lengths = Distribution::steps(&[(1, 12, 1.0), (200, 255, 0.1)]).unwrap();
        for alphabet in [Alphabet::Plain, Alphabet::Utf8, Alphabet::Bytes] {
            let names = Names::new(3, lengths.clone(), alphabet, 5000);
            assert_eq!(names.shortest(), 4);
            let mut seen = BTreeSet::new();
            for class in [
                Class::Subdirectory,
                Class::File,
                Class::Link,
                Class::Gone,
                Class::GoneInode,
            ] {
                for number in 0..5000 {
                    let name = name(&names, 1, class, number);
                    assert!((4..=255).contains(&name.len()));
                    assert!(!name.iter().any(|byte| *byte == 0 || *byte == b'/'));
                    if alphabet != Alphabet::Bytes {
                        assert!(std::str::from_utf8(&name).is_ok(), "{name:?}");
                    }
                    assert!(seen.insert(name));
                }
            }
        }
        let fixed = Names::new(3, Distribution::fixed(16), Alphabet::Plain, 2999);
        let one = name(&fixed, 1, Class::File, 7);
        assert_eq!(one.len(), 16);
        assert!(one.starts_with(b"f007"), "{one:?}");
        assert_ne!(one, name(&fixed, 2, Class::File, 7));
        assert_eq!(one, name(&fixed, 1, Class::File, 7));
    }
}
