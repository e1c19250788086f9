//! What a device is held to: bytes and operations a second, reading and writing.
//!
//! Written as one word, because it is a factor's level: `70m` (70 MiB/s each way), `read=70m`,
//! `read=70m,write=35m,read_iops=200,write_iops=200`, or `none`. The kernel's names for the same are
//! `rbps`, `wbps`, `riops`, `wiops` (cgroup v2 io.max) and `blkio.throttle.*` (v1).

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::units::Bytes;

/// Limits of a device; `None`: not limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Limit {
    /// Bytes read a second.
    pub read: Option<Bytes>,
    /// Bytes written a second.
    pub write: Option<Bytes>,
    /// Reads a second.
    pub read_iops: Option<u64>,
    /// Writes a second.
    pub write_iops: Option<u64>,
}

/// Why a text is not a limit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is not a limit: {why} (write bytes a second, as in 70m, or some of \
     read=70m,write=35m,read_iops=200,write_iops=200, or none)"
)]
pub struct ParseLimitError {
    text: String,
    why: String,
}

impl FromStr for Limit {
    type Err = ParseLimitError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fail = |why: String| ParseLimitError {
            text: text.to_owned(),
            why,
        };
        let bytes = |value: &str| match value.parse::<Bytes>() {
            Ok(Bytes(0)) => Err(fail("nothing would ever move at 0".into())),
            Ok(rate) => Ok(Some(rate)),
            Err(_) => Err(fail(format!("{value:?} is not a size"))),
        };
        let mut limit = Limit::default();
        match text.trim() {
            "none" => return Ok(limit),
            word if !word.contains('=') => {
                limit.read = bytes(word)?;
                limit.write = limit.read;
                return Ok(limit);
            }
            _ => {}
        }
        for part in text.split(',') {
            let (key, value) = part
                .split_once('=')
                .ok_or_else(|| fail(format!("{part:?} has no =")))?;
            let operations = || match value.trim().parse::<u64>() {
                Ok(0) => Err(fail("nothing would ever move at 0".into())),
                Ok(rate) => Ok(Some(rate)),
                Err(_) => Err(fail(format!("{value:?} is not a whole number"))),
            };
            match key.trim() {
                "read" => limit.read = bytes(value)?,
                "write" => limit.write = bytes(value)?,
                "read_iops" => limit.read_iops = operations()?,
                "write_iops" => limit.write_iops = operations()?,
                other => return Err(fail(format!("{other:?} is not known"))),
            }
        }
        Ok(limit)
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = self.read_iops.is_none() && self.write_iops.is_none();
        match (self.read, self.write) {
            (Some(read), Some(write)) if read == write && plain => return read.fmt(f),
            (None, None) if plain => return f.write_str("none"),
            _ => {}
        }
        let words = [
            ("read", self.read.map(|rate| rate.to_string())),
            ("write", self.write.map(|rate| rate.to_string())),
            ("read_iops", self.read_iops.map(|rate| rate.to_string())),
            ("write_iops", self.write_iops.map(|rate| rate.to_string())),
        ];
        let words = words
            .iter()
            .filter_map(|(key, value)| Some(format!("{key}={}", value.as_ref()?)));
        f.write_str(&words.collect::<Vec<_>>().join(","))
    }
}

impl Serialize for Limit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Limit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Number(u64),
            Text(String),
        }
        let text = match Form::deserialize(deserializer)? {
            Form::Number(n) => n.to_string(),
            Form::Text(text) => text,
        };
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl schemars::JsonSchema for Limit {
    fn schema_name() -> Cow<'static, str> {
        "Limit".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "title": "limit",
            "description": "Bytes a second (\"70m\"), or some of \
                \"read=70m,write=35m,read_iops=200,write_iops=200\", or \"none\"",
            "anyOf": [{ "type": "integer", "minimum": 1 }, { "type": "string" }]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_written_as_it_is_read() {
        for text in [
            "none",
            "70m",
            "read=70m",
            "read=70m,write=35m",
            "write_iops=200",
            "read=1g,write=1g,read_iops=5",
        ] {
            assert_eq!(text.parse::<Limit>().unwrap().to_string(), text);
        }
        let each_way: Limit = "70m".parse().unwrap();
        assert_eq!(
            (each_way.read, each_way.write),
            (Some(Bytes(70 << 20)), Some(Bytes(70 << 20)))
        );
    }

    #[test]
    fn what_is_no_limit_says_why() {
        for text in [
            "",
            "0",
            "read=0",
            "fast",
            "read:70m",
            "speed=1m",
            "read_iops=1k",
        ] {
            assert!(text.parse::<Limit>().is_err(), "{text}");
        }
    }
}
