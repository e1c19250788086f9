//! Units as the field writes them: sizes with binary suffixes.
//!
//! Every size in a study file, on the command line and in the originals' option letters (iozone's
//! `-s 2g`, compilebench's `-b`, aiod's `-b4M`) is a power of two: `k` = 2^10, `m` = 2^20,
//! `g` = 2^30, `t` = 2^40, either case, with an optional `i` and/or `B` (`256KiB` = `256k`).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A number of bytes. Prints and parses with binary suffixes (`2g`, `256k`, `1536`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

/// Why a text is not a size.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a size: {why} (write a whole number with k, m, g or t, as in 256k or 2g)")]
pub struct ParseBytesError {
    text: String,
    why: &'static str,
}

impl Bytes {
    /// One KiB.
    pub const KIB: u64 = 1 << 10;
    /// One MiB.
    pub const MIB: u64 = 1 << 20;
    /// One GiB.
    pub const GIB: u64 = 1 << 30;

    /// The number itself.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl FromStr for Bytes {
    type Err = ParseBytesError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fail = |why| ParseBytesError {
            text: text.to_owned(),
            why,
        };
        let trimmed = text.trim();
        let digits = trimmed
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(trimmed.len());
        let (number, suffix) = trimmed.split_at(digits);
        let value: u64 = match number {
            "" => return Err(fail("it does not begin with a digit")),
            digits => digits.parse().map_err(|_| fail("it is larger than 2^64"))?,
        };
        let shift = match suffix.trim().to_ascii_lowercase().as_str() {
            "" | "b" => 0,
            "k" | "kb" | "kib" => 10,
            "m" | "mb" | "mib" => 20,
            "g" | "gb" | "gib" => 30,
            "t" | "tb" | "tib" => 40,
            _ => return Err(fail("its suffix is unknown")),
        };
        value
            .checked_mul(1 << shift)
            .map(Bytes)
            .ok_or_else(|| fail("it is larger than 2^64"))
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut value, mut suffix) = (self.0, "");
        for next in ["k", "m", "g", "t"] {
            if value == 0 || value % 1024 != 0 {
                break;
            }
            value /= 1024;
            suffix = next;
        }
        write!(f, "{value}{suffix}")
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.0)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Number(u64),
            Text(String),
        }
        match Form::deserialize(deserializer)? {
            Form::Number(n) => Ok(Bytes(n)),
            Form::Text(text) => text.parse().map_err(serde::de::Error::custom),
        }
    }
}

impl schemars::JsonSchema for Bytes {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Bytes".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A size: bytes, or text with a binary suffix, as in \"256k\" or \"2g\"",
            "anyOf": [
                { "type": "integer", "minimum": 0 },
                { "type": "string", "pattern": "^[0-9]+ *([kKmMgGtT]([iI]?[bB])?|[bB])?$" }
            ]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_parse_as_powers_of_two() {
        for (text, bytes) in [
            ("0", 0),
            ("1536", 1536),
            ("256k", 262_144),
            ("2g", 2 << 30),
            ("4MiB", 4 << 20),
            ("1T", 1 << 40),
        ] {
            assert_eq!(text.parse::<Bytes>().unwrap().get(), bytes, "{text}");
        }
    }

    #[test]
    fn bad_sizes_say_why() {
        for text in [
            "",
            "k",
            "-1",
            "2x",
            "1.5g",
            "99999999999999999999",
            "16777216t",
        ] {
            assert!(text.parse::<Bytes>().is_err(), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn display_and_parse_are_inverse(n in 0_u64..) {
            proptest::prop_assert_eq!(Bytes(n).to_string().parse::<Bytes>().unwrap(), Bytes(n));
        }
    }
}
