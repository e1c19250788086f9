//! Sizes, rates and levels: `300 GB`, `128k`, `84 MiB/s`, `5`.
//!
//! Drives are sold in decimal units, so `kB`, `MB`, `GB` and `TB` are powers of 1000 here. `KiB` to `TiB` and
//! single letters are powers of 1024, as everywhere else in fslab.

use std::ops::RangeInclusive;

use serde::de::{Deserialize, Deserializer, Error};

use crate::array::Level;

/// Bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Size(pub(crate) u64);

/// Bytes a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rate(pub(crate) f64);

/// A level by its number or name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LevelName(pub(crate) Level);

/// The largest size: 8 EiB, so that sums of two stay within 64 bits.
const LARGEST: f64 = 9_223_372_036_854_775_808.0;

/// Rates, bytes a second. At less a request of 4 GiB takes weeks, and sums of such times do not fit 64 bits of nanoseconds.
const RATES: RangeInclusive<f64> = 1e3..=1e15;

fn parse(text: &str) -> Option<f64> {
    let text = text.trim();
    let split = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let number: f64 = number.parse().ok()?;
    let factor = match unit.trim() {
        "" | "B" => 1.0,
        "kB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        "TB" => 1e12,
        "k" | "K" | "KiB" => 1024.0,
        "m" | "M" | "MiB" => 1_048_576.0,
        "g" | "G" | "GiB" => 1_073_741_824.0,
        "t" | "T" | "TiB" => 1_099_511_627_776.0,
        _ => return None,
    };
    Some(number * factor).filter(|bytes| *bytes < LARGEST)
}

fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    #[derive(serde::Deserialize)]
    #[serde(
        untagged,
        expecting = "neither a whole number nor a text like \"300 GB\""
    )]
    enum Form {
        Number(u64),
        Text(String),
    }
    Ok(match Form::deserialize(deserializer)? {
        Form::Number(number) => number.to_string(),
        Form::Text(text) => text,
    })
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Size, D::Error> {
        let text = text(deserializer)?;
        let bytes = parse(&text).ok_or_else(|| {
            let quoted = words::quoted(&text);
            D::Error::custom(format!(
                "{quoted} is not a size: a number with B, kB, MB, GB, TB, KiB (k), MiB (m), GiB (g) or TiB (t), below 8 EiB"
            ))
        })?;
        Ok(Size(bytes as u64))
    }
}

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Rate, D::Error> {
        let text = text(deserializer)?;
        let rate = text
            .strip_suffix("/s")
            .and_then(parse)
            .filter(|rate| RATES.contains(rate));
        rate.map(Rate).ok_or_else(|| {
            let quoted = words::quoted(&text);
            D::Error::custom(format!(
                "{quoted} is not a rate (like \"125 MB/s\"; at least 1 kB/s, at most 1000 TB/s)"
            ))
        })
    }
}

impl<'de> Deserialize<'de> for LevelName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<LevelName, D::Error> {
        let text = text(deserializer)?;
        Level::from_name(&text).map(LevelName).ok_or_else(|| {
            let quoted = words::quoted(&text);
            D::Error::custom(format!(
                "{quoted} is no level (0, 1, 5, 6, 10 or \"linear\")"
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_and_binary_units_differ() {
        assert_eq!(parse("300 GB"), Some(300e9));
        assert_eq!(parse("128k"), Some(131_072.0));
        assert_eq!(parse("84 MiB"), Some(88_080_384.0));
        assert_eq!(parse("48.5MB"), Some(48.5e6));
        for wrong in ["", "GB", "1 XB", "1e99 GB", "99999999 TB", "-1", "1..2 GB"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
