//! Which kernels a study is about: `>=6.12`, `>=5.10,<7`, `6.1`.
//!
//! A version counts as far as it is written: 6.1.192 is `6.1`, is `<=6.1`, and is not `>6.1`. People say "6.1"
//! and mean the series, so comparing all the numbers would surprise them.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Comparisons that must all hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelRange(Vec<Bound>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Bound {
    sign: Sign,
    version: Vec<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    Least,
    Most,
    Above,
    Below,
    Is,
}

impl Sign {
    /// Longer signs first, since `>` begins `>=`.
    const WRITTEN: [(&str, Sign); 5] = [
        (">=", Sign::Least),
        ("<=", Sign::Most),
        (">", Sign::Above),
        ("<", Sign::Below),
        ("", Sign::Is),
    ];

    fn text(self) -> &'static str {
        let mut all = Sign::WRITTEN.iter();
        all.find(|(_, sign)| *sign == self)
            .map_or("", |(text, _)| text)
    }

    fn holds(self, ordering: Ordering) -> bool {
        match self {
            Sign::Least => ordering.is_ge(),
            Sign::Most => ordering.is_le(),
            Sign::Above => ordering.is_gt(),
            Sign::Below => ordering.is_lt(),
            Sign::Is => ordering.is_eq(),
        }
    }
}

/// Why a text is no range of kernels.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a range of kernels (write >=6.12, or >=5.10,<7, or 6.1)")]
pub struct ParseKernelRangeError {
    text: String,
}

impl KernelRange {
    /// Whether a kernel is meant. `release` is uname's or upstream's: `6.12.117+deb12-amd64`, `7.2`. What is
    /// not given is 0.
    pub fn holds(&self, release: &str) -> bool {
        let version = version(release);
        self.0.iter().all(|bound| {
            let mut known = version.clone();
            known.resize(bound.version.len(), 0);
            bound.sign.holds(known.cmp(&bound.version))
        })
    }
}

/// The numbers that a release begins with, three at most.
fn version(release: &str) -> Vec<u32> {
    let end = release.find(|c: char| !c.is_ascii_digit() && c != '.');
    let plain = &release[..end.unwrap_or(release.len())];
    let numbers = plain.split('.').map_while(|part| part.parse().ok());
    numbers.take(3).collect()
}

impl FromStr for KernelRange {
    type Err = ParseKernelRangeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fail = || ParseKernelRangeError {
            text: text.to_owned(),
        };
        let bound = |part: &str| {
            let part = part.trim();
            let (sign, rest) = Sign::WRITTEN
                .iter()
                .find_map(|(text, sign)| Some((*sign, part.strip_prefix(text)?)))?;
            let numbers: Option<Vec<u32>> = rest
                .trim()
                .split('.')
                .map(|number| number.parse().ok())
                .collect();
            let version = numbers.filter(|numbers| numbers.len() <= 3)?;
            Some(Bound { sign, version })
        };
        let bounds: Option<Vec<Bound>> = text.split(',').map(bound).collect();
        bounds.map(KernelRange).ok_or_else(fail)
    }
}

impl fmt::Display for KernelRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, bound) in self.0.iter().enumerate() {
            let numbers: Vec<String> = bound.version.iter().map(u32::to_string).collect();
            let comma = if at == 0 { "" } else { "," };
            write!(f, "{comma}{}{}", bound.sign.text(), numbers.join("."))?;
        }
        Ok(())
    }
}

impl Serialize for KernelRange {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for KernelRange {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl schemars::JsonSchema for KernelRange {
    fn schema_name() -> Cow<'static, str> {
        "KernelRange".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "title": "range of kernels",
            "description": "Versions that all comparisons allow: \">=6.12\", \">=5.10,<7\", \"6.1\"",
            "type": "string"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_counts_as_far_as_it_is_written() {
        let holds = |range: &str, release| range.parse::<KernelRange>().unwrap().holds(release);
        assert!(holds(">=6.12", "6.12.117+deb12-amd64"));
        assert!(holds(">=6.12", "7.2"));
        assert!(!holds(">=6.12", "6.1.0-56-amd64"));
        assert!(holds("6.1", "6.1.0-56-amd64") && !holds("6.1", "6.12.117"));
        assert!(holds("<=6.1", "6.1.192") && !holds(">6.1", "6.1.192"));
        assert!(holds(">=5.10, <7", "6.18.5") && !holds(">=5.10,<7", "7.0-rc1"));
        assert!(!holds(">=6.1.1", "6.1"));
    }

    #[test]
    fn a_range_is_written_as_it_is_read() {
        for text in [">=6.12", ">=5.10,<7", "6.1", "<=6.1.192", ">4"] {
            assert_eq!(text.parse::<KernelRange>().unwrap().to_string(), text);
        }
        for text in ["", ">=", "new", "6.1.", "6.1.2.3", ">=6.12,", "=>6"] {
            assert!(text.parse::<KernelRange>().is_err(), "{text}");
        }
    }
}
