//! Amounts of bytes and of things, written and read.

use std::fmt;

use crate::number::significant;

/// Bytes in the largest binary unit of which there is at least one, three significant digits:
/// `0 B`, `512 B`, `4 KiB`, `1.25 MiB`, `137 GiB`.
pub fn bytes(value: u64) -> String {
    bytes_f64(value as f64)
}

/// [`bytes`] of a computed value: a mean, a rate's numerator, a difference.
pub fn bytes_f64(value: f64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if value.is_nan() || value.abs() < 1024.0 {
        return format!("{} B", significant(value));
    }
    let mut scaled = value / 1024.0;
    let mut unit = 0;
    while scaled.abs() >= 1024.0 && unit + 1 < UNITS.len() {
        scaled /= 1024.0;
        unit += 1;
    }
    format!("{} {}", significant(scaled), UNITS[unit])
}

/// Why a text is not an amount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AmountError {
    text: String,
    noun: &'static str,
    why: &'static str,
    example: &'static str,
}

impl fmt::Display for AmountError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} is not a {}: {} (write {})",
            crate::quoted(&self.text),
            self.noun,
            self.why,
            self.example
        )
    }
}

impl std::error::Error for AmountError {}

/// Reads a size: a whole number of bytes with an optional binary suffix `k`, `m`, `g`, `t` or `p`, of
/// either case, with an optional `iB` or `B` after it (`256KiB` = `256k`).
///
/// # Errors
///
/// What is wrong with the text, and an example.
///
/// ```
/// assert_eq!(words::parse_bytes("72T"), Ok(72 << 40));
/// ```
pub fn parse_bytes(text: &str) -> Result<u64, AmountError> {
    let fail = |why| AmountError {
        text: text.to_owned(),
        noun: "size",
        why,
        example: "a whole number with k, m, g or t, as in 256k or 2g",
    };
    let (number, suffix) = split(text).map_err(fail)?;
    let power = match suffix.as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 1,
        "m" | "mb" | "mib" => 2,
        "g" | "gb" | "gib" => 3,
        "t" | "tb" | "tib" => 4,
        "p" | "pb" | "pib" => 5,
        _ => return Err(fail(SUFFIX)),
    };
    number
        .checked_mul(1 << (10 * power))
        .ok_or_else(|| fail(LARGE))
}

/// Reads a count of things: a whole number with an optional decimal suffix `k`, `m`, `g`, `t` or `p`,
/// of either case. A hundred million files are not counted in powers of two.
///
/// # Errors
///
/// What is wrong with the text, and an example.
///
/// ```
/// assert_eq!(words::parse_count("105M"), Ok(105_000_000));
/// ```
pub fn parse_count(text: &str) -> Result<u64, AmountError> {
    let fail = |why| AmountError {
        text: text.to_owned(),
        noun: "count",
        why,
        example: "a whole number with k, M or G for powers of 1000, as in 250k or 105M",
    };
    let (number, suffix) = split(text).map_err(fail)?;
    let power = match suffix.as_str() {
        "" => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        "p" => 5,
        _ => return Err(fail(SUFFIX)),
    };
    number
        .checked_mul(1000_u64.pow(power))
        .ok_or_else(|| fail(LARGE))
}

const LARGE: &str = "it is larger than 2^64";
const SUFFIX: &str = "its suffix is unknown";

/// The number before the suffix, and the suffix in lower case.
fn split(text: &str) -> Result<(u64, String), &'static str> {
    let text = text.trim();
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, suffix) = text.split_at(digits);
    if number.is_empty() {
        return Err("it does not begin with a digit");
    }
    let number = number.parse().map_err(|_| LARGE)?;
    Ok((number, suffix.trim().to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn bytes_take_the_largest_unit_and_three_digits() {
        let sizes = [0, 512, 1023, 4096, 1536, 1_310_720, 1023 << 10, 10 << 30];
        let written = [
            "0 B", "512 B", "1023 B", "4 KiB", "1.5 KiB", "1.25 MiB", "1023 KiB", "10 GiB",
        ];
        assert_eq!(sizes.map(bytes), written);
        assert_eq!(bytes(u64::MAX), "16 EiB");
        assert_eq!(bytes_f64(-2048.0), "-2 KiB");
        assert_eq!(bytes_f64(0.5), "0.5 B");
        assert_eq!(bytes_f64(f64::NAN), "NaN B");
    }

    #[test]
    fn sizes_are_read_as_powers_of_two() {
        for (text, value) in [
            ("0", 0),
            ("1536", 1536),
            ("256k", 262_144),
            ("2g", 2 << 30),
            ("4MiB", 4 << 20),
            ("4 k", 4096),
            ("1T", 1 << 40),
            ("3P", 3 << 50),
        ] {
            assert_eq!(parse_bytes(text), Ok(value), "{text}");
        }
    }

    #[test]
    fn counts_are_read_as_powers_of_a_thousand() {
        for (text, value) in [("3000", 3000), ("3k", 3000), ("105M", 105_000_000)] {
            assert_eq!(parse_count(text), Ok(value), "{text}");
        }
    }

    #[test]
    fn what_is_no_amount_is_refused_with_the_reason_and_an_example() {
        let bad = [
            "",
            "k",
            "-1",
            "+3",
            "1.5M",
            "1e6",
            "2x",
            "4é",
            "99999999P",
            "99999999999999999999",
        ];
        for text in bad {
            assert!(parse_bytes(text).is_err(), "{text}");
            assert!(parse_count(text).is_err() || text == "99999999P", "{text}");
        }
        assert_eq!(
            parse_bytes("2x").map_err(|e| e.to_string()),
            Err(concat!(
                "\"2x\" is not a size: its suffix is unknown ",
                "(write a whole number with k, m, g or t, as in 256k or 2g)"
            )
            .to_owned())
        );
        let long = parse_count(&"x".repeat(100_000)).unwrap_err().to_string();
        assert!(long.len() < 500, "{long}");
    }

    proptest! {
        #[test]
        fn any_text_is_an_amount_or_an_error(text in "\\PC{0,20}") {
            let _ = parse_bytes(&text);
            let _ = parse_count(&text);
        }

        #[test]
        fn plain_numbers_are_themselves(value in 0_u64..) {
            prop_assert_eq!(parse_bytes(&value.to_string()), Ok(value));
            prop_assert_eq!(parse_count(&value.to_string()), Ok(value));
        }
    }
}
