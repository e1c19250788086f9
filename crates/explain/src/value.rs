//! Rows of evidence: a label and a value for each side, as they are printed.

use serde::Serialize;

/// What a number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// Bytes per second.
    BytesPerS,
    /// Seconds.
    Seconds,
    /// A bare number.
    Count,
    /// A number per second.
    PerS,
    /// A share of one, printed as a percentage.
    Share,
    /// A ratio.
    Times,
    /// Words.
    Text,
}

/// One side of a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// A number in the row's unit.
    Number(f64),
    /// Words.
    Text(String),
    /// Nothing was recorded.
    Absent,
}

/// A row of evidence.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Name as in docs/explain.md (`write_request_mean`).
    pub name: String,
    /// Label as printed.
    pub label: String,
    /// Unit of both numbers.
    pub unit: Unit,
    /// The slower cell's; of numbers the median of its trials.
    pub slower: Value,
    /// The faster cell's.
    pub faster: Value,
    /// Source: `telemetry`, `diskstats`, `trace`, ...
    pub source: String,
}

impl Row {
    /// A row of text.
    pub fn words(name: &str, label: &str, slower: &str, faster: &str, source: &str) -> Row {
        Row {
            name: name.to_owned(),
            label: label.to_owned(),
            unit: Unit::Text,
            slower: Value::Text(slower.to_owned()),
            faster: Value::Text(faster.to_owned()),
            source: source.to_owned(),
        }
    }

    /// A row of two numbers.
    pub fn numbers(name: &str, label: &str, unit: Unit, sides: [f64; 2], source: &str) -> Row {
        Row {
            name: name.to_owned(),
            label: label.to_owned(),
            unit,
            slower: Value::Number(sides[0]),
            faster: Value::Number(sides[1]),
            source: source.to_owned(),
        }
    }

    /// Both sides as printed.
    pub fn printed(&self) -> [String; 2] {
        [&self.slower, &self.faster].map(|value| match value {
            Value::Number(number) => print(*number, self.unit),
            Value::Text(text) => text.clone(),
            Value::Absent => "-".to_owned(),
        })
    }
}

/// A number with its unit: `128 KiB`, `95.2 %`, `1.31 times`.
pub(crate) fn print(number: f64, unit: Unit) -> String {
    match unit {
        Unit::Bytes => words::bytes_f64(number),
        Unit::BytesPerS => format!("{} MB/s", digits(number / 1_048_576.0)),
        Unit::Seconds if number.abs() >= 1.0 || number == 0.0 => format!("{} s", digits(number)),
        Unit::Seconds if number.abs() >= 1e-3 => format!("{} ms", digits(number * 1e3)),
        Unit::Seconds => format!("{} us", digits(number * 1e6)),
        Unit::Count | Unit::Text => digits(number),
        Unit::PerS => format!("{}/s", digits(number)),
        Unit::Share => format!("{} %", digits(number * 100.0)),
        Unit::Times => format!("{} times", digits(number)),
    }
}

/// Three significant digits, whole numbers whole.
pub(crate) use words::significant as digits;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        for (number, unit, text) in [
            (131_072.0, Unit::Bytes, "128 KiB"),
            (512.0, Unit::Bytes, "512 B"),
            (1.5e9, Unit::Bytes, "1.4 GiB"),
            (73_400_320.0, Unit::BytesPerS, "70 MB/s"),
            (0.0123, Unit::Seconds, "12.3 ms"),
            (0.000_002_5, Unit::Seconds, "2.5 us"),
            (28.95, Unit::Seconds, "28.9 s"),
            (0.952, Unit::Share, "95.2 %"),
            (1.31, Unit::Times, "1.31 times"),
            (12_345.6, Unit::PerS, "12346/s"),
            (0.0, Unit::Count, "0"),
            (9.996, Unit::Count, "10"),
        ] {
            assert_eq!(print(number, unit), text);
        }
    }

    proptest::proptest! {
        #[test]
        fn every_number_prints(number in -1e18..1e18_f64) {
            for unit in [Unit::Bytes, Unit::Seconds, Unit::Share, Unit::Count] {
                let text = print(number, unit);
                proptest::prop_assert!(!text.is_empty() && text.len() < 40, "{text}");
            }
        }
    }
}
