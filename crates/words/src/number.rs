//! Numbers, plurals and lists.

use std::fmt::Display;

/// `1,234,567`: digits in groups of three.
pub fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 file`, `2 files`, `1,234 files`: a count and its noun, with the plural in `s`.
pub fn plural(count: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(count), s(count))
}

/// The ending of a plural: nothing for one, else `s`.
pub const fn s(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// `a`, `a and b`, `a, b and c`.
pub fn list<T: Display>(items: &[T]) -> String {
    match items {
        [] => String::new(),
        [only] => only.to_string(),
        [first @ .., last] => {
            let first: Vec<String> = first.iter().map(ToString::to_string).collect();
            format!("{} and {last}", first.join(", "))
        }
    }
}

/// A count of files: whole up to a million, then in millions: `48000`, `10.2 M`, `415 M`.
pub fn millions(count: f64) -> String {
    if count.abs() < 1e6 {
        return if count.fract() == 0.0 {
            format!("{count:.0}")
        } else {
            significant(count)
        };
    }
    format!("{} M", trimmed(&format!("{:.3}", count / 1e6)))
}

/// Three significant digits without trailing zeros, more for larger numbers, and at most three decimals:
/// `0`, `0.042`, `0.97`, `1.5`, `12.3`, `137`, `123456`.
pub fn significant(value: f64) -> String {
    let size = value.abs();
    // Rounding decides the number of digits: 9.996 is printed as 10, 99.96 as 100.
    let decimals = match size {
        _ if size >= 99.95 || size == 0.0 || size.is_nan() => 0,
        _ if size >= 9.995 => 1,
        _ if size >= 0.0995 => 2,
        _ => 3,
    };
    trimmed(&format!("{value:.decimals$}"))
}

/// A decimal number without the zeros at its end.
fn trimmed(number: &str) -> String {
    let short = if number.contains('.') {
        number.trim_end_matches('0').trim_end_matches('.')
    } else {
        number
    };
    short.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped_by_three() {
        let written = [0, 12, 123, 1234, 123_456, 1_234_567].map(grouped);
        assert_eq!(written, ["0", "12", "123", "1,234", "123,456", "1,234,567"]);
    }

    #[test]
    fn one_has_no_plural() {
        let written = [0, 1, 2, 1234].map(|n| plural(n, "file"));
        assert_eq!(written, ["0 files", "1 file", "2 files", "1,234 files"]);
    }

    #[test]
    fn the_last_two_of_a_list_are_joined_by_and() {
        assert_eq!(list::<&str>(&[]), "");
        assert_eq!(list(&["a"]), "a");
        assert_eq!(list(&["a", "b"]), "a and b");
        assert_eq!(list(&[1, 2, 3]), "1, 2 and 3");
    }

    #[test]
    fn millions_are_short() {
        let written = [5000.0, 48_000.0, 10_200_000.0, 415e6].map(millions);
        assert_eq!(written, ["5000", "48000", "10.2 M", "415 M"]);
    }

    #[test]
    fn three_digits_and_no_zeros() {
        let values = [
            0.0, 0.0423, 0.967, 1.5, 9.996, 12.34, 99.96, 137.4, 123_456.7, -2.0,
        ];
        let written = values.map(significant);
        let wanted = [
            "0", "0.042", "0.97", "1.5", "10", "12.3", "100", "137", "123457", "-2",
        ];
        assert_eq!(written, wanted);
    }
}
