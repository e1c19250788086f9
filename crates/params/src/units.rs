//! Units as the field writes them: sizes with binary suffixes.
//!
//! Every size in a study file, on the command line and in the originals' option letters (iozone's
//! `-s 2g`, compilebench's `-b`, aiod's `-b4M`) is a power of two: `k` = 2^10, `m` = 2^20,
//! `g` = 2^30, `t` = 2^40, `p` = 2^50, either case, with an optional `i` and/or `B` (`256KiB` = `256k`).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A number of bytes. Prints and parses with binary suffixes (`2g`, `256k`, `1536`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

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
    type Err = words::AmountError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        words::parse_bytes(text).map(Bytes)
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
                { "type": "string", "pattern": "^[0-9]+ *([kKmMgGtTpP]([iI]?[bB])?|[bB])?$" }
            ]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn display_and_parse_are_inverse(n in 0_u64..) {
            proptest::prop_assert_eq!(Bytes(n).to_string().parse::<Bytes>().unwrap(), Bytes(n));
        }
    }
}
