//! The hashes that name pages and files.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The first 16 hexadecimal digits of a SHA-256.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Hash(String);

/// Digits of a [`Hash`].
const DIGITS: usize = 16;

impl Hash {
    /// Of a text.
    pub fn of(text: &str) -> Hash {
        Hash(record::id_of_line(text.as_bytes())[..DIGITS].to_owned())
    }

    /// Of a run's id, which is a SHA-256 itself.
    pub fn of_run(id: &str) -> Hash {
        id.get(..DIGITS)
            .and_then(Hash::parse)
            .unwrap_or_else(|| Hash::of(id))
    }

    /// Reads 16 lowercase hexadecimal digits; nothing else is a hash.
    pub fn parse(text: &str) -> Option<Hash> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        (text.len() == DIGITS && text.bytes().all(is_digit)).then(|| Hash(text.to_owned()))
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
